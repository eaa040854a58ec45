"""Captions of the block page, made from one token's numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.block import NormStatistics
from vitviz.analysis.readout import ReadoutPrediction
from vitviz.config import ViTConfig
from vitviz.models import model_cost
from vitviz.probe.layers import Record
from vitviz.text import percent, plain, plural, signed


def describe_branches(record: Record, config: ViTConfig, layer: int, head: int, token: int) -> str:
    """Return the norms of the token and of the vectors that attention and the MLP add."""
    x, attention, mlp = (
        float(np.linalg.norm(record[part][token])) for part in ("input", "attn_added", "mlp_added")
    )
    branches = [("attention", attention), ("the MLP", mlp)]
    (weaker, shorter), (stronger, longer) = sorted(branches, key=lambda branch: branch[1])
    ratio = longer / max(shorter, 1e-12)
    return (
        f"In block {layer}, {stronger} adds a vector {ratio:.1f} times as long as {weaker} does (lengths {longer:.1f}"
        f" and {shorter:.1f}; the token's own: {x:.1f}). Head {head} of {config.num_heads} computes"
        f" {config.embed_dim // config.num_heads} of the {config.embed_dim} values that"
        f" {'the output projection mixes' if config.output_projection else 'are added'}."
    )


def describe_parameters(counts: dict[str, int], ratio: float) -> str:
    """Return the MLP's share of a block's parameters, and its share by the formula.

    Args:
        ratio: hidden width of the MLP divided by the width.
    """
    total, mlp = sum(counts.values()), counts[model_cost.MLP]
    words = "two thirds" if round(100 * mlp / total) in (66, 67) else percent(mlp / total, 0)
    return (
        f"The MLP holds {words} of a block's parameters ({mlp:,} of {total:,}). By formula, with MLP ratio r ="
        f" {ratio:g} it holds 2r / (4 + 2r) = {percent(2 * ratio / (4 + 2 * ratio), 1)} of the weights of linear maps."
    )


def describe_norms(stats: NormStatistics, shape: tuple[int, int], channel: int) -> str:
    """Return mean and standard deviation that LayerNorm and BatchNorm use.

    Args:
        shape: (tokens, channels).
        channel: from 1.
    """
    return (
        f"LayerNorm uses this token's {shape[1]} channels (mean {signed(stats.token_mean, 3)}, standard deviation"
        f" {stats.token_std:.3f}); BatchNorm would use channel {channel} of all tokens in the batch"
        f" ({signed(stats.channel_mean, 3)} and {stats.channel_std:.3f} over the {shape[0]} tokens of this image)."
        " LayerNorm is independent of the batch."
    )


def describe_stream(norms: NDArray[np.floating[Any]], pre_norm: bool) -> str:
    """Return the mean token norm before the first and after the last block, from norms (depth + 1, tokens)."""
    first, last = norms[0].mean(), norms[-1].mean()
    text = f"The mean length of a token's vector is {first:.1f} before the first block and {last:.1f} after the last."
    if pre_norm:
        return (
            f"{text} Pre-norm blocks only add to the residual stream: part of the gradient passes unchanged."
        )
    return f"{text} Post-norm normalises the residual stream after every sum, so γ and β set its length."


def describe_readout(answer: ReadoutPrediction, readout: str, classes: tuple[str, ...]) -> str:
    """Return the predicted class, its lead, and the number of channels that decide it."""
    first, second = answer.order[:2]
    lead = float(answer.logits[first] - answer.logits[second])
    gains = sorted((float(product) for product in answer.products if product > 0), reverse=True)
    channels = 1 + int(np.searchsorted(np.cumsum(gains), sum(gains) / 2)) if gains else 0
    return (
        f"The classifier head reads {readout} and predicts **{plain(classes[first])}** with logit"
        f" {signed(float(answer.logits[first]))}, a lead of {lead:.2f} over {plain(classes[second])}: after softmax"
        f" {percent(answer.probabilities[first])} against {percent(answer.probabilities[second])}, a ratio of"
        f" e^{lead:.2f}. {plural(channels, 'channel')} of {len(answer.products)} contribute half of the positive terms."
    )
