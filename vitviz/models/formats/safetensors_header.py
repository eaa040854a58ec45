"""Read tensor names and shapes from the header of a safetensors file, before any tensor is created."""

import json
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vitviz.models.pretrained_list import PretrainedError
from vitviz.text import cut

MAX_HEADER_BYTES = 2**20  # ViT-L's is 30 kB
MAX_CLASSES = 30_000  # ImageNet-21k has 21,841
LONGEST_NAME = 200  # characters of a tensor's
MOST_SIDES = 8  # of a shape
COMPUTED = (  # nothing to load
    "relative_position_index",
    "relative_coords_table",
    "attn_mask",
    "mask_token",
    "position_ids",
    "num_batches_tracked",
    "n_averaged",  # of torch's AveragedModel
)
START_BYTES = 2**16  # of a file that is not safetensors: enough to tell what it is
_PICKLES = re.compile(rb"PK\x03\x04|\x80(?!.{7}\{)", re.DOTALL)  # a header of 128 bytes more begins so, too
_LIGHTNING = b"pytorch-lightning_version"
_QUANTISED = "save the weights that it was made from, in fp32, fp16 or bf16"
_FLOATS = ("BF16", "F16", "F32", "F64")
_STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

Shapes = dict[str, tuple[int, ...]]


class PickledWeightsError(PretrainedError):
    """Weights in a format that can run code; `convert` makes a safetensors file of them on their owner's machine."""

    def __init__(self, lightning: bool = False) -> None:
        kind = "a Lightning checkpoint (.ckpt)" if lightning else "PyTorch's own format (.pth, .pt, .bin)"
        super().__init__(
            f"the file is {kind}, which can run code when it is opened, so it is not"
            " opened here: save its weights as safetensors on your own machine"
        )
        self.convert: str = _STATED["convert_lightning" if lightning else "convert"]


def check_header(raw: bytes, size: int | None = None) -> Shapes:
    """Tensor name -> shape of a safetensors file.

    Args:
        raw: the file, or its beginning with the whole header.
        size: the file's bytes; None: `raw` is all of it.

    Raises:
        PretrainedError: if it is a pickle or no safetensors file, its header is too large, or it holds no numbers
            that weights can be.
    """
    size = len(raw) if size is None else size
    _check_kind(raw[:START_BYTES])
    length = header_bytes(raw)
    if size < 8 or not 2 <= length <= size - 8:
        raise PretrainedError(
            "the file is not safetensors, or it is truncated: copy it again, or save the weights with"
            " safetensors.torch.save_file"
        )
    if length > MAX_HEADER_BYTES:
        raise PretrainedError(f"the file's header has {length} bytes, more than the {MAX_HEADER_BYTES} read")
    try:
        table: dict[str, Any] = json.loads(raw[8 : 8 + length])
        table.pop("__metadata__", None)
        shapes = {name: _shape(name, entry["shape"]) for name, entry in table.items()}
        kinds = {cut(str(entry["dtype"]), 20) for name, entry in table.items() if not name.endswith(COMPUTED)}
        check_quantised(shapes)
    except PretrainedError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PretrainedError("the file is not safetensors: its header cannot be read") from error
    if not shapes:
        raise PretrainedError("the file holds no weights")
    if kinds - set(_FLOATS):
        unfit = cut(", ".join(sorted(kinds - set(_FLOATS))))
        advice = f"; if the model is quantised, {_QUANTISED}"
        advice = advice if any(kind.startswith(("I8", "U8", "I4", "U4", "F8")) for kind in kinds) else ""
        raise PretrainedError(f"the weights must be {', '.join(_FLOATS)}, received {unfit}{advice}")
    return shapes


def check_quantised(names: Iterable[str]) -> None:
    """Refuse quantised models by the tool that made them, as the names of their tensors tell.

    Raises:
        PretrainedError: naming the tool.
    """
    listed = list(names)
    for by, pattern in _STATED["quantisers"].items():
        if name := next((name for name in listed if re.search(pattern, name)), None):
            raise PretrainedError(
                f"this is a model quantised {by} ({cut(name)}), whose weights are integers or short floats with scales:"
                f" {_QUANTISED}"
            )


def header_bytes(raw: bytes) -> int:
    """Return the length of the JSON that follows the first 8 bytes, as they state it."""
    return int.from_bytes(raw[:8], "little")


def _check_kind(start: bytes) -> None:
    """Refuse other formats by name."""
    for kind, other in _STATED["others"].items():
        if re.match(other["start"].encode(), start, re.DOTALL):
            raise PretrainedError(f"the file is {kind}, which is not opened here: {other['advice']}")
    if _PICKLES.match(start):
        raise PickledWeightsError(_LIGHTNING in start)


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
