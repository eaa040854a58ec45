"""Compare fine-tuned, frozen and randomly initialised models over the number of training images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vitviz.analysis.data_size import Curve, Lead, find_leads, group_by_size
from vitviz.text import percent, plural, signed

Row = Mapping[str, Any]
TRAINED = ("tuned", "frozen")  # methods with a pretrained backbone
NEAR = 0.02  # means that are closer are level, if the seeds overlap
LEVEL = f"'Matches': at most {100 * NEAR:g} points below on average, and not below in every seed."


def group_method_curves(rows: Sequence[Row], source: str, titles: Mapping[str, str]) -> list[Curve]:
    """Return means, minima and maxima over the seeds by method, over the images per class; diverged rows are skipped.

    Args:
        rows: each with 'source', 'method', 'a_class', 'seed' and 'test'.
    """
    return group_by_size([row for row in rows if row["source"] == source], titles, "method", "a_class")


def describe_leads(curves: Sequence[Curve]) -> str:
    """Describe the leading method with the fewest and with the most images."""
    leads = find_leads(curves)
    ends = leads[:1] + leads[1:][-1:]
    return f"{'; '.join(describe_lead(lead)[:-1] for lead in ends)}." if ends else ""


def describe_lead(lead: Lead) -> str:
    """Describe the leading method at one size, with the certainty of its lead."""
    first, second = (
        float(curve.mean[curve.find_size(lead.pictures) or 0]) for curve in (lead.first, lead.second)
    )
    size = f"{plural(lead.pictures, 'image')} per class"
    if first == second:
        return f"'{lead.first.title}' and '{lead.second.title}' are tied with {size}: {percent(first)} each."
    return (
        f"'{lead.first.title}' leads with {size}: {percent(first)}, against {percent(second)} of"
        f" '{lead.second.title}' ({lead.certainty})."
    )


def describe_crossing(curves: Sequence[Curve], scratch: str = "scratch") -> str:
    """Describe the size at which training from scratch matches each pretrained model, or the remaining gap."""
    scratch_curve = _find_curve(curves, scratch)
    if scratch_curve is None or len(scratch_curve.pictures) < 2:
        return ""
    parts = [
        _describe_meeting([_measure_gap(curve, scratch_curve, size) for size in common], curve.title)
        for curve in curves
        if curve.name in TRAINED and (common := _find_common_sizes(curve, scratch_curve))
    ]
    return f"'{scratch_curve.title}' {'; it '.join(parts)}." if parts else ""


def describe_deficit(curves: Sequence[Curve]) -> str:
    """Describe the deficit of a model from scratch and how much longer training closes it, for fewest and most
    images.
    """
    tuned, scratch, longer = (_find_curve(curves, name) for name in ("tuned", "scratch", "longer"))
    if tuned is None or scratch is None or longer is None:
        return ""
    sizes = sorted({*_find_common_sizes(tuned, scratch)} & {*_find_common_sizes(scratch, longer)})
    parts = []
    for size in dict.fromkeys(sizes[:1] + sizes[-1:]):
        lacks, gains = _measure_gap(tuned, scratch, size), _measure_gap(longer, scratch, size)
        if lacks.by > 0:
            parts.append(
                f"{_format_points(lacks)} points with {plural(size, 'image')} per class (longer training adds"
                f" {signed(100 * gains.by, 1)})"
            )
    return f"Gap of '{scratch.title}' to '{tuned.title}': {'; '.join(parts)}." if parts else ""


@dataclass(frozen=True)
class Gap:
    """The difference of two curves' means at one size, and whether all seeds agree on its sign."""

    pictures: int
    by: float
    below: bool  # every seed of the other curve is below
    above: bool

    @property
    def level(self) -> bool:
        """True if the other mean is near or above, and not every seed is below."""
        return self.by <= NEAR and not self.below


def _describe_meeting(gaps: Sequence[Gap], title: str) -> str:
    last = gaps[-1]
    if not last.level:
        every = " (below in every seed)" if last.below else ""
        size = plural(last.pictures, "image")
        return f"is still {_format_points(last)} points below '{title}' with {size} per class{every}"
    level = _find_first_size(gaps, [gap.level for gap in gaps])
    text = f"matches '{title}' from {plural(level, 'image')} per class on"
    if not last.above:
        return text
    above = _find_first_size(gaps, [gap.above for gap in gaps])
    if above == level:
        return f"exceeds '{title}' in every seed from {plural(above, 'image')} per class on"
    return f"{text} and exceeds it in every seed from {above:,} on"


def _find_first_size(gaps: Sequence[Gap], holds: Sequence[bool]) -> int:
    """Return the size from which on a condition holds; it holds at the last size."""
    first = len(holds) - next((back for back, true in enumerate(reversed(holds)) if not true), len(holds))
    return gaps[first].pictures


def _measure_gap(curve: Curve, other: Curve, size: int) -> Gap:
    at, there = curve.find_size(size) or 0, other.find_size(size) or 0
    several = bool(min(curve.seeds[at], other.seeds[there]) > 1)
    return Gap(
        pictures=size,
        by=float(curve.mean[at] - other.mean[there]),
        below=several and bool(other.high[there] < curve.low[at]),
        above=several and bool(other.low[there] > curve.high[at]),
    )


def _format_points(gap: Gap) -> str:
    return f"{100 * gap.by:.1f}"


def _find_common_sizes(curve: Curve, other: Curve) -> list[int]:
    return [int(size) for size in curve.pictures if other.find_size(int(size)) is not None]


def _find_curve(curves: Sequence[Curve], name: str) -> Curve | None:
    return next((curve for curve in curves if curve.name == name), None)
