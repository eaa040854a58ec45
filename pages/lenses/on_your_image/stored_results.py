"""Accuracies over a thousand test pictures under the same changes, measured by an experiment and kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pages.frame import page
from pages.lenses.on_your_picture.model_choice import Compared
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.changes import CHANGES
from vitviz.analysis.recipes import differing
from vitviz.experiments import result
from vitviz.experiments.result import Result
from vitviz.plots.image_changes import Curve, strength_words
from vitviz.text import percent, plain

NAME = "robustness"
NONE = "none"


def measured() -> Result | None:
    """What is stored; None where nothing is."""
    return result.kept_result(NAME)


def stem(choice: ModelChoice, found: Result) -> str:
    """The name under which a model's numbers are stored; '' where they are not, or of other weights."""
    if choice.path is None or not choice.key.startswith("checkpoint:"):
        return ""
    from pages.stores import catalogue

    digests = found.settings["digests"]
    name = choice.path.stem
    return name if digests.get(name) == catalogue.header(choice.path).digest else ""


def curve(of: Compared, change: str) -> Curve | None:
    """The stored accuracies of the models that are compared; None where there are none of this change."""
    found = measured()
    if found is None or not found.where(change=change):
        return None
    rows = [_accuracies(found, stem(choice, found), change) for choice in of.choices]
    values = CHANGES[change].values
    shared = sorted({value for row in rows for value in row})
    if not shared:
        return None
    table = np.array([[row.get(value, np.nan) for value in shared] for row in rows])
    places = np.interp(shared, values, np.arange(len(values)))
    return Curve(places, table, int(found.settings["pictures"]))


def _accuracies(found: Result, name: str, change: str) -> dict[float, float]:
    if not name:
        return {}
    rows = [*found.where(change=NONE, model=name), *found.where(change=change, model=name)]
    neutral = CHANGES[change].neutral
    return {neutral if row["change"] == NONE else float(row["value"]): float(row["right"]) for row in rows}


def turned(of: Compared, change: str, value: float) -> dict[str, float]:
    """By key, on which share of the test pictures an answer changes; models without stored numbers are left out."""
    found = measured()
    if found is None:
        return {}
    rows = {row["model"]: row for row in found.where(change=change, value=value)}
    names = {choice.key: stem(choice, found) for choice in of.choices}
    return {key: 1 - float(rows[name]["same"]) for key, name in names.items() if name in rows}


def tell(of: Compared, change: str, *, revealed: bool) -> None:
    """Which model loses least and most of its accuracy at the strongest stored change."""
    stored = curve(of, change)
    if stored is None or not revealed:
        return
    known = [i for i in range(len(of.choices)) if np.isfinite(stored.accuracy[i]).all()]
    start = int(np.flatnonzero(stored.at == CHANGES[change].start)[0])
    if len(known) < 2:
        return
    at = len(stored.at) - 1
    lost = {i: float(stored.accuracy[i, start] - stored.accuracy[i, at]) for i in known}
    least, most = min(lost, key=lost.__getitem__), max(lost, key=lost.__getitem__)
    words = strength_words(change, CHANGES[change].values[round(float(stored.at[at]))], of.grain_px)

    def ways(i: int) -> str:
        return f"{percent(stored.accuracy[i, start])} → {percent(stored.accuracy[i, at])}"

    those = "" if len(known) == len(of.choices) else f" of the {len(known)} that were measured"
    page.caption(
        f"Over {stored.pictures:,} test pictures, at {words}:{those} {plain(of.names[least])} loses least"
        f" ({ways(least)}), {plain(of.names[most])} most ({ways(most)})."
        f" {spread(stored.accuracy[known], stored.pictures)} {recipes(of, known)} {how()}"
    )


def recipes(of: Compared, known: Sequence[int]) -> str:
    """How the trainings of the models that are compared differ; '' where they were alike in this."""
    from pages.stores import catalogue

    trains = {of.names[i]: catalogue.header(path).train for i in known if (path := of.choices[i].path)}
    said = differing({plain(name): train for name, train in trains.items() if train is not None})
    return f"Their trainings differ ({said}): this compares models, not shapes alone." if said else ""


def how() -> str:
    """Who measured what is stored, when and with which command."""
    found = measured()
    if found is None:
        return ""
    made = result.told(found.made)
    return f"{made[:1].upper()}{made[1:]} with `{found.command}`."


def spread(shares: NDArray[np.floating], pictures: int) -> str:
    """How far chance alone may move shares that are counted over so many pictures."""
    error = 2 * float(np.sqrt(shares * (1 - shares) / pictures).max())
    return f"Two standard errors of such a share are at most {100 * error:.1f} points; each model is one training."
