"""Export a finished run as one checkpoint file with a model card, and measure its accuracy."""

import time
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from vitviz.analysis.mistakes import confusion_counts
from vitviz.checkpoints import Checkpoint, load_checkpoint
from vitviz.data.datasets import DATASETS, load_dataset
from vitviz.devices import choose_device
from vitviz.models.model_cost import parameters
from vitviz.text import plural
from vitviz.training.batches import prepare_test_images
from vitviz.training.loop import predict_exactly
from vitviz.training.provenance import processor
from vitviz.training.run_directory import Run, RunError
from vitviz.training.snapshot_files import teacher_identity

HISTORY_POINTS = 200  # of the training curve; evaluations are all kept
LICENCE = "MIT, as this project"
NOT_FOR = "anything but teaching: it was trained on one small dataset"
CIFAR_NOTE = "a JPEG re-encoding of CIFAR-10, so accuracies differ slightly from those on the original"


@dataclass(frozen=True)
class TestResult:
    """A model's result on a test set; confusion[true][predicted] counts images."""

    accuracy: float
    loss: float
    images: int
    confusion: list[list[int]]


def measure(checkpoint: Checkpoint, dataset: str, device: str = "cpu") -> TestResult:
    """Run the checkpoint's last step over a dataset's test images, in fp32."""
    state = checkpoint.snapshots[max(checkpoint.snapshots)]
    images = prepare_test_images(load_dataset(dataset), checkpoint.preparation)
    preparation, where = checkpoint.preparation, choose_device(device)
    logits = predict_exactly(checkpoint.config, state, preparation, images, where)
    guesses, classes = logits.argmax(dim=1), len(checkpoint.classes)
    return TestResult(
        (guesses == images.labels).double().mean().item(),
        F.cross_entropy(logits, images.labels).item(),
        len(images),
        confusion_counts(images.labels.numpy(), guesses.numpy(), classes).tolist(),
    )


def assemble(run: Run, most_steps: int | None = None) -> Checkpoint:
    """Return all snapshots of a run in one checkpoint, with its history.

    Args:
        run: with at least one snapshot.
        most_steps: keep so many snapshots at most, the first and the last among them; None: all.

    Raises:
        RunError: if there is no snapshot.
    """
    config = run.config()
    steps = run.snapshots()
    if not steps:
        raise RunError("the run has no snapshot yet: wait for the first one")
    if most_steps is not None and len(steps) > most_steps:
        chosen = [round(i * (len(steps) - 1) / max(most_steps - 1, 1)) for i in range(most_steps)]
        steps = [steps[i] for i in chosen]
    parts = [load_checkpoint(run.snapshot_path(step), step) for step in steps]
    return Checkpoint(
        config=config.model,
        preparation=config.preparation,
        train=config.train,
        classes=parts[-1].classes,
        history=history(run),
        snapshots={step: part.snapshots[step] for step, part in zip(steps, parts, strict=True)},
        card={"title": config.name, "preset": config.preset, "seed": config.train.seed},
    )


def history(run: Run) -> list[dict[str, Any]]:
    """Return the run's records, thinned to what a curve needs; confusion matrices are left to the card."""
    records, _ = run.records()
    steps = [record for record in records if record.get("kind") == "step"]
    stride = -(-len(steps) // HISTORY_POINTS) or 1
    selected_ids = {id(record) for record in (*steps[::stride], *steps[-1:])}
    return [
        {key: _short(field) for key, field in record.items() if key != "confusion"}
        for record in records
        if record.get("kind") == "evaluation" or id(record) in selected_ids
    ]


def with_card(checkpoint: Checkpoint, run: Run, summary: str, command: str) -> Checkpoint:
    """Return the checkpoint in fp16 with a card, whose accuracy is measured on the rounded weights."""
    config, status = run.config(), run.status()
    stored = {step: _halved(state) for step, state in checkpoint.snapshots.items()}
    measured = measure(replace(checkpoint, snapshots=stored), config.train.dataset)
    note = DATASETS[config.train.dataset]
    card = {
        **checkpoint.card,
        "summary": summary,
        "dataset": config.train.dataset,
        "source": note.source + (f"; {CIFAR_NOTE}" if config.train.dataset == "cifar10" else ""),
        "command": command,
        "commit": config.commit or "unknown",
        "date": time.strftime("%Y-%m-%d"),
        "seconds": round(status.seconds, 1),
        "machine": f"{processor()}, {plural(max(1, config.train.threads), 'thread')}, {status.precision},"
        f" torch {torch.__version__}",
        "parameters": sum(parameters(checkpoint.config).values()),
        "test_accuracy": measured.accuracy,
        "test_loss": measured.loss,
        "test_images": measured.images,
        "validation_accuracy": status.accuracy,
        "confusion": measured.confusion,
        "teacher": teacher_identity(run),
        "licence": LICENCE,
        "not_for": NOT_FOR,
    }
    return replace(checkpoint, snapshots=stored, card=card)


def _halved(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name: tensor.half().float() if tensor.is_floating_point() else tensor
        for name, tensor in state.items()
    }


def _short(field: Any) -> Any:
    return float(f"{field:.5g}") if isinstance(field, float) else field
