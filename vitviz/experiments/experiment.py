"""Define an experiment, and run it cell by cell: resumable, on this machine or on a Dask cluster."""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from vitviz.config import ModelConfig, Preparation, TrainConfig
from vitviz.experiments.result_file import Made, Result, Row
from vitviz.training.atomic_files import append_lines, read_lines

Cell = dict[str, Any]  # plain JSON values that name one measurement
MeasureCell = Callable[[Cell, Path], dict[str, Any]]


@dataclass(frozen=True)
class Experiment:
    """A named experiment: a list of cells and a function that measures one.

    Attributes:
        cells: what is measured, most wanted first; each names itself by its values.
        measure: (a cell, the experiment's folder for what cells share) -> the numbers found; the same on every call
            of one seed on one thread.
        settings: what all cells have in common, for who reads the results.
    """

    name: str
    title: str
    cells: Sequence[Cell]
    measure: MeasureCell
    settings: Row = field(default_factory=dict)

    def __post_init__(self) -> None:
        keys = [_key(cell) for cell in self.cells]
        if not keys or len({*keys}) < len(keys):
            raise ValueError(
                f"{self.name} needs cells that differ, received {len(keys)} of {len({*keys})} kinds"
            )


@dataclass(frozen=True)
class TrainingSetup:
    """Hold what one cell trains: a model, its recipe but for the seed, its images, and weights to start from."""

    model: ModelConfig
    train: TrainConfig
    preparation: Preparation
    start: Any = None


def describe_recipe(train: TrainConfig) -> dict[str, Any]:
    """Return the settings of an experiment whose trainings share a recipe."""
    return {name: getattr(train, name) for name in ("dataset", "epochs", "batch_size", "learning_rate")}


def train_cell(
    configure: Callable[[Cell], TrainingSetup], cell: Cell, folder: Path, epochs: float | None = None
) -> dict[str, Any]:
    """Train one cell.

    Args:
        epochs: None: the recipe's; a test's are fewer.
    """
    from vitviz.experiments.single_run import prepare_data, trained
    from vitviz.models import model_cost

    setup = configure(cell)
    train = replace(setup.train, seed=cell["seed"], epochs=epochs or setup.train.epochs)
    splits = prepare_data(setup.preparation, replace(train, batch_size=1, seed=0))
    size = sum(model_cost.parameters(setup.model).values())
    return {"parameters": size} | trained(setup.model, train, splits, start=setup.start).row


def run(experiment: Experiment, folder: Path, cells: Sequence[Cell] | None = None) -> Iterator[Row]:
    """Measure the cells missing in `folder` and yield every row.

    Args:
        experiment: what is measured.
        folder: keeps 'rows.jsonl' and what cells share; the same call goes on where it stopped.
        cells: only these; None: all of them.
    """
    _read_finished_cells(folder)
    for cell in experiment.cells if cells is None else cells:
        # The rows are read before each cell, so that two processes can share a folder.
        if _key(cell) not in {_key(row["cell"]) for row in _read_rows(folder)}:
            row = measure_cell(experiment, cell, folder)
            append_lines(folder / "rows.jsonl", [row])
            yield row


def run_on_cluster(
    experiment: Experiment, folder: Path, cells: Sequence[Cell], address: str
) -> Iterator[Row]:
    """Measure cells like `run`, each as a task of a Dask cluster that shares `folder`.

    Raises:
        OSError: if the scheduler does not answer.
    """
    distributed: Any = import_module("distributed")
    finished = _read_finished_cells(folder)
    wanted = [cell for cell in cells if _key(cell) not in finished]
    if not wanted:
        return
    with distributed.Client(address, timeout=5.0, set_as_default=False) as client:
        tasks = client.map(lambda cell: measure_cell(experiment, cell, folder), wanted, pure=False)
        for _, row in distributed.as_completed(tasks, with_results=True, loop=client.loop):
            append_lines(folder / "rows.jsonl", [row])
            yield row


def measure_cell(experiment: Experiment, cell: Cell, folder: Path) -> dict[str, Any]:
    """Return one row: the cell, its measurements on one thread, processor seconds and provenance."""
    import torch

    from vitviz.training.provenance import commit, processor

    torch.set_num_threads(1)
    spent = time.process_time()
    measured = experiment.measure(cell, folder)
    seconds = round(time.process_time() - spent, 1)
    machine = f"{processor()}, 1 thread, torch {torch.__version__}"
    made = Made(commit(), time.strftime("%Y-%m-%d"), machine)
    return {"cell": cell, "found": measured, "core_seconds": seconds, "made": vars(made)}


def collected(experiment: Experiment, folder: Path, command: str) -> Result:
    """Return the result of all cells that were measured in `folder`, in the experiment's order."""
    stored_rows = {_key(row["cell"]): row for row in _read_rows(folder)}
    wanted = [stored_rows[_key(cell)] for cell in experiment.cells if _key(cell) in stored_rows]
    made = tuple(dict.fromkeys(Made(**row["made"]) for row in wanted))
    rows = tuple(
        {
            **row["cell"],
            **row["found"],
            "core_seconds": row["core_seconds"],
            "made": made.index(Made(**row["made"])),
        }
        for row in wanted
    )
    missing = len(experiment.cells) - len(wanted)
    return Result(
        name=experiment.name,
        title=experiment.title,
        command=command,
        settings=experiment.settings,
        made=made,
        rows=rows,
        missing=missing,
    )


def _read_finished_cells(folder: Path) -> set[str]:
    """Return the cells that the folder holds; a last row that a killed process left torn is cut off."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "rows.jsonl"
    rows, end = read_lines(path)
    if path.exists() and path.stat().st_size > end:
        os.truncate(path, end)
    return {_key(row["cell"]) for row in rows}


def _read_rows(folder: Path) -> list[dict[str, Any]]:
    return read_lines(folder / "rows.jsonl")[0]


def _key(cell: Cell) -> str:
    return json.dumps(cell, sort_keys=True)
