"""Fine-tuned, frozen and from scratch as pictures grow: who leads, and where the lines meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vitviz.analysis.data_size import Curve, Lead, curve_of, leads
from vitviz.words import percent, plural

Row = Mapping[str, Any]
TRAINED = ("tuned", "frozen")  # the ways that begin with a trained body
NEAR = 0.02  # means that lie closer are called level


def curves_of(rows: Sequence[Row], source: str, titles: Mapping[str, str]) -> list[Curve]:
    """Means, lowest and highest over the seeds by way, over the pictures a class; one that diverged is left out.

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
    """Who leads with the fewest and with the most pictures, in sentences."""
    found = leads(curves)
    if not found:
        return ""
    ends = [found[0], *([found[-1]] if len(found) > 1 else [])]
    return " ".join(map(said, ends))


def said(lead: Lead) -> str:
    """Who leads at one size, by how much, and whether that is more than the spread."""
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
    """Where a model from scratch comes level with each that begins with a body, or how far it stays below."""
    own = next((curve for curve in curves if curve.name == scratch), None)
    if own is None or len(own.pictures) < 2:  # one point is no line
        return ""
    found = []
    for curve in (curve for curve in curves if curve.name in TRAINED):
        common = [int(size) for size in curve.pictures if own.at(int(size)) is not None]
        if not common:
            continue
        gaps = {size: _mean(curve, size) - _mean(own, size) for size in common}
        level = next(
            (size for size in common if all(gaps[later] <= NEAR for later in common if later >= size)), None
        )
        last = common[-1]
        found.append(
            f"comes level with '{curve.title}' (within {100 * NEAR:g} points, or above) from"
            f" {plural(level, 'picture')} a class on"
            if level is not None
            else f"is still {100 * gaps[last]:.1f} points below '{curve.title}' with {last}"
        )
    return f"'{own.title}' {'; it '.join(found)}." if found else ""


def _mean(curve: Curve, size: int) -> float:
    return float(curve.mean[curve.at(size) or 0])
