"""Early stopping by hand-computed validation accuracies, on the digits, and in the stored file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.unit.training_helpers import GREY, MODEL, TINY, TRAIN, toy_data
from vitviz.config import CNNConfig
from vitviz.experiments import single_run
from vitviz.experiments.data_size import EARLY_STOPPING, GRIDS, PATCH_SIZES, StudyGrid
from vitviz.experiments.data_size_training import early_stopping, measure
from vitviz.experiments.experiment import collected, run
from vitviz.experiments.result_file import Row, read_result
from vitviz.experiments.single_run import PATIENCE, count_after_best, train_until_best
from vitviz.models.zoo import create_model
from vitviz.training.loop import Trainer
from vitviz.training.records import Ended, Evaluation, Event

TINY_GRID = StudyGrid(
    {
        "cnn": CNNConfig(in_chans=1, widths=(4, 8), blocks=(0, 1), pooled=True),
        "vit": TINY,
    },
    GREY,
    replace(GRIDS["digits"].train, schedule="constant", ema_decay=0.999, clock="core", learning_rate=3e-2),
    (50, 1295),
    800,
    143,
)


def check_row(row: Row, grid: StudyGrid) -> None:
    """Assert that one stored training keeps the rule of early stopping."""
    accuracies = [accuracy for _, _, accuracy in row["curve"]]
    waited = count_after_best(accuracies)
    assert [step for step, _, _ in row["curve"]] == [
        min((place + 1) * row["evaluated_every"], grid.updates) for place in range(len(accuracies))
    ]
    assert row["updates"] == row["curve"][-1][0] <= grid.updates
    assert (row["best_update"], row["validation"]) == (row["curve"][-1 - waited][0], max(accuracies))
    assert row["ceiling_hit"] == (waited < PATIENCE)
    assert waited == PATIENCE or row["updates"] == grid.updates
    batch = grid.trained_on(row["pictures"]).batch_size
    assert row["passes"] == pytest.approx(row["updates"] * batch / row["pictures"], abs=0.005)
    model = create_model(grid.models[row["model"]])
    assert row["parameters"] == sum(parameter.numel() for parameter in model.parameters())
    assert 0 <= row["test"] <= 1
    assert 0 < row["training_core_s"] <= row["core_seconds"] + 0.06  # rounded to tenths


def test_the_count_starts_at_the_first_highest_accuracy() -> None:
    assert count_after_best([0.1]) == 0
    assert count_after_best([0.1, 0.3, 0.2]) == 1
    assert count_after_best([0.3, 0.3, 0.3]) == 2, "an equal accuracy is no improvement"
    assert count_after_best([0.3, 0.2, 0.4]) == 0


@pytest.mark.parametrize(
    ("accuracies", "updates", "best", "ceiling_hit"),
    [
        ([0.5, 0.6, 0.6, 0.5, 0.4, 0.3, 0.2, 0.9], 7, 2, False),  # five in vain after the second
        ([0.5, 0.4, 0.4, 0.4, 0.4, 0.6, 0.5, 0.5], 8, 6, True),  # saved by the sixth, then out of updates
        ([0.1, 0.2, 0.3, 0.9, 0.8, 0.8, 0.8, 0.8], 8, 4, True),  # one evaluation short of patience
        ([0.1, 0.2, 0.9, 0.8, 0.8, 0.8, 0.8, 0.8], 8, 3, False),  # patience ends with the updates
    ],
)
def test_a_training_stops_five_evaluations_after_its_best(
    monkeypatch: pytest.MonkeyPatch, accuracies: list[float], updates: int, best: int, ceiling_hit: bool
) -> None:
    """One evaluation per update, with accuracies that the test chose."""
    states: list[dict[str, torch.Tensor]] = []

    def events(trainer: Trainer) -> Iterator[Event]:
        for accuracy in accuracies:
            trainer.advance()
            states.append(trainer.weights.state())
            yield Evaluation(
                "validation", trainer.step, trainer.epoch, accuracy, 1.0, 40, float(trainer.step)
            )

    monkeypatch.setattr(single_run.loop, "train", events)
    train = replace(TRAIN, epochs=8 * 16 / 100)
    trained = train_until_best(MODEL, train, toy_data())
    row = trained.row
    assert (row["updates"], row["best_update"], row["ceiling_hit"]) == (updates, best, ceiling_hit)
    assert row["validation"] == accuracies[best - 1]
    assert row["passes"] == pytest.approx(updates * 16 / 100)
    assert all(torch.equal(values, states[best - 1][name]) for name, values in trained.weights.items())


def test_a_diverged_training_has_no_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_run.loop, "train", lambda _: iter([Ended("diverged", 0, "not a number")]))
    assert train_until_best(MODEL, TRAIN, toy_data()).row == {"diverged": "not a number", "curve": []}


@pytest.mark.slow
def test_digits_stop_early_and_a_stored_row_is_computed_again(tmp_path: Path) -> None:
    measure_tiny = partial(measure, TINY_GRID, train_until_best)
    cells = [{"model": model, "pictures": 50, "augmented": False, "seed": 0} for model in ("cnn", "vit")]
    tiny = replace(early_stopping(), name="tiny", cells=cells, measure=measure_tiny)
    list(run(tiny, tmp_path))
    result = collected(tiny, tmp_path, "command")
    for row in result.rows:
        check_row(row, TINY_GRID)
    assert not result.rows[1]["ceiling_hit"] and result.rows[1]["updates"] < TINY_GRID.updates
    again = measure_tiny(cells[1], tmp_path)
    clocks = {"training_core_s", "curve"}
    assert all(again[name] == result.rows[1][name] for name in again if name not in clocks)
    assert [point[::2] for point in again["curve"]] == [point[::2] for point in result.rows[1]["curve"]]


def test_two_processes_share_a_folder(tmp_path: Path) -> None:
    numbers = count()
    cells = [{"n": n} for n in range(4)]
    shared = replace(early_stopping(), cells=cells, measure=lambda cell, folder: {"number": next(numbers)})
    first, second = run(shared, tmp_path), run(shared, tmp_path, cells[::-1])
    measured = [next(rows)["cell"]["n"] for rows in (first, second, first, second)]
    assert measured == [0, 3, 1, 2]
    assert [*first, *second] == []


def test_the_models_have_as_many_parameters_within_one_percent() -> None:
    sizes = [
        sum(parameter.numel() for parameter in create_model(model).parameters())
        for model in EARLY_STOPPING.models.values()
    ]
    assert len(sizes) == 3 and max(sizes) <= 1.01 * min(sizes)


def test_every_size_has_the_same_number_of_updates() -> None:
    for images in EARLY_STOPPING.sizes:
        train = EARLY_STOPPING.trained_on(images)
        assert -(-round((train.epochs or 0) * images) // train.batch_size) == 12_000
        assert train.flip and train.shift_px and train.ema_decay


@pytest.mark.parametrize(
    ("name", "grid"), [("early_stopping_cifar10", EARLY_STOPPING), ("patch_size_cifar10", PATCH_SIZES)]
)
def test_stored_trainings_keep_the_rule(name: str, grid: StudyGrid) -> None:
    result = read_result(name)
    settings: dict[str, Any] = dict(result.settings)
    assert (settings["most_updates"], settings["patience_evaluations"]) == (12_000, PATIENCE)
    for row in result.rows:
        check_row(row, grid)
