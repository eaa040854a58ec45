"""Compare accuracies over the number of training images: means and spreads over seeds, and the leading models."""

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

    def find_size(self, image_count: int) -> int | None:
        """Return the index of a size; None where it was not measured."""
        matches = np.flatnonzero(self.pictures == image_count)
        return int(matches[0]) if len(matches) else None


@dataclass(frozen=True)
class Lead:
    """One model above another at one size."""

    pictures: int
    first: Curve
    second: Curve

    @property
    def margin(self) -> float:
        """Difference of the two means."""
        return _mean(self.first, self.pictures) - _mean(self.second, self.pictures)

    @property
    def seeds(self) -> int:
        """Number of seeds, the smaller of the two."""
        return min(int(curve.seeds[_find_size(curve, self.pictures)]) for curve in (self.first, self.second))

    @property
    def clear(self) -> bool:
        """True if every seed is above every seed of the other model; False with one seed."""
        lowest = self.first.low[_find_size(self.first, self.pictures)]
        return self.seeds > 1 and bool(lowest > self.second.high[_find_size(self.second, self.pictures)])

    @property
    def certainty(self) -> str:
        """Certainty of the lead in words, to follow a number."""
        if self.seeds == 1:
            return "one seed"
        return f"the ranges over the seeds {'do not overlap' if self.clear else 'overlap'}"


def group_curves(
    rows: Sequence[Row], titles: Mapping[str, str], augmented: bool, key: str = "test"
) -> list[Curve]:
    """Return the means, lowest and highest over the seeds, by model in the order of `titles`.

    Args:
        rows: each with 'model', 'images', 'augmented', 'seed' and `key`; one that diverged has no `key`.
        key: the accuracy that is read, in [0, 1].
    """
    half = [row for row in rows if row["augmented"] == augmented]
    return group_by_size(half, titles, "model", "pictures", key)


def group_by_size(
    rows: Sequence[Row], titles: Mapping[str, str], name: str, size: str, key: str = "test"
) -> list[Curve]:
    """Return a curve of `key` over the number in the field `size` for every value of the field `name`."""
    curves = []
    for variant, title in titles.items():
        by_size: dict[int, list[float]] = {}
        for row in rows:
            if row[name] == variant and key in row:
                by_size.setdefault(int(row[size]), []).append(float(row[key]))
        if by_size:
            curves.append(create_curve(variant, title, by_size))
    return curves


def create_curve(name: str, title: str, by_size: Mapping[int, Sequence[float]]) -> Curve:
    """Return the values of every size as a mean with its lowest and highest."""
    sizes = sorted(by_size)
    groups = [np.array(by_size[size]) for size in sizes]
    return Curve(
        name=name,
        title=title,
        pictures=np.array(sizes),
        mean=np.array([group.mean() for group in groups]),
        low=np.array([group.min() for group in groups]),
        high=np.array([group.max() for group in groups]),
        seeds=np.array([len(group) for group in groups]),
    )


def select_one_machine(rows: Sequence[Row], machine_of: Callable[[Row], str]) -> list[Row]:
    """Return the rows of one machine, the one with most models and sizes: seconds of two are not comparable."""
    by_machine: dict[str, list[Row]] = {}
    for row in rows:
        by_machine.setdefault(machine_of(row), []).append(row)

    def count_points(machine_rows: list[Row]) -> tuple[int, int]:
        return len({(row["model"], row["pictures"]) for row in machine_rows}), len(machine_rows)

    return max(by_machine.values(), key=count_points, default=[])


def describe_excluded_rows(every: Sequence[Row], included: Sequence[Row], titles: Mapping[str, str]) -> str:
    """Describe the rows of other machines, and the models that have no other rows at a size; '' if there are none."""
    if not (excluded := len(every) - len(included)):
        return ""
    before, after = ({(int(row["pictures"]), row["model"]) for row in rows} for rows in (every, included))
    by_size = {
        size: [title for name, title in titles.items() if (size, name) in before - after]
        for size in sorted({size for size, _ in before - after})
    }
    whole = "; ".join(f"{join_words(names)} with {size:,} images" for size, names in by_size.items())
    return (
        f"Excluded: {plural(excluded, 'run')} on another machine{f', all of {whole}' if whole else ''};"
        " seconds of different machines are not comparable."
    )


def add_equal_time_accuracy(rows: Sequence[Row]) -> list[Row]:
    """Add 'timed' to each row: validation accuracy after the core-seconds of the fastest model of its size.

    It is interpolated linearly in the row's curve of [updates, core-seconds, accuracy].
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


def find_leads(curves: Sequence[Curve]) -> list[Lead]:
    """Return the two best models at every size with at least two models."""
    sizes = sorted({int(size) for curve in curves for size in curve.pictures})
    out = []
    for size in sizes:
        there = [curve for curve in curves if curve.find_size(size) is not None]
        if len(there) > 1:
            first, second = sorted(there, key=lambda curve: -_mean(curve, size))[:2]
            out.append(Lead(size, first, second))
    return out


def _find_size(curve: Curve, size: int) -> int:
    place = curve.find_size(size)
    if place is None:
        raise ValueError(f"{curve.title} was not measured with {size} images")
    return place


def _mean(curve: Curve, size: int) -> float:
    return float(curve.mean[_find_size(curve, size)])


def compute_gaps(curves: Sequence[Curve], model: str, other: str) -> list[tuple[int, float]]:
    """Return (images, mean of `model` minus mean of `other`) at every size that both were measured at."""
    named = {curve.name: curve for curve in curves}
    if model not in named or other not in named:
        return []
    sizes = sorted({*named[model].pictures.tolist()} & {*named[other].pictures.tolist()})
    return [(size, _mean(named[model], size) - _mean(named[other], size)) for size in sizes]


def describe_sizes(curves: Sequence[Curve]) -> str:
    """Describe the leading models, where the lead changes, and the difference of CNN and ViT over the sizes."""
    all_leads = find_leads(curves)
    if not curves:
        return "No results are stored."
    if not all_leads:
        return f"Only one model was measured at each size. {describe_seeds(curves)}"
    ends = [all_leads[0]] if len(all_leads) == 1 else [all_leads[0], all_leads[-1]]
    sentences = ["; ".join(_describe_lead(lead)[:-1] for lead in ends) + "."]
    sentences += [
        _describe_change(before, after)
        for before, after in pairwise(all_leads)
        if _lead_changes(before, after)
    ]
    return " ".join(
        filter(None, [*sentences, _describe_gap(compute_gaps(curves, "cnn", "vit")), describe_seeds(curves)])
    )


def describe_prediction(lead: Lead, guess: Curve) -> str:
    """Describe the predicted leading model next to the measured one, with their difference and its certainty."""
    compared = lead if guess.name == lead.first.name else Lead(lead.pictures, lead.first, guess)
    first, second = compared.first.title, compared.second.title
    if round(100 * compared.margin, 1) == 0:
        return f"Your prediction: {guess.title}. Measured: {first} and {second} are tied."
    return (
        f"Your prediction: {guess.title}. Measured: {first} leads {second} by {100 * compared.margin:.1f} points"
        f" ({compared.certainty})."
    )


def describe_missing_sizes(curves: Sequence[Curve], sizes: Sequence[int], titles: Mapping[str, str]) -> str:
    """List the models that were not measured at each size; '' if none is missing."""
    sizes_by_models: dict[str, list[str]] = {}
    for size in sizes:
        measured = {curve.name for curve in curves if curve.find_size(size) is not None}
        missing = [title for name, title in titles.items() if name not in measured]
        if missing:
            models = "all models" if len(missing) == len(titles) else join_words(missing)
            sizes_by_models.setdefault(models, []).append(f"{size:,}")
    parts = [f"{models} with {join_words(counts)}" for models, counts in sizes_by_models.items()]
    return f"Not measured: {'; '.join(parts)} images." if parts else ""


def _describe_lead(lead: Lead) -> str:
    accuracy, count = percent(_mean(lead.first, lead.pictures)), plural(lead.pictures, "image")
    if round(100 * lead.margin, 1) == 0:
        return f"{lead.first.title} and {lead.second.title} are tied with {count}: {accuracy} each."
    return (
        f"{lead.first.title} leads with {count}: {accuracy}, {100 * lead.margin:.1f} points above"
        f" {lead.second.title}{_describe_doubt(lead)}."
    )


def _describe_doubt(lead: Lead) -> str:
    return f" ({lead.certainty})" if lead.seeds > 1 and not lead.clear else ""


def _lead_changes(before: Lead, after: Lead) -> bool:
    """Return True if another model leads and both were measured at both sizes."""
    if before.first.name == after.first.name:
        return False
    return (
        before.first.find_size(after.pictures) is not None
        and after.first.find_size(before.pictures) is not None
    )


def _describe_change(before: Lead, after: Lead) -> str:
    return (
        f"The lead changes from {before.first.title} to {after.first.title} between {before.pictures:,} and"
        f" {after.pictures:,} images{_describe_doubt(before) or _describe_doubt(after)}."
    )


def _describe_gap(gaps: Sequence[tuple[int, float]]) -> str:
    if len(gaps) < 2:
        return ""
    (few, first), (many, last) = gaps[0], gaps[-1]
    return f"CNN minus ViT: {gained(100 * first)} points with {few:,} images, {gained(100 * last)} with {many:,}."


def describe_seeds(curves: Sequence[Curve], mark: str = "point") -> str:
    """Describe the number of seeds that each point, or line, of a figure averages."""
    counts = sorted({int(count) for curve in curves for count in curve.seeds})
    if counts in ([], [1]):
        return "One seed each: small differences may change with another seed."
    few, many = counts[0], counts[-1]
    over = f"{few} seeds" if few == many else f"{few} to {many} seeds"
    if mark != "point":
        return f"Each {mark} is the mean of {over}."
    single = "; points without a bar have one seed" if few == 1 else ""
    return f"Each point is the mean of {over}; its bar spans them{single}."


def compute_mean_lines(rows: Sequence[Row], titles: Mapping[str, str]) -> dict[str, tuple[str, FloatArray]]:
    """Return by model its title and (2, n): core-seconds and validation accuracy at equal updates, seed means.

    Args:
        rows: of one size, each with its 'curve' of [updates, core-seconds, accuracy].
    """
    lines = {}
    for name, title in titles.items():
        curves = [np.array(row["curve"], np.float64) for row in rows if row["model"] == name]
        complete = [curve for curve in curves if len(curve) == max(map(len, curves))]
        if complete:
            lines[name] = title, np.mean(complete, axis=0)[:, 1:].T
    return lines


def read_common_end(lines: Lines) -> tuple[float, dict[str, float]] | None:
    """Return the end of the fastest training, in core-seconds, and each model's accuracy at that moment.

    None with fewer than two models, or where one has no point yet at that moment.
    """
    if len(lines) < 2:
        return None
    end = min(float(line[0, -1]) for _, line in lines.values())
    if end <= max(float(line[0, 0]) for _, line in lines.values()):
        return None
    return end, {name: float(np.interp(end, *line)) for name, (_, line) in lines.items()}


def describe_crossings(lines: Lines) -> str:
    """Describe the leading models over equal training time."""
    if len(lines) < 2:
        return ""
    start = max(line[0, 0] for _, line in lines.values())
    end = min(line[0, -1] for _, line in lines.values())
    if start >= end:
        return "The models' training times do not overlap."
    moments = np.linspace(start, end, 200)
    heights = np.array([np.interp(moments, *line) for _, line in lines.values()])
    titles = [title for title, _ in lines.values()]
    order = heights.argmax(axis=0)
    changes = np.flatnonzero(np.diff(order)) + 1
    places = 0 if end >= LONG_S else 1  # several lines of a short race may cross within one second
    first = f"At equal training time {titles[order[0]]} leads from {start:.{places}f} s"
    if not len(changes):
        return f"{first} to {end:.{places}f} s, when the fastest model has finished."
    later = [f"{titles[order[at]]} from {moments[at]:.{places}f} s" for at in changes[:MOST_CHANGES]]
    more = ", and so on" if len(changes) > MOST_CHANGES else ""
    return f"{first}; then {', '.join(later)}{more}."


def compute_augmentation_gains(rows: Sequence[Row], titles: Mapping[str, str]) -> list[Curve]:
    """Return the gain from augmentation by model: augmented minus unaugmented, seed by seed, where both exist."""
    gains = []
    for name, title in titles.items():
        augmented, unaugmented = (
            [row for row in rows if row["model"] == name and row["augmented"] == half]
            for half in (True, False)
        )
        by_size = pair_differences(augmented, unaugmented)
        if by_size:
            gains.append(create_curve(name, title, by_size))
    return gains


def pair_differences(these: Sequence[Row], those: Sequence[Row], key: str = "test") -> dict[int, list[float]]:
    """Return by image count `key` of these rows minus 'test' of those with the same seed; unpaired rows are skipped."""
    other = {(row["pictures"], row["seed"]): float(row["test"]) for row in those if "test" in row}
    by_size: dict[int, list[float]] = {}
    for row in these:
        place = row["pictures"], row["seed"]
        if key in row and place in other:
            by_size.setdefault(int(row["pictures"]), []).append(float(row[key]) - other[place])
    return by_size
