"""Time the attention of all layers of many photos to disk, beside timm's hooks one by one and its plain forward.

    python benchmarks/batch_attention.py --images 48
    python benchmarks/batch_attention.py --memory 100 500 1000

All three read the same JPEG files and run ViT-S/16 at 224 px with random weights, in turn, in one process. `--memory`
runs the batch alone on so many photos and prints the process's peak memory.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import vitviz
from vitviz.torchvision_fix import import_torchvision
from vitviz.training.provenance import processor

BATCH = 8


def write_photos(folder: Path, count: int) -> list[Path]:
    """Write smooth coloured images of 640 × 480 px as JPEG."""
    files = []
    for number in range(count):
        coarse = np.random.default_rng(number).integers(0, 256, (12, 16, 3), np.uint8)
        Image.fromarray(coarse).resize((640, 480), Image.Resampling.BICUBIC).save(
            folder / f"{number:04d}.jpg"
        )
        files.append(folder / f"{number:04d}.jpg")
    return files


def peak_mb() -> float:
    """Return the most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", type=int, nargs="+", default=[], metavar="IMAGES")
    options = parser.parse_args()
    import_torchvision()
    import timm
    from timm.data import create_transform, resolve_model_data_config
    from timm.utils import AttentionExtract

    fused = timm.create_model("vit_small_patch16_224").eval()
    plain = timm.create_model("vit_small_patch16_224").eval()
    for block in plain.blocks:
        block.attn.fused_attn = False
    transform = create_transform(**resolve_model_data_config(fused), is_training=False)
    model = vitviz.load(fused)

    def read(file: Path) -> torch.Tensor:
        tensor: torch.Tensor = transform(Image.open(file).convert("RGB"))
        return tensor

    def with_hooks(files: list[Path], out: Path) -> None:
        extract = AttentionExtract(plain, method="hook")
        for file in files:
            with torch.inference_mode():
                maps = extract(read(file)[None])
            stack = torch.stack(list(maps.values()))
            np.save(out / f"{file.stem}.npy", (stack * 255).round().to(torch.uint8).numpy())

    def forward_alone(files: list[Path], out: Path) -> None:
        for start in range(0, len(files), BATCH):
            with torch.inference_mode():
                fused(torch.stack([read(file) for file in files[start : start + BATCH]]))

    def in_a_batch(files: list[Path], out: Path) -> None:
        vitviz.inspect(model, files).attention(out)

    for count in options.memory:
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as out:
            files = write_photos(Path(folder), count)
            begun_s = time.perf_counter()
            in_a_batch(files, Path(out))
            ms = 1000 * (time.perf_counter() - begun_s) / count
            written = sum(file.stat().st_size for file in Path(out).iterdir()) / 1e6
            print(
                f"{count} photos: {ms:.1f} ms each, {written:.0f} MB written, peak {peak_mb():.0f} MB",
                flush=True,
            )
    if options.memory:
        return
    ways: dict[str, Callable[[list[Path], Path], None]] = {
        "timm, hooks, one photo at a time": with_hooks,
        "timm, fused forward alone, batches of 8": forward_alone,
        "vitviz batch": in_a_batch,
    }
    print(
        f"{processor()}, {torch.get_num_threads()} threads, {options.images} photos, ms per photo, best of rounds"
    )
    with tempfile.TemporaryDirectory() as folder:
        files = write_photos(Path(folder), options.images)
        best = dict.fromkeys(ways, float("inf"))
        for _ in range(options.rounds):
            for name, way in ways.items():
                with tempfile.TemporaryDirectory() as out:
                    begun_s = time.perf_counter()
                    way(files, Path(out))
                    best[name] = min(best[name], time.perf_counter() - begun_s)
    for name, seconds in best.items():
        print(f"{name}: {1000 * seconds / options.images:.1f}")
    print(f"peak memory {peak_mb():.0f} MB")


if __name__ == "__main__":
    main()
