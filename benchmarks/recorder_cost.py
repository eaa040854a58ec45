"""Measure what `vitviz.record` adds to a training of timm's ViT-S/16: its share of the time, and memory.

    python benchmarks/recorder_cost.py --steps 200 --images 2

Two processes train the same model on random images, one with a recorder; the recorder's own time is taken inside
its calls, so that other load on the machine changes both alike.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import vitviz
from vitviz.torchvision_fix import import_torchvision
from vitviz.training.provenance import processor

BATCH = 32


def train(steps: int, images: int) -> dict[str, float]:
    """Train for some steps; `images` 0 is the loop without a recorder."""
    import_torchvision()
    import timm

    torch.manual_seed(0)
    model = timm.create_model("vit_small_patch16_224", num_classes=10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    inputs, labels = torch.randn(BATCH, 3, 224, 224), torch.randint(0, 10, (BATCH,))
    shown = [np.random.default_rng(seed).integers(0, 256, (300, 400, 3), np.uint8) for seed in range(images)]
    inside_s, begun_s = 0.0, time.perf_counter()
    recorder = vitviz.record(model, shown, Path(tempfile.mkdtemp(), "run")) if images else None
    for step in range(steps):
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if recorder is not None:
            call_s = time.perf_counter()
            recorder.step(step, loss=loss)
            inside_s += time.perf_counter() - call_s
    if recorder is not None:
        call_s = time.perf_counter()
        recorder.close()
        inside_s += time.perf_counter() - call_s
    total_s = time.perf_counter() - begun_s
    moments = len(recorder.run.steps()) if recorder is not None else 0
    size = (
        0
        if recorder is None
        else sum(f.stat().st_size for f in recorder.run.directory.rglob("*") if f.is_file())
    )
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "loss": loss.item(),
        "s_per_step": (total_s - inside_s) / steps,
        "recorder_s": inside_s,
        "share": inside_s / (total_s - inside_s),
        "moments": moments,
        "run_mb": size / 1e6,
        "peak_mb": peak_mb,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--images", type=int, default=2)
    parser.add_argument("--one", action="store_true", help="train once in this process")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(train(options.steps, options.images)))
        return
    print(f"{processor()}, torch {torch.__version__}, {torch.get_num_threads()} threads")
    for images in (0, options.images):
        command = [sys.executable, __file__, "--one", "--steps", str(options.steps), "--images", str(images)]
        print(
            images,
            "images:",
            subprocess.run(command, capture_output=True, text=True, check=True).stdout,
            end="",
        )


if __name__ == "__main__":
    main()
