"""Measure the accuracy of the shipped ViTs on larger images with interpolated position embeddings.

    python benchmarks/resize_accuracy.py           # writes checkpoints/resize_accuracy.json

Test images are resized (bicubic) to each size. Position embeddings are interpolated on their grid (bicubic) and, for
comparison, along their reading order, a common bug. Entries contain the checkpoint's digest.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from vitviz.analysis.position_similarity import stretch_as_list  # noqa: E402
from vitviz.checkpoint_header import read_header  # noqa: E402
from vitviz.checkpoints import open_model  # noqa: E402
from vitviz.config import ViTConfig  # noqa: E402
from vitviz.data.datasets import load_dataset  # noqa: E402
from vitviz.data.image_preprocessing import prepare_batch  # noqa: E402
from vitviz.models.loaded_model import LoadedModel  # noqa: E402
from vitviz.models.vit import resize_positions  # noqa: E402
from vitviz.models.zoo import create_model  # noqa: E402
from vitviz.weight_identity import resolve_identity  # noqa: E402

GRID_STEPS = (-2, -1, 0, 1, 2, 4, 8)  # patches more or fewer along a side
BATCH = 64


def stretched_model(loaded: LoadedModel, side: int, as_list: bool) -> torch.nn.Module:
    """Return the model for a grid of side x side patches, its learned table stretched one way or the other."""
    config: Any = loaded.config
    bigger = create_model(replace(config, image_size=side * config.patch_size))
    state = dict(loaded.model.state_dict())
    table = state["pos_embed"]
    if as_list:
        prefix = table.shape[1] - config.grid[0] * config.grid[1]
        patches = stretch_as_list(table[0, prefix:].numpy(), side * side)
        table = torch.cat([table[:, :prefix], torch.from_numpy(patches)[None].float()], dim=1)
    else:
        table = resize_positions(table, config.grid, (side, side))
    bigger.load_state_dict(state | {"pos_embed": table})
    return bigger.eval()


def accuracy(model: torch.nn.Module, inputs: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of right answers, in [0, 1]."""
    right = 0
    with torch.inference_mode():
        for start in range(0, len(inputs), BATCH):
            logits = model(torch.from_numpy(inputs[start : start + BATCH]))
            right += int((logits.argmax(dim=1).numpy() == labels[start : start + BATCH]).sum())
    return right / len(inputs)


def measure(path: Path, limit: int) -> dict[str, Any]:
    """Return the accuracy at several sizes of one checkpoint's own test pictures."""
    loaded = open_model(path)
    config: Any = loaded.config
    dataset = load_dataset(str(loaded.trained_on))
    chosen = np.random.default_rng(0).permutation(len(dataset.test_images))[:limit]
    images, labels = dataset.test_images[chosen], dataset.labels_of("test")[chosen]
    sizes: list[int] = []
    found: dict[str, list[float]] = {"grid": [], "list": []}
    for more in GRID_STEPS:
        side = config.grid[0] + more
        if side < 2:
            continue
        size = side * config.patch_size
        # Resized as it is: placing a digit anew would change its size, which is another question.
        prepared = prepare_batch(images, replace(loaded.preparation, image_size=size, digit=False))
        sizes.append(size)
        for name, as_list in (("grid", False), ("list", True)):
            found[name].append(round(accuracy(stretched_model(loaded, side, as_list), prepared, labels), 4))
        print(
            f"{path.stem:24} {size:4} px  grid {found['grid'][-1]:.4f}  list {found['list'][-1]:.4f}",
            flush=True,
        )
    made = {
        "digest": read_header(path).identity,
        "pictures": len(images),
        "measured": time.strftime("%Y-%m-%d"),
    }
    return {**made, "sizes": sizes, **found}


def main() -> None:
    """Measure every shipped ViT with learned positions whose file has changed since it was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pictures", type=int, default=1000, help="maximum number of test images")
    parser.add_argument("--all", action="store_true", help="also files that have not changed")
    parser.add_argument("--out", type=Path, default=ROOT / "checkpoints" / "resize_accuracy.json")
    parser.add_argument("--small", action="store_true", help="20 digits and 20 shapes; writes nothing")
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.all |= given.small
    known = json.loads(given.out.read_text())["models"] if given.out.is_file() and not given.all else {}
    measured = {}
    for path in sorted((ROOT / "checkpoints").glob("*.safetensors")):
        header = read_header(path)
        config = header.config
        if given.small and (header.train is None or header.train.dataset not in ("digits", "shapes")):
            continue
        if isinstance(config, ViTConfig) and config.positions == "learned" and header.train is not None:
            old = known.get(path.stem)
            same = old is not None and resolve_identity(old["digest"]) == header.identity
            measured[path.stem] = old if same else measure(path, 20 if given.small else given.pictures)
    command = "python benchmarks/resize_accuracy.py"
    found = {"command": command, "models": measured}
    if not given.small:
        given.out.write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
