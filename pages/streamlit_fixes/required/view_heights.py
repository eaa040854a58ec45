"""Load the heights that views reserve until they have drawn; benchmarks/layout_shift.py measures them."""

import json
from functools import cache
from pathlib import Path


@cache
def load_heights() -> dict[str, list[int]]:
    """Load the heights by view key as CSS class: px on a wide screen and on a phone."""
    heights: dict[str, list[int]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    return heights
