"""Draw the training curves of the shown runs, and a sentence about the accuracies of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pages.frame import run_panel
from pages.stores import record_arrays, runs
from pages.train.lab import lab_controls
from pages.views.event_values import read_fields, read_index, read_like
from pages.views.register import register
from vitviz.analysis.run_comparison import time_to_accuracy
from vitviz.experiments.lecture_results import find_printed_line
from vitviz.plots.theme import family_colors, variant_colors
from vitviz.plots.training_curves import RunLabel, Series, payload
from vitviz.text import percent

if TYPE_CHECKING:
    from vitviz.config import TrainConfig
    from vitviz.training.run_directory import Run, Status

LEVELS = (0.90, 0.95, 0.98)
SHORT = {"learning_rate": "lr", "weight_decay": "decay"}  # labels on the curves
VIEW = {"axis": "step", "smoothing": 0.6, "log": False, "log_x": False, "extra": 0}
_curves = register(__file__, "curves")


def draw_curves(shown: list[Run], focus: Run) -> None:
    series = [series for run in shown for series in build_series(run.id, runs.open_log(run.id).read())]
    series += _load_printed_series(focus)
    settings = read_like(lab_controls.load_note(lab_controls.VIEW), VIEW)
    if view := draw_series(_build_labels(shown), series, focus.id, settings, "live_lab.curves"):
        lab_controls.save_note(lab_controls.VIEW, view)


def draw_series(
    labels: list[RunLabel],
    series: list[Series],
    run_id: str,
    view: dict[str, Any],
    key: str,
    film: bool = False,
) -> dict[str, Any] | None:
    """Draw curves and store the step that a click selects; return the toolbar's state once it was changed.

    Args:
        run_id: of the run whose step is selected.
        view: the toolbar's state at first.
        film: True for a recording, whose curves are faint after the selected step.
    """
    step = lab_controls.get_selected_step(run_id)
    message = payload(labels, series, run_id, step, view, film=film)
    events = _curves(message, key=key, states=("view",), triggers=("moment",))
    if (marked_step := read_index(events.moment)) is not None:
        lab_controls.save_note(lab_controls.MOMENT, {"run": run_id, "step": marked_step, "follow": False})
    return read_fields(events.view) or None


def draw_recorded(run_id: str, name: str, family: str, log: record_arrays.Records) -> None:
    """Draw the curves of a recorded training."""
    best, (color,) = log.best(), family_colors([family])
    label = RunLabel(run_id, name, color, {}, None if best is None else best[0])
    # Snapshots are spaced evenly on a logarithmic axis, so playback moves at a constant speed along it.
    view = VIEW | {"log_x": True}
    draw_series([label], build_series(run_id, log), run_id, view, "live_lab.recorded", film=True)


def _load_printed_series(run: Run) -> list[Series]:
    """Return the lecture's printed results for an unchanged recipe, else nothing."""
    printed, epochs = find_printed_line(run.config()), run.config().train.epochs
    status = runs.read_status(run)
    if printed is None or not status.total_steps or not epochs:
        return []
    epoch = np.arange(1, len(printed.values) + 1, dtype=np.float64)
    x = np.stack([epoch * status.total_steps / epochs, epoch, np.full(len(epoch), np.nan)])
    return [Series(printed.name, "train", x, {printed.metric: np.array(printed.values)}, printed.name)]


def build_series(run_id: str, log: record_arrays.Records) -> list[Series]:
    training, validation = log.training(), log.validation()
    return [
        Series(
            run_id, "train", training[:3], dict(zip(record_arrays.STEP_METRICS, training[3:], strict=True))
        ),
        Series(
            run_id,
            "validation",
            validation[:3],
            dict(zip(record_arrays.EVALUATION_METRICS, validation[3:], strict=True)),
            images=log.images,
        ),
    ]


def _build_labels(shown: list[Run]) -> list[RunLabel]:
    best = {run.id: runs.open_log(run.id).read().best() for run in shown}
    top = max((record[1] for record in best.values() if record), default=None)
    colors = variant_colors([run.config().model.family for run in shown])
    labels = []
    for run, color in zip(shown, colors, strict=True):
        status, config, best_record = run.status(), run.config(), best[run.id]
        labels.append(
            RunLabel(
                id=run.id,
                name=runs.name_model(run),
                color=color,
                total=_get_total(status, config.train),
                best_step=None if best_record is None else best_record[0],
                leads=best_record is not None and best_record[1] == top,
                changes=[
                    (step, f"{SHORT[name]} {changed_to:g}")
                    for step, name, _, changed_to in run_panel.list_changes(run, runs.open_log(run.id))
                ],
            )
        )
    return labels


def _get_total(status: Status, train: TrainConfig) -> dict[str, float]:
    """Return the run's total length per axis; a finished run ends with its curves."""
    if status.state == "done":
        return {}
    if train.seconds:
        return {"seconds": train.seconds}
    return {"step": status.total_steps, "epoch": train.epochs} if status.total_steps and train.epochs else {}


def draw_run(shown: list[Run], run: Run) -> None:
    """Draw the run's state, the curves of the shown runs, its buttons and a sentence about its accuracies."""
    status, log = runs.read_status(run), runs.open_log(run.id)
    run_panel.draw_state(run, status)
    draw_curves(shown, run)
    run_panel.draw_steering(run, status, _describe_accuracies(run, log, status))


def describe_test(log: record_arrays.Records) -> str:
    """Return a sentence about the accuracy on the test images, evaluated once after training, or ''."""
    return "" if log.test is None else f"Test accuracy {percent(log.test['accuracy'])}."


def _describe_accuracies(run: Run, log: runs.RunLog, status: Status) -> str:
    """Return a sentence about the accuracies so far, or why there are none."""
    table = log.validation()
    if not table.shape[1]:
        return runs.describe_missing_curve(status, bool(log.training().shape[1]))
    reached_levels = [
        f"{percent(level, 0)} after {run_panel.format_duration(seconds)}"
        for level in LEVELS
        if (seconds := time_to_accuracy(table[2], table[-1], level)) is not None
    ]
    best = log.best()
    band = (
        f" Band: 95\N{NO-BREAK SPACE}% interval over {log.images:,} validation images." if log.images else ""
    )
    best_text = f"Best validation accuracy {percent(best[1])} at step {best[0]:,}.{band}" if best else ""
    least = percent(LEVELS[0], 0)
    missed = f" {least} not reached yet." if status.active else f" {least} not reached."
    reached = f" Reached {', '.join(reached_levels)}." if reached_levels else missed
    precision = f" Precision: {status.precision}." if status.precision else ""
    train = run.config().train
    is_soft = train.label_smoothing or train.mixup_alpha or train.cutmix_alpha
    labels = " The training loss is computed with soft labels, the validation loss is not." if is_soft else ""
    return " ".join(filter(None, (describe_test(log), best_text))) + reached + precision + labels
