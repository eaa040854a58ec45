"""Your own picture, read by the model as it is at this moment of its training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.selection import selection
from pages.train.lab import snapshots
from pages.train.lab.digit_pad import decode, digit_pad
from vitviz.plots.blob import pack

if TYPE_CHECKING:
    from pages.train.lab.recorded_run import Recording
    from vitviz.data.preparation import Prepared
    from vitviz.models.loaded_model import LoadedModel
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run

KEY = "live_lab.pad"
MOST_CLASSES = 20  # a column of bars; of more classes the most probable
Arrays = dict[str, NDArray[Any]]


def draw(run: Run | Recording, config: RunConfig, step: int | None) -> None:
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
    arrays: Arrays = {}
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
        return selection.prepared(config.preparation)
    state = st.session_state.get(KEY)
    drawing = decode(state.get("drawing")) if state else None
    if drawing is None or not drawing.any():
        return None
    return prepare(np.repeat(drawing[..., None], 3, axis=2), config.preparation)


def _answer(subject: LoadedModel, seen: Prepared) -> tuple[Arrays, dict[str, object]]:
    """What the view shows of an answer: the most probable classes, what the model sees, where it looks."""
    from vitviz.probe.snapshot import answer

    found = answer(subject, seen)
    given = found.probabilities
    places = np.arange(len(given)) if len(given) <= MOST_CLASSES else np.argsort(-given)[:MOST_CLASSES]
    arrays: Arrays = {"probabilities": given[places].astype(np.float32), "shown": seen.shown}
    said: dict[str, object] = {"classes": [subject.classes[place] for place in places]}
    if found.row is None:
        return arrays, {**said, "note": "What the model sees; this model has no attention to show."}
    top = float(found.row.max()) or 1.0
    arrays["attention"] = np.round(255 * found.row / top).astype(np.uint8)
    note = f"What the model sees, and where its readout looks: last layer, mean of the heads, 0 to {top:.2f}."
    return arrays, {**said, "note": note}
