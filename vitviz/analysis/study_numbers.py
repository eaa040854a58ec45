"""Read the numbers of a study from its results, by series, by place on the x axis and by seed."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.data_size import Curve, add_equal_time_accuracy, select_one_machine
from vitviz.analysis.distillation import ANSWERS
from vitviz.analysis.verdict import Verdict, compare, compare_values, measure_interval, rank_leaders
from vitviz.experiments.result_file import TEST_IMAGES, Result, ResultError, Row, read_result, unpack_correct
from vitviz.text import plural

BySeed = Mapping[int, float]
ALL = ""  # the only place of a figure without an x axis


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbers that a study draws and names.

    Attributes:
        titles: of the series that are drawn, by name, in order.
        values: by series, place and seed; also of series that are only compared with, which have no title.
        rows: the stored rows of each series.
        right: the test images that are classified correctly, by series, place and seed, where they were stored.
        compared: titles of the series that are only compared with.
        evidence: the result files, and the rows that were read.
        images: on which every number was measured.
        chance: accuracy of guessing; None where there is none.
        extra: further words for placeholders, by name.
        as_trained: True if all series are the same trained models, changed: differences are over images alone.
    """

    titles: Mapping[str, str]
    values: Mapping[str, Mapping[Any, BySeed]]
    rows: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    right: Mapping[str, Mapping[Any, Mapping[int, NDArray[np.bool_]]]] = field(default_factory=dict)
    compared: Mapping[str, str] = field(default_factory=dict)
    evidence: Sequence[tuple[Result, Sequence[Row]]] = ()
    images: int = 0
    chance: float | None = 0.1
    extra: Mapping[str, Any] = field(default_factory=dict)
    as_trained: bool = False

    @property
    def places(self) -> list[Any]:
        """Return the places of the first series."""
        return list(self.values[next(iter(self.titles))])

    def get_place(self, name: str) -> Any:
        """Return the place that a text calls 'first', 'last' or by its own name; the only one by default."""
        by_name = {str(place): place for place in self.places}
        ends = {"first": self.places[0], "last": self.places[-1], "": self.places[0]}
        return by_name[name] if name in by_name else ends[name]

    def get_mean(self, series: str, place: Any) -> float:
        return fmean(self.values[series][place].values())

    def get_title(self, series: str) -> str:
        return self.titles.get(series, self.compared.get(series, series))

    def get_right(self, series: str, place: Any) -> Mapping[int, NDArray[np.bool_]]:
        """Return which test images a series classifies correctly, by seed; empty where it was not stored."""
        return self.right.get(series, {}).get(place, {})

    def rank(self, place: Any) -> list[str]:
        """Return the drawn series by their mean at one place, the highest first."""
        return sorted(self.titles, key=lambda series: -self.get_mean(series, place))

    def find_leaders(self, place: Any, lowest: bool = False) -> tuple[str, ...]:
        """Return the drawn series that are not shown to be lower than the highest mean, or higher than the lowest."""

        def compare_pair(a: str, b: str) -> Verdict:
            return self.compare(b, a, place) if lowest else self.compare(a, b, place)

        sign = -1 if lowest else 1
        means = {name: sign * self.get_mean(name, place) for name in self.titles}
        return rank_leaders(means, compare_pair)

    def list_seeds(self, series: str, place: Any = ALL) -> list[float]:
        return [*self.values[series][place].values()]

    def create_curves(self) -> list[Curve]:
        """Return the series as curves over numbers of images, with 95 % intervals."""
        curves = []
        for name, title in self.titles.items():
            points = [(self.get_mean(name, place), *self.get_interval(name, place)) for place in self.places]
            curves.append(Curve(name, title, np.array(self.places), *np.array(points).T))
        return curves

    def get_interval(self, series: str, place: Any = ALL) -> tuple[float, float]:
        """Return the 95 % interval of a mean."""
        return measure_interval(self.list_seeds(series, place), self.images)

    @property
    def sample(self) -> str:
        """'3 seeds, 10,000 images'; '' for cited numbers."""
        if self.as_trained:
            return plural(self.images, "image")
        seeds = (
            plural(len(self.list_seeds(next(iter(self.titles)), self.places[0])), "seed")
            if self.titles
            else ""
        )
        return f"{seeds}, {plural(self.images, 'image')}" if self.images and seeds else ""

    def compare(self, first: str, second: str, place: Any) -> Verdict:
        """Return the verdict on the difference of two series at one place."""
        values = self.values[first][place], self.values[second][place]
        right = self.get_right(first, place), self.get_right(second, place)
        if self.as_trained:
            return compare_values(*(100 * side[0].astype(np.float64) for side in right))
        return compare(*values, images=self.images, right=right if all(right) else None, chance=self.chance)


def read_numbers(
    sources: Sequence[Mapping[str, Any]],
    titles: Mapping[str, str],
    *,
    series: str,
    x: str = "",
    y: str = "test",
    **about: Any,
) -> Numbers:
    """Read the rows of result files.

    Only seeds that every series has at every place are read, so that all differences are paired.

    Args:
        sources: 'result', the name of a file; 'where', values of its rows; 'set', fields that replace a row's;
            'derive', the name of a function of `DERIVED`.
        titles: of the series.
        series, x, y: the fields of a row that hold series, place and number.
        about: 'images', 'chance' and 'compared' of the numbers; by default those of the result's dataset.

    Raises:
        ResultError: if a file is missing, damaged or incomplete for these series.
    """
    rows: list[Row] = []
    evidence = []
    for source in sources:
        stored = read_result(source["result"])
        chosen = [row for row in stored.rows if _matches(row, source.get("where", {}))]
        if derive := source.get("derive"):
            chosen = DERIVED[derive](stored, chosen)
        evidence.append((stored, chosen))
        replaced = source.get("set", {})
        rows += [{**row, **{name: text.format_map(row) for name, text in replaced.items()}} for row in chosen]
    by_series: dict[str, list[Row]] = {}
    for row in rows:
        by_series.setdefault(str(row[series]), []).append(row)
    return create_numbers(titles, by_series, evidence, x, y, **about)


def create_numbers(
    titles: Mapping[str, str],
    rows: Mapping[str, Sequence[Row]],
    evidence: Sequence[tuple[Result, Sequence[Row]]],
    x: str = "",
    y: str = "test",
    **about: Any,
) -> Numbers:
    """Return the numbers of rows that are grouped by series, see `read_numbers`.

    Raises:
        ResultError: if a series is incomplete.
    """
    values = {name: _group(series_rows, x, y) for name, series_rows in rows.items()}
    right = (
        {name: _group(series_rows, x, "right") for name, series_rows in rows.items()} if y == "test" else {}
    )
    settings = evidence[0][0].settings
    dataset = settings.get("dataset")
    about.setdefault("images", settings.get("test_pictures", TEST_IMAGES.get(str(dataset))))
    about.setdefault("chance", 0.25 if dataset == "shapes" else 0.1)
    if isinstance(about["images"], Mapping):
        about["images"] = about["images"][dataset]
    complete = keep_complete(values, {**titles, **about.get("compared", {})})
    seeds = {seed for name in titles for by_seed in complete[name].values() for seed in by_seed}
    evidence = [
        (stored, [row for row in read if int(row.get("seed", 0)) in seeds]) for stored, read in evidence
    ]
    return Numbers(titles, complete, rows, right, evidence=evidence, **about)


def _matches(row: Row, where: Mapping[str, Any]) -> bool:
    return all(
        row.get(name) in wanted if isinstance(wanted, list) else row.get(name) == wanted
        for name, wanted in where.items()
    )


def _group(rows: Sequence[Row], x: str, y: str) -> dict[Any, dict[int, Any]]:
    by_place: dict[Hashable, dict[int, Any]] = {}
    for row in rows:
        if y in row:
            number = unpack_correct(row[y]) if isinstance(row[y], str) else float(row[y])
            by_place.setdefault(row[x] if x else ALL, {})[int(row.get("seed", 0))] = number
    return by_place if any(isinstance(place, str) for place in by_place) else dict(sorted(by_place.items()))


def keep_complete(
    values: Mapping[str, Mapping[Any, BySeed]], titles: Mapping[str, str]
) -> dict[str, dict[Any, BySeed]]:
    """Return the values of the seeds that every series has at every place.

    Raises:
        ResultError: if a series lacks a place, or no seed is common to all.
    """
    missing = [title for name, title in titles.items() if name not in values]
    places = {place for name in titles for place in values.get(name, {})}
    missing += [title for name, title in titles.items() if name in values and {*values[name]} != places]
    if missing or not places or len(titles) < 2:
        raise ResultError(f"the results are incomplete: {', '.join(missing) or 'no row fits'}")
    seeds = set.intersection(*({*values[name][place]} for name in titles for place in places))
    if not seeds:
        raise ResultError("the results are incomplete: no seed was measured for every point")
    return {
        name: {
            place: {seed: value for seed, value in by_seed.items() if seed in seeds}
            for place, by_seed in by_place.items()
        }
        for name, by_place in values.items()
    }


def _at_equal_time(stored: Result, rows: Sequence[Row]) -> list[Row]:
    """Return the rows of one machine with the accuracy at the end of the fastest training of their size."""
    return add_equal_time_accuracy(select_one_machine(rows, stored.machine_of))


def _by_arrangement(stored: Result, rows: Sequence[Row]) -> list[Row]:
    """Return a row for each arrangement of the parts of a face, with the share that is classified as a face."""
    return [
        {**row, "arrangement": name, "share": count / row["of"]}
        for row in rows
        for name, count in row["faces"].items()
    ]


def _by_heads(stored: Result, rows: Sequence[Row]) -> list[Row]:
    """Return a row for each way to combine the two heads of a student, as a model of the way's name."""
    students = [row for row in rows if row["model"] == "deit"]
    return [
        *(row for row in rows if row["model"] != "deit"),
        *({**row, "model": name, "test": row.get(name, row["test"])} for row in students for name in ANSWERS),
    ]


DERIVED = {"equal_time": _at_equal_time, "faces": _by_arrangement, "heads": _by_heads}
