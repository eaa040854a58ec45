"""Run a model on images and return its intermediates as fp32 arrays."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController
from torch import Tensor, nn

from vitviz.analysis.distance import AttentionDistances, DistanceStream, window_distances_px
from vitviz.config import SwinConfig
from vitviz.devices import make_input
from vitviz.models.token_layout import TokenLayout

FloatArray = NDArray[np.float32]
SMALL_VALUES = 4 * 3 * 64 * 64  # of all images; below this one thread is fastest
_pools = ThreadpoolController()  # once: finding the pools takes as long as a small model's forward pass


@dataclass(frozen=True, eq=False)
class Capture:
    """A model's intermediates for a batch of images, by name, as arrays; integers stay integers."""

    arrays: dict[str, NDArray[Any]]
    logits: FloatArray
    layout: TokenLayout | None

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    def attention(self) -> FloatArray:
        """Attention of every recorded block, (depth, B, heads, query, key); needs one common shape."""
        names = sorted(
            (n for n in self.arrays if n.startswith("blocks.") and n.endswith(".attn")),
            key=lambda name: int(name.split(".")[1]),
        )
        if not names:
            raise ValueError(
                f"no block's attention was recorded; recorded: {', '.join(self.arrays) or 'nothing'}"
            )
        return np.stack([self.arrays[name] for name in names])


def as_array(tensor: Tensor) -> NDArray[Any]:
    """Return a detached array on the CPU; every floating type becomes fp32."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.is_floating_point() else tensor).numpy()


STREAMED = 16  # images at once whose attention is looked at and let go


def _batches(model: nn.Module, images: FloatArray, batch_size: int) -> Iterable[Tensor]:
    for start in range(0, len(images), batch_size):
        yield make_input(model, images[start : start + batch_size])


def limit_pools(threads: int | None, user_api: str | None = None) -> AbstractContextManager[object]:
    """Let NumPy and PyTorch, or one kind of pool ("blas", "openmp"), use so many threads; None: as many as now."""
    limit: AbstractContextManager[object] = _pools.limit(limits=threads, user_api=user_api)
    return limit


def one_thread() -> AbstractContextManager[object]:
    """Let PyTorch compute with one thread in this thread.

    `torch.set_num_threads` would also limit threads that start meanwhile, and MKL ignores OpenMP's limits after it.
    """
    torch.get_num_threads()  # a thread's first call sets OpenMP's number
    return limit_pools(1, "openmp")


def limit_threads(images: FloatArray) -> AbstractContextManager[object]:
    """Use one thread for a few small images: starting others takes longer than their share of the work."""
    return one_thread() if images.size <= SMALL_VALUES else nullcontext()


def capture(
    model: nn.Module,
    images: FloatArray,
    record: bool | Iterable[str] = True,
    batch_size: int = 32,
    **changes: Any,
) -> Capture:
    """Run the model on images (B, C, H, W) and keep the named intermediates as arrays.

    Intermediates are joined along the batch; those that the model names in `unbatched_records` (a position
    table, window indices) are kept once. `changes` are the model's own `head_mask`, `token_mask` and `replaced`.

    Raises:
        ValueError: if the model refuses the images.
    """
    request = record if isinstance(record, bool) else tuple(record)
    logits: list[NDArray[Any]] = []
    parts: dict[str, list[NDArray[Any]]] = {}
    with torch.inference_mode(), limit_threads(images):
        for x in _batches(model, images, batch_size):
            out, tensors = model(x, record=request or ("logits",), **changes)
            logits.append(as_array(out))
            for name, tensor in tensors.items():
                parts.setdefault(name, []).append(as_array(tensor))
    once: tuple[str, ...] = getattr(model, "unbatched_records", ())
    joined = {
        name: values[0] if any(fnmatchcase(name, pattern) for pattern in once) else np.concatenate(values)
        for name, values in parts.items()
    }
    find_layout: Callable[[int, int], TokenLayout] | None = getattr(model, "layout", None)
    layout = None if find_layout is None else find_layout(*images.shape[-2:])
    return Capture(joined, np.concatenate(logits), layout)


def stream_attention(
    model: nn.Module,
    images: FloatArray,
    observe: Callable[[int, FloatArray], None],
    batch_size: int = STREAMED,
) -> FloatArray:
    """Call `observe(layer, attention (b, heads, query, key))` block by block; only the logits are kept."""
    logits: list[NDArray[Any]] = []

    def on_record(name: str, tensor: Tensor) -> None:
        if name.startswith("blocks.") and name.endswith(".attn"):
            observe(int(name.split(".")[1]), as_array(tensor))

    with torch.inference_mode():
        for x in _batches(model, images, batch_size):
            logits.append(as_array(model(x, record=on_record)[0]))
    return np.concatenate(logits)


def attention_distances(
    model: nn.Module,
    images: FloatArray,
    renormalise: bool = False,
    with_entropy: bool = False,
    with_mean: bool = True,
) -> AttentionDistances:
    """Return the mean attention distance of every head of a ViT, streamed block by block.

    Args:
        with_mean: also keep the images' mean attention, (depth, heads, T, T).

    Raises:
        ValueError: if the model has no single patch grid, as a Swin or a CNN.
    """
    layout = getattr(model, "layout", lambda *size: None)(*images.shape[-2:])
    blocks = getattr(model, "blocks", None)
    if layout is None or blocks is None:
        raise ValueError(f"needs a model with one grid of patches, received {type(model).__name__}")
    stream = DistanceStream(len(blocks), layout.grid, layout.patch_px, renormalise, with_entropy, with_mean)
    stream_attention(model, images, stream.add)
    return stream.result()


def window_attention_distances(model: nn.Module, images: FloatArray) -> tuple[list[str], NDArray[np.float64]]:
    """Return the mean attention distance of every head of a Swin, inside its windows.

    Returns:
        The blocks' names, and (images, blocks, most heads) in pixels; NaN where a stage has fewer heads.
    """
    config = model.config
    if not isinstance(config, SwinConfig):
        raise ValueError(f"needs a Swin, received {type(model).__name__}")
    distances: dict[str, list[NDArray[np.float64]]] = {}
    place: dict[str, NDArray[Any]] = {}

    def on_record(name: str, tensor: Tensor) -> None:
        block, _, part = name.rpartition(".")
        if part == "window_index":
            place[block] = as_array(tensor)
        elif part == "attn":
            token_px = config.patch_size * 2 ** int(name.split(".")[1])
            grid = (-(-images.shape[-2] // token_px), -(-images.shape[-1] // token_px))
            distances.setdefault(block, []).append(
                window_distances_px(as_array(tensor), place[block], grid, token_px)
            )

    with torch.inference_mode():
        for x in _batches(model, images, STREAMED):
            model(x, record=on_record)
    heads = max(parts[0].shape[1] for parts in distances.values())
    table = np.full((len(images), len(distances), heads), np.nan)
    for index, parts in enumerate(distances.values()):
        joined = np.concatenate(parts)
        table[:, index, : joined.shape[1]] = joined
    return list(distances), table
