"""Sentences about the numbers of the page 'Which model'."""

from collections.abc import Sequence

from vitviz.analysis.scoreboard import QUANTITIES, Quantity
from vitviz.models import model_cost
from vitviz.plots.scoreboard import BoardPoint
from vitviz.text import percent, plain, plural


def describe_front(points: Sequence[BoardPoint], count: int, axes: tuple[Quantity, Quantity]) -> str:
    """Return the ends of the front with their numbers, sources, and how many of `count` models have no number."""
    front = sorted((p for p in points if p.front), key=lambda p: p.x)
    cited = sum(p.hollow for p in points)
    named = "Best for their cost" if is_cost(axes) else "No other model is better in both numbers"
    ends = " to ".join(f"**{plain(p.name)}** ({_write_numbers(p, axes)})" for p in (front[0], front[-1]))
    ends = f"from {ends}" if len(front) > 1 else ends.partition(" to ")[0]
    sentences = [f"{named} (dotted): {len(front)} of {plural(len(points), 'model')}, {ends}."]
    if QUANTITIES["accuracy"] in axes:
        sentences.append(describe_sources(len(points) - cited, cited))
    if any(p.y_error for p in points):
        sentences.append("Bars: 95 % intervals over the test images; one seed per model.")
    if missing := count - len(points):
        sentences.append(f"Missing numbers: {plural(missing, 'model')} of this test set.")
    return " ".join(sentences)


def is_cost(axes: tuple[Quantity, Quantity]) -> bool:
    """Return True if the axes are a cost and the accuracy."""
    return axes[1].name == "accuracy" and not axes[0].more_is_better


def _write_numbers(point: BoardPoint, axes: tuple[Quantity, Quantity]) -> str:
    """Return both numbers of a model, y first: '82.2 %, 58 million multiply-adds per image'."""
    across, up = (_write_number(value, axis) for value, axis in zip((point.x, point.y), axes, strict=True))
    return f"{up}, {across}"


def _write_number(value: float, axis: Quantity) -> str:
    if axis.unit:
        return f"{value:,.1f}\N{NO-BREAK SPACE}{axis.unit}"
    for size, word in ((1e9, " billion"), (1e6, " million"), (1.0, "")):
        if value >= size:
            return f"{float(f'{value / size:.3g}'):,g}{word} {axis.title}"
    return f"{value:g} {axis.title}"


def describe_sources(measured: int, cited: int) -> str:
    counts = {"measured by this project": measured, "cited (hollow)": cited}
    return f"Accuracies: {', '.join(f'{count} {source}' for source, count in counts.items() if count)}."


def describe_parts(adds: model_cost.Counts, *, windows: bool) -> str:
    """Return how the cost of attention grows; windows: of a fixed size."""
    products = adds.get(model_cost.ATTENTION, 0)
    if not products:
        return "Without attention, the cost grows with the number of pixels."
    growth = (
        "the number of tokens (windows have a fixed size)"
        if windows
        else "the square of the number of tokens"
    )
    return (
        f"The products QKᵀ and AV, which grow with {growth}, are {percent(products / sum(adds.values()))} of"
        " the multiply-adds."
    )
