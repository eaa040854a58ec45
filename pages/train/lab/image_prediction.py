"""Show the class probabilities for the user's image at one step of training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pages.frame import page
from pages.selection import selection
from pages.selection.substitutes import describe_classes
from pages.train.lab import snapshots
from pages.views.event_values import read_events
from pages.views.register import register
from vitviz.data.drawings import draw_strokes, is_drawing
from vitviz.plots.blob import pack

if TYPE_CHECKING:
    from pages.train.lab.snapshots import Recording
    from vitviz.data.image_preprocessing import Prepared
    from vitviz.models.loaded_model import LoadedModel
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run

KEY = "live_lab.pad"
MOST_CLASSES = 20  # number of bars; of more classes only the most probable are shown
_digit_pad = register(__file__, "digit_pad")
Arrays = dict[str, NDArray[Any]]


def draw(run: Run | Recording, config: RunConfig, step: int | None) -> None:
    """Draw the pad for digits, or the sidebar's image, with the class probabilities beside it.

    Args:
        run, config: the shown run and its config.
        step: step of the snapshot to use; None for the newest.
    """
    header: dict[str, object] = {
        "pad": config.preparation.digit,
        "waiting": snapshots.describe_waiting(run),
        "model": "",
        "classes": [],
    }
    arrays: Arrays = {}
    if snapshots.list_versions(run):
        version = snapshots.find_weights(run, step)
        model = snapshots.load_model(run.id, version)
        own = " of the shipped model" if isinstance(run, snapshots.Recording) and run.describe() else ""
        header |= {"model": f"step {version.step:,}{own}", "classes": list(model.classes)[:MOST_CLASSES]}
        prepared = _load_input(config)
        if prepared is not None:
            arrays, prediction = _predict(model, prepared)
            header |= prediction
    _digit_pad(pack(header, **arrays), key=KEY, states=("drawing",))
    page.caption("", describe_classes(selection.get_model_choice(), selection.get_current().image))


def _load_input(config: RunConfig) -> Prepared | None:
    from vitviz.data.image_preprocessing import prepare

    if not config.preparation.digit:
        return selection.prepare_image(config.preparation)
    strokes = read_events(KEY).get("drawing")
    if not isinstance(strokes, str) or not strokes or not is_drawing(strokes):
        return None
    return prepare(draw_strokes(strokes), config.preparation)


def _predict(model: LoadedModel, prepared: Prepared) -> tuple[Arrays, dict[str, object]]:
    """Return arrays and header fields of a prediction: top classes, the model's input, attention."""
    from vitviz.probe.snapshot_evaluation import answer

    prediction = answer(model, prepared)
    probabilities = prediction.probabilities
    class_indices = (
        np.arange(len(probabilities))
        if len(probabilities) <= MOST_CLASSES
        else np.argsort(-probabilities)[:MOST_CLASSES]
    )
    arrays: Arrays = {
        "probabilities": probabilities[class_indices].astype(np.float32),
        "shown": prepared.shown,
    }
    header: dict[str, object] = {"classes": [model.classes[place] for place in class_indices]}
    if prediction.row is None:
        return arrays, {**header, "note": "Input of the model; it has no attention between patches."}
    top = float(prediction.row.max()) or 1.0
    arrays["attention"] = np.round(255 * prediction.row / top).astype(np.uint8)
    note = f"Input of the model with the readout's attention: last layer, mean of the heads, 0 to {top:.2f}."
    return arrays, {**header, "note": note}
