"""Compare one training step of recipe B (MNIST, patch 4, D 64, 4 heads, 2 layers, batch 256) with other libraries.

    python benchmarks/train_step.py [--rounds 20] [--epochs 1] [--threads 2] [--dropout 0.1] [--small]

All train the same model on the same batches: this project as its training loop does, timm, vit-pytorch and
nn.TransformerEncoder as their READMEs show, in fp32 and under bf16 autocast. The others use threads inside operations;
ours split the batch ('unsplit batch': as the others). Interleaved medians. Each then trains with the same seed, and its
test accuracy is listed. Writes benchmarks/train_step.md; --small runs one round and one epoch and writes nothing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import date
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vitviz.config import TrainConfig  # noqa: E402
from vitviz.data.datasets import load_dataset  # noqa: E402
from vitviz.models.presets import PRESETS  # noqa: E402
from vitviz.models.zoo import create_model  # noqa: E402
from vitviz.torchvision_fix import import_torchvision  # noqa: E402
from vitviz.training.augmentation import Mixture  # noqa: E402
from vitviz.training.optimizers import make_optimizers  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402
from vitviz.training.training_step import ThreadPool  # noqa: E402
from vitviz.training.weights import Weights  # noqa: E402

import_torchvision()
from timm.models.vision_transformer import VisionTransformer as TimmViT  # noqa: E402
from vit_pytorch import ViT as VitPytorch  # noqa: E402

BATCH, RATE, DECAY = 256, 1e-3, 0.01
SMALL_BATCH, SMALL_COUNT = 8, 64  # of --small
RECIPE = PRESETS["recipe_b"]
Step = Callable[[Tensor, Tensor], None]


class EncoderClassifier(nn.Module):
    """nn.TransformerEncoder with a patch convolution, a [CLS] token and learned positions."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.embed = nn.Conv2d(1, 64, 4, 4)
        self.cls = nn.Parameter(torch.zeros(1, 1, 64))
        self.positions = nn.Parameter(torch.randn(1, 50, 64) * 0.02)
        layer = nn.TransformerEncoderLayer(
            64, 4, 256, dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(64), enable_nested_tensor=False)
        self.head = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.embed(x).flatten(2).mT
        z = torch.cat([self.cls.expand(len(x), -1, -1), tokens], dim=1) + self.positions
        return self.head(self.encoder(z)[:, 0])


def peers(dropout: float) -> dict[str, Callable[[], nn.Module]]:
    return {
        "timm": lambda: TimmViT(
            img_size=28,
            patch_size=4,
            in_chans=1,
            num_classes=10,
            embed_dim=64,
            depth=2,
            num_heads=4,
            proj_drop_rate=dropout,
            pos_drop_rate=dropout,
        ),
        "vit-pytorch": lambda: VitPytorch(
            image_size=28,
            patch_size=4,
            channels=1,
            num_classes=10,
            dim=64,
            depth=2,
            heads=4,
            dim_head=16,
            mlp_dim=256,
            dropout=dropout,
            emb_dropout=dropout,
        ),
        "nn.TransformerEncoder": lambda: EncoderClassifier(dropout),
    }


class Peer:
    """A peer's model with AdamW, stepped as every tutorial steps it."""

    def __init__(self, build: Callable[[], nn.Module], autocast: bool) -> None:
        torch.manual_seed(0)
        self.model = build().train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=RATE, weight_decay=DECAY)
        self.autocast = autocast

    def logits(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16) if self.autocast else nullcontext():
            return self.model(x)

    def step(self, x: Tensor, y: Tensor) -> None:
        self.optimizer.zero_grad()
        F.cross_entropy(self.logits(x).float(), y).backward()
        self.optimizer.step()


class Ours:
    """The project's model, weights and optimiser, stepped as vitviz.training.loop does."""

    def __init__(self, dropout: float, dtype: torch.dtype, parts: int) -> None:
        config = TrainConfig(
            dataset="mnist", batch_size=BATCH, learning_rate=RATE, weight_decay=DECAY, threads=parts
        )
        torch.manual_seed(0)
        self.model = create_model(replace(RECIPE.config, dropout=dropout)).train()
        self.weights = Weights(self.model, (), dtype, None)
        self.optimizer = make_optimizers(self.weights, config)[0]
        self.crew = ThreadPool(self.weights, config, torch.device("cpu"), None) if parts > 1 else None
        self.dtype, self.steps = dtype, 0

    def logits(self, x: Tensor) -> Tensor:
        return self.weights.model(x.to(self.dtype))

    def step(self, x: Tensor, y: Tensor) -> None:
        if self.crew is not None:
            _, _, gradients = self.crew.learn(x.to(self.dtype), Mixture(y), self.steps)
        else:
            gradients = [self.weights.gradient_of(F.cross_entropy(self.logits(x).float(), y))]
        self.weights.collect_gradient(gradients)
        self.optimizer.step()
        self.weights.publish()
        self.steps += 1


Side = Peer | Ours


def sides(dropout: float, threads: int) -> dict[str, Side]:
    made: dict[str, Side] = {
        "vitviz, bf16": Ours(dropout, torch.bfloat16, threads),
        "vitviz, bf16, unsplit batch": Ours(dropout, torch.bfloat16, 1),
        "vitviz, fp32": Ours(dropout, torch.float32, threads),
    }
    for name, build in peers(dropout).items():
        made[f"{name}, fp32"] = Peer(build, autocast=False)
        made[f"{name}, bf16 autocast"] = Peer(build, autocast=True)
    return made


def timed(
    rounds: int, batch: int, dropout: float, threads: int, images: Tensor, labels: Tensor
) -> dict[str, float]:
    """Median ms per step of `batch` pictures, the sides taking turns."""
    made = sides(dropout, threads)
    seconds: dict[str, list[float]] = {name: [] for name in made}
    for index in range(rounds + 2):
        start = index * batch % (len(labels) - batch)
        x, y = images[start : start + batch], labels[start : start + batch]
        for name, side in made.items():
            torch.set_num_threads(threads)  # which a crew takes back
            begin = time.perf_counter()
            side.step(x, y)
            if index >= 2:  # the first two warm up
                seconds[name].append(time.perf_counter() - begin)
    return {name: 1e3 * statistics.median(values) for name, values in seconds.items()}


def trained(
    side: Side,
    epochs: int,
    batch: int,
    threads: int,
    train: tuple[Tensor, Tensor],
    test: tuple[Tensor, Tensor],
) -> float:
    """Return the test accuracy after a few epochs, in percent; the order of pictures is the same for every side."""
    torch.set_num_threads(threads)
    generator = torch.Generator().manual_seed(0)
    for _ in range(epochs):
        order = torch.randperm(len(train[1]), generator=generator)
        for chosen in order.split(batch)[:-1]:
            side.step(train[0][chosen], train[1][chosen])
    side.model.eval()
    with torch.no_grad():
        hits = [
            (side.logits(x).argmax(1) == y).sum().item()
            for x, y in zip(test[0].split(1000), test[1].split(1000), strict=True)
        ]
    return 100 * sum(hits) / len(test[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--small", action="store_true", help="one round of few images; writes nothing")
    arguments = parser.parse_args()
    if arguments.small:
        arguments.rounds = arguments.epochs = 1
    batch = SMALL_BATCH if arguments.small else BATCH
    torch.set_num_threads(arguments.threads)
    dataset = load_dataset("mnist")
    mean, std = RECIPE.preparation.mean[0], RECIPE.preparation.std[0]

    def prepared(pictures: object, labels: object) -> tuple[Tensor, Tensor]:
        x = torch.tensor(pictures).permute(0, 3, 1, 2).float().div(255)
        return x.sub(mean).div(std).contiguous(), torch.tensor(labels)

    train = prepared(dataset.train_images, dataset.train_labels)
    test = prepared(dataset.test_images, dataset.test_labels)
    if arguments.small:
        train, test = ((part[0][:SMALL_COUNT], part[1][:SMALL_COUNT]) for part in (train, test))
    threads = arguments.threads
    times = {rate: timed(arguments.rounds, batch, rate, threads, *train) for rate in (0.0, arguments.dropout)}
    accuracy = {
        name: trained(side, arguments.epochs, batch, threads, train, test)
        if arguments.epochs
        else float("nan")
        for name, side in sides(arguments.dropout, threads).items()
    }
    table = report(times, accuracy, arguments)
    if not arguments.small:
        Path(__file__).with_suffix(".md").write_text(table)
    print(table)


def report(
    times: dict[float, dict[str, float]], accuracy: dict[str, float], arguments: argparse.Namespace
) -> str:
    rates = list(times)
    lines = [
        f"# One training step of recipe B, batch {BATCH}, {arguments.threads} threads",
        "",
        f"{processor()}, {os.cpu_count()} cores, torch {torch.__version__}, medians of {arguments.rounds} interleaved"
        f" rounds, {date.today().isoformat()}; load {os.getloadavg()[0]:.1f} at the end.",
        "",
        f"| | {' | '.join(f'ms, dropout {rate:g}' for rate in rates)} |"
        f" test accuracy after {arguments.epochs} epoch{'s' * (arguments.epochs != 1)} |",
        f"|---|{'---|' * (len(rates) + 1)}",
    ]
    for name in times[rates[0]]:
        cells = " | ".join(f"{times[rate][name]:.1f}" for rate in rates)
        lines.append(f"| {name} | {cells} | {accuracy[name]:.2f} % |")
    lines += ["", *(ratio(times[rate], rate) for rate in rates)]
    return "\n".join(lines) + "\n"


def ratio(times: dict[str, float], rate: float) -> str:
    ours = times["vitviz, bf16"]
    plain = {name: ms for name, ms in times.items() if name.endswith("fp32") and "vitviz" not in name}
    cast = {name: ms for name, ms in times.items() if name.endswith("autocast")}
    best, best_cast = min(plain, key=plain.__getitem__), min(cast, key=cast.__getitem__)
    return (
        f"Dropout {rate:g}: {plain[best] / ours:.2f} times faster than the fastest fp32 peer ({best}),"
        f" {cast[best_cast] / ours:.2f} times faster than the fastest under autocast ({best_cast}).\n"
    )


if __name__ == "__main__":
    main()
