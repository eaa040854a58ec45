"""Measure a checkpoint again: python -m vitviz.evaluate checkpoints/digits_vit.safetensors."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vitviz.checkpoint_header import CheckpointError
from vitviz.checkpoints import load_checkpoint
from vitviz.model_cards import write_cards
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
    parser.add_argument("--json", action="store_true", help="print numbers as JSON")
    options = parser.parse_args(arguments)
    if not options.files and not options.cards:
        parser.error("expected a checkpoint or --cards")
    rows = [_measure(file, options.device) for file in options.files]
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        for row in rows:
            print(
                f"{row['file']}: {row['accuracy']:.4%} of {row['images']:,} test images; stated in its card:"
                f" {row['stated']:.4%}"
            )
    if options.cards:
        (CHECKPOINTS / "README.md").write_text(write_cards(CHECKPOINTS))
    return int(any(row["differs"] for row in rows))


def _measure(file: Path, device: str) -> dict[str, Any]:
    """Return a file's accuracy, measured and as its card states it.

    Raises:
        ValueError: if it is no checkpoint, or its card states no dataset or no accuracy.
    """
    try:
        checkpoint = load_checkpoint(file)
    except CheckpointError as error:
        raise ValueError(f"{file}: {error}") from error
    if not {"dataset", "test_accuracy"} <= checkpoint.card.keys():
        raise ValueError(f"the card of {file} states no dataset and test accuracy to compare with")
    measured = measure(checkpoint, checkpoint.card["dataset"], device)
    stated = float(checkpoint.card["test_accuracy"])
    differs = abs(measured.accuracy - stated) > max(TOLERANCE, 1.5 / measured.images)
    return {
        "file": str(file),
        "accuracy": measured.accuracy,
        "images": measured.images,
        "stated": stated,
        "differs": differs,
    }


if __name__ == "__main__":
    raise SystemExit(main())
