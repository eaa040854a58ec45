"""Accuracy against the number of training images: means and spreads over seeds, who leads, and what may be said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.text import gained, join_words, percent, plural

Row = Mapping[str, Any]
FloatArray = NDArray[np.float64]
LONG_S = 30  # from so many seconds on whole ones are said
MOST_CHANGES = 4  # of the lead that are said
Lines = Mapping[str, tuple[str, FloatArray]]  # by model its title and (2, n): core-seconds and accuracy


@dataclass(frozen=True, eq=False)
class Curve:
    """One model over the sizes: (n,) numbers of images, ascending, and accuracies over the seeds."""

    name: str
    title: str
    pictures: NDArray[np.int64]
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    seeds: NDArray[np.int64]

    def at(self, images: int) -> int | None:
        """Return the place of a size; None where it was not measured."""
        found = np.flatnonzero(self.pictures == images)
        return int(found[0]) if len(found) else None


@dataclass(frozen=True)
class Lead:
    """One model above another at one size."""

    pictures: int
    first: Curve
    second: Curve

    @property
    def by(self) -> float:
        """Difference of the two means."""
        return _mean(self.first, self.pictures) - _mean(self.second, self.pictures)

    @property
    def seeds(self) -> int:
        """Number of seeds of the model that has fewer."""
        return min(int(curve.seeds[_find_size(curve, self.pictures)]) for curve in (self.first, self.second))

    @property
    def clear(self) -> bool:
        """True if every seed of it beats every seed of the other, of two or more; of one seed nothing is known."""
        lowest = self.first.low[_find_size(self.first, self.pictures)]
        return self.seeds > 1 and bool(lowest > self.second.high[_find_size(self.second, self.pictures)])

    @property
    def sure(self) -> str:
        """Words for the certainty of the lead, to follow a number."""
        if self.clear:
            return "every seed above every one of the other's"
        return (
            "within the spread of their seeds" if self.seeds > 1 else "of one seed: another may say otherwise"
        )


def curves(rows: Sequence[Row], titles: Mapping[str, str], augmented: bool, key: str = "test") -> list[Curve]:
    """Return the means, lowest and highest over the seeds, by model in the order of `titles`.

    Args:
        rows: each with 'model', 'images', 'augmented', 'seed' and `key`; one that diverged has no `key`.
        titles: of the models.
        augmented: which half of the rows.
        key: the accuracy that is read, in [0, 1].
    """
    found = []
    for name, title in titles.items():
        by_size: dict[int, list[float]] = {}
        for row in rows:
            if row["model"] == name and row["augmented"] == augmented and key in row:
                by_size.setdefault(int(row["pictures"]), []).append(float(row[key]))
        if by_size:
            found.append(curve_of(name, title, by_size))
    return found


def curve_of(name: str, title: str, by_size: Mapping[int, Sequence[float]]) -> Curve:
    """Return the values of every size as a mean with its lowest and highest."""
    sizes = sorted(by_size)
    values = [np.array(by_size[size]) for size in sizes]
    return Curve(
        name=name,
        title=title,
        pictures=np.array(sizes),
        mean=np.array([value.mean() for value in values]),
        low=np.array([value.min() for value in values]),
        high=np.array([value.max() for value in values]),
        seeds=np.array([len(value) for value in values]),
    )


def select_size(found: Sequence[Curve], images: int) -> list[Curve]:
    """Return the points of one size, for each model that was measured there."""
    out = []
    for curve in found:
        at = curve.at(images)
        if at is not None:
            values = (
                getattr(curve, name)[at : at + 1] for name in ("pictures", "mean", "low", "high", "seeds")
            )
            out.append(Curve(curve.name, curve.title, *values))
    return out


def of_one_machine(rows: Sequence[Row], machine_of: Callable[[Row], str]) -> list[Row]:
    """The rows whose seconds may be compared: those of the machine that measured most models and sizes, or else most.

    What is quick on one machine may be slow on another: a CNN's seconds halve where a ViT's stay.
    """
    by_machine: dict[str, list[Row]] = {}
    for row in rows:
        by_machine.setdefault(machine_of(row), []).append(row)

    def measured(own: list[Row]) -> tuple[int, int]:
        return len({(row["model"], row["pictures"]) for row in own}), len(own)

    return max(by_machine.values(), key=measured, default=[])


def left_out(every: Sequence[Row], kept: Sequence[Row], titles: Mapping[str, str]) -> str:
    """Return how many rows another machine measured, and which models have no others at a size; '' where none."""
    if not (gone := len(every) - len(kept)):
        return ""
    there, here = ({(int(row["pictures"]), row["model"]) for row in rows} for rows in (every, kept))
    by_size = {
        size: [title for name, title in titles.items() if (size, name) in there - here]
        for size in sorted({size for size, _ in there - here})
    }
    whole = "; ".join(f"{join_words(names)} with {size:,} images" for size, names in by_size.items())
    return (
        f"Seconds of different machines are not compared: {plural(gone, 'training')} on another one"
        f" {'is' if gone == 1 else 'are'} left out{f', all of {whole}' if whole else ''}."
    )


def at_equal_time(rows: Sequence[Row]) -> list[Row]:
    """The rows with 'timed': validation accuracy after the core-seconds that the quickest model of its size took.

    It is read off every row's own curve of [updates, core-seconds, accuracy], linear between its points.
    """
    budget: dict[tuple[int, bool], float] = {}
    for row in rows:
        if "training_core_s" in row:
            at = int(row["pictures"]), bool(row["augmented"])
            budget[at] = min(budget.get(at, np.inf), float(row["training_core_s"]))
    out: list[Row] = []
    for row in rows:
        if "training_core_s" in row and row["curve"]:
            _, seconds, accuracy = np.array(row["curve"], np.float64).T
            within = budget[int(row["pictures"]), bool(row["augmented"])]
            out.append({**row, "timed": float(np.interp(within, seconds, accuracy)), "budget_s": within})
    return out


def leads(found: Sequence[Curve]) -> list[Lead]:
    """Return who leads at every size that two models or more were measured at."""
    sizes = sorted({int(size) for curve in found for size in curve.pictures})
    out = []
    for size in sizes:
        there = [curve for curve in found if curve.at(size) is not None]
        if len(there) > 1:
            first, second = sorted(there, key=lambda curve: -_mean(curve, size))[:2]
            out.append(Lead(size, first, second))
    return out


def _find_size(curve: Curve, size: int) -> int:
    place = curve.at(size)
    if place is None:
        raise ValueError(f"{curve.title} was not measured with {size} images")
    return place


def _mean(curve: Curve, size: int) -> float:
    return float(curve.mean[_find_size(curve, size)])


def gap(found: Sequence[Curve], one: str, other: str) -> list[tuple[int, float]]:
    """Return (images, mean of `one` less mean of `other`) at every size that both were measured at."""
    named = {curve.name: curve for curve in found}
    if one not in named or other not in named:
        return []
    sizes = sorted({*named[one].pictures.tolist()} & {*named[other].pictures.tolist()})
    return [(size, _mean(named[one], size) - _mean(named[other], size)) for size in sizes]


def describe_sizes(found: Sequence[Curve]) -> str:
    """Describe the leading models, where the lead changes, and the difference of CNN and ViT over the sizes."""
    found_leads = leads(found)
    if not found:
        return "Nothing has been measured of this yet."
    if not found_leads:
        return f"No size has two models to compare yet. {seeds_said(found)}"
    ends = [found_leads[0]] if len(found_leads) == 1 else [found_leads[0], found_leads[-1]]
    said = [_lead(lead) for lead in ends]
    said += [_change(before, after) for before, after in pairwise(found_leads) if _changes(before, after)]
    return " ".join(filter(None, [*said, _distance(gap(found, "cnn", "vit")), seeds_said(found)]))


def describe_prediction(lead: Lead, guess: Curve) -> str:
    """Return True if a guess about who leads was right, by how much, and whether another seed might say otherwise."""
    right = guess.name == lead.first.name
    above = lead if right else Lead(lead.pictures, lead.first, guess)
    if round(100 * above.by, 1) == 0:
        return f"You said {guess.title}: level with {above.second.title if right else lead.first.title}."
    by = f"{100 * above.by:.1f} points"
    if right:
        return f"You said {guess.title}: right, {by} above {above.second.title}, {above.sure}."
    return f"You said {guess.title}: not so, {lead.first.title} lies {by} above it, {above.sure}."


def lacking(found: Sequence[Curve], sizes: Sequence[int], titles: Mapping[str, str]) -> str:
    """Return which models were not measured at which of a grid's sizes; '' where none lacks."""
    by_size = {
        size: [title for name, title in titles.items() if not _has_point(found, name, size)] for size in sizes
    }
    some = [
        f"{join_words(gone)} with {size:,}" for size, gone in by_size.items() if 0 < len(gone) < len(titles)
    ]
    whole = [f"{size:,}" for size, gone in by_size.items() if len(gone) == len(titles)]
    told = [*some, *([f"no model with {join_words(whole)}"] if whole else [])]
    return f"Not measured yet: {'; '.join(told)} images." if told else ""


def _has_point(found: Sequence[Curve], name: str, size: int) -> bool:
    return any(curve.name == name and curve.at(size) is not None for curve in found)


def _lead(lead: Lead) -> str:
    """Nothing is said of the seeds of a clear lead, or of one seed: the last sentence says what holds for all."""
    sure = f", which is {lead.sure}" if lead.seeds > 1 and not lead.clear else ""
    reached, images = percent(_mean(lead.first, lead.pictures)), plural(lead.pictures, "image")
    if round(100 * lead.by, 1) == 0:
        return f"With {images} {lead.first.title} and {lead.second.title} lead with {reached} each."
    return (
        f"With {images} {lead.first.title} leads with {reached}, {100 * lead.by:.1f} points above"
        f" {lead.second.title}{sure}."
    )


def _changes(before: Lead, after: Lead) -> bool:
    """Return True if another model leads and both were measured at both sizes."""
    if before.first.name == after.first.name:
        return False
    return before.first.at(after.pictures) is not None and after.first.at(before.pictures) is not None


def _change(before: Lead, after: Lead) -> str:
    doubt = next((f", {lead.sure}" for lead in (before, after) if lead.seeds > 1 and not lead.clear), "")
    return (
        f"Between {before.pictures:,} and {after.pictures:,} images the lead goes from {before.first.title} to"
        f" {after.first.title}{doubt}."
    )


def _distance(gaps: Sequence[tuple[int, float]]) -> str:
    """Return how CNN and ViT come nearer or part as images grow."""
    if len(gaps) < 2:
        return ""
    (few, first), (many, last) = gaps[0], gaps[-1]
    return (
        f"CNN less ViT: {gained(100 * first)} points with {few:,} images, {gained(100 * last)} with {many:,}."
    )


def seeds_said(found: Sequence[Curve], thing: str = "point") -> str:
    """Over how many seeds the points, or the lines, of an image are means."""
    counts = sorted({int(count) for curve in found for count in curve.seeds})
    if counts in ([], [1]):
        return "One seed each: what lies close together may change places with another."
    few, many = counts[0], counts[-1]
    over = f"{few} seeds" if few == many else f"{few} to {many} seeds"
    if thing != "point":
        return f"Every {thing} is the mean of {over}."
    one = "; a point without a bar has one, and another may move it" if few == 1 else ""
    return f"Every point is the mean of {over}; its bar spans them{one}."


def mean_lines(rows: Sequence[Row], titles: Mapping[str, str]) -> dict[str, tuple[str, FloatArray]]:
    """By model its title and (2, n): core-seconds and validation accuracy at equal updates, means over the seeds.

    Args:
        rows: of one size, each with its 'curve' of [updates, core-seconds, accuracy].
        titles: of the models, in their order.
    """
    found = {}
    for name, title in titles.items():
        own = [np.array(row["curve"], np.float64) for row in rows if row["model"] == name]
        whole = [curve for curve in own if len(curve) == max(map(len, own))]
        if whole:
            found[name] = title, np.mean(whole, axis=0)[:, 1:].T
    return found


def at_last_moment(lines: Lines) -> tuple[float, dict[str, float]] | None:
    """Return when the quickest of two or more models is done, in core-seconds, and what each has reached by then.

    None where one of them has no point yet at that moment, so that nothing can be compared.
    """
    if len(lines) < 2:
        return None
    end = min(float(line[0, -1]) for _, line in lines.values())
    if end <= max(float(line[0, 0]) for _, line in lines.values()):
        return None
    return end, {name: float(np.interp(end, *line)) for name, (_, line) in lines.items()}


def crossings(lines: Lines) -> str:
    """Return who leads after equal seconds, moment by moment, in a sentence."""
    if len(lines) < 2:
        return ""
    start = max(line[0, 0] for _, line in lines.values())
    end = min(line[0, -1] for _, line in lines.values())
    if start >= end:
        return "The models' times do not overlap."
    moments = np.linspace(start, end, 200)
    heights = np.array([np.interp(moments, *line) for _, line in lines.values()])
    titles = [title for title, _ in lines.values()]
    order = heights.argmax(axis=0)
    changes = np.flatnonzero(np.diff(order)) + 1
    places = 0 if end >= LONG_S else 1  # of a short race: several lines may cross within one second
    first = f"After equal seconds {titles[order[0]]} leads from {start:.{places}f} s on"
    if not len(changes):
        return f"{first}, up to the last that all have, {end:.{places}f} s: no line crosses the first."
    told = [f"{titles[order[at]]} from {moments[at]:.{places}f} s" for at in changes[:MOST_CHANGES]]
    more = ", and so on" if len(changes) > MOST_CHANGES else ""
    return f"{first}; then {', '.join(told)}{more}."


def gains(rows: Sequence[Row], titles: Mapping[str, str]) -> list[Curve]:
    """Return what augmentation gives each model: augmented less plain, seed by seed, where both were measured."""
    found = []
    for name, title in titles.items():
        own = [row for row in rows if row["model"] == name]
        by_size = differences(
            [row for row in own if row["augmented"]], [row for row in own if not row["augmented"]]
        )
        if by_size:
            found.append(curve_of(name, title, by_size))
    return found


def differences(these: Sequence[Row], those: Sequence[Row], key: str = "test") -> dict[int, list[float]]:
    """By number of images, `key` of these rows less 'test' of those of one seed; what has no pair is left out."""
    other = {(row["pictures"], row["seed"]): float(row["test"]) for row in those if "test" in row}
    found: dict[int, list[float]] = {}
    for row in these:
        place = row["pictures"], row["seed"]
        if key in row and place in other:
            found.setdefault(int(row["pictures"]), []).append(float(row[key]) - other[place])
    return found
