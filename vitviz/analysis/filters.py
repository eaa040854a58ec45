"""Analyse the patch embedding's filters: principal components, their signs over time, and reconstructions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

from vitviz.analysis.patches import patchify

FloatArray = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of filters or patches, the largest variance first.

    maps: (k, C, P, P), orthonormal when flattened.
    explained: (k,), each one's share of the variance; sums to 1 over all components.
    """

    maps: FloatArray
    explained: FloatArray


def principal_components(samples: FloatArray, count: int | None = None) -> Components:
    """Return the principal components of D filters or patches (D, C, P, P) (ViT paper, fig. 7 left).

    Args:
        samples: (D, C, P, P).
        count: at most so many components; None for all that D samples of C P^2 values can have.

    Raises:
        ValueError: if D is below 2: uploaded models may have one filter, or images of one patch.
    """
    from sklearn.decomposition import PCA

    if len(samples) < 2:
        raise ValueError(f"samples must be (D, C, P, P) with D of at least 2, received {samples.shape}")
    flat = np.asarray(samples, dtype=np.float64).reshape(len(samples), -1)
    most = min(len(flat) - 1, flat.shape[1])
    fitted = PCA(n_components=most, svd_solver="full").fit(flat)
    largest = slice(min(most, most if count is None else count))
    share = np.nan_to_num(fitted.explained_variance_ratio_)  # samples that are all alike have no variance
    return Components(fitted.components_[largest].reshape(-1, *samples.shape[1:]), share[largest])


def align_signs(maps: FloatArray, previous: FloatArray) -> FloatArray:
    """Flip each component (k, C, P, P) that points away from the same component of the previous frame.

    A component's sign is arbitrary; without this a film of training flickers.
    """
    agreement = (maps * previous).sum(axis=(1, 2, 3), keepdims=True)
    return np.where(agreement < 0, -maps, maps)


def components_over_time(filters: list[FloatArray], count: int) -> tuple[FloatArray, FloatArray]:
    """Return the components of every snapshot, signs carried from frame to frame.

    Args:
        filters: the snapshots' (D, C, P, P), first step first.
        count: components per snapshot.

    Returns:
        (frames, k, C, P, P) and each component's share of the variance, (frames, k).
    """
    frames: list[FloatArray] = []
    shares: list[FloatArray] = []
    for weights in filters:
        components = principal_components(weights, count)
        frames.append(align_signs(components.maps, frames[-1]) if frames else components.maps)
        shares.append(components.explained)
    return np.stack(frames), np.stack(shares)


def to_bytes(maps: FloatArray) -> tuple[NDArray[np.uint8], FloatArray]:
    """Return the tiles (..., C, P, P) as uint8 (..., P, P, C), each scaled by its own least and greatest value.

    Returns:
        the tiles, and (..., 2) with the least and the greatest value: value = least + byte / 255 * (greatest - least).
    """
    low = maps.min(axis=(-3, -2, -1))
    high = maps.max(axis=(-3, -2, -1))
    span = np.where(high > low, high - low, 1.0)
    scaled = (maps - low[..., None, None, None]) / span[..., None, None, None]
    tiles = np.moveaxis(np.round(255 * scaled).astype(np.uint8), -3, -1)
    return np.ascontiguousarray(tiles), np.stack([low, high], axis=-1)


def roughness(maps: FloatArray) -> FloatArray:
    """Return the roughness of maps (...): squared differences of neighbouring pixels, relative to white noise.

    r = (mean (dy)^2 + mean (dx)^2) / (4 mean (x - mean x)^2), divided by what white noise has of it on average: its n
    pixels lose their own mean, so n / (n - 1), which is 4/3 in 2 x 2 and 64/63 in 8 x 8.

    0 for a slow ramp, 1 for white noise, nearly 2 for a chessboard; a constant map has 0.
    """
    centred = maps - maps.mean(axis=(-2, -1), keepdims=True)
    power = (centred**2).mean(axis=(-3, -2, -1))
    down = (np.diff(maps, axis=-2) ** 2).mean(axis=(-3, -2, -1))
    right = (np.diff(maps, axis=-1) ** 2).mean(axis=(-3, -2, -1))
    rough = np.divide((down + right) / 4, power, out=np.zeros_like(power), where=power > 1e-20)
    of_noise: FloatArray = rough * (1 - 1 / (maps.shape[-2] * maps.shape[-1]))
    return of_noise


SMOOTH, NOISY = 0.5, 0.85  # of `roughness`: a slow wave is below the first, white noise about 1
_LOOKED_AT, _ENDS = 28, 7  # components of the ViT paper's figure 7, and how many of them are first, or last


@dataclass(frozen=True)
class FilterStatistics:
    """Statistics of the first 28 principal components of a model's filters."""

    count: int
    held: float  # share of the variance that they hold together
    head: float  # roughness of the first seven, each by its share of the variance
    tail: float  # mean roughness of the last seven

    @property
    def waves(self) -> bool:
        """True if the first components are low-frequency waves."""
        return self.head < SMOOTH


def measure_filters(filters: FloatArray) -> FilterStatistics:
    """Measure the filters (D, C, P, P).

    Raises:
        ValueError: if D is below 2.
    """
    components = principal_components(filters, _LOOKED_AT)
    rough = roughness(components.maps)
    head = float(np.average(rough[:_ENDS], weights=components.explained[:_ENDS] + 1e-12))
    return FilterStatistics(
        len(components.maps), float(components.explained.sum()), head, float(rough[-_ENDS:].mean())
    )


def cut_patches(image: FloatArray, patch_px: int) -> FloatArray:
    """Return an image (C, H, W) as patches (N, C, P, P) in reading order.

    Raises:
        ValueError: if the patch size does not divide the image.
    """
    return patchify(image, patch_px).reshape(-1, len(image), patch_px, patch_px)


def dct_basis(channels: int, patch_px: int, count: int | None = None) -> FloatArray:
    """Return the orthonormal discrete cosine transform of a patch, lowest frequencies first, (k, C, P, P).

    b_uv[y, x] = c_u c_v cos(pi u (2y + 1) / 2P) cos(pi v (2x + 1) / 2P) (JPEG's), with the same transform over the
    channels: first their mean, then their differences.
    """
    depth, side = (dct(np.eye(length), axis=0, norm="ortho") for length in (channels, patch_px))
    basis = np.einsum("ac,uy,vx->auvcyx", depth, side, side)
    a, u, v = np.indices(basis.shape[:3]).reshape(3, -1)
    # Colour differences of a photograph are weak: they come after the grey waves of the same total frequency.
    order = np.lexsort((v, u, a, u + v + 2 * a))
    ordered: FloatArray = basis.reshape(-1, channels, patch_px, patch_px)[order][:count]
    return ordered


@dataclass(frozen=True, eq=False)
class Rebuilding:
    """Patches as a mean patch and coefficients on an orthonormal basis.

    rebuilt_n(k) = mean + sum over i < k of coefficients[n, i] * basis[i]
    """

    basis: FloatArray  # (k, C, P, P)
    coefficients: FloatArray  # (N, k)
    mean: FloatArray  # (C, P, P)
    error: FloatArray  # (k + 1,): root mean square difference with the first 0, 1, ..., k components


def rebuild_patches(patches: FloatArray, basis: FloatArray, scale: FloatArray | None = None) -> Rebuilding:
    """Project patches (N, C, P, P), less their mean, onto an orthonormal basis (k, C, P, P).

    The mean patch is kept as it is for every basis, so that PCA of the patches is the best that any k
    components can do (Eckart and Young 1936).

    Args:
        patches: (N, C, P, P).
        basis: (k, C, P, P).
        scale: (C,), differences of a channel are multiplied by it before the error is taken: 255 * std gives
            grey levels of a normalised image. None: 1.
    """
    mean = patches.mean(axis=0)
    rest = (patches - mean).reshape(len(patches), -1)
    flat = basis.reshape(len(basis), -1)
    coefficients = rest @ flat.T
    weight = np.ones(flat.shape[1])
    if scale is not None:
        weight = np.repeat(np.asarray(scale, dtype=np.float64), flat.shape[1] // len(scale))
    error = [np.sqrt(np.mean((rest * weight) ** 2))]
    for k in range(len(flat)):
        rest = rest - coefficients[:, k : k + 1] * flat[k]
        error.append(np.sqrt(np.mean((rest * weight) ** 2)))
    return Rebuilding(basis, coefficients, mean, np.array(error))


@dataclass(frozen=True, eq=False)
class FilterResponse:
    """One filter's response to one patch, product by product: value = sum(products) + bias."""

    patch: FloatArray  # (C, P, P)
    weight: FloatArray  # (C, P, P)
    products: FloatArray  # (C, P, P)
    bias: float
    value: float


def apply_filter(
    patch: FloatArray, filters: FloatArray, bias: FloatArray | None, column: int
) -> FilterResponse:
    """Return the terms of (x E + b)_d of one patch (C, P, P) (ViT paper, eq. 1)."""
    weight = np.asarray(filters[column], dtype=np.float64)
    products = patch * weight
    offset = 0.0 if bias is None else float(bias[column])
    return FilterResponse(patch, weight, products, offset, float(products.sum()) + offset)
