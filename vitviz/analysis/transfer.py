"""Fine-tuned, frozen and from scratch as images grow: who leads, and where the lines meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vitviz.analysis.data_size import Curve, Lead, curve_of, leads
from vitviz.text import percent, plural, signed

Row = Mapping[str, Any]
TRAINED = ("tuned", "frozen")  # the ways that begin with a trained backbone
NEAR = 0.02  # means that lie closer are called level, where the seeds overlap
LITTLE = 0.25  # of what is missing
LEVEL = f"Level: within {100 * NEAR:g} points on the mean, or above, and not below with all of several seeds."


def curves_of(rows: Sequence[Row], source: str, titles: Mapping[str, str]) -> list[Curve]:
    """Means, lowest and highest over the seeds by way, over the images a class; one that diverged is left out.

    Args:
        rows: each with 'source', 'method', 'a_class', 'seed' and 'test'.
        source: whose rows.
        titles: of the ways.
    """
    found = []
    for name, title in titles.items():
        by_size: dict[int, list[float]] = {}
        for row in rows:
            if row["source"] == source and row["method"] == name and "test" in row:
                by_size.setdefault(int(row["a_class"]), []).append(float(row["test"]))
        if by_size:
            found.append(curve_of(name, title, by_size))
    return found


def describe(curves: Sequence[Curve]) -> str:
    """Return who leads with the fewest and with the most images, in sentences."""
    found = leads(curves)
    if not found:
        return ""
    ends = [found[0], *([found[-1]] if len(found) > 1 else [])]
    return " ".join(map(describe_lead, ends))


def describe_lead(lead: Lead) -> str:
    """Return who leads at one size, by how much, and whether that is more than the spread."""
    own, other = (float(curve.mean[curve.at(lead.pictures) or 0]) for curve in (lead.first, lead.second))
    seeds = min(int(curve.seeds[curve.at(lead.pictures) or 0]) for curve in (lead.first, lead.second))
    sure = "every seed above every other" if lead.clear else "within the spread of the seeds"
    if seeds == 1:
        sure = "of one seed, so nothing is known of the spread"
    start = f"With {plural(lead.pictures, 'picture')} a class"
    if own == other:
        return f"{start} '{lead.first.title}' and '{lead.second.title}' lead, both with {percent(own)}."
    return (
        f"{start} '{lead.first.title}' leads with {percent(own)}, before '{lead.second.title}' with {percent(other)}:"
        f" {sure}."
    )


def crossing(curves: Sequence[Curve], scratch: str = "scratch") -> str:
    """Return where a model from scratch reaches each pretrained one, or how far it stays below."""
    own = _find_curve(curves, scratch)
    if own is None or len(own.pictures) < 2:  # one point is no line
        return ""
    found = [
        _met([_gap(curve, own, size) for size in common], curve.title)
        for curve in curves
        if curve.name in TRAINED and (common := _common(curve, own))
    ]
    return f"'{own.title}' {'; it '.join(found)}." if found else ""


def made_up(curves: Sequence[Curve]) -> str:
    """Describe the deficit of a model from scratch and how much longer training closes it, for fewest and most
    images.
    """
    tuned, scratch, longer = (_find_curve(curves, name) for name in ("tuned", "scratch", "longer"))
    if tuned is None or scratch is None or longer is None:
        return ""
    sizes = sorted({*_common(tuned, scratch)} & {*_common(scratch, longer)})
    told = []
    for size in dict.fromkeys(sizes[:1] + sizes[-1:]):
        lacks, gains = _gap(tuned, scratch, size), _gap(longer, scratch, size)
        if lacks.by > 0:
            both = f"{_points(lacks)} and {signed(100 * gains.by, 1)} points"
            told.append(f"{both} with {plural(size, 'picture')} a class{_wants_time(lacks, gains)}")
    start = f"What '{scratch.title}' lacks against '{tuned.title}', and what the longer training brings"
    return f"{start}: {'; '.join(told)}." if told else ""


def _wants_time(lacks: Gap, gains: Gap) -> str:
    """Describe whether longer training closes the whole deficit with every seed, or hardly any; '' otherwise."""
    if gains.by >= lacks.by and gains.below:
        return ", so all of it is time"
    return ", so little of it is time" if gains.by < LITTLE * lacks.by else ""


@dataclass(frozen=True)
class Gap:
    """The difference of two curves' means at one size, and whether all seeds agree on its sign."""

    pictures: int
    by: float
    below: bool  # every seed of the other
    above: bool

    @property
    def level(self) -> bool:
        """True if the other is not behind: near or above on the mean, and not below with every seed."""
        return self.by <= NEAR and not self.below


def _met(gaps: Sequence[Gap], title: str) -> str:
    """Return where one line comes level with that of `title`, and where it lies above."""
    last = gaps[-1]
    if not last.level:
        every = ", every seed" if last.below else ""
        return f"is still {_points(last)} points below '{title}' with {last.pictures:,}{every}"
    level = _find_first_size(gaps, [gap.level for gap in gaps])
    said = f"comes level with '{title}' from {plural(level, 'picture')} a class on"
    if not last.above:
        return said
    above = _find_first_size(gaps, [gap.above for gap in gaps])
    if above == level:
        return f"lies above '{title}', every seed, from {plural(above, 'picture')} a class on"
    return f"{said} and lies above it, every seed, from {above:,} on"


def _find_first_size(gaps: Sequence[Gap], holds: Sequence[bool]) -> int:
    """Return the size from which on something holds; it does at the last."""
    first = len(holds) - next((back for back, true in enumerate(reversed(holds)) if not true), len(holds))
    return gaps[first].pictures


def _gap(curve: Curve, other: Curve, size: int) -> Gap:
    at, there = curve.at(size) or 0, other.at(size) or 0
    several = bool(min(curve.seeds[at], other.seeds[there]) > 1)  # of one seed nothing is known
    return Gap(
        pictures=size,
        by=float(curve.mean[at] - other.mean[there]),
        below=several and bool(other.high[there] < curve.low[at]),
        above=several and bool(other.low[there] > curve.high[at]),
    )


def _points(gap: Gap) -> str:
    return f"{100 * gap.by:.1f}"


def _common(curve: Curve, other: Curve) -> list[int]:
    return [int(size) for size in curve.pictures if other.at(int(size)) is not None]


def _find_curve(curves: Sequence[Curve], name: str) -> Curve | None:
    return next((curve for curve in curves if curve.name == name), None)
