"""Train the record presets on CIFAR-10 for 15 or 20 minutes of two cores, store each run, and write the table.

    python benchmarks/records/records.py cnn --seeds 0 1 2 3 4  # skips stored runs, resumes interrupted ones
    python benchmarks/records/records.py cnn --threads 2        # on two quiet cores, for the wall time
    python benchmarks/records/records.py                        # only the table: benchmarks/records/records.md

A run is that of the live lab with a test in fp32 at its end. A record with `views` is also tested in the training's
precision on the mean of six views of each image (Jordan 2024). Core-seconds are the processor time from the first
update to the last test; half of them is a lower bound of the wall time on two cores. --small trains a twentieth of an
epoch and writes only to --out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from scipy.stats import ttest_1samp
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from vitviz.checkpoint_header import read_header  # noqa: E402
from vitviz.checkpoints import save_checkpoint  # noqa: E402
from vitviz.malloc import keep_freed  # noqa: E402
from vitviz.training.checkpoint_export import assemble, with_card  # noqa: E402
from vitviz.training.loop import Trainer  # noqa: E402
from vitviz.training.presets import TRAINING_PRESETS  # noqa: E402
from vitviz.training.provenance import PROJECT, commit, processor  # noqa: E402
from vitviz.training.records import Evaluation, Event  # noqa: E402
from vitviz.training.run_config import RunConfig  # noqa: E402
from vitviz.training.run_directory import Run  # noqa: E402
from vitviz.training.run_trainer import Session  # noqa: E402

FOLDER = Path(__file__).resolve().parent
BATCH = 500
SNAPSHOTS = 2  # of a checkpoint


@dataclass(frozen=True)
class Record:
    """A preset, with changes, that is to reach an accuracy within some minutes of two cores.

    Attributes:
        previous: a checkpoint, the best of its kind before.
    """

    title: str
    preset: str
    minutes: int
    target: float | None
    aim: float | None
    previous: str
    changes: dict[str, Any] = field(default_factory=dict)
    views: bool = False


RECORDS = {
    "cnn": Record("CNN", "cifar10_cnn_record", 20, 0.925, 0.94, "cifar10_cnn_wide", views=True),
    "hybrid": Record(
        "Transformer blocks after a convolutional stem",
        "cifar10_hybrid",
        15,
        0.80,
        0.83,
        "cifar10_hybrid",
        {"epochs": 9},
    ),
    "vit": Record(
        "Plain ViT, patch 4",
        "cifar10_vit",
        15,
        None,
        None,
        "cifar10_vit_p8",
        {"epochs": 9, "mixup_alpha": 0.0, "cutmix_alpha": 0.0},
    ),
}


@torch.inference_mode()
def measure_with_views(trainer: Trainer) -> float:
    """Return the test accuracy of averaged logits: half the image, a quarter each of two shifts, all mirrored."""
    hits, test = 0, trainer.splits.test
    with trainer.weights.use_for_evaluation() as model:

        def both(images: Tensor) -> Tensor:
            logits: Tensor = model(images).float() + model(images.flip(-1)).float()
            return logits

        for start in range(0, len(test), BATCH):
            x = trainer.normalise(test.images[start : start + BATCH])
            wide = F.pad(x, (1, 1, 1, 1), mode="reflect")
            logits = 2 * both(x) + both(wide[..., :-2, :-2]) + both(wide[..., 2:, 2:])
            hits += int((logits.argmax(dim=1) == test.labels[start : start + BATCH]).sum())
    return hits / len(test)


def run(name: str, seed: int, asked: argparse.Namespace) -> dict[str, Any]:
    """Train a record's preset to its end, resuming an interrupted run, and return its row."""
    record = RECORDS[name]
    preset = TRAINING_PRESETS[record.preset]
    changes = record.changes | ({"epochs": 0.05, "batch_size": 64} if asked.small else {})
    train = replace(preset.train, clock="core", threads=asked.threads, seed=seed, **changes)
    folder = asked.runs / name_run(name, seed, asked.threads)
    resumed = folder.is_dir()
    if not resumed:
        config = RunConfig(
            preset.model, preset.preparation, train, preset.title, preset.name, commit=commit()
        )
        Run.create(folder.parent, config, folder.name)
    training = Run(folder)
    trainers: list[Trainer] = []

    def listen(event: Event, trainer: Trainer) -> None:
        if isinstance(event, Evaluation):
            print(
                name,
                seed,
                event.split,
                f"{event.epoch:.2f} {event.accuracy:.4f} {event.seconds:.0f}",
                flush=True,
            )
            trainers[:] = [trainer]

    wall = time.perf_counter()
    status = Session(training, "cpu", listen).perform()
    if status.state != "done" or not trainers:
        raise RuntimeError(f"{folder} is {status.state} instead of done: {status.message}")
    trainer, core, row = trainers[0], time.process_time(), {}
    if record.views:
        row["test_with_views"] = measure_with_views(trainer)
    core = trainer.seconds + time.process_time() - core
    read: dict[str, list[list[float]]] = {"validation": [], "test": []}
    for event in training.records()[0]:
        if event["kind"] == "evaluation":
            shown = (round(event["epoch"], 3), round(event["accuracy"], 4), round(event["seconds"], 1))
            read[event["split"]].append(list(shown))
    if asked.checkpoint:
        command = (
            f"python benchmarks/records/records.py {name} --seeds {seed} --checkpoint {asked.checkpoint.name}"
        )
        whole = with_card(assemble(training, SNAPSHOTS), training, preset.summary, command)
        save_checkpoint(asked.checkpoint, whole, half=True)
    return {
        "record": name,
        "preset": record.preset,
        "changes": changes,
        "seed": seed,
        "threads": asked.threads,
        "test": read["test"][-1][1],
        **row,
        "core_s": round(core, 1),
        "wall_s": None if resumed else round(time.perf_counter() - wall, 1),
        "processor": processor(),
        "precision": trainer.precision,
        "torch": torch.__version__,
        "commit": training.config().commit,
        "date": date.today().isoformat(),
        "curve": read["validation"],
    }


def name_run(name: str, seed: int, threads: int) -> str:
    """Return the name of a run's folder and file."""
    return f"{name}_{seed}" if threads == 1 else f"{name}_{seed}_{threads}threads"


def describe_spread(numbers: Sequence[float], form: str) -> str:
    """Return 'median (least to most)'; of one number, itself."""
    middle = f"{statistics.median(numbers):{form}}"
    return middle if len(numbers) == 1 else f"{middle} ({min(numbers):{form}} to {max(numbers):{form}})"


def test_against(target: float | None, accuracies: Sequence[float]) -> str:
    """Return the one-sided p value of Student's t test that the mean exceeds the target."""
    if target is None:
        return "no target"
    if len(accuracies) < 2:
        return f"{target:.1%}: needs two runs"
    p = ttest_1samp(accuracies, target, alternative="greater").pvalue
    return f"{target:.1%}: p = {p:.2g} for {len(accuracies)} runs"


def describe_previous(record: Record) -> str:
    """Return the checkpoint's accuracy, time and machine, and when it passed the target."""
    header = read_header(PROJECT / "checkpoints" / f"{record.previous}.safetensors")
    card = header.card
    text = f"`{record.previous}`: {card['test_accuracy']:.2%} in {card['seconds']:,.0f} s, {card['machine']}"
    passed = [
        event["seconds"]
        for event in header.history
        if event["kind"] == "evaluation"
        and record.target is not None
        and event["split"] == "validation"
        and event["accuracy"] >= record.target
    ]
    return f"{text}; {record.target:.0%} validation accuracy after {passed[0]:,.0f} s" if passed else text


def write_row(record: Record, rows: list[dict[str, Any]]) -> str:
    """Return a record's line of the table."""
    start = f"| {record.title}: `{record.preset}`"
    if not rows:
        return f"{start} | {record.minutes} | no run yet | | | | | {describe_previous(record)} |"
    best = [row.get("test_with_views", row["test"]) for row in rows]
    plain = describe_spread([100 * row["test"] for row in rows], ".2f")
    views = describe_spread([100 * accuracy for accuracy in best], ".2f") if record.views else "–"
    core = describe_spread([row["core_s"] for row in rows], ",.0f")
    quiet = [row["wall_s"] / 60 for row in rows if row["threads"] == 2 and row["wall_s"]]
    wall = (
        f"{describe_spread(quiet, '.1f')} min"
        if quiet
        else f"at least {statistics.median(row['core_s'] for row in rows) / 120:.1f} min"
    )
    cells = (
        f"{start}, {len(rows)} run{'s' * (len(rows) != 1)}",
        f"{record.minutes}",
        plain,
        views,
        core,
        wall,
        test_against(record.target, best),
        f"{describe_previous(record)} |",
    )
    return " | ".join(cells)


def write_table(folder: Path) -> str:
    """Return the report on the stored runs."""
    rows = [json.loads(path.read_text()) for path in sorted(folder.glob("rows/*.json"))]
    machines = sorted({f"{row['processor']}, {row['precision']}, torch {row['torch']}" for row in rows})
    lines = [
        write_row(record, [row for row in rows if row["record"] == name]) for name, record in RECORDS.items()
    ]
    notes = [f"- {row['record']}, seed {row['seed']}: {row['note']}" for row in rows if row.get("note")]
    return "\n".join(
        [
            "# CIFAR-10 in minutes of two cores",
            "",
            "`python benchmarks/records/records.py` writes this table from the runs in `rows/`, one file each.",
            f"Machines: {'; '.join(machines) or 'none'}. Trained on a JPEG re-encoding of CIFAR-10, so accuracies"
            " differ from those on the original.",
            "Accuracies and core-seconds: median (range over seeds). Core-seconds are processor time of training,"
            " validations and tests. Without a run of two threads on quiet cores, half of the core-seconds is a"
            " lower bound of the wall time.",
            "A one-sided t test compares the mean accuracy (of six views if measured) with the target."
            " Earlier checkpoints were not timed again; their machines are named.",
            "",
            "| record | limit, minutes | test, % | test with six views, % | core-seconds | time on two cores | target"
            " | earlier checkpoint |",
            "|---|---|---|---|---|---|---|---|",
            *lines,
            "",
            *notes,
            "",
        ]
    )


def main() -> None:
    """Run what is asked and missing, then write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "records", nargs="*", choices=[[], *RECORDS], help="records to train; none: write only the table"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the table and of rows/")
    parser.add_argument("--runs", type=Path, help="folder of the runs in progress; default: runs/records")
    parser.add_argument(
        "--checkpoint", type=Path, help="write the run as a checkpoint; needs one record and one seed"
    )
    parser.add_argument("--small", action="store_true", help="a twentieth of an epoch of one seed of each")
    asked = parser.parse_args()
    asked.runs = asked.runs or (asked.out if asked.out != FOLDER else PROJECT) / "runs" / "records"
    if asked.small and asked.out == FOLDER:
        parser.error("--small needs --out: its runs are no records")
    keep_freed()
    (asked.out / "rows").mkdir(parents=True, exist_ok=True)
    for name in RECORDS if asked.small else asked.records:
        for seed in asked.seeds[:1] if asked.small else asked.seeds:
            path = asked.out / "rows" / f"{name_run(name, seed, asked.threads)}.json"
            if not path.exists():
                path.write_text(json.dumps(run(name, seed, asked)) + "\n")
    (asked.out / "records.md").write_text(write_table(asked.out))


if __name__ == "__main__":
    main()
