"""List the operations of one block with the numbers of one token."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import entropy_bits, softmax
from vitviz.text import percent

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class BlockOperation:
    """One operation: its name, formula, the formula with this token's numbers, the shape for all tokens, its value.

    `values` is the token's vector, or (parts, channels) for several, named by `labels`. `kind` is the way of drawing:
    'vector', or 'keys' for one number per key; `stream` marks the residual stream; `names` are those of values that are
    no channels. `meaning` states the purpose of the operation in a sentence.
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
    meaning: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class BlockForm:
    """The variant of a model's blocks: scale, norms, biases and projections.

    scale: factor of the products q·k, 1 / sqrt(d_head) by default.
    pre_norm: LayerNorm precedes a branch; otherwise it follows the sum.
    """

    scale: float
    pre_norm: bool = True
    qkv_bias: bool = True
    slices: bool = False  # each head reads only its slice of the token
    projects: bool = True
    layer_scale: bool = False
    gated: bool = False  # SwiGLU

    @property
    def qkv_formula(self) -> str:
        """Formula of a head's query, key and value."""
        read = "y_h" if self.slices else "y"
        maps = ", ".join(f"{part} = W_{part} {read}{f' + b_{part}' * self.qkv_bias}" for part in "qkv")
        return f"{maps}; y_h: this head's slice of y" if self.slices else maps


def as_row(values: NDArray[Any]) -> NDArray[np.float32]:
    return np.atleast_2d(values).astype(np.float32)


def _norm_step(
    before: NDArray[Any], after: NDArray[Any], shape: tuple[int, ...], name: str, part: str
) -> BlockOperation:
    return BlockOperation(
        "LayerNorm",
        f"{name} = γ (x − μ) / √(σ² + ε) + β",
        f"μ = {before.mean():.3f}, σ = {before.std():.3f} over {len(before)} channels",
        shape,
        as_row(after),
        part=part,
    )


def _sum_step(
    x: NDArray[Any], branch: NDArray[Any], out: NDArray[Any], shape: tuple[int, ...], part: str
) -> BlockOperation:
    cosine = float(x @ branch / max(float(np.linalg.norm(x) * np.linalg.norm(branch)), 1e-12))
    return BlockOperation(
        "Residual sum",
        "x + branch",
        f"|x| = {np.linalg.norm(x):.2f}, |branch| = {np.linalg.norm(branch):.2f}, cosine {cosine:.2f},"
        f" |sum| = {np.linalg.norm(out):.2f}",
        shape,
        as_row(out),
        stream=True,
        part=part,
    )


def _attention_steps(
    record: Arrays, token: int, head: int, form: BlockForm, name: Callable[[int], str]
) -> list[BlockOperation]:
    q, k, v = (record[part][head] for part in ("q", "k", "v"))
    scores, attn = record["scores"][head, token], record["attn"][head, token]
    best = int(attn.argmax())
    dot = float(q[token] @ k[best])
    flat = softmax(scores / form.scale)
    heads, tokens, width = record["q"].shape
    return [
        BlockOperation(
            f"Query, key and value of head {head + 1}",
            form.qkv_formula,
            f"|q| = {np.linalg.norm(q[token]):.2f}, |k| = {np.linalg.norm(k[token]):.2f},"
            f" |v| = {np.linalg.norm(v[token]):.2f}",
            (3, heads, tokens, width),
            np.stack([q[token], k[token], v[token]]).astype(np.float32),
            labels=("q", "k", "v"),
            meaning="The query is compared with the key of every token; the value is what a token contributes.",
        ),
        BlockOperation(
            "Scores with every key",
            "s = q·k × scale",
            f"strongest key: {name(best)}; s = {dot:.2f} × {form.scale:.3f} = {scores[best]:.2f}",
            (heads, tokens, tokens),
            as_row(scores),
            kind="scores",
            meaning="Each score measures how well a key matches this token's query.",
        ),
        BlockOperation(
            "Softmax",
            "a = exp(s) / Σ exp(s)",
            f"weight of {name(best)}: {attn[best]:.3f} (without the scale: {flat[best]:.3f}); effective number of keys:"
            f" {2 ** float(entropy_bits(attn)):.1f} of {tokens} (without: {2 ** float(entropy_bits(flat)):.1f})",
            (heads, tokens, tokens),
            np.stack([attn, flat]).astype(np.float32),
            labels=("with the scale", "without the scale"),
            kind="keys",
            meaning="The scores become attention weights, which sum to 1.",
        ),
        BlockOperation(
            f"Weighted sum of the values, head {head + 1}",
            "o = Σₖ aₖ vₖ",
            f"|o| = {np.linalg.norm(attn @ v):.2f} ≤ largest |v| = {np.linalg.norm(v, axis=-1).max():.2f}",
            (heads, tokens, width),
            as_row(attn @ v),
            meaning="The output of this head is the values, averaged with the attention weights.",
        ),
    ]


def add_branch_outputs(
    record: Arrays, attn_gain: NDArray[Any] | float, mlp_gain: NDArray[Any] | float
) -> dict[str, NDArray[Any]]:
    """Add to a record what each branch adds to the stream: its output times its LayerScale (D,), 1 without one."""
    added = {"attn_added": record["attn_out"] * attn_gain, "mlp_added": record["mlp_out"] * mlp_gain}
    return {**record, **added}


def list_block_steps(
    record: Arrays, token: int, head: int, form: BlockForm, name: Callable[[int], str]
) -> list[BlockOperation]:
    """Return the operations of a block on one token, in the order of the model.

    Args:
        record: of one image and one block, by short name: input, norm1, q, k, v, scores, attn, heads, attn_out,
            mid, norm2, mlp_hidden, mlp_out, output, and what `with_added` adds; (tokens, D), per head
            (heads, tokens, ...).
        token, head: counted from 0.
        name: returns the name of a token by its index.
    """
    x, mid, out = record["input"][token], record["mid"][token], record["output"][token]
    attention, mlp = record["attn_added"][token], record["mlp_added"][token]
    wide = record["input"].shape
    steps = [
        BlockOperation("Block input", "x", f"|x| = {np.linalg.norm(x):.2f}", wide, as_row(x), stream=True)
    ]
    if form.pre_norm:
        steps.append(_norm_step(x, record["norm1"][token], wide, "y", "attention"))
    steps += _attention_steps(record, token, head, form, name)
    steps += _branch_steps(record, token, form)
    if form.pre_norm:
        steps.append(_sum_step(x, attention, mid, wide, "attention"))
        steps.append(_norm_step(mid, record["norm2"][token], wide, "y", "mlp"))
    else:
        steps.append(_sum_step(x, attention, x + attention, wide, "attention"))
        steps.append(_norm_step(x + attention, mid, wide, "x", "attention"))
    steps += _mlp_steps(record, token, form)
    steps.append(_sum_step(mid, mlp, out if form.pre_norm else mid + mlp, wide, "mlp"))
    if not form.pre_norm:
        steps.append(_norm_step(mid + mlp, out, wide, "x", "mlp"))
    return steps


def _branch_steps(record: Arrays, token: int, form: BlockForm) -> list[BlockOperation]:
    wide, heads = record["input"].shape, record["heads"][token]
    contribution = np.linalg.norm(heads.reshape(len(record["q"]), -1), axis=-1)
    steps = [
        BlockOperation(
            "Concatenation of all heads",
            "[o₁; …; o_H]",
            f"longest output: head {int(contribution.argmax()) + 1} ({contribution.max():.2f}), shortest: head"
            f" {int(contribution.argmin()) + 1} ({contribution.min():.2f})",
            wide,
            as_row(heads),
            kind="heads",
        )
    ]
    if form.projects:
        branch = record["attn_out"][token]
        size = f"|branch| = {np.linalg.norm(branch):.2f}"
        steps.append(
            BlockOperation("Output projection", "W_o [o₁; …; o_H] + b_o", size, wide, as_row(branch))
        )
    return steps + _scale_steps(record["attn_added"][token], wide, form, "attention")


def _mlp_steps(record: Arrays, token: int, form: BlockForm) -> list[BlockOperation]:
    wide, hidden, mlp = record["input"].shape, record["mlp_hidden"][token], record["mlp_out"][token]
    return [
        BlockOperation(
            "MLP, hidden units",
            "h = silu(W_g y + b_g) ⊙ (W₁ y + b₁)" if form.gated else "h = activation(W₁ y + b₁)",
            f"{percent((hidden > 0).mean(), 0)} of {len(hidden)} units are positive, the largest is {hidden.max():.2f}",
            record["mlp_hidden"].shape,
            as_row(hidden),
            part="mlp",
        ),
        BlockOperation(
            "MLP, output",
            "W₂ h + b₂",
            f"|branch| = {np.linalg.norm(mlp):.2f}",
            wide,
            as_row(mlp),
            part="mlp",
        ),
        *_scale_steps(record["mlp_added"][token], wide, form, "mlp"),
    ]


def _scale_steps(
    added: NDArray[Any], wide: tuple[int, ...], form: BlockForm, part: str
) -> list[BlockOperation]:
    if not form.layer_scale:
        return []
    size = f"|λ ⊙ branch| = {np.linalg.norm(added):.2f}"
    return [
        BlockOperation(
            "LayerScale, a learned gain per channel", "λ ⊙ branch", size, wide, as_row(added), part=part
        )
    ]


@dataclass(frozen=True)
class NormStatistics:
    """Mean and standard deviation that LayerNorm uses for a token, and that BatchNorm would use for a channel."""

    token_mean: float
    token_std: float
    channel_mean: float
    channel_std: float


def measure_norm_statistics(tokens: NDArray[Any], token: int, channel: int) -> NormStatistics:
    """Return the statistics of LayerNorm (one token, all channels) and BatchNorm (one channel, all tokens).

    Args:
        tokens: (tokens, D), the input of a norm; the batch of BatchNorm is this one image.
    """
    row, column = tokens[token], tokens[:, channel]
    return NormStatistics(float(row.mean()), float(row.std()), float(column.mean()), float(column.std()))
