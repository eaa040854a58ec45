"""Define wrong position tables on MNIST, to find what gives the 68 % that the lecture printed for a poor one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vitviz.experiments.experiment import Cell, Experiment, TrainingSetup, train_cell
from vitviz.models.presets import GREY_28
from vitviz.sinusoids import sincos_1d, sincos_1d_slip, sincos_2d_concat, sincos_2d_sum
from vitviz.training.position_race import RACES

NAME = "position_errors"
PREPARATION = GREY_28
MODEL, TRAIN = RACES["mnist"].model, replace(RACES["mnist"].train, precision="fp32", threads=1, snapshots=1)
EPOCHS = 2.0
Table = Callable[[int, int, int], NDArray[np.float64]]  # (rows, columns, D) -> (rows * columns, D)


@dataclass(frozen=True)
class PositionError:
    """A position table, or none."""

    title: str
    table: Table | None


def _random(scale: float, rows: int, cols: int, dim: int) -> NDArray[np.float64]:
    return scale * np.random.default_rng(0).standard_normal((rows * cols, dim))


def _one_d(
    function: Callable[[int, int], NDArray[np.float64]], rows: int, cols: int, dim: int
) -> NDArray[np.float64]:
    return function(rows * cols, dim)


ERRORS = {
    "none": PositionError("No positions", None),
    "sincos_2d": PositionError("2-D, concatenated", sincos_2d_concat),
    "sincos_1d": PositionError("1-D", partial(_one_d, sincos_1d)),
    "sum": PositionError("2-D, summed", sincos_2d_sum),
    "exponent": PositionError("1-D, exponent k/D", partial(_one_d, sincos_1d_slip)),
    "multiplied": PositionError(  # p * 10000^(2i/D), not divided
        "1-D, multiplied by the base", lambda r, c, d: sincos_1d(r * c, d, base=1e-4)
    ),
    "integer": PositionError(  # 2i // D is 0 for every column
        "1-D, integer division", lambda r, c, d: sincos_1d(r * c, d, base=1.0)
    ),
    "scaled_1d": PositionError("1-D, ten times as large", lambda r, c, d: 10 * sincos_1d(r * c, d)),
    "constant": PositionError(
        "One vector for all", lambda r, c, d: np.repeat(_random(1.0, 1, 1, d), r * c, 0)
    ),
    "index": PositionError(
        "Index added to all channels", lambda r, c, d: np.repeat(np.arange(float(r * c))[:, None], d, 1)
    ),
    "row": PositionError("Only the row", lambda r, c, d: np.repeat(sincos_1d(r, d), c, axis=0)),
    **{
        f"random_{scale}": PositionError(f"Random, deviation {scale}", partial(_random, scale))
        for scale in (1, 10, 30, 100)
    },
}


def experiment() -> Experiment:
    """Return a small model with right and wrong position tables on MNIST."""
    cells: list[Cell] = [{"positions": error, "epochs": EPOCHS, "seed": 0} for error in ERRORS]
    return Experiment(
        NAME, "Wrong position tables", cells, partial(train_cell, configure), {"dataset": "mnist"}
    )


def configure(cell: Cell) -> TrainingSetup:
    """Return the model with one table, which no update changes."""
    import torch

    from vitviz.models.zoo import create_model

    table, train = ERRORS[cell["positions"]].table, replace(TRAIN, epochs=cell["epochs"])
    if table is None:
        return TrainingSetup(replace(MODEL, positions="none"), train, PREPARATION)
    model = replace(MODEL, positions="learned", position_on_prefix=False, sincos_on_prefix=False)
    start = create_model(model, cell["seed"]).state_dict()
    start["pos_embed"] = torch.from_numpy(table(*model.grid, model.embed_dim))[None].float()
    train = replace(train, frozen=("pos_embed",), start_from=cell["positions"], start_digest="table")
    return TrainingSetup(model, train, PREPARATION, start)
