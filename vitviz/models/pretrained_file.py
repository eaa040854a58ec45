"""Read tensor names and shapes from the header of a safetensors file, before any tensor is created."""

from __future__ import annotations

import json
import re
from typing import Any

from vitviz.models.pretrained_keys import COMPUTED
from vitviz.models.pretrained_list import PretrainedError
from vitviz.text import cut

MAX_HEADER_BYTES = 2**20  # ViT-L's is 30 kB
MAX_CLASSES = 30_000  # ImageNet-21k has 21,841
LONGEST_NAME = 200  # characters of a tensor's
MOST_SIDES = 8  # of a shape
_PICKLES = re.compile(rb"PK\x03\x04|\x80(?!.{7}\{)", re.DOTALL)  # a header of 128 bytes more begins so, too
_FLOATS = ("BF16", "F16", "F32", "F64")
_HEADS = ("head.fc.weight", "heads.head.weight", "head.weight")

Shapes = dict[str, tuple[int, ...]]


class PickledWeightsError(PretrainedError):
    """Weights in PyTorch's own format; `convert` makes a safetensors file of them on their owner's machine."""

    convert = """\
import torch
from safetensors.torch import save_file

state = torch.load("weights.pth", map_location="cpu", weights_only=True)
state = state.get("model", state.get("state_dict", state))
save_file({name: tensor.clone().contiguous() for name, tensor in state.items()}, "weights.safetensors")"""

    def __init__(self) -> None:
        super().__init__(
            "the file is PyTorch's own format (.pth, .pt, .bin), which can run code when it is opened, so it is not"
            " opened here: save its weights as safetensors on your own machine"
        )


def check_header(raw: bytes) -> Shapes:
    """Tensor name -> shape of a safetensors file.

    Raises:
        PretrainedError: if it is a pickle or no safetensors file, its header is too large, or it holds no numbers
            that weights can be.
    """
    if _PICKLES.match(raw):
        raise PickledWeightsError
    length = int.from_bytes(raw[:8], "little")
    if len(raw) < 8 or not 2 <= length <= len(raw) - 8:
        raise PretrainedError("the file is not safetensors, or it is truncated")
    if length > MAX_HEADER_BYTES:
        raise PretrainedError(f"the file's header has {length} bytes, more than the {MAX_HEADER_BYTES} read")
    try:
        table: dict[str, Any] = json.loads(raw[8 : 8 + length])
        table.pop("__metadata__", None)
        shapes = {name: _shape(name, entry["shape"]) for name, entry in table.items()}
        kinds = {cut(str(entry["dtype"]), 20) for name, entry in table.items() if not name.endswith(COMPUTED)}
    except PretrainedError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PretrainedError("the file is not safetensors: its header cannot be read") from error
    if not shapes:
        raise PretrainedError("the file holds no weights")
    if kinds - set(_FLOATS):
        unfit = cut(", ".join(sorted(kinds - set(_FLOATS))))
        raise PretrainedError(f"the weights must be {', '.join(_FLOATS)}, received {unfit}")
    return shapes


def _shape(name: str, sides: Any) -> tuple[int, ...]:
    """Return a tensor's shape, after checking its name and shape."""
    if len(name) > LONGEST_NAME:
        raise PretrainedError(
            f"a tensor's name has up to {LONGEST_NAME} characters, received one of {len(name):,}: {cut(name)}"
        )
    if not isinstance(sides, list) or len(sides) > MOST_SIDES:
        raise PretrainedError(f"the shape of {cut(name)} must be a list of up to {MOST_SIDES} sides")
    if not all(isinstance(side, int) and not isinstance(side, bool) and 0 <= side < 2**48 for side in sides):
        raise PretrainedError(
            f"the shape of {cut(name)} must hold whole numbers, received {cut(repr(sides[:4]))}"
        )
    return tuple(sides)


def classes_of_head(shapes: Shapes) -> int:
    """Return how many classes a file's head has; 0 without one.

    Raises:
        PretrainedError: if the head is no table of classes, or has too many of them.
    """
    shape = next((shapes[name] for name in _HEADS if name in shapes), None)
    if shape is None:
        return 0
    if len(shape) != 2 or not 1 <= shape[0] <= MAX_CLASSES:
        raise PretrainedError(
            f"the head must have the shape (classes, width) with at most {MAX_CLASSES} classes, received {shape}"
        )
    return shape[0]
