"""Describe the operations of one part of a model, each with its inputs and output for one token."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.forward_pass import FloatArray, Tokens
from vitviz.pin import Pin
from vitviz.text import signed

Kind = Literal["pixels", "product", "vector", "sum", "heads", "softmax", "bars", "maps", "quad"]
LISTED = 6  # keys or classes of a softmax that are listed by name
BARS = 8
MOST_ROWS = 800  # rows of a table


@dataclass(frozen=True, eq=False)
class Operation:
    """One operation: title, formula, formula with numbers, values and shape.

    facts: further JSON fields of its kind.
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
    """A downloadable table (rows, columns); `rows` holds row names, or is empty."""

    title: str
    file: str
    columns: tuple[str, ...]
    values: FloatArray
    rows: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class OpenedPart:
    """Operations and tables of a part for one token; head, class and channel are 0-based, None if not applicable."""

    part: str
    token: int
    token_name: str
    operations: tuple[Operation, ...]
    tables: tuple[Table, ...] = ()
    head: int | None = None
    chosen_class: int | None = None
    channel: int | None = None


def name_token(tokens: Tokens, token: int) -> str:
    """Return '[CLS]', or 'the patch in row 3, column 5' (1-based)."""
    first = len(tokens.prefix)
    if token < first:
        return f"[{tokens.prefix[token].upper()}]"
    row, col = divmod(token - first, tokens.grid[1])
    return f"the patch in row {row + 1}, column {col + 1}"


def compute_norm(vector: FloatArray) -> float:
    return float(np.linalg.norm(vector))


def compute_cosine(a: FloatArray, b: FloatArray) -> float:
    """Return the cosine similarity of two vectors; 0 if one is zero."""
    norms = compute_norm(a) * compute_norm(b)
    return float(a @ b) / norms if norms else 0.0


def _format_sum(a: float, b: float) -> str:
    """Return a sum in words: '−0.085 − 0.013 = −0.098'."""
    sign = "\N{MINUS SIGN}" if b < 0 else "+"
    return f"{signed(a, 3)} {sign} {abs(b):.3f} = {signed(a + b, 3)}"


def build_product(
    title: str, x: FloatArray, weights: FloatArray, bias: float, channel: int, formula: str = "x · e + b"
) -> Operation:
    """Build one output of a linear map: x ⊙ weights elementwise, (C, h, w) each, plus the bias."""
    products = x * weights
    total = float(products.sum())
    numbers = _format_sum(total, bias) if bias else f"Σ = {signed(total, 3)}"
    facts = {"channel": channel, "sum": total, "bias": bias, "result": total + bias}
    values = np.stack([x, weights, products])
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


def build_sum(
    title: str,
    formula: str,
    a: FloatArray,
    b: FloatArray,
    labels: tuple[str, str, str],
    shape: tuple[int, ...],
) -> Operation:
    """Build the sum a + b with all three norms and the cosine similarity of a and b."""
    total = a + b
    norms = [compute_norm(a), compute_norm(b), compute_norm(total)]
    angle = compute_cosine(a, b)
    numbers = (
        f"norms {norms[0]:.2f} and {norms[1]:.2f}, cosine {signed(angle)}; norm of the sum {norms[2]:.2f}"
    )
    facts = {"lengths": norms, "cosine": angle}
    return Operation(
        "sum", title, formula, numbers, np.stack([a, b, total]), labels, shape=shape, facts=facts
    )


def build_vectors(
    title: str,
    formula: str,
    values: FloatArray,
    shape: tuple[int, ...],
    labels: Sequence[str] = ("",),
    numbers: str = "",
) -> Operation:
    """Build one or several vectors, (labels, channels)."""
    rows = np.atleast_2d(values)
    return Operation(
        "vector",
        title,
        formula,
        numbers or f"norm {compute_norm(rows[-1]):.2f}",
        rows,
        tuple(labels),
        shape=shape,
    )


def build_layernorm(
    title: str, formula: str, before: FloatArray, after: FloatArray, shape: tuple[int, ...]
) -> Operation:
    """Build the LayerNorm of one token, (D,) before and after."""
    numbers = (
        f"μ = {signed(float(before.mean()), 3)}, σ = {before.std():.3f} over {len(before)} channels;"
        f" norm {compute_norm(before):.2f} becomes {compute_norm(after):.2f}"
    )
    return build_vectors(title, formula, np.stack([before, after]), shape, ("before", "after"), numbers)


def build_bars(
    title: str,
    formula: str,
    shares: FloatArray,
    name: Callable[[int], str],
    bias: float | None = None,
    say: str = "",
) -> Operation:
    """Build a sum from its largest summands of (k,), the rest and the bias; bias None: the values without a sum."""
    order = np.argsort(-np.abs(shares), kind="stable")[:BARS]
    total = float(shares.sum())
    rest = total - float(shares[order].sum())
    final = total + (bias or 0.0)
    facts: dict[str, Any] = {"names": [name(int(i)) for i in order], "index": order.tolist()}
    numbers = (
        f"largest: {name(int(order[0]))} with {signed(float(shares[order[0]]), 3)}" if len(order) else ""
    )
    if bias is not None:
        facts |= {"rest": rest, "bias": bias, "result": final}
        numbers = f"{_format_sum(total, bias) if bias else f'Σ = {signed(total, 3)}'}; {numbers}"
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


def build_softmax_row(
    title: str,
    formula: str,
    dots: FloatArray,
    scores: FloatArray,
    weights: FloatArray,
    keys: NDArray[np.integer[Any]],
    name: Callable[[int], str],
    noun: str,
) -> Operation:
    """Build one softmax row, recomputed as exp(s − s_max) over its sum, with the model's weights.

    Args:
        dots, scores, weights: (m,) each: dot products, input and output of the softmax.
        keys: (m,), token or class index of each entry.
        of: 'keys' or 'classes'.
    """
    rows, total = _list_largest(dots, scores, np.argsort(-weights, kind="stable"), keys, name)
    best = rows[0]
    numbers = f"{best['name']}: {best['exp']:.3f} / {total:.3f} = {best['weight']:.3f}"
    facts = {"rows": rows, "total": total, "of": noun, "keys": keys.tolist()}
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


def _list_largest(
    dots: FloatArray,
    scores: FloatArray,
    order: NDArray[np.integer[Any]],
    keys: NDArray[np.integer[Any]],
    name: Callable[[int], str],
) -> tuple[list[dict[str, Any]], float]:
    """Return the first entries of `order` as rows, the others as one row, and the softmax's denominator."""
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


def build_maps(
    title: str, formula: str, numbers: str, values: FloatArray, names: Sequence[str], signed_scale: bool
) -> Operation:
    """Build maps (k, h, w) on one scale, symmetric around zero if signed."""
    hi = float(np.abs(values).max(initial=0)) if signed_scale else float(values.max(initial=0))
    lo = -hi if signed_scale else float(values.min(initial=hi))
    facts = {"names": list(names), "lo": lo, "hi": hi}
    return Operation("maps", title, formula, numbers, values, shape=values.shape, facts=facts)


def build_table(title: str, file: str, columns: dict[str, FloatArray], rows: Sequence[str] = ()) -> Table:
    values = np.stack([np.asarray(column, np.float32) for column in columns.values()], axis=-1)[:MOST_ROWS]
    return Table(title, file, tuple(columns), values, tuple(rows)[:MOST_ROWS])


MOST_TEXT = 200  # characters of a request
MOST_INDEX = 1_000_000


@dataclass(frozen=True)
class PartRequest:
    """Request for a part and a token; head, class and channel are 0-based, None selects the part's default."""

    part: str
    pin: Pin
    head: int | None = None
    chosen_class: int | None = None
    channel: int | None = None

    @classmethod
    def parse(cls, text: object, pin: Pin) -> "PartRequest | None":
        """Parse a view's JSON, with the session's pin if it names no token; None if it is invalid."""
        if not isinstance(text, str) or not 0 < len(text) <= MOST_TEXT:
            return None
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(fields, dict) or not isinstance(fields.get("part"), str):
            return None
        token = fields.get("token")
        token_pin = pin if token is None else Pin.parse(token) if isinstance(token, str) else None
        if token_pin is None:
            return None
        indices = {name: fields.get(name) for name in ("head", "class", "channel")}
        if any(type(i) is not int or not 0 <= i < MOST_INDEX for i in indices.values() if i is not None):
            return None
        return cls(fields["part"], token_pin, indices["head"], indices["class"], indices["channel"])


def select_index(index: int | None, count: int, default: int) -> int:
    """Return a requested index, or the default if it is None or out of range."""
    return index if index is not None and index < count else default
