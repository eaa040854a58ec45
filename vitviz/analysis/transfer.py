"""Compare fine-tuned, frozen and randomly initialised models over the number of training images."""

from collections.abc import Mapping, Sequence
from typing import Any

from vitviz.analysis.data_size import Curve, Lead, find_leads, group_by_size
from vitviz.text import percent, plural

Row = Mapping[str, Any]


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
