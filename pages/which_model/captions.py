"""Sentences about the numbers of the page 'Which model'."""

from collections.abc import Sequence

from vitviz.analysis.scoreboard import QUANTITIES, Quantity
from vitviz.models import parameter_count
from vitviz.plots.scoreboard import Point
from vitviz.text import percent, plain, plural

MOST_NAMED = 4  # models of the Pareto front


def describe_front(points: Sequence[Point], count: int, axes: tuple[Quantity, Quantity]) -> str:
    """Return the Pareto front, the sources of the accuracies, and how many of `count` models have no number."""
    front = sorted((p for p in points if p.front), key=lambda p: p.x)
    names = "; ".join(f"**{plain(p.name)}**" for p in front[:MOST_NAMED])  # names may contain commas
    more = f"; and {len(front) - MOST_NAMED} more" if len(front) > MOST_NAMED else ""
    better = [f"{'more' if q.more_is_better else 'fewer'} {q.title}" for q in axes]
    cited = sum(p.hollow for p in points)
    sentences = [f"No model has both {better[0]} and {better[1]} than these: {names}{more}."]
    if QUANTITIES["accuracy"] in axes:
        sentences.append(describe_sources(len(points) - cited, cited))
    if any(p.y_error for p in points):
        sentences.append("Bars: two standard errors over the test images; one seed per model.")
    if missing := count - len(points):
        sentences.append(f"Missing numbers: {plural(missing, 'model')} of this test set.")
    return " ".join(sentences)


def describe_sources(measured: int, cited: int) -> str:
    if measured and cited:
        return (
            f"{plural(measured, 'accuracy was', 'accuracies were')} measured by this project, {cited}"
            f" {'is' if cited == 1 else 'are'} cited (hollow)."
        )
    source = "measured by this project" if measured else "cited (hollow)"
    count = measured + cited
    return f"All {count} accuracies are {source}." if count > 1 else f"The accuracy is {source}."


def describe_parts(weights: parameter_count.Counts, adds: parameter_count.Counts, *, windows: bool) -> str:
    """Return the part with most parameters, and how the cost of attention grows; windows: of a fixed size."""
    part = max(weights, key=lambda name: weights[name])
    share, products = weights[part] / sum(weights.values()), adds.get(parameter_count.ATTENTION, 0)
    largest = f"The {part} hold{'' if part.endswith('s') else 's'} {percent(share)} of the parameters."
    if not products:
        return f"{largest} Without attention, the cost grows with the number of pixels."
    growth = (
        "the number of tokens (windows have a fixed size)"
        if windows
        else "the square of the number of tokens"
    )
    return (
        f"{largest} The products QKᵀ and AV, which grow with {growth}, are {percent(products / sum(adds.values()))} of"
        " the multiply-adds."
    )
