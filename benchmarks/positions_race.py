"""Do positions matter? One seed, five position codes, one recipe; then tested on shuffled patches too.

    python benchmarks/positions_race.py            # writes checkpoints/positions_race.json
    python benchmarks/positions_race.py --datasets shapes --epochs 0.1 --out /tmp/race.json   # a quick look

Every model of a data set starts from the same seed, sees the same pictures in the same order and trains
equally long. `mnist` must lie in $VITVIZ_DATA or be reachable.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from vitviz.config import TrainConfig, ViTConfig, to_dict  # noqa: E402
from vitviz.data.datasets import load_dataset  # noqa: E402
from vitviz.models.presets import GREY_28, GREY_32, RGB_32  # noqa: E402
from vitviz.training.loop import Trainer, predict, train  # noqa: E402
from vitviz.training.pictures import Pictures, normaliser, training_data  # noqa: E402
from vitviz.training.records import Evaluation  # noqa: E402

CODES = ("none", "sincos_1d", "sincos_2d_sum", "sincos_2d_concat", "learned")
SMALL = {"embed_dim": 64, "depth": 3, "num_heads": 4, "mlp_ratio": 2.0}
RACES = {
    "shapes": (
        ViTConfig(image_size=32, patch_size=8, in_chans=3, num_classes=4, **SMALL),
        RGB_32,
        TrainConfig(dataset="shapes", epochs=20, batch_size=64, learning_rate=1e-3, snapshots=2),
    ),
    "digits": (
        ViTConfig(image_size=32, patch_size=8, in_chans=1, **SMALL),
        GREY_32,
        TrainConfig(dataset="digits", epochs=60, batch_size=64, learning_rate=1e-3, snapshots=2),
    ),
    "mnist": (
        ViTConfig(image_size=28, patch_size=7, in_chans=1, **SMALL),
        GREY_28,
        TrainConfig(dataset="mnist", epochs=4, batch_size=128, learning_rate=2e-3, snapshots=2),
    ),
}
SHUFFLE_SEED = 0


def shuffled(pictures: Pictures, patch_px: int) -> Pictures:
    """Every picture with its own random order of patches; the pixels inside a patch stay where they are."""
    images = pictures.images
    count, channels, height, width = images.shape
    rows, cols = height // patch_px, width // patch_px
    cut = images.view(count, channels, rows, patch_px, cols, patch_px).permute(0, 2, 4, 1, 3, 5)
    cut = cut.reshape(count, rows * cols, channels, patch_px, patch_px)
    generator = torch.Generator().manual_seed(SHUFFLE_SEED)
    order = torch.rand(count, rows * cols, generator=generator).argsort(dim=1)
    cut = cut[torch.arange(count)[:, None], order]
    cut = cut.view(count, rows, cols, channels, patch_px, patch_px).permute(0, 3, 1, 4, 2, 5)
    return Pictures(cut.reshape(images.shape).contiguous(), pictures.labels)


def race(name: str, epochs: float | None) -> dict[str, Any]:
    """Train the five codes on one data set; curves, and the test accuracy as it is and on shuffled patches."""
    config, preparation, recipe = RACES[name]
    recipe = recipe if epochs is None else replace(recipe, epochs=epochs)
    data = training_data(load_dataset(name), preparation, recipe)
    normalise, _ = normaliser(preparation, torch.float32, torch.device("cpu"))
    mixed = shuffled(data.test, config.patch_size)
    runs = []
    for code in CODES:
        trainer = Trainer(replace(config, positions=code), recipe, data)
        curve = [
            (event.step, round(event.epoch, 3), round(event.accuracy, 4))
            for event in train(trainer)
            if isinstance(event, Evaluation) and event.split == "validation"
        ]
        model = trainer.weights.model.float().eval()
        model.load_state_dict(trainer.weights.state())
        accuracy = {}
        for label, pictures in (("test", data.test), ("shuffled", mixed)):
            guesses = predict(model, pictures, normalise, torch.device("cpu")).argmax(dim=1)
            accuracy[label] = round((guesses == pictures.labels).double().mean().item(), 4)
        print(
            f"{name:8} {code:18} test {accuracy['test']:.4f} shuffled {accuracy['shuffled']:.4f}", flush=True
        )
        runs.append({"positions": code, "curve": curve, **accuracy, "seconds": round(trainer.seconds, 1)})
    return {
        "classes": len(data.classes),
        "test_pictures": len(data.test),
        "config": to_dict(config),
        "train": to_dict(recipe),
        "runs": runs,
        "commit": commit(),
    }


def commit() -> str:
    """The commit that is measured, short; empty outside a repository."""
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
    given = parser.parse_args()
    torch.set_num_threads(1)
    found = json.loads(given.out.read_text()) if given.out.exists() else {"races": {}}
    for name in given.datasets:
        found["races"][name] = race(name, given.epochs)
        found["command"] = "python benchmarks/positions_race.py"
        found["measured"] = time.strftime("%Y-%m-%d")
        found["torch"] = torch.__version__
        given.out.write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
