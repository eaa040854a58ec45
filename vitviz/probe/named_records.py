"""Read a model's intermediates and weights by name, each cut to the part that a view needs."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.capture import FloatArray, as_array, capture

MOST_NAMES = 64
MOST_VALUES = 4_000_000
_NAME = re.compile(r"(weight:)?([A-Za-z0-9_.]{1,80})(?:\[([0-9:,]{1,40})\])?")


def read_records(model: LoadedModel, values: FloatArray, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return intermediates of one image, without the batch's axis, and weights.

    Args:
        values: (C, S, S), preprocessed.
        names: such as 'blocks.3.attn[:,17]', 'input[:,0:4,4:8]' or 'weight:head.weight[2]'.

    Raises:
        ValueError: if a name or its place does not exist, or the answer is too large.
    """
    parsed = {name: _NAME.fullmatch(name) for name in names[: MOST_NAMES + 1]}
    wrong = next((name for name, match in parsed.items() if match is None), None)
    if len(parsed) > MOST_NAMES or wrong is not None:
        raise ValueError(f"expected at most {MOST_NAMES} names of records, received {wrong or len(names)}")
    matches = {name: match for name, match in parsed.items() if match is not None}
    records = {match[2] for match in matches.values() if not match[1]} - {"input"}
    held: dict[str, NDArray[Any]] = {"input": values}
    if records:
        once: tuple[str, ...] = getattr(model.model, "unbatched_records", ())
        recorded = capture(model.model, values[None], sorted(records)).arrays
        for name, array in recorded.items():
            batched = name == "pos_embed" or not any(fnmatchcase(name, pattern) for pattern in once)
            held[name] = array[0] if batched else array
    weights = model.model.state_dict() if any(match[1] for match in matches.values()) else {}
    held |= {
        f"weight:{match[2]}": as_array(weights[match[2]]) for match in matches.values() if match[2] in weights
    }
    cut = {name: _cut(held.get((match[1] or "") + match[2]), match) for name, match in matches.items()}
    if sum(array.size for array in cut.values()) > MOST_VALUES:
        raise ValueError(f"expected at most {MOST_VALUES:,} values at once")
    return {
        name: array.astype(np.float32 if np.issubdtype(array.dtype, np.floating) else np.int32)
        for name, array in cut.items()
    }


def _cut(array: NDArray[Any] | None, match: re.Match[str]) -> NDArray[Any]:
    if array is None:
        raise ValueError(f"the model has no record {match[0]}")
    try:
        return np.asarray(array[tuple(map(_parse_place, (match[3] or ":").split(",")))])
    except IndexError as error:
        raise ValueError(f"{match[0]} has the shape {array.shape}") from error


def _parse_place(text: str) -> int | slice:
    """Parse '3', ':' or '2:5'; an invalid place raises the ValueError of `int`."""
    if ":" not in text:
        return int(text)
    start, _, stop = text.partition(":")
    return slice(int(start) if start else None, int(stop) if stop else None)
