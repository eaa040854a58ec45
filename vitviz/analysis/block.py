"""One token's way through one block, step by step with its own numbers; arrays in and out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import entropy_bits
from vitviz.analysis.logit_lens import softmax
from vitviz.words import percent

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Step:
    """One operation: its name, formula, the formula with this token's numbers, the shape for all tokens, its value.

    `values` is the token's vector, (parts, channels) where several are drawn under each other; `labels` name them.
    `kind` says how it is drawn: 'vector', or 'keys' for one number per key; `stream` marks the residual stream.
    """

    title: str
    formula: str
    numbers: str
    shape: tuple[int, ...]
    values: NDArray[np.float32]
    labels: tuple[str, ...] = ("",)
    kind: str = "vector"
    stream: bool = False
    part: str = "attention"


def _row(values: NDArray[Any]) -> NDArray[np.float32]:
    return np.atleast_2d(values).astype(np.float32)


def _norm_step(
    before: NDArray[Any], after: NDArray[Any], shape: tuple[int, ...], name: str, part: str
) -> Step:
    return Step(
        "LayerNorm",
        f"{name} = γ (x − μ) / √(σ² + ε) + β",
        f"μ = {before.mean():.3f}, σ = {before.std():.3f} over this token's {len(before)} channels",
        shape,
        _row(after),
        part=part,
    )


def _sum_step(
    x: NDArray[Any], branch: NDArray[Any], out: NDArray[Any], shape: tuple[int, ...], part: str
) -> Step:
    cosine = float(x @ branch / max(float(np.linalg.norm(x) * np.linalg.norm(branch)), 1e-12))
    return Step(
        "Residual sum",
        "x + branch",
        f"|x| = {np.linalg.norm(x):.2f}, |branch| = {np.linalg.norm(branch):.2f}, cosine {cosine:.2f},"
        f" |sum| = {np.linalg.norm(out):.2f}",
        shape,
        _row(out),
        stream=True,
        part=part,
    )


def _attention_steps(
    record: Arrays, token: int, head: int, scale: float, name: Callable[[int], str]
) -> list[Step]:
    q, k, v = (record[part][head] for part in ("q", "k", "v"))
    scores, attn = record["scores"][head, token], record["attn"][head, token]
    best = int(attn.argmax())
    dot = float(q[token] @ k[best])
    flat = softmax(scores / scale)
    heads, tokens, width = record["q"].shape
    return [
        Step(
            f"Query, key and value of head {head + 1}",
            "q = W_q y + b_q, k = W_k y + b_k, v = W_v y + b_v",
            f"|q| = {np.linalg.norm(q[token]):.2f}, |k| = {np.linalg.norm(k[token]):.2f},"
            f" |v| = {np.linalg.norm(v[token]):.2f}",
            (3, heads, tokens, width),
            np.stack([q[token], k[token], v[token]]).astype(np.float32),
            labels=("q", "k", "v"),
        ),
        Step(
            "Scores with every key",
            "s = q·k × scale",
            f"strongest key, {name(best)}: q·k = {dot:.2f}, × {scale:.3f} = {scores[best]:.2f}",
            (heads, tokens, tokens),
            _row(scores),
            kind="scores",
        ),
        Step(
            "Softmax",
            "a = exp(s) / Σ exp(s)",
            f"{name(best)}: {attn[best]:.3f} of a sum of 1; about {2 ** float(entropy_bits(attn)):.1f} of {tokens}"
            f" keys. Without the scale {flat[best]:.3f}, about {2 ** float(entropy_bits(flat)):.1f} keys",
            (heads, tokens, tokens),
            np.stack([attn, flat]).astype(np.float32),
            labels=("with the scale", "without"),
            kind="keys",
        ),
        Step(
            f"Weighted sum of the values, head {head + 1}",
            "o = Σₖ aₖ vₖ",
            f"|o| = {np.linalg.norm(attn @ v):.2f}, between |v| of {np.linalg.norm(v, axis=-1).min():.2f} and"
            f" {np.linalg.norm(v, axis=-1).max():.2f}",
            (heads, tokens, width),
            _row(attn @ v),
        ),
    ]


def steps_of_block(
    record: Arrays, token: int, head: int, scale: float, pre_norm: bool, name: Callable[[int], str]
) -> list[Step]:
    """The operations that one token passes, in the order of the model.

    Args:
        record: of one picture and one block, by short name: input, norm1, q, k, v, scores, attn, heads, attn_out,
            mid, norm2, mlp_hidden, mlp_out, output; (tokens, D), per head (heads, tokens, ...).
        scale: what the products q·k are multiplied by, 1 / sqrt(d_head) by default.
        pre_norm: True where LayerNorm stands before a branch, False where it follows the sum.
        name: what a token is called, by its index.
    """
    x, mid, out = record["input"][token], record["mid"][token], record["output"][token]
    wide = record["input"].shape
    branch, mlp = record["attn_out"][token], record["mlp_out"][token]
    hidden = record["mlp_hidden"][token]
    contribution = np.linalg.norm(record["heads"][token].reshape(len(record["q"]), -1), axis=-1)
    steps = [
        Step("Into the block", "x", f"|x| = {np.linalg.norm(x):.2f}", wide, _row(x), stream=True),
        *_attention_steps(record, token, head, scale, name),
        Step(
            "All heads, one after the other",
            "[o₁; …; o_H]",
            f"largest: head {int(contribution.argmax()) + 1} with {contribution.max():.2f}, smallest: head"
            f" {int(contribution.argmin()) + 1} with {contribution.min():.2f}",
            wide,
            _row(record["heads"][token]),
            kind="heads",
        ),
        Step(
            "Output projection",
            "W_o [o₁; …; o_H] + b_o",
            f"|branch| = {np.linalg.norm(branch):.2f}",
            wide,
            _row(branch),
        ),
        _sum_step(x, branch, mid if pre_norm else x + branch, wide, "attention"),
        Step(
            "MLP, hidden units",
            "h = activation(W₁ y + b₁)",
            f"{percent((hidden > 0).mean(), 0)} of {len(hidden)} units are positive, the largest {hidden.max():.2f}",
            record["mlp_hidden"].shape,
            _row(hidden),
            part="mlp",
        ),
        Step(
            "MLP, back to the stream",
            "W₂ h + b₂",
            f"|branch| = {np.linalg.norm(mlp):.2f}",
            wide,
            _row(mlp),
            part="mlp",
        ),
        _sum_step(mid, mlp, out if pre_norm else mid + mlp, wide, "mlp"),
    ]
    if pre_norm:
        steps.insert(1, _norm_step(x, record["norm1"][token], wide, "y", "attention"))
        steps.insert(9, _norm_step(mid, record["norm2"][token], wide, "y", "mlp"))
    else:
        steps.insert(8, _norm_step(x + branch, mid, wide, "x", "attention"))
        steps.append(_norm_step(mid + mlp, out, wide, "x", "mlp"))
    return steps


@dataclass(frozen=True)
class NormNumbers:
    """Mean and standard deviation that LayerNorm uses for a token, and that BatchNorm would use for a channel."""

    token_mean: float
    token_std: float
    channel_mean: float
    channel_std: float


def norm_numbers(tokens: NDArray[Any], token: int, channel: int) -> NormNumbers:
    """LayerNorm averages one token over its channels, BatchNorm one channel over all tokens (and the batch).

    Args:
        tokens: (tokens, D), a block's input; here BatchNorm's batch is this one picture.
    """
    row, column = tokens[token], tokens[:, channel]
    return NormNumbers(float(row.mean()), float(row.std()), float(column.mean()), float(column.std()))
