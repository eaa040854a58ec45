"""Compare the cost of recording every block's attention with timm's at ViT-Ti/16, 224 px, same weights.

    python benchmarks/attention_capture.py [--rounds 30] [--threads 2] [--small]

Interleaved medians of this project's model with and without recorded attention, timm's fused forward pass, and timm's
AttentionExtract, whose attention must equal ours. fp32, batches of 1 and 8. Writes benchmarks/attention_capture.md;
--small runs one round of one image and writes nothing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vitviz.models.presets import PRESETS  # noqa: E402
from vitviz.models.zoo import create_model  # noqa: E402
from vitviz.torchvision_fix import import_torchvision  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402

import_torchvision()
import timm  # noqa: E402
from timm.layers import set_fused_attn  # noqa: E402
from timm.utils import AttentionExtract  # noqa: E402


def medians(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median ms per call, the calls taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for index in range(rounds + 3):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            if index >= 3:  # the first three warm up
                seconds[name].append(time.perf_counter() - begin)
    return {name: 1e3 * statistics.median(values) for name, values in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--small", action="store_true", help="one round of one image; writes nothing")
    arguments = parser.parse_args()
    if arguments.small:
        arguments.rounds = 1
    torch.set_num_threads(arguments.threads)
    theirs = timm.create_model("vit_tiny_patch16_224", pretrained=False).eval().requires_grad_(False)
    ours = create_model(PRESETS["vit_tiny_16"].config).eval().requires_grad_(False)
    ours.load_state_dict(theirs.state_dict())
    # AttentionExtract finds a softmax only in unfused attention: it gets a model of its own.
    set_fused_attn(False)
    shown = timm.create_model("vit_tiny_patch16_224", pretrained=False).eval().requires_grad_(False)
    shown.load_state_dict(theirs.state_dict())
    extract = AttentionExtract(shown, method="fx")
    lines = [
        f"# Recording attention, ViT-Ti/16, 224 px, fp32, {arguments.threads} threads",
        "",
        f"{processor()}, {os.cpu_count()} cores, torch {torch.__version__}, medians of"
        f" {arguments.rounds} interleaved rounds, ms.",
        "",
        "| batch | vitviz, all attention recorded | vitviz, not recorded | timm, fused, not recorded |"
        " timm AttentionExtract | recorded / timm fused | recorded / AttentionExtract |",
        "|---|---|---|---|---|---|---|",
    ]
    with torch.inference_mode():
        for batch in (1,) if arguments.small else (1, 8):
            x = torch.randn(batch, 3, 224, 224)
            record = ours(x, record=["*.attn"])[1]
            for mine, other in zip(record.values(), extract(x).values(), strict=True):
                torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-4)
            ms = medians(
                {
                    "ours": lambda x=x: ours(x, record=["*.attn"]),
                    "plain": lambda x=x: ours(x),
                    "fused": lambda x=x: theirs(x),
                    "extract": lambda x=x: extract(x),
                },
                arguments.rounds,
            )
            cells = " | ".join(f"{ms[name]:.1f}" for name in ("ours", "plain", "fused", "extract"))
            lines.append(
                f"| {batch} | {cells} | {ms['ours'] / ms['fused']:.2f} | {ms['ours'] / ms['extract']:.2f} |"
            )
    lines += ["", "The recorded attention equals that of AttentionExtract within 1e-5."]
    table = "\n".join(lines) + "\n"
    if not arguments.small:
        Path(__file__).with_suffix(".md").write_text(table)
    print(table)


if __name__ == "__main__":
    main()
