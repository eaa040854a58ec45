"""Your own picture, read by the model as it is at this moment of its training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.shell import nouns
from pages.train.lab import snapshots
from pages.train.lab.digit_pad import decode, digit_pad
from vitviz.analysis.attention import readout_row
from vitviz.analysis.patches import probabilities
from vitviz.plots.blob import pack

if TYPE_CHECKING:
    from vitviz.data.preparation import Prepared
    from vitviz.models.loaded import LoadedModel
    from vitviz.training.runs import Run, RunConfig

KEY = "live_lab.pad"
MOST_CLASSES = 20  # a column of bars; of more classes the most probable


def draw(run: Run, config: RunConfig, step: int | None) -> None:
    """A pad for digits, the sidebar's picture for everything else, and the class probabilities beside it.

    Args:
        run, config: on the stage.
        step: of the snapshot that reads it; None: the newest.
    """
    found = {version.step: version for version in snapshots.versions(run)}
    header: dict[str, object] = {
        "pad": config.preparation.digit,
        "waiting": snapshots.waiting(run),
        "model": "",
        "classes": [],
    }
    arrays: dict[str, np.ndarray] = {}
    if found:
        at = step if step in found else max(found)
        subject = snapshots.model_at(run.id, found[at])
        header |= {"model": f"step {at:,}", "classes": list(subject.classes)[:MOST_CLASSES]}
        seen = _seen(config)
        if seen is not None:
            arrays, answer = _answer(subject, seen)
            header |= answer
    digit_pad(pack(header, **arrays), key=KEY)


def _seen(config: RunConfig) -> Prepared | None:
    from vitviz.data.preparation import prepare

    if not config.preparation.digit:
        return nouns.prepared(config.preparation)
    state = st.session_state.get(KEY)
    drawing = decode(state.get("drawing")) if state else None
    if drawing is None or not drawing.any():
        return None
    return prepare(np.repeat(drawing[..., None], 3, axis=2), config.preparation)


def _answer(subject: LoadedModel, seen: Prepared) -> tuple[dict[str, np.ndarray], dict[str, object]]:
    from vitviz.probe.capture import capture

    config = subject.config
    record = (f"blocks.{config.depth - 1}.attn",) if config.kind == "vit" else ("logits",)
    found = capture(subject.model, seen.input[None], record=record)
    given = probabilities(found.logits, getattr(config, "softmax_output", False))[0]
    places = np.arange(len(given)) if len(given) <= MOST_CLASSES else np.argsort(-given)[:MOST_CLASSES]
    arrays = {"probabilities": given[places].astype(np.float32), "shown": seen.shown}
    answer: dict[str, object] = {"classes": [subject.classes[place] for place in places]}
    if config.kind != "vit":
        return arrays, {**answer, "note": "What the model sees; this model has no attention to show."}
    row = readout_row(found[record[0]].mean(axis=1), found.layout.prefix, config.readout)[0]
    top = float(row.max()) or 1.0
    arrays["attention"] = np.round(255 * row / top).astype(np.uint8).reshape(found.layout.grid)
    note = f"What the model sees, and where its readout looks: last layer, mean of the heads, 0 to {top:.2f}."
    return arrays, {**answer, "note": note}
