"""Offer a run as a page that contains its model: one HTML file that reads drawings and photos without a server."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

import streamlit as st

from pages.controls import downloads
from pages.selection import selection, substitutes
from pages.selection.attention_maps import MapSelection, build_live_view
from pages.selection.subject import capture_attention, load_subject
from pages.stores import runs, session
from vitviz.browser.html import render_html
from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.abilities import abilities
from vitviz.models.model_cost import parameters
from vitviz.models.token_layout import heads_by_layer
from vitviz.pin import Pin
from vitviz.plots.live_explorer import runs_in_browser
from vitviz.text import plural

if TYPE_CHECKING:
    from pages.stores.model_choice import ModelChoice
    from vitviz.training.run_directory import Run

_FILE_MB = 0.2  # code and image
_PARAMETER_BYTES = 2.45  # fp16, compressed, as text
_WEIGHT_BYTES = 2.0  # of an attention weight, likewise


def draw(run: Run) -> None:
    """Draw the popover with the two downloads and their sizes."""
    key = f"run:{run.id}"
    choice = next((choice for choice in runs.list_choices(session.get_current()) if choice.key == key), None)
    why_not = _find_reason(choice)
    label = "Download as a page that runs"
    with st.popover(label, icon=":material/web:", disabled=why_not is not None, help=why_not):
        if choice is None or why_not is not None:
            return
        st.markdown(
            "One HTML file with the trained model: draw or photograph an image, hide patches, and watch attention"
            " and classes. It opens from the disk, also on a phone, without a network; nothing leaves it."
        )
        image, _ = substitutes.choose_image(choice)
        variants = {"last step": choice.steps[-1:]}
        if len(choice.steps) > 1:
            variants[f"all {plural(len(choice.steps), 'step')}"] = choice.steps
        for name, steps in variants.items():
            make = partial(_make_page, choice, image, steps, selection.get_image_title(image))
            size = f"about {estimate_mb(choice, len(steps)):.1f} MB"
            downloads.download(
                f"{name[0].upper()}{name[1:]} ({size})", make, f"{run.id}.html", f"live_lab.page.{name}"
            )


def estimate_mb(choice: ModelChoice, steps: int) -> float:
    """Return the size of the page with a number of steps; within 0.1 MB of a small run's file, by a test."""
    config, weights = choice.config, sum(parameters(choice.config).values())
    tokens = 0
    if isinstance(config, ViTConfig | SwinConfig):
        tokens = prod(config.image_shape) // config.patch_size**2
    keys = config.window_size**2 if isinstance(config, SwinConfig) else tokens
    maps = sum(heads_by_layer(config)) * tokens * keys
    return _FILE_MB + (_PARAMETER_BYTES * weights * steps + _WEIGHT_BYTES * maps) / 1e6


def _find_reason(choice: ModelChoice | None) -> str | None:
    if choice is None:
        return "Available once the run has stored a step."
    able = abilities(choice.config)
    if not able.attention:
        return able.attention.why_not
    if not runs_in_browser(choice.config):
        return "This model is too large for a browser: at most 3 million parameters."
    return None


def _make_page(choice: ModelChoice, image: str, steps: tuple[int, ...], image_title: str) -> str:
    subject = capture_attention(load_subject(choice, choice.last_step, image, (0.5, 0.5)))
    pin = "cls" if "cls" in subject.layout.prefix else str(Pin())
    last = len(heads_by_layer(choice.config))
    message = build_live_view(subject, MapSelection(last, "mean"), subject.ground(), {"pin": pin}, steps)
    lead = f"Trained in vitviz for {choice.last_step:,} steps. It opens with {image_title}."
    return render_html(choice.title, [message], lead)
