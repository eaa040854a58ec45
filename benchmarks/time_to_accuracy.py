"""Time this project's presets and the lecture's training loops until the lecture's accuracies.

    python benchmarks/time_to_accuracy.py            # the lecture's loops to their end: about half an hour
    python benchmarks/time_to_accuracy.py --quick    # a few hundred steps of each; the median is extrapolated
    python benchmarks/time_to_accuracy.py --quick D  # the same, but recipe D to its end: five minutes more

The lecture's loop is plain PyTorch as in a notebook: a dataset of PIL images, ToTensor and Normalize, a DataLoader with
its default workers, fp32, torch's default threads; only its training epochs are timed. Ours is the preset as the live
lab trains it, complete, with three seeds, timed from the arrays in memory to the last event, with all validations and
the test. The median accuracy must reach the target. A preset has the threads of a run that starts alone: one per core,
or one with BatchNorm. Writes benchmarks/time_to_accuracy.md; --small is --quick with one seed and writes nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vitviz.data.datasets import load_dataset  # noqa: E402
from vitviz.torchvision_fix import import_torchvision  # noqa: E402
from vitviz.training.batches import prepare_training_data  # noqa: E402
from vitviz.training.loop import Trainer, train  # noqa: E402
from vitviz.training.presets import TRAINING_PRESETS  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402
from vitviz.training.records import Ended, Evaluation  # noqa: E402
from vitviz.training.run_config import RunConfig  # noqa: E402

import_torchvision()
from torchvision import transforms  # noqa: E402

QUICK_STEPS = 200
SEEDS = 3
WARM_UP_STEPS = 5


class Pictures(TorchDataset):
    """What torchvision's MNIST and CIFAR10 are: arrays in memory, a PIL picture and a transform for each item."""

    def __init__(self, images: np.ndarray, labels: np.ndarray, mean: float, std: float) -> None:
        grey = images.shape[3] == 1
        self.images, self.labels = images[..., 0] if grey else images, labels
        channels = 1 if grey else 3
        self.transform = transforms.Compose(
            [transforms.ToTensor(), transforms.Normalize((mean,) * channels, (std,) * channels)]
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return self.transform(Image.fromarray(self.images[index])), int(self.labels[index])


def sines(count: int, dim: int) -> Tensor:
    """Return (count, dim): sin(p / 10000^(2i/D)) and its cosine in turn (Vaswani et al. 2017)."""
    table = torch.zeros(count, dim)
    angle = torch.arange(count)[:, None] / 10000 ** (torch.arange(0, dim, 2) / dim)
    table[:, 0::2], table[:, 1::2] = angle.sin(), angle.cos()
    return table


class RecipeA(nn.Module):
    """CIFAR-10: patch 8, D 64, post-norm nn.TransformerEncoder, row and column sines summed, none on [CLS]."""

    def __init__(self) -> None:
        super().__init__()
        self.patch_embed = nn.Linear(8 * 8 * 3, 64)  # outside the optimiser: stays random
        self.cls = nn.Parameter(torch.zeros(1, 1, 64))
        rows = sines(4, 64)
        self.register_buffer("positions", (rows[:, None] + rows[None]).reshape(16, 64))
        layer = nn.TransformerEncoderLayer(64, 2, 128, 0.1, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 10))

    def forward(self, x: Tensor) -> Tensor:
        patches = F.unfold(x, 8, stride=8).mT  # (B, 16, 192)
        tokens = self.patch_embed(patches) + self.positions
        z = torch.cat([self.cls.expand(len(x), -1, -1), tokens], dim=1)
        return self.head(self.encoder(z)[:, 0])


class RecipeB(nn.Module):
    """MNIST: patch 4, D 64, two pre-norm layers of four heads, learned positions, [CLS]."""

    def __init__(self) -> None:
        super().__init__()
        self.patch_embed = nn.Conv2d(1, 64, 4, 4)
        self.cls = nn.Parameter(torch.zeros(1, 1, 64))
        self.positions = nn.Parameter(torch.randn(1, 50, 64) * 0.02)
        layer = nn.TransformerEncoderLayer(
            64, 4, 256, 0.1, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 10))

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patch_embed(x).flatten(2).mT
        z = torch.cat([self.cls.expand(len(x), -1, -1), tokens], dim=1) + self.positions
        return self.head(self.encoder(z)[:, 0])


class BlockD(nn.Module):
    """Pre-norm attention by hand, scaled by the width instead of the head's, and a ReLU MLP."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(32), nn.LayerNorm(32)
        self.query, self.key, self.value = (nn.Linear(32, 32, bias=False) for _ in range(3))
        self.proj = nn.Linear(32, 32)
        self.mlp = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 32))
        self.dropout = nn.Dropout(0.2)

    def forward(self, x: Tensor) -> Tensor:
        B, N, _ = x.shape
        y = self.norm1(x)
        q, k, v = (part(y).view(B, N, 4, 8).transpose(1, 2) for part in (self.query, self.key, self.value))
        weights = (q @ k.mT / 32**0.5).softmax(dim=-1)
        y = (weights @ v).transpose(1, 2).reshape(B, N, 32)
        x = x + self.dropout(self.proj(y))
        return x + self.dropout(self.mlp(self.norm2(x)))


class RecipeD(nn.Module):
    """MNIST: patch 7, D 32; 'positions' are a second map of the pixels; softmax before the cross-entropy."""

    def __init__(self) -> None:
        super().__init__()
        self.patch_embed, self.positions = nn.Linear(49, 32), nn.Linear(49, 32)
        self.dropout = nn.Dropout(0.2)
        self.blocks = nn.Sequential(*(BlockD() for _ in range(3)))
        self.head = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 10))

    def forward(self, x: Tensor) -> Tensor:
        patches = F.unfold(x, 7, stride=7).mT  # (B, 16, 49)
        z = self.blocks(self.dropout(self.patch_embed(patches) + self.positions(patches)))
        return self.head(z[:, 0]).softmax(dim=-1)


@dataclass(frozen=True)
class Target:
    """An accuracy that the lecture reports, its recipe, and the preset that is to be there `aim` times sooner."""

    recipe: str
    stated: float
    dataset: str
    model: Callable[[], nn.Module]
    optimizer: Callable[[nn.Module], torch.optim.Optimizer]
    batch: int
    epochs: int
    mean_std: tuple[float, float]
    preset: str
    aim: int


TARGETS = (
    Target(
        "B",
        0.98,
        "mnist",
        RecipeB,
        lambda model: torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01),
        256,
        10,
        (0.1307, 0.3081),
        "mnist_fast",
        65,
    ),
    Target(
        "D",
        0.9065,
        "mnist",
        RecipeD,
        lambda model: torch.optim.Adam(model.parameters(), lr=3e-4),
        64,
        20,
        (0.1307, 0.3081),
        "mnist_90",
        75,
    ),
    Target(
        "A",
        0.5676,
        "cifar10",
        RecipeA,
        lambda model: torch.optim.Adam(
            [p for name, p in model.named_parameters() if not name.startswith("patch_embed")], lr=1e-3
        ),
        128,
        100,
        (0.5, 0.5),
        "cifar10_fast",
        95,
    ),
)


@dataclass(frozen=True)
class Lecture:
    """What the lecture's side took; `accuracy` is None where it was extrapolated."""

    seconds: float
    accuracy: float | None
    steps_ms: tuple[
        float, float, float
    ]  # 10th percentile, median, 90th: far apart on a machine that was not quiet


def lecture(target: Target, quick_steps: int | None) -> Lecture:
    """Train a recipe to its stated epochs, or time some of its steps."""
    dataset = load_dataset(target.dataset)
    torch.manual_seed(0)
    pictures = Pictures(dataset.train_images, dataset.train_labels, *target.mean_std)
    loader = DataLoader(pictures, batch_size=target.batch, shuffle=True)
    model = target.model().train()
    optimizer, criterion = target.optimizer(model), nn.CrossEntropyLoss()
    if quick_steps is not None:
        times = epoch(model, loader, optimizer, criterion, WARM_UP_STEPS + quick_steps)[WARM_UP_STEPS:]
        # The median: a moment in which the machine did something else does not count for the lecture.
        return Lecture(statistics.median(times) * len(loader) * target.epochs, None, spread(times))
    times = [t for _ in range(target.epochs) for t in epoch(model, loader, optimizer, criterion)]
    tests = Pictures(dataset.test_images, dataset.test_labels, *target.mean_std)
    model.eval()
    with torch.no_grad():
        hits = sum(
            int((model(x).argmax(dim=1) == y).sum()) for x, y in DataLoader(tests, batch_size=target.batch)
        )
    return Lecture(sum(times), hits / len(tests), spread(times))


def spread(seconds: list[float]) -> tuple[float, float, float]:
    """10th percentile, median and 90th percentile, in ms."""
    low, middle, high = (1e3 * float(value) for value in np.percentile(seconds, (10, 50, 90)))
    return low, middle, high


def epoch(
    model: nn.Module,
    loader: DataLoader,
    optimizer: torch.optim.Optimizer,
    criterion: nn.Module,
    steps: int | None = None,
) -> list[float]:
    """Return the loop of every notebook; seconds of each step of an epoch, loading included, or of its first steps."""
    times, mark = [], time.perf_counter()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        loss.item()  # the running loss that is printed
        times.append(time.perf_counter() - mark)
        mark += times[-1]
        if len(times) == steps:
            break
    return times


@dataclass(frozen=True)
class Ours:
    """One run of a preset, to its end."""

    seconds: float
    accuracy: float


def given(name: str) -> RunConfig:
    """Return a preset as the lab starts it where it is alone."""
    preset = TRAINING_PRESETS[name]
    asked = RunConfig(preset.model, preset.preparation, replace(preset.train, threads=0))
    return asked.on_threads(os.cpu_count() or 1)


def ours(name: str, seed: int) -> Ours:
    """Train a preset as a run of the lab does."""
    preset = given(name)
    config = replace(preset.train, seed=seed)
    dataset = load_dataset(config.dataset)
    began = time.perf_counter()
    trainer = Trainer(preset.model, config, prepare_training_data(dataset, preset.preparation, config))
    accuracy, state = float("nan"), ""
    for event in train(trainer):
        if isinstance(event, Evaluation) and event.split == "test":
            accuracy = event.accuracy
        elif isinstance(event, Ended):
            state = event.reason
    seconds = time.perf_counter() - began
    if state != "done":
        raise RuntimeError(f"{name}, seed {seed}, ended as {state!r} instead of 'done'")
    return Ours(seconds, accuracy)


def machine() -> str:
    """Processor, cores and versions."""
    return f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, torch {torch.__version__}"


def row(target: Target, theirs: Lecture, runs: list[Ours]) -> str:
    preset = TRAINING_PRESETS[target.preset]
    data = {"mnist": "MNIST", "cifar10": "CIFAR-10"}[target.dataset]
    seconds = statistics.median(run.seconds for run in runs)
    accuracy = statistics.median(run.accuracy for run in runs)
    each = ", ".join(f"{100 * run.accuracy:.2f}" for run in runs)
    took = ", ".join(f"{run.seconds:.1f}" for run in runs)
    reached = accuracy >= target.stated
    ratio = theirs.seconds / seconds
    low, middle, high = theirs.steps_ms
    verdict = f"**{ratio:.0f} ×** (aim {target.aim})" + ("" if reached else ", accuracy not reached")
    found = "extrapolated" if theirs.accuracy is None else f"{100 * theirs.accuracy:.2f} % here"
    return (
        f"| {data} {100 * target.stated:g} % ({target.recipe}) | {theirs.seconds:,.0f} s, {found}"
        f" ({target.epochs} epochs, {middle:.0f} ms per step, {low:.0f} to {high:.0f})"
        f" | `{preset.name}`: {seconds:.1f} s ({took}) |"
        f" {100 * accuracy:.2f} % ({each}) | {verdict} |"
    )


def report(rows: list[str], quick: str | None, threads: int) -> str:
    how, command = "The lecture's loop ran for its stated epochs.", "python benchmarks/time_to_accuracy.py"
    if quick is not None:
        end = f"; only {quick} was trained to its end" if quick else ""
        how = f"The time of the lecture's loop is **extrapolated** from {QUICK_STEPS} steps each{end}."
        command = f"{command} --quick {quick}".rstrip()
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return "\n".join(
        [
            "# Time to the lecture's accuracies",
            "",
            f"`{command}`, {date.today().isoformat()}; {machine()}; load {load} at the end.",
            "",
            f"{how} It uses torch's default of {threads} threads, a DataLoader with its default workers, PIL images"
            " and fp32; only its training epochs are timed (per step: median, 10th to 90th percentile). Ours: medians"
            " of three complete trainings with different seeds, timed from the arrays in memory to the last event,"
            " with splitting, model creation, all validations and the test. Accuracies are on the test set, which was"
            " used for no choice.",
            "",
            "| target (recipe) | the lecture's loop | ours: median (each) | test accuracy (each) | speedup |",
            "|---|---|---|---|---|",
            *rows,
            "",
            *(
                f"`{target.preset}`: {TRAINING_PRESETS[target.preset].summary}"
                f" Threads: {given(target.preset).train.threads}.\n"
                for target in TARGETS
            ),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick",
        nargs="?",
        const="",
        choices="BDA",
        help="time some steps of the lecture's side only, but train this recipe to its end",
    )
    parser.add_argument("--small", action="store_true", help="--quick with one seed; writes nothing")
    arguments = parser.parse_args()
    if arguments.small:
        arguments.quick = ""
    threads = torch.get_num_threads()
    rows = []
    for target in TARGETS:
        torch.set_num_threads(threads)
        whole = arguments.quick in (None, target.recipe)
        theirs = lecture(target, None if whole else QUICK_STEPS)
        found = [ours(target.preset, seed) for seed in range(1 if arguments.small else SEEDS)]
        rows.append(row(target, theirs, found))
        print(rows[-1], flush=True)
    text = report(rows, arguments.quick, threads)
    if not arguments.small:
        Path(__file__).with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
