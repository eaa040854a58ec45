"""Time the way from an uploaded image to its attention at ViT-S/16, 224 px, relative to timm's forward pass.

    python benchmarks/attention_first.py [--rounds 30] [--threads 2] [--out benchmarks/attention_first.md]

Ours: decode the JPEG safely, crop and normalise, one forward pass that records the attention of all blocks, quantise
one layer with all heads and one head with all layers, pack them for the browser. timm: the same decoding and
preparation, then its fused forward pass. Interleaved medians. Aim: at most 1.3 times timm's time. Also times rollout,
gradient-weighted rollout, and deletion and insertion of one map, each in one batched pass.
"""

from __future__ import annotations

import argparse
import io
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vitviz.analysis import faithfulness  # noqa: E402
from vitviz.analysis.explanation_methods import rollout  # noqa: E402
from vitviz.data.image_decoding import decode_image  # noqa: E402
from vitviz.data.image_preprocessing import prepare  # noqa: E402
from vitviz.models.presets import PRESETS  # noqa: E402
from vitviz.models.zoo import create_model  # noqa: E402
from vitviz.plots.attention_message import ExplorerTexts, explorer_view, strip_view  # noqa: E402
from vitviz.probe.capture import capture
from vitviz.probe.explanation_maps import class_relevance
from vitviz.torchvision_fix import import_torchvision  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402

import_torchvision()
import timm  # noqa: E402


def medians(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median ms per call, the calls taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for index in range(rounds + 2):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            if index >= 2:  # the first two warm up
                seconds[name].append(time.perf_counter() - begin)
    return {name: 1e3 * statistics.median(values) for name, values in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".md"))
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    preset = PRESETS["vit_small_16"]
    theirs = timm.create_model("vit_small_patch16_224", pretrained=False).eval().requires_grad_(False)
    ours = create_model(preset.config).eval().requires_grad_(False)
    ours.load_state_dict(theirs.state_dict())
    photo = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 255, (40, 60, 3), dtype=np.uint8)
    Image.fromarray(pixels).resize((1200, 800), Image.Resampling.BICUBIC).save(photo, "JPEG", quality=90)
    file = photo.getvalue()
    layers = tuple(range(1, 13))
    names = tuple(f"layer {i}" for i in layers)
    scene = ExplorerTexts("a", "ViT-S/16", (14, 14), ("cls",), 16, 12, "12", 1, 6, 64, layers, names)

    def first_attention() -> bytes:
        prepared = prepare(decode_image(file), preset.preparation)
        found = capture(ours, prepared.input[None], record=("blocks.*.attn",))
        attn = found.attention()[:, 0]
        strip = strip_view(attn, 1)
        return strip.data + explorer_view(scene, prepared.shown, attn[11], strip)

    def bare() -> torch.Tensor:
        prepared = prepare(decode_image(file), preset.preparation)
        with torch.inference_mode():
            return theirs(torch.from_numpy(prepared.input[None]))

    image = prepare(decode_image(file), preset.preparation).input
    attn = capture(ours, image[None], record=("blocks.*.attn",)).attention()
    plan = faithfulness.create_schedule(np.random.default_rng(0).random(196), 16)
    blanked = faithfulness.blank_patches(image, np.concatenate([plan.deletion, plan.insertion]), (14, 14))
    first = medians({"ours": first_attention, "theirs": bare}, arguments.rounds)
    others = medians(
        {
            "rollout of captured attention": lambda: rollout(attn),
            "gradient-weighted rollout": lambda: class_relevance(ours, image[None], np.array([0])),
            "deletion and insertion, 34 images": lambda: capture(ours, blanked, record=False),
        },
        max(1, arguments.rounds // 10),
    )
    lines = [
        f"# From an upload to its first attention, ViT-S/16, 224 px, fp32, {arguments.threads} threads",
        "",
        f"{processor()}, torch {torch.__version__}, 1200 × 800 JPEG, medians of {arguments.rounds} rounds, ms.",
        "",
        "| operation | ms | relative to timm's forward pass |",
        "|---|---|---|",
        f"| decode, prepare, timm's forward pass | {first['theirs']:.1f} | 1.00 |",
        "| decode, prepare, forward pass with all attention, message for the browser |"
        f" {first['ours']:.1f} | {first['ours'] / first['theirs']:.2f} |",
        *(f"| {name} | {ms:.1f} | |" for name, ms in others.items()),
        "",
    ]
    arguments.out.write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
