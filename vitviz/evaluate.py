"""Measure a checkpoint again: python -m vitviz.evaluate checkpoints/digits_vit.safetensors; or write the cards."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from vitviz.checkpoints import load_checkpoint
from vitviz.training.cards import write_cards
from vitviz.training.checkpoint_export import measure

CHECKPOINTS = Path(__file__).resolve().parents[1] / "checkpoints"
TOLERANCE = 5e-4  # accuracy differs slightly between processors


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare each file's test accuracy with its card; returns 1 if one differs."""
    parser = argparse.ArgumentParser(prog="python -m vitviz.evaluate", description=main.__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument(
        "--cards", action="store_true", help=f"write {CHECKPOINTS.name}/README.md from the file headers"
    )
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args(arguments)
    if not options.files and not options.cards:
        parser.error("expected a checkpoint or --cards")
    differs = [_differs(file, options.device) for file in options.files]
    if options.cards:
        (CHECKPOINTS / "README.md").write_text(write_cards(CHECKPOINTS))
    return int(any(differs))


def _differs(file: Path, device: str) -> bool:
    checkpoint = load_checkpoint(file)
    measured = measure(checkpoint, checkpoint.card["dataset"], device)
    stated = float(checkpoint.card["test_accuracy"])
    print(
        f"{file}: {measured.accuracy:.4%} of {measured.images:,} test images; stated in its card: {stated:.4%}"
    )
    return abs(measured.accuracy - stated) > max(TOLERANCE, 1.5 / measured.images)


if __name__ == "__main__":
    raise SystemExit(main())
