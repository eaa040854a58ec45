"""Train the ViTs of rows 7, 7a and 8f of docs/surprises.md and store, for each step, sinks, norms and distances.

    VITVIZ_DATA=DIR python benchmarks/surprises_trained.py OUT [--epochs 3 --images 20000 --seeds 0 1 2 --variants …]

Five ViTs that differ in one choice train with the same seed, order of images and number of updates: learned positions
(the control), four registers, LayerNorm of queries and keys, rotary positions, and learned positions whose table is the
sum of one vector a row and one a column. OUT gets one JSON file a model; files that exist are not trained again.
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrize

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from vitviz.analysis.distance import entropy_bits, mean_attention_distance_px  # noqa: E402
from vitviz.analysis.filters import principal_components  # noqa: E402
from vitviz.analysis.sinks import TIMES, TokenNorms  # noqa: E402
from vitviz.config import ViTConfig  # noqa: E402
from vitviz.data.datasets import load_dataset  # noqa: E402
from vitviz.experiments.changed_models import BITS, round_weights  # noqa: E402
from vitviz.models.vit import VisionTransformer  # noqa: E402

CONTROL = ViTConfig(image_size=32, patch_size=4, embed_dim=64, depth=6, num_heads=4)
VARIANTS = {
    "learned": CONTROL,
    "registers": replace(CONTROL, num_registers=4),
    "qk_norm": replace(CONTROL, qk_norm=True),
    "rotary": replace(CONTROL, positions="rotary"),
    "learned_2d": CONTROL,
}
WIDTHS = {f"width_{width}": replace(CONTROL, embed_dim=width) for width in (32, 64, 128)}
BATCH, LOOKS, LOOKED_AT = 128, 10, 200


class RowAndColumn(nn.Module):
    """Replace a table of positions by the sum of one vector a row and one a column of its own entries."""

    def __init__(self, grid: tuple[int, int]) -> None:
        super().__init__()
        self.grid = grid

    def forward(self, table: Tensor) -> Tensor:
        rows, cols = self.grid
        patches = table[:, -rows * cols :].reshape(1, rows, cols, -1)
        summed = patches.mean(2, keepdim=True) + patches.mean(1, keepdim=True)
        return torch.cat([table[:, : -rows * cols], summed.flatten(1, 2)], dim=1)


def normalise(images: np.ndarray[Any, Any]) -> Tensor:
    """Return uint8 images (n, H, W, 3) as (n, 3, H, W) in [-1, 1]."""
    return torch.tensor(images).permute(0, 3, 1, 2).float() / 127.5 - 1


@torch.no_grad()
def look(model: VisionTransformer, inputs: Tensor) -> dict[str, Any]:
    """Return per layer: norms' ratio and share beyond 3 medians, distance in px, effective tokens, strongest key."""
    depth, patches = CONTROL.depth, CONTROL.grid[0] * CONTROL.grid[1]
    names = [f"blocks.{layer}{part}" for layer in range(depth) for part in ("", ".attn")]
    _, records = model.eval()(inputs, record=tuple(names))
    looked: dict[str, list[float]] = {
        key: [] for key in ("times", "extreme", "distance_px", "tokens", "key", "prefix_norm")
    }
    filters = principal_components(model.patch_embed.proj.weight.numpy())
    looked["components"] = [float(np.searchsorted(np.cumsum(filters.explained), 0.9) + 1)]
    for layer in range(depth):
        attn = records[f"blocks.{layer}.attn"].numpy()
        norm = records[f"blocks.{layer}"].norm(dim=-1).numpy()
        norms = TokenNorms(norm[:, -patches:].reshape(-1, *CONTROL.grid), norm[:, :-patches])
        looked["times"].append(norms.times)
        looked["extreme"].append(float((norms.places > TIMES * norms.median).mean()))
        looked["prefix_norm"].append(float(norms.prefix.max() / norms.median))
        looked["distance_px"].append(float(mean_attention_distance_px(attn, CONTROL.grid, 4.0).mean()))
        looked["tokens"].append(float((2 ** entropy_bits(attn)).mean()))
        received = attn[..., -patches:, :].mean(axis=2)  # by patches' queries: (images, heads, tokens)
        looked["key"].append(float(received.max(axis=-1).mean()))  # of the token that a head attends to most
    return looked


def train(name: str, seed: int, epochs: float, count: int) -> dict[str, Any]:
    """Train one variant with AdamW and a one-cycle schedule; crops of 4 px and mirrored images."""
    dataset = load_dataset("cifar10")
    images, labels = (
        normalise(dataset.train_images[:count]),
        torch.from_numpy(dataset.labels_of("train")[:count]),
    )
    test = normalise(dataset.test_images)
    torch.manual_seed(seed)
    model = VisionTransformer((VARIANTS | WIDTHS)[name])
    if name == "learned_2d":
        parametrize.register_parametrization(model, "pos_embed", RowAndColumn(CONTROL.grid))
    steps = int(epochs * count / BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps, pct_start=0.1)
    order = torch.Generator().manual_seed(seed)  # the same images and changes for all variants
    looks = sorted({0, *np.geomspace(4, steps, LOOKS).round().astype(int).tolist()})
    curve, shuffled, began = {}, torch.empty(0, dtype=torch.int64), time.process_time()
    for step in range(steps + 1):
        if step in looks:
            curve[step] = look(model, test[:LOOKED_AT])
        if step == steps:
            break
        if len(shuffled) < BATCH:
            shuffled = torch.randperm(count, generator=order)
        chosen, shuffled = shuffled[:BATCH], shuffled[BATCH:]
        batch = images[chosen]
        mirrored = torch.rand(BATCH, generator=order) < 0.5
        batch[mirrored] = batch[mirrored].flip(-1)
        down, right = torch.randint(0, 9, (2,), generator=order).tolist()
        batch = F.pad(batch, (4, 4, 4, 4))[..., down : down + 32, right : right + 32]
        model.train()
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(batch)
        loss = F.cross_entropy(logits.float(), labels[chosen], label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    trained = {name: tensor.clone() for name, tensor in model.eval().state_dict().items()}
    accuracy = {}
    with torch.no_grad():
        for bits in BITS:
            model.load_state_dict(trained)
            if bits < BITS[0]:
                for module in model.modules():
                    if isinstance(module, nn.Linear | nn.Conv2d):
                        module.weight.copy_(round_weights(module.weight, bits))
            predicted = torch.cat([model(part).argmax(1) for part in test.split(500)])
            accuracy[bits] = float((predicted.numpy() == dataset.labels_of("test")).mean())
    return {
        "accuracy": accuracy[BITS[0]],
        "accuracy_at_bits": accuracy,
        "steps": steps,
        "core_s": round(time.process_time() - began, 1),
        "curve": curve,
    }


def main() -> None:
    """Train what is missing, one model after the other, each seed's five before the next seed's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--epochs", type=float, default=3.0)
    parser.add_argument("--images", type=int, default=20000)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=[*VARIANTS, *WIDTHS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for seed in options.seeds:
        for name in options.variants:
            path = options.out / f"{name}_{seed}.json"
            if not path.exists():
                result = train(name, seed, options.epochs, options.images)
                path.write_text(json.dumps(result))
                print(name, seed, f"{result['accuracy']:.2%}", result["core_s"], "s", flush=True)


if __name__ == "__main__":
    main()
