"""Cut an image into patches, map them to tokens, and reproduce common bugs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
MAX_PATCHES = 1024  # a 32 x 32 grid: beyond it neither numbers nor patches can be told apart on a screen


@dataclass(frozen=True)
class PatchSize:
    """A patch size for one image size, both in pixels, and the reason where it cannot be used."""

    patch_px: int
    reason: str | None


def patch_sizes(image_shape: tuple[int, int], candidates: tuple[int, ...]) -> list[PatchSize]:
    """Return the candidates in rising order, each with the reason why it does not fit (height, width), or None."""
    sizes = []
    for patch in sorted(set(candidates)):
        rows, cols = (side // patch for side in image_shape)
        left_over = next((side for side in image_shape if side % patch), None)
        reason = None
        if patch > min(image_shape):
            reason = f"{patch} px is larger than the {min(image_shape)} px image"
        elif left_over is not None:
            whole, rest = divmod(left_over, patch)
            reason = f"{left_over} = {whole} × {patch} + {rest}, so {rest} px would be left over"
        elif rows * cols > MAX_PATCHES:
            reason = f"{rows} × {cols} = {rows * cols:,} patches are too many to show"
        sizes.append(PatchSize(patch, reason))
    return sizes


def _grid(image: NDArray[Any], patch_px: int) -> tuple[int, int, int]:
    if image.ndim != 3:
        raise ValueError(f"image must be (C, H, W), received shape {image.shape}")
    channels, height, width = image.shape
    if patch_px < 1 or height % patch_px or width % patch_px:
        raise ValueError(f"patch_px must divide {height} x {width} px, received {patch_px}")
    return channels, height // patch_px, width // patch_px


def patchify(image: NDArray[Any], patch_px: int) -> NDArray[Any]:
    """Return x_p of the ViT paper's eq. 1: (C, H, W) -> (N, C P^2), N = HW / P^2 patches in reading order.

    Within a patch the order is a Conv2d kernel's: channel, then row, then column.

    Raises:
        ValueError: if the image is not (C, H, W) or patch_px does not divide it.
    """
    channels, rows, cols = _grid(image, patch_px)
    blocks = image.reshape(channels, rows, patch_px, cols, patch_px)
    return blocks.transpose(1, 3, 0, 2, 4).reshape(rows * cols, channels * patch_px**2)


def unpatchify(patches: NDArray[Any], channels: int, grid: tuple[int, int]) -> NDArray[Any]:
    """Return the inverse of `patchify`: (N, C P^2) -> (C, H, W)."""
    rows, cols = grid
    patch_px = int((patches.shape[-1] / channels) ** 0.5)
    blocks = patches.reshape(rows, cols, channels, patch_px, patch_px)
    return blocks.transpose(2, 0, 3, 1, 4).reshape(channels, rows * patch_px, cols * patch_px)


def slip_patches(image: NDArray[Any], patch_px: int) -> NDArray[Any]:
    """Return the 'patches' of `image.reshape(N, P * P * C)`: (H, W, C) -> (N, P, P, C), runs of pixels, not squares.

    Row n holds the pixels n P^2 to (n + 1) P^2 - 1 in reading order of the whole image.

    Raises:
        ValueError: if the image is not (H, W, C) or patch_px does not divide it.
    """
    if image.ndim != 3:
        raise ValueError(f"image must be (H, W, C), received shape {image.shape}")
    channels, rows, cols = _grid(image.transpose(2, 0, 1), patch_px)
    flat = image.reshape(rows * cols, patch_px * patch_px * channels)
    return flat.reshape(rows * cols, patch_px, patch_px, channels)


def slip_rows(width_px: int, patch_px: int) -> int:
    """Return the largest number of image rows in one reshaped 'patch' of P^2 pixels."""
    start = np.arange(0, width_px * patch_px, patch_px**2)
    return int(((start + patch_px**2 - 1) // width_px - start // width_px).max()) + 1


def slip_share(image_shape: tuple[int, int], patch_px: int) -> float:
    """Return the mean share of a reshaped 'patch' that lies in the correct patch of an image (height, width).

    Raises:
        ValueError: if patch_px does not divide the image.
    """
    height, width = image_shape
    pixels = np.arange(height * width)
    true_patches = (pixels // patch_px**2).reshape(-1, patch_px**2)
    places = pixels.reshape(1, height, width)
    return float(np.mean(patchify(places, patch_px) // patch_px**2 == true_patches))


def embed(patches: FloatArray, weight: FloatArray, bias: FloatArray | None) -> FloatArray:
    """Return x_p E + b, E = weight^T: (N, C P^2), (D, C P^2) -> (N, D) (ViT paper, eq. 1)."""
    tokens = patches @ weight.T
    return tokens if bias is None else tokens + bias


def largest_difference(a: FloatArray, b: FloatArray) -> float:
    """Return max |a - b|."""
    return float(np.abs(a - b).max())


def scrambled_order(num_patches: int, share: float, seed: int) -> NDArray[np.int64]:
    """Return a permutation in which round(share N) patches move: patch order[n] lands in place n.

    One seed gives one order of patches, so a larger share moves the same patches and more.

    Raises:
        ValueError: if share lies outside [0, 1] or there is no patch.
    """
    if num_patches < 1 or not 0.0 <= share <= 1.0:
        raise ValueError(f"need at least 1 patch and a share in [0, 1], received {num_patches} and {share}")
    order = np.arange(num_patches)
    moved = moving_order(num_patches, seed)[: count_moved(num_patches, share)]
    order[moved] = np.roll(moved, 1)
    return order


def moving_order(num_patches: int, seed: int) -> NDArray[np.int64]:
    """Return the order in which patches join those that move, as the share grows."""
    return np.random.default_rng(seed).permutation(num_patches)


def count_moved(num_patches: int, share: float) -> int:
    return round(share * num_patches)


def scramble(image: NDArray[Any], patch_px: int, order: NDArray[np.int64]) -> NDArray[Any]:
    """Return the image (C, H, W) with patch order[n] in place n.

    Raises:
        ValueError: if order is not a permutation of the image's patches.
    """
    channels, rows, cols = _grid(image, patch_px)
    if not np.array_equal(np.sort(order), np.arange(rows * cols)):
        raise ValueError(f"order must be a permutation of {rows * cols} patches, received {order.shape}")
    return unpatchify(patchify(image, patch_px)[order], channels, (rows, cols))


def position_rows(table: FloatArray | None, num_tokens: int, dim: int) -> FloatArray:
    """Return E_pos as (tokens, D), zeros for prefix tokens without positions."""
    rows = np.zeros((num_tokens, dim), dtype=np.float32)
    if table is None:
        return rows
    rows[num_tokens - len(table) :] = table
    return rows
