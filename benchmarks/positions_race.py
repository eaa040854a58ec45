"""Train one model per positional encoding and dataset for the study 'Do positions matter?'.

    python benchmarks/positions_race.py            # writes checkpoints/positions_race.json
    python benchmarks/positions_race.py --codes none rotary   # adds rotary positions to the stored results
    python benchmarks/positions_race.py --datasets shapes --epochs 0.1 --out /tmp/race.json   # a short test

The models have the same seed and order of images and train in turn in one run (vitviz/training/position_race.py).
At the end each is also tested on images with shuffled patches. `mnist` must be in $VITVIZ_DATA or downloadable.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from vitviz.checkpoints import load_checkpoint  # noqa: E402
from vitviz.config import to_dict  # noqa: E402
from vitviz.training.position_race import CODES, RACES, positions_race  # noqa: E402
from vitviz.training.records import Event, StepRecord  # noqa: E402
from vitviz.training.run_directory import Run  # noqa: E402
from vitviz.training.run_trainer import Session  # noqa: E402


def race(name: str, epochs: float | None, codes: Sequence[str] = tuple(CODES)) -> dict[str, Any]:
    """Train the codes on one data set; curves, and the test accuracy whole and on shuffled patches."""
    config = positions_race(name, **({} if epochs is None else {"epochs": epochs}))
    members = tuple(member for member in config.members if member.name in codes)
    config = replace(config, model=members[0].model, members=members)
    with tempfile.TemporaryDirectory() as folder, tqdm(desc=name, unit="step", mininterval=1.0) as bar:
        run = Run.create(folder, config)

        def count(event: Event, _: object) -> None:
            bar.update(isinstance(event, StepRecord))

        began, spent = time.perf_counter(), time.process_time()
        status = Session(run, "cpu", count).perform()
        if status.state != "done":
            raise RuntimeError(f"{name}: {status.state}: {status.message}")
        runs = [result(member) for member in run.members()]
        classes = load_checkpoint(run.members()[0].snapshot_path(0), 0).classes
        return {
            "classes": list(classes),
            "config": to_dict(config.model),
            "train": to_dict(config.train),
            "runs": runs,
            "wall_s": round(time.perf_counter() - began, 1),
            "processor_s": round(time.process_time() - spent, 1),
            "commit": commit(),
        }


def result(member: Run) -> dict[str, Any]:
    """Return what the pages read of one model: its curve, and its last measurement, on the test pictures."""
    records, _ = member.records()
    curve = [
        [round(record["epoch"], 3), round(record["accuracy"], 4)]
        for record in records
        if record["kind"] == "evaluation" and record["split"] == "validation"
    ]
    last = [record for record in records if record["kind"] == "shuffled"][-1]
    print(
        f"{member.config().name:18} test {last['accuracy']:.4f} shuffled {last['shuffled']:.4f}", flush=True
    )
    seconds = round(member.status().seconds, 1)
    return {"positions": member.directory.name, "curve": curve, "measured": last, "seconds": seconds}


def commit() -> str:
    """Return the commit that is measured, short; empty outside a repository."""
    told = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return told.stdout.strip()


def main() -> None:
    """Run the races one after the other and write what they measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=list(RACES), choices=list(RACES))
    parser.add_argument("--epochs", type=float, default=None, help="instead of each recipe's own")
    parser.add_argument("--out", type=Path, default=ROOT / "checkpoints" / "positions_race.json")
    parser.add_argument("--codes", nargs="+", default=list(CODES), choices=list(CODES), help="at least two")
    given = parser.parse_args()
    found = json.loads(given.out.read_text()) if given.out.exists() else {"races": {}}
    for name in given.datasets:
        words = ["python", "benchmarks/positions_race.py", "--datasets", name]
        if given.epochs is not None:
            words += ["--epochs", f"{given.epochs:g}"]
        made = {"command": " ".join(words), "measured": time.strftime("%Y-%m-%d"), "torch": torch.__version__}
        measured = race(name, given.epochs, given.codes)
        before = found["races"].get(name)
        if before is None or len(given.codes) == len(CODES):
            found["races"][name] = measured | made
        else:  # codes that were measured before stay
            known = {run["positions"] for run in before["runs"]}
            added = {"measured_on": made["measured"], "commit": measured["commit"]}
            before["runs"] += [run | added for run in measured["runs"] if run["positions"] not in known]
        given.out.write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
