"""Draw the lines that open a model in other projects, and the model as a folder for timm and transformers."""

import io
import tempfile
import zipfile
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.controls import downloads, listing
from pages.stores import published_weights, shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.config import ModelConfig
from vitviz.models.model_cost import parameters
from vitviz.text import plain
from vitviz.usage_code import write_timm_usage, write_usage

_MOST_MB = 64  # of a folder that is made in memory
_FOLDER = "vitviz_model"


def draw(choice: ModelChoice, step: int, key: str) -> None:
    """Draw a folded drawer with the lines, and a download where the weights are not published.

    Args:
        choice: the model.
        step: of its training.
        key: unique prefix of the widgets' keys.
    """
    if drawer := _open_drawer(choice.title, key):
        kind, _, name = choice.key.partition(":")
        with drawer:
            if kind in ("checkpoint", "pretrained"):
                listing.source(write_usage(published_weights.split_key(name)[0], choice.config))
            if kind != "pretrained":
                _draw_export(choice, step, key, has_lines=kind == "checkpoint")


def draw_lines(title: str, name: str, config: ModelConfig, key: str) -> None:
    if drawer := _open_drawer(title, key):
        with drawer:
            listing.source(write_usage(name, config))


def _open_drawer(title: str, key: str) -> DeltaGenerator | None:
    label = f"Use {plain(title)} in your code"
    drawer = st.expander(label, icon=":material/code:", key=f"{key}.usage", on_change="rerun")
    return drawer if drawer.open else None


def _draw_export(choice: ModelChoice, step: int, key: str, *, has_lines: bool) -> None:
    from vitviz.models.formats.timm import describe_timm_model

    megabytes = 4e-6 * sum(parameters(choice.config).values())
    why_not = None if megabytes <= _MOST_MB else f"Its {megabytes:,.0f} MB are too many for a download here."
    try:
        describe_timm_model(choice.config)
    except ValueError:
        if not has_lines:
            listing.source(write_usage(_FOLDER, choice.config))  # with the reason
        return
    if not has_lines:
        listing.source(write_timm_usage(f"local-dir:{_FOLDER}", choice.config, _FOLDER))
    make = partial(pack_folder, choice, step)
    downloads.download(
        f"Folder for timm (zip, step {step:,})", make, f"{_FOLDER}.zip", f"{key}.export", why_not=why_not
    )


def pack_folder(choice: ModelChoice, step: int) -> bytes:
    """Return a zip of the folder that timm and transformers open."""
    from vitviz.timm_export import export

    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as parent, zipfile.ZipFile(packed, "w") as archive:
        folder = export(shared_cache.load_model(choice, step), f"{parent}/{_FOLDER}")
        for file in sorted(folder.iterdir()):
            archive.write(file, f"{_FOLDER}/{file.name}")
    return packed.getvalue()
