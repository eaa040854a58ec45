"""Compute softmax and causal masks, fuse heads, quantise rows for the browser, mask mass, and compare two maps."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Fusion = Literal["mean", "max", "min"]
FloatArray = NDArray[np.floating[Any]]
# The sentence of the lecture, with four hand-set features per word: being, verb, function word, quality.
SENTENCE = ("Bark", "is", "a", "dog", "and", "he", "is", "cute")
MEANINGS = np.array(
    [
        [2.0, 0.0, 0.0, 0.4],
        [0.3, 1.6, 0.3, 0.0],
        [0.4, 0.0, 1.4, 0.0],
        [2.2, 0.0, 0.0, 0.6],
        [0.0, 0.3, 1.4, 0.0],
        [1.9, 0.0, 0.2, 0.3],
        [0.3, 1.6, 0.3, 0.0],
        [1.2, 0.0, 0.0, 2.2],
    ]
)
CODES = 65535  # the code of a row's largest weight
_LEAST = 1e-28  # row maximum whose reciprocal times CODES² float32 can hold


def fuse_heads(attn: FloatArray, fusion: Fusion = "mean") -> FloatArray:
    """Return one map of a layer's heads; only the mean keeps rows that sum to 1.

    Args:
        attn: (..., heads, query, key).

    Returns:
        (..., query, key).

    Raises:
        ValueError: if the fusion is unknown.
    """
    if fusion not in get_args(Fusion):
        raise ValueError(f"fusion must be one of {', '.join(get_args(Fusion))}, received {fusion!r}")
    fused: FloatArray = getattr(attn, fusion)(axis=-3)
    return fused


def quantise_rows(attn: FloatArray) -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
    """Quantise weights to 16 bits, c = round(65535 sqrt(a / rowmax)), so that small weights keep their precision.

    The error of a restored weight is at most rowmax / 64,000, so that a browser shows the digits of captions; a row
    without weight stays zero.

    Args:
        attn: (..., query, key), not negative.

    Returns:
        codes (..., query, key) and row maxima (..., query).
    """
    row_max = attn.max(axis=-1, initial=0).astype(np.float32)
    scale = CODES**2 / np.where(row_max > _LEAST, row_max, 1)  # of smaller ones it would be infinite
    # In place, and rounded by truncation: an explorer of 28 x 28 patches quantises eleven million weights.
    codes = np.multiply(attn, scale[..., None], dtype=np.float32)
    np.sqrt(codes, out=codes)
    codes += 0.5
    np.minimum(codes, CODES, out=codes)
    return codes.astype(np.uint16), row_max


def restore_rows(codes: NDArray[np.uint16], row_max: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the weights of the codes of `quantise_rows`, a = (c / 65535)^2 rowmax."""
    return np.asarray((codes.astype(np.float32) / CODES) ** 2 * row_max[..., None], dtype=np.float32)


def kept_by_mass(weights: FloatArray, share: float) -> NDArray[np.bool_]:
    """Return the fewest patches that hold `share` of the mass (Caron et al. 2021, DINO's display), map by map.

    Args:
        weights: (..., patches), not negative.
        share: in (0, 1].

    Returns:
        (..., patches), True where a patch is kept.
    """
    order = np.argsort(-weights, axis=-1, kind="stable")
    ranked = np.take_along_axis(weights, order, axis=-1)
    total = ranked.sum(axis=-1, keepdims=True)
    before = np.cumsum(ranked, axis=-1) - ranked  # the mass of all patches ranked higher
    # A tolerance, so that a share met exactly in real numbers is met in floating point as well.
    kept_ranked = (before < share * total * (1 - 1e-6)) & (ranked > 0)
    mask = np.zeros(weights.shape, dtype=bool)
    np.put_along_axis(mask, order, kept_ranked, axis=-1)
    return mask


def find_concentrated_head(weights: FloatArray) -> int:
    """Return the head (from 0) whose strongest tenth of the patches holds most of a query's attention.

    Args:
        weights: (heads, patches), without prefix tokens, so that attention to [CLS] does not count.
    """
    strongest = max(1, weights.shape[1] // 10)
    return int(np.sort(weights, axis=1)[:, -strongest:].sum(axis=1).argmax())


def readout_row(matrix: FloatArray, prefix: tuple[str, ...], readout: str) -> FloatArray:
    """Return the row of a token-by-token matrix that the class scores are read from.

    'cls' reads the [CLS] row, and a distilled model the mean of the [CLS] and distillation rows, as its score is
    the mean of two logits, one read from each; 'mean' averages the patches' rows; 'first_patch' reads the first
    patch's row. 'cls_mean', whose head reads both, gives the [CLS] row.

    Args:
        matrix: (..., query, key).

    Returns:
        (..., patches): prefix columns are dropped and nothing is re-normalised.

    Raises:
        ValueError: if the readout is unknown.
    """
    first = len(prefix)
    if readout in ("mean", "map"):
        row = matrix[..., first:, :].mean(axis=-2)
    elif readout == "first_patch":
        row = matrix[..., first, :]
    elif readout in ("cls", "cls_mean"):
        rows = [prefix.index(name) for name in ("cls", "dist") if name in prefix]
        row = matrix[..., rows, :].mean(axis=-2)
    else:
        raise ValueError(f"readout must be cls, mean or first_patch, received {readout!r}")
    return np.asarray(row[..., first:])


def scaled(product: str, scale: float) -> str:
    """Format the scaled products of a softmax in symbols: 'q·k / √32'."""
    return product if scale == 1 else f"{product} / √{round(scale**-2)}"


def entropy_bits(rows: FloatArray) -> FloatArray:
    """Return the entropy of each row of weights in bits, -sum a log2 a: 0 for one key, log2(keys) if uniform."""
    safe = np.where(rows > 0, rows, 1)  # 0 log 0 is 0
    return np.asarray(-np.einsum("...k,...k->...", rows, np.log2(safe)))


@dataclass(frozen=True, eq=False)
class WindowRows:
    """Attention inside windows, token by token in reading order of the stage's grid.

    `rows` (heads, tokens, slots) are a token's weights over the slots of its window; `slots` (windows, slots) the
    token in each slot, -1 for padding; `window_of` and `slot_of` (tokens,) where a token sits.
    """

    rows: FloatArray
    slots: NDArray[np.int32]
    window_of: NDArray[np.int32]
    slot_of: NDArray[np.int32]


def rows_of_windows(attn: FloatArray, window_index: NDArray[np.integer[Any]]) -> WindowRows:
    """Put a Swin block's windows (Liu et al. 2021) back onto the image, one row of weights per token.

    Args:
        attn: (windows, heads, query slot, key slot) of one image.
        window_index: (windows, slots), the token of each slot in reading order, -1 for padding.
    """
    windows, _, slots, _ = attn.shape
    tokens = int(window_index.max()) + 1
    window, slot = np.nonzero(window_index >= 0)
    token = window_index[window, slot]
    window_of = np.zeros(tokens, dtype=np.int32)
    slot_of = np.zeros(tokens, dtype=np.int32)
    window_of[token], slot_of[token] = window, slot
    rows = attn[window_of, :, slot_of].transpose(1, 0, 2)  # (tokens, heads, slots) -> (heads, tokens, slots)
    return WindowRows(rows, window_index.astype(np.int32), window_of, slot_of)


def map_of_token(rows: WindowRows, token: int) -> FloatArray:
    """Return the attention of one token of a windowed block, (heads, tokens), zero outside its window."""
    keys = rows.slots[rows.window_of[token]]
    inside = keys >= 0
    weights = np.zeros((rows.rows.shape[0], len(rows.window_of)), dtype=rows.rows.dtype)
    weights[:, keys[inside]] = rows.rows[:, token, inside]
    return weights


def map_onto_token(rows: WindowRows, token: int) -> FloatArray:
    """Return the attention to one token of a windowed block, (heads, tokens): a column of the full matrix."""
    others = rows.slots[rows.window_of[token]]
    others = others[others >= 0]
    weights = np.zeros((rows.rows.shape[0], len(rows.window_of)), dtype=rows.rows.dtype)
    weights[:, others] = rows.rows[:, others, rows.slot_of[token]]
    return weights


def causal_attention(scores: FloatArray) -> FloatArray:
    """Return softmax(scores + M), M = -inf where the key is after the query (Vaswani et al. 2017, section 3.2.3).

    Rows sum to 1: each is the unmasked attention to the keys so far, renormalised.

    Args:
        scores: (..., tokens, tokens), the input of the softmax.
    """
    tokens = scores.shape[-1]
    later = np.triu(np.ones((tokens, tokens), dtype=bool), k=1)
    return softmax(np.where(later, -np.inf, scores))


def sentence_attention(causal: bool) -> FloatArray:
    """Return the attention between the words of `SENTENCE`, A = softmax(X Xt / sqrt(4)), from their features.

    Returns:
        (8, 8), rows sum to 1.
    """
    scores = MEANINGS @ MEANINGS.T / np.sqrt(MEANINGS.shape[1])
    return causal_attention(scores) if causal else softmax(scores)


def rank_correlation(a: FloatArray, b: FloatArray) -> float:
    """Return Spearman's rank correlation of two maps; 0 where a map is constant."""
    ranks = [_mean_ranks(values) for values in (a, b)]
    spread = [float(rank.std()) for rank in ranks]
    if min(spread) == 0:
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def shared_mass(a: FloatArray, b: FloatArray) -> NDArray[np.float64]:
    """Return Σ_k min(a_k, b_k) of rows normalised to sum 1: 1 if they are equal, 0 if they share no key.

    Args:
        a, b: (..., keys), not negative; a row of zeros shares nothing.
    """
    shares = []
    for rows in (a, b):
        rows = np.asarray(rows, dtype=np.float64)
        total = rows.sum(axis=-1, keepdims=True)
        shares.append(np.divide(rows, total, out=np.zeros_like(rows), where=total > 0))
    return np.asarray(np.minimum(*shares).sum(axis=-1))


def _mean_ranks(values: FloatArray) -> NDArray[np.float64]:
    """Return the ranks from 0, ties sharing their mean rank."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count + 1) / 2)[place], dtype=np.float64)


def sigmoid(scores: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Return 1 / (1 + exp(-s)), without overflow."""
    return np.asarray((1 + np.tanh(scores / 2)) / 2)


def softmax(scores: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Return exp(s) / sum exp(s) over the last axis."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
