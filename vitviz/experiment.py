"""Name the experiments and measure one: `python -m vitviz.experiment NAME` writes checkpoints/results/NAME.json.

The same command continues an interrupted measurement; every row is written at once.
"""

import argparse
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from tqdm import tqdm

from vitviz.experiments import (
    bugs,
    changed_models,
    conv_attention,
    data_size,
    data_size_training,
    distillation,
    faces,
    gradients,
    hyperparameters,
    image_sets,
    lecture_results,
    position_errors,
    readouts,
    robustness,
    transfer,
    transfer_plan,
    tuning_methods,
)
from vitviz.experiments.experiment import Cell, Experiment, collected, run, run_on_cluster
from vitviz.experiments.result_file import RESULTS, Row, write_result
from vitviz.malloc import keep_freed

EXPERIMENTS: dict[str, Callable[[], Experiment]] = {
    f"data_size_{dataset}": partial(data_size_training.experiment, dataset) for dataset in data_size.GRIDS
}
EXPERIMENTS["early_stopping_cifar10"] = data_size_training.early_stopping
EXPERIMENTS["patch_size_cifar10"] = data_size_training.patch_sizes
EXPERIMENTS[lecture_results.NAME] = lecture_results.experiment
EXPERIMENTS[position_errors.NAME] = position_errors.experiment
EXPERIMENTS[conv_attention.NAME] = conv_attention.experiment
EXPERIMENTS[robustness.NAME] = robustness.experiment
EXPERIMENTS |= {
    f"teaching_{dataset}": partial(distillation.experiment, dataset) for dataset in distillation.SIZES
}
EXPERIMENTS[faces.NAME] = faces.experiment
EXPERIMENTS |= {
    "weight_bits": changed_models.weight_bits,
    "swin_sizes": changed_models.swin_sizes,
    "exchanged_tokens": changed_models.exchanged_tokens,
}
EXPERIMENTS[gradients.NAME] = gradients.experiment
EXPERIMENTS["readouts_digits"] = readouts.experiment
EXPERIMENTS[image_sets.NAME] = image_sets.experiment
EXPERIMENTS["one_knob_digits"] = partial(hyperparameters.experiment, "digits")
EXPERIMENTS |= {f"one_slip_{dataset}": partial(bugs.experiment, dataset) for dataset in bugs.SEEDS}
EXPERIMENTS |= {name: partial(transfer.experiment, plan) for name, plan in transfer_plan.PLANS.items()}
EXPERIMENTS[tuning_methods.NAME] = tuning_methods.experiment
PROJECT = Path(__file__).resolve().parents[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the missing cells and write the results after each."""
    options = _options(arguments)
    experiment = EXPERIMENTS[options.name]()
    folder = options.folder or PROJECT / "runs" / "experiments" / options.name
    cells = experiment.cells[: options.cells]
    command = shlex.join(["python", "-m", "vitviz.experiment", options.name])
    for row in tqdm(_rows(experiment, folder, cells), total=len(cells), unit="cell", disable=None):
        tqdm.write(f"{row['cell']} {_short(row['found'])}")
        write_result(collected(experiment, folder, command), options.out)
    print(write_result(collected(experiment, folder, command), options.out))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m vitviz.experiment", description=main.__doc__)
    parser.add_argument("name", choices=sorted(EXPERIMENTS))
    parser.add_argument(
        "--cells", type=int, help="measure only the first CELLS cells (a cell is a setting with a seed)"
    )
    parser.add_argument(
        "--folder", type=Path, help="folder of intermediate results; default: runs/experiments/NAME"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results file")
    return parser.parse_args(arguments)


def _rows(experiment: Experiment, folder: Path, cells: Sequence[Cell]) -> Iterator[Row]:
    """Measure here, or on the cluster in $VITVIZ_DASK."""
    address = os.environ.get("VITVIZ_DASK", "").strip()
    return run_on_cluster(experiment, folder, cells, address) if address else run(experiment, folder, cells)


def _short(row: Row) -> str:
    return ", ".join(f"{name} {entry}" for name, entry in row.items() if isinstance(entry, int | float | str))


if __name__ == "__main__":
    keep_freed()
    raise SystemExit(main())
