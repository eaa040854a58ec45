"""Load tensors into a model completely, or name what does not fit and change nothing."""

import math
import re
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from vitviz.config import ViTConfig
from vitviz.models.formats.safetensors_header import Shapes
from vitviz.models.formats.tensor_names import State
from vitviz.models.pretrained_list import PretrainedError
from vitviz.models.vit import resize_positions
from vitviz.text import cut, plural

_BLOCK = re.compile(r"(?:layers\.(\d+)\.)?blocks\.(\d+)\.")


class WeightsMismatchError(PretrainedError):
    """Tensors that do not match the model: missing, unexpected or of another shape."""

    def __init__(self, name: str, missing: list[str], unexpected: list[str], misshapen: list[str]) -> None:
        self.missing, self.unexpected, self.misshapen = tuple(missing), tuple(unexpected), tuple(misshapen)
        parts = [
            f"{len(names)} {word} ({', '.join(names[:4])}{', …' if len(names) > 4 else ''})"
            for word, names in (("missing", missing), ("unexpected", unexpected), ("misshapen", misshapen))
            if names
        ]
        super().__init__(f"these are not the weights of {name}, nothing was loaded: {'; '.join(parts)}")


def check_shapes(wanted: dict[str, Tensor], shapes: Shapes, name: str) -> None:
    """Compare a model's parameters with a file's.

    Raises:
        WeightsMismatchError: naming what is missing, unexpected or misshapen.
    """
    missing = [key for key in wanted if key not in shapes]
    unexpected = [key for key in shapes if key not in wanted]
    misshapen = [
        f"{key}: expected {tuple(tensor.shape)}, received {shapes[key]}"
        for key, tensor in wanted.items()
        if key in shapes and shapes[key] != tuple(tensor.shape)
    ]
    if missing or unexpected or misshapen:
        raise WeightsMismatchError(name, missing, unexpected, misshapen)


def explain_mismatch(
    error: WeightsMismatchError, wanted: dict[str, Tensor], shapes: Shapes, origins: Mapping[str, str]
) -> str:
    """Return which blocks of a file fit a model and which tensor is the first that does not.

    Args:
        error: of `check_shapes`.
        wanted: parameters of the model.
        shapes: of the file's tensors in this project's names.
        origins: this project's name -> the file's.
    """
    blocks = sorted({_place(name) for name in wanted if _BLOCK.match(name)})
    odd = {name.partition(":")[0] for name in error.misshapen} | {*error.missing, *error.unexpected}
    whole = len(blocks) - len({_place(name) for name in odd} & set(blocks))
    first = min(odd, key=lambda name: (_place(name), name in error.missing, name))
    named = cut(origins.get(first, first))
    if first in error.missing:
        what = f"{named} of shape {tuple(wanted[first].shape)} is missing"
    elif first in error.unexpected:
        what = f"{named} of shape {shapes[first]} has no place in it"
    else:
        what = f"{named} has the shape {shapes[first]}, expected {tuple(wanted[first].shape)}"
    others = len(odd) - 1
    more = f"; {plural(others, 'more tensor')} {'does' if others == 1 else 'do'} not fit" if others else ""
    return f"{whole} of its {plural(len(blocks), 'block')} fit, but {what}{more}"


def _place(name: str) -> tuple[int, int]:
    """Return stage and block of a tensor; those outside the blocks stand before them."""
    match = _BLOCK.match(name)
    return (int(match[1] or 0), int(match[2])) if match else (-1, 0)


def load_into(model: nn.Module, state: State, name: str) -> None:
    """Load every parameter in fp32, or change nothing.

    Raises:
        WeightsMismatchError: naming what is missing, unexpected or misshapen.
        PretrainedError: if a weight is not finite or not a float.
    """
    own = model.state_dict()
    check_shapes(own, {key: tuple(tensor.shape) for key, tensor in state.items()}, name)
    weights = {}
    for key, tensor in state.items():
        if own[key].dtype == tensor.dtype == torch.int64:  # batches that a BatchNorm has counted
            weights[key] = tensor
            continue
        if not tensor.is_floating_point():
            raise PretrainedError(f"the weights of {name} are no floats: {key} is of {tensor.dtype}")
        weights[key] = tensor.float()
        if not _is_finite(weights[key]):
            raise PretrainedError(
                f"the weights of {name} are broken, nothing was loaded: {key} is not finite"
            )
    model.load_state_dict(weights, assign=True)


def _is_finite(tensor: Tensor) -> bool:
    """Return True if no value is infinite or NaN, by the smallest and the largest: a tenth of isfinite's time."""
    return not tensor.numel() or all(map(math.isfinite, map(float, torch.aminmax(tensor))))


def fit_positions(state: State, native: ViTConfig, grid: tuple[int, int]) -> State:
    """Resize the table of positions for another grid; a table that is not the native one is left as it is."""
    prefix = len(native.prefix_tokens) if native.position_on_prefix else 0
    expected = (1, prefix + native.grid[0] * native.grid[1], native.embed_dim)
    table = state.get("pos_embed")
    if table is None or tuple(table.shape) != expected or grid == native.grid:
        return state
    options = native.positions_antialias, native.positions_align_corners
    resized = resize_positions(table.float(), native.grid, grid, *options)
    return state | {"pos_embed": resized}
