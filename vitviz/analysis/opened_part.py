"""One part of a model taken apart: each operation with its real inputs and output, and the tables of its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.journey import FloatArray, Tokens
from vitviz.text import signed

Kind = Literal["pixels", "product", "vector", "sum", "heads", "softmax", "bars", "maps", "quad"]
LISTED = 6  # keys, or classes, of a softmax that are named
BARS = 8
MOST_ROWS = 800  # of a table


@dataclass(frozen=True, eq=False)
class Operation:
    """One operation: its name, its formula, the formula with these numbers put in, the shape of all of it, its values.

    facts: what its kind needs beside the values, as JSON holds it.
    """

    kind: Kind
    title: str
    formula: str
    numbers: str
    values: FloatArray
    labels: tuple[str, ...] = ()
    say: str = ""
    shape: tuple[int, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers to read and to take away, (rows, columns); `rows` names them, or is empty."""

    title: str
    file: str
    columns: tuple[str, ...]
    values: FloatArray
    rows: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Opened:
    """A part's operations and tables for one token; head, chosen class and channel count from 0, None where none is."""

    part: str
    token: int
    token_name: str
    operations: tuple[Operation, ...]
    tables: tuple[Table, ...] = ()
    head: int | None = None
    chosen_class: int | None = None
    channel: int | None = None


def name_of(tokens: Tokens, token: int) -> str:
    """'[CLS]', or 'the patch in row 3, column 5'; counted from 1."""
    first = len(tokens.prefix)
    if token < first:
        return f"[{tokens.prefix[token].upper()}]"
    row, col = divmod(token - first, tokens.grid[1])
    return f"the patch in row {row + 1}, column {col + 1}"


def length(vector: FloatArray) -> float:
    """Euclidean."""
    return float(np.linalg.norm(vector))


def cosine(a: FloatArray, b: FloatArray) -> float:
    """Of the angle between two vectors; 0 where one is zero."""
    sizes = length(a) * length(b)
    return float(a @ b) / sizes if sizes else 0.0


def _plus(a: float, b: float) -> str:
    """'−0.085 − 0.013 = −0.098'."""
    sign = "\N{MINUS SIGN}" if b < 0 else "+"
    return f"{signed(a, 3)} {sign} {abs(b):.3f} = {signed(a + b, 3)}"


def product(
    title: str, x: FloatArray, weights: FloatArray, bias: float, channel: int, formula: str = "x · e + b"
) -> Operation:
    """One output of a linear map: x ⊙ w value by value, (C, h, w) each, its sum and the bias."""
    each = x * weights
    total = float(each.sum())
    numbers = _plus(total, bias) if bias else f"Σ = {signed(total, 3)}"
    facts = {"channel": channel, "sum": total, "bias": bias, "result": total + bias}
    values = np.stack([x, weights, each])
    return Operation(
        "product",
        title,
        formula,
        numbers,
        values,
        ("x", "weights", "x ⊙ weights"),
        shape=x.shape,
        facts=facts,
    )


def summed(
    title: str,
    formula: str,
    a: FloatArray,
    b: FloatArray,
    labels: tuple[str, str, str],
    shape: tuple[int, ...],
) -> Operation:
    """a + b, channel by channel, with the lengths of all three and the cosine of the two."""
    total = a + b
    sizes = [length(a), length(b), length(total)]
    angle = cosine(a, b)
    numbers = (
        f"lengths {sizes[0]:.2f} and {sizes[1]:.2f}, cosine {signed(angle)}: together {sizes[2]:.2f} long"
    )
    facts = {"lengths": sizes, "cosine": angle}
    return Operation(
        "sum", title, formula, numbers, np.stack([a, b, total]), labels, shape=shape, facts=facts
    )


def vector(
    title: str,
    formula: str,
    values: FloatArray,
    shape: tuple[int, ...],
    labels: Sequence[str] = ("",),
    numbers: str = "",
) -> Operation:
    """One or several vectors, (labels, channels)."""
    rows = np.atleast_2d(values)
    return Operation(
        "vector", title, formula, numbers or f"{length(rows[-1]):.2f} long", rows, tuple(labels), shape=shape
    )


def normed(
    title: str, formula: str, before: FloatArray, after: FloatArray, shape: tuple[int, ...]
) -> Operation:
    """A LayerNorm of one token, (D,) before and after."""
    numbers = (
        f"μ = {signed(float(before.mean()), 3)}, σ = {before.std():.3f} over {len(before)} channels;"
        f" length {length(before):.2f} becomes {length(after):.2f}"
    )
    return vector(title, formula, np.stack([before, after]), shape, ("before", "after"), numbers)


def bars(
    title: str,
    formula: str,
    shares: FloatArray,
    name: Callable[[int], str],
    bias: float | None = None,
    say: str = "",
) -> Operation:
    """A sum by its largest shares of (k,), what the rest brings, and the bias; bias None: no sum, the values alone."""
    order = np.argsort(-np.abs(shares), kind="stable")[:BARS]
    total = float(shares.sum())
    rest = total - float(shares[order].sum())
    result = total + (bias or 0.0)
    facts: dict[str, Any] = {"names": [name(int(i)) for i in order], "index": order.tolist()}
    numbers = (
        f"largest: {name(int(order[0]))} with {signed(float(shares[order[0]]), 3)}" if len(order) else ""
    )
    if bias is not None:
        facts |= {"rest": rest, "bias": bias, "result": result}
        numbers = f"{_plus(total, bias) if bias else f'Σ = {signed(total, 3)}'}; {numbers}"
    return Operation(
        kind="bars",
        title=title,
        formula=formula,
        numbers=numbers,
        values=shares[order],
        labels=(),
        say=say,
        shape=(len(shares),),
        facts=facts,
    )


def softmax_row(
    title: str,
    formula: str,
    dots: FloatArray,
    scores: FloatArray,
    weights: FloatArray,
    keys: NDArray[np.integer[Any]],
    name: Callable[[int], str],
    of: str,
) -> Operation:
    """One softmax, recomputed: exp(s − s_max) over its sum, beside the weights that the model used.

    Args:
        dots, scores, weights: (m,) each: what is scaled, what the softmax reads, what it gave.
        keys: (m,) the token, or class, of each.
        of: 'keys' or 'classes'.
    """
    rows, total = _largest(dots, scores, np.argsort(-weights, kind="stable"), keys, name)
    best = rows[0]
    numbers = f"{best['name']}: {best['exp']:.3f} / {total:.3f} = {best['weight']:.3f}"
    facts = {"rows": rows, "total": total, "of": of, "keys": keys.tolist()}
    values = np.stack([dots, scores, weights])
    return Operation(
        "softmax",
        title,
        formula,
        numbers,
        values,
        ("product", "score", "weight"),
        facts=facts,
        shape=(len(keys),),
    )


def _largest(
    dots: FloatArray,
    scores: FloatArray,
    order: NDArray[np.integer[Any]],
    keys: NDArray[np.integer[Any]],
    name: Callable[[int], str],
) -> tuple[list[dict[str, Any]], float]:
    """The first of `order` as rows, all others as one, and the softmax's sum."""
    powers = np.exp(np.asarray(scores, np.float64) - float(scores.max()))
    total = float(powers.sum())
    rows: list[dict[str, Any]] = [
        {
            "key": int(keys[i]),
            "name": name(int(keys[i])),
            "dot": float(dots[i]),
            "score": float(scores[i]),
            "exp": float(powers[i]),
            "weight": float(powers[i] / total),
        }
        for i in order[:LISTED]
    ]
    if others := len(order[LISTED:]):
        rest = float(powers[order[LISTED:]].sum())
        rows.append({"key": -1, "name": f"the other {others}", "exp": rest, "weight": rest / total})
    return rows, total


def maps(
    title: str, formula: str, numbers: str, values: FloatArray, names: Sequence[str], signed_scale: bool
) -> Operation:
    """Maps (k, h, w) on one scale, zero in its middle where it is signed."""
    hi = float(np.abs(values).max(initial=0)) if signed_scale else float(values.max(initial=0))
    lo = -hi if signed_scale else float(values.min(initial=hi))
    facts = {"names": list(names), "lo": lo, "hi": hi}
    return Operation("maps", title, formula, numbers, values, shape=values.shape, facts=facts)


def table(title: str, file: str, columns: dict[str, FloatArray], rows: Sequence[str] = ()) -> Table:
    """Columns of one length side by side; of a very long one the first rows."""
    values = np.stack([np.asarray(column, np.float32) for column in columns.values()], axis=-1)[:MOST_ROWS]
    return Table(title, file, tuple(columns), values, tuple(rows)[:MOST_ROWS])
