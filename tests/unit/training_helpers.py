"""Small runs for the training tests: a toy set that a tiny ViT learns in a second."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from vitviz.checkpoints import load_checkpoint
from vitviz.config import Preparation, TrainConfig, ViTConfig
from vitviz.training.batches import PreparedImages, TrainingData
from vitviz.training.loop import Trainer
from vitviz.training.records import Event, StepRecord
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import START, Run
from vitviz.training.run_trainer import Session

MODEL = ViTConfig(image_size=8, patch_size=4, in_chans=1, num_classes=2, embed_dim=16, depth=1, num_heads=2)
PREPARATION = Preparation(image_size=8, mean=(0.5,), std=(0.5,))
TRAIN = TrainConfig(epochs=4, batch_size=16, learning_rate=3e-2, snapshots=5, precision="fp32")

TINY = ViTConfig(image_size=32, patch_size=8, in_chans=1, embed_dim=16, depth=1, num_heads=2)
GREY = Preparation(image_size=32, mean=(0.5,), std=(0.5,), digit=True)


def toy_data(count: int = 100) -> TrainingData:
    """Bright left half or bright right half."""
    dice = torch.Generator().manual_seed(0)

    def part(size: int) -> PreparedImages:
        labels = torch.randint(0, 2, (size,), generator=dice)
        images = torch.randint(0, 100, (size, 1, 8, 8), generator=dice)
        images[labels == 0, :, :, :4] += 120
        images[labels == 1, :, :, 4:] += 120
        return PreparedImages(images.to(torch.uint8), labels)

    return TrainingData(part(count), part(40), part(40), PREPARATION, ("left", "right"))


def digits_run(root: Path, **changes: object) -> Run:
    """A run on a tenth of the digits: some ten updates."""
    values = {"epochs": 4, "batch_size": 32, "train_fraction": 0.1, "snapshots": 4, "learning_rate": 3e-3}
    train = TrainConfig(**(values | changes))  # type: ignore[arg-type]
    return Run.create(root, RunConfig(TINY, GREY, train, name="tiny"))


def command_at(run: Run, step: int, command: str, **values: float) -> Session:
    """A session that receives a command while its first model makes a step."""
    reported = []

    def listen(event: Event, _: Trainer) -> None:
        if isinstance(event, StepRecord) and event.step == step and not reported:
            reported.append(step)
            run.control(command, **values)

    return Session(run, "cpu", listen)


def of_kind(run: Run, kind: str) -> list[dict[str, Any]]:
    return [record for record in run.records()[0] if record["kind"] == kind]


def same_weights(one: Run, other: Run) -> bool:
    """Whether two runs have the same snapshots, and the same weights in the last."""
    step = one.snapshots()[-1]
    first, second = (load_checkpoint(run.snapshot_path(step)).snapshots[step] for run in (one, other))
    return one.snapshots() == other.snapshots() and all(
        torch.equal(tensor, second[name]) for name, tensor in first.items()
    )


def same_steps(one: Run, other: Run) -> bool:
    keys = ("step", "loss", "accuracy", "gradient_norm", "learning_rate")
    first, second = (
        [[record[key] for key in keys] for record in of_kind(run, "step")] for run in (one, other)
    )
    return first == second


def duplicate(run: Run, **changes: Any) -> Run:
    """Create a run beside this one with other `RunConfig` fields; it starts from the beginning."""
    config, start = replace(run.config(), created=0.0, **changes), run.directory / START
    return Run.create(run.directory.parent, config, start=start.read_bytes() if start.is_file() else None)
