"""Measure time and memory of global and window attention over the image size.

    python benchmarks/window_cost.py [--most 56] [--window 7] [--dim 96] [--repeats 5]

One attention layer on one image of 4 px patches. Writes benchmarks/window_cost.md.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vitviz.analysis.window_attention import log_slope  # noqa: E402
from vitviz.probe.swin import measure  # noqa: E402
from vitviz.shifted_windows import global_attention_cost, window_attention_cost  # noqa: E402

PATCH_PX = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=56, help="tokens per side of the largest image")
    parser.add_argument("--window", type=int, default=7)
    parser.add_argument("--dim", type=int, default=96)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="two small images, once; writes nothing")
    args = parser.parse_args()
    if args.small:
        args.most, args.repeats = 2 * args.window, 1
    sides = [count * args.window for count in (1, 2, 4, 6, 8, 12, 16) if count * args.window <= args.most]
    found = measure(sides, args.dim, args.window, args.repeats)
    table = [
        f"# One attention layer, C = {args.dim}, M = {args.window}, {torch.get_num_threads()} threads",
        "",
        "| image, px | tokens N | global, million multiply-adds | windows | global, ms | windows | global, MB"
        " | windows |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in found:
        full = global_attention_cost(one.side, one.side, args.dim) / 1e6
        cut = window_attention_cost(one.side, one.side, args.dim, args.window) / 1e6
        table.append(
            f"| {one.side * PATCH_PX} | {one.side**2:,} | {full:,.1f} | {cut:,.1f}"
            f" | {1e3 * one.global_s:,.2f} | {1e3 * one.window_s:,.2f}"
            f" | {one.global_bytes / 1e6:,.1f} | {one.window_bytes / 1e6:,.1f} |"
        )
    if len(found) > 1:
        half = found[len(found) // 2 :] if len(found) > 3 else found
        tokens = np.array([one.side**2 for one in half], float)
        slopes = {
            name: log_slope(tokens, np.array([getattr(one, name) for one in half], float))
            for name in ("global_s", "window_s", "global_bytes", "window_bytes")
        }
        table += [
            "",
            f"Exponents of N over the largest {len(half)} sizes: time {slopes['global_s']:.2f} for global attention and"
            f" {slopes['window_s']:.2f} for windows, memory {slopes['global_bytes']:.2f} and"
            f" {slopes['window_bytes']:.2f}. For large\nimages the formulas give 2 and 1.",
        ]
    text = "\n".join(table) + "\n"
    if not args.small:
        Path(__file__).with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
