"""Every number that a study draws or says is computed anew from its result file, read as plain JSON."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from pages.stores import catalogue
from pages.studies.renderer import Built, build, build_columns, pick
from pages.studies.study import Study, list_studies, matches
from tests.pages.conftest import OpenApp
from tests.pages.stated_numbers import points, shares, written
from vitviz.analysis.study_numbers import Numbers
from vitviz.experiments import result_file
from vitviz.experiments.bugs import BUGS
from vitviz.experiments.hyperparameters import HYPERPARAMETERS
from vitviz.experiments.result_file import RESULTS
from vitviz.plots.race import find_interval
from vitviz.plots.study_charts import RaceChart

STUDIES = list_studies()
STORED = [name for name, study in STUDIES.items() if any(view.data for view in study.views)]
STORED += ["hyperparameter", "bug", "spot_the_bug", "robustness"]
# Shares in texts that are not of the study's own rows: the lecture's, chance, and conditions of a training.
OTHER_SHARES = {
    "position_errors": {"68", "9.0"},
    "lecture_results": {"97.04", "59"},
    "faces": {"10"},
    "robustness": {"10"},
}


UNFINISHED = r"(?i)to come|not (yet )?measured( yet)?\b|not yet|once they|as soon as"


def list_selections(study: Study, values: dict[str, Any], depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the values of every combination of options that a user can select."""
    if depth == len(study.choices):
        yield values
        return
    choice = study.choices[depth]
    is_free = choice.when is None or matches(values, choice.when)
    options = [*choice.list_options(values)] if is_free else [choice.find_default(values)]
    for option in options:
        yield from list_selections(study, {**values, choice.name: option}, depth + 1)


def read_json(numbers: Numbers) -> list[dict[str, Any]]:
    """Return the rows of the study's files without the project's own reader."""
    return [
        row
        for stored, _ in numbers.evidence
        for row in json.loads((RESULTS / f"{stored.name}.json").read_text("utf-8"))["rows"]
    ]


def list_stored(rows: list[dict[str, Any]]) -> set[float]:
    """Return all accuracies of rows, to a millionth."""
    fields = ("test", "test_cls", "test_dist", "test_softmax_sum", "right")
    plain = {row[field] for row in rows for field in fields if isinstance(row.get(field), float)}
    faces = {count / row["of"] for row in rows for count in row.get("faces", {}).values()}
    return {round(value, 6) for value in plain | faces}


@pytest.mark.parametrize("name", STORED)
def test_every_number_of_a_study_is_in_its_file_which_is_complete_for_its_question(name: str) -> None:
    for values in list_selections(STUDIES[name], {}):
        built = build(STUDIES[name], values)
        assert not re.search(UNFINISHED, f"{built.caption} {built.notes} {built.conditions}")
        numbers = built.numbers
        if numbers is None:  # a hyperparameter that is only trained live
            assert "Not in the stored experiment" in built.caption
            continue
        stored = list_stored(read_json(numbers))
        if "equal_time" not in str(built.view.data):  # accuracies between two points of a curve
            for by_place in numbers.values.values():
                assert {round(v, 6) for seeds in by_place.values() for v in seeds.values()} <= stored
        check_sentences(name, built, numbers)
        check_picture(built, numbers)
        check_complete(built, numbers, values)


def check_sentences(name: str, built: Built, numbers: Numbers) -> None:
    """Check shares and differences against means over the seeds of the numbers, which the file holds."""
    text = f"{built.caption} {built.notes}".replace("\N{NO-BREAK SPACE}", " ")
    text = re.sub(r"[\d.]+ % interval|Each interval of a difference .*? a false difference", "interval", text)
    means = {
        (series, place): 100 * mean(seeds.values())
        for series, by_place in numbers.values.items()
        for place, seeds in by_place.items()
    }
    others = OTHER_SHARES.get(name, set()) | {
        numbers.extra.get("strongest", "").strip("+ %\N{NO-BREAK SPACE}")
    }
    if name == "robustness":
        others |= written(list_kept_shares(numbers))
    near = [value + tiny for value in means.values() for tiny in (-1e-9, 1e-9)]  # halves round either way
    assert shares(text) <= written(near) | others, text
    gaps = [
        means[a] - means[b] + tiny
        for a, b in permutations(means, 2)
        if a[1] == b[1]
        for tiny in (-1e-9, 1e-9)
    ]
    assert points(text) <= written(gaps), text
    columns = build_columns(numbers, built.view)
    drawn = {
        (title, place): means[title, place] for title in numbers.titles for place in numbers.values[title]
    }
    assert columns["Mean"] == pytest.approx([share / 100 for share in drawn.values()])
    if base := numbers.extra.get("base series", (built.view.chart or {}).get("from")):
        expected = [share - means[base.format(title), place] for (title, place), share in drawn.items()]
        assert columns["Difference, points"] == pytest.approx(expected, abs=1e-9)


def list_kept_shares(numbers: Numbers) -> list[float]:
    """Return the share of accuracy that each model keeps, in percent, over the strengths with one above chance."""
    (neutral,) = {row["change"] for row in read_json(numbers) if row["value"] == 0.0}
    whole = [row["right"] for row in read_json(numbers) if row["change"] == neutral]
    series = [[seeds[0] for seeds in numbers.values[name].values()] for name in numbers.titles]
    start = next(i for i, column in enumerate(zip(*series, strict=True)) if [*column] == whole)
    above = [
        i
        for i, column in enumerate(zip(*series, strict=True))
        if i != start and max(column) > 0.1 + 3 * (0.09 / numbers.images) ** 0.5
    ]
    return [100 * mean(values[i] for i in above) / values[start] for values in series]


def check_picture(built: Built, numbers: Numbers) -> None:
    image = built.figure
    if isinstance(image, RaceChart):
        for variant in image.variants:
            rows = numbers.rows[variant.name]
            assert variant.test == {row["seed"]: row["test"] for row in rows if "test" in row}
            curves = [row["curve"] for row in rows if "test" in row]
            heights = [mean(curve[place][2] for curve in curves) for place in range(len(curves[0]))]
            assert variant.curve[1] == pytest.approx(heights)
        return
    kind = (built.view.chart or {}).get("kind")
    if kind in ("sizes", "rows", "shares"):
        every = [100 * v for by in numbers.values.values() for seeds in by.values() for v in seeds.values()]
        every += [100 * mean(seeds.values()) for by in numbers.values.values() for seeds in by.values()]
        printed = (built.view.chart or {}).get("printed", {})
        every += [100 * share for share in (printed.values() if isinstance(printed, dict) else printed)]
        known = {round(value, 4) for value in every}
        for trace in image.traces:  # type: ignore[union-attr]
            heights = trace["x"] if trace.get("orientation") == "h" else trace["y"]
            if "markers" in trace.get("mode", ""):
                assert {round(float(height), 4) for height in heights} <= known


def check_complete(built: Built, numbers: Numbers, values: dict[str, Any]) -> None:
    """Check that each series has the same seeds at each place, and that the evidence has no others."""
    assert len(numbers.titles) > 1
    seeds = {
        (series, place): set(by_seed)
        for series in numbers.titles
        for place, by_seed in numbers.values[series].items()
    }
    assert {*seeds} == {(series, place) for series in numbers.titles for place in numbers.places}
    (drawn,) = {*map(frozenset, seeds.values())}
    for _, rows in numbers.evidence:
        assert {row.get("seed", 0) for row in rows} <= drawn, values
    declared = pick(built.view.titles, values)
    if declared and not isinstance(declared, str):
        assert [*numbers.titles] == [*declared]


def test_sentences_written_by_hand_hold() -> None:
    """Numbers outside placeholders, each computed from what it speaks of."""
    text = {path.stem: path.read_text("utf-8") for path in Path("pages/studies").glob("*.toml")}

    def rows(name: str) -> list[dict[str, Any]]:
        return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["rows"]

    first = [row["curve"][0] for row in rows("position_errors")]
    assert f"after {first[0][0]} updates" in text["position_errors"]
    assert f"all tables is {100 * min(point[2] for point in first):.1f} %" in text["position_errors"]
    assert min(row["test"] for row in rows("position_errors")) > 0.68
    cost = json.loads((RESULTS / "conv_attention.json").read_text("utf-8"))["settings"]["multiply_adds"]
    assert f"For {cost['corrected'] / cost['control']:.0f} times" in text["attention_over_convolutions"]
    assert {row["of"] for row in rows("faces")} == {30} and "30 test faces" in text["faces"]
    cited = STUDIES["published_sizes"].views[0].published
    assert cited is not None
    vits = [values for series, values in cited.items() if series.startswith("ViT")]
    for place, words in ((0, "3.4 points below"), (2, "0.5 points above")):
        lead = max(values[place] or 0 for values in vits) - cited["BiT (ResNet-152×4)"][place]
        assert f"{abs(lead):.1f} points {'above' if lead > 0 else 'below'}" == words
        assert words in text["published_sizes"]
    assert [name for name, hyperparameter in HYPERPARAMETERS.items() if hyperparameter.stored] == sorted(
        STUDIES["hyperparameter"].views[0].when["knob"], key=[*HYPERPARAMETERS].index
    )
    assert len(STUDIES["spot_the_bug"].choices[0].options) == len(BUGS)
    for name, claim in (
        ("data_size", "all models reached this limit"),
        ("patch_size", "both reached this limit"),
    ):
        study = STUDIES[name]
        built = build(study, study.choose(draw=False))
        assert built.numbers is not None and claim in text[name]
        last = [row for _, read in built.numbers.evidence for row in read if row["pictures"] == 48_000]
        assert last and all(row["ceiling_hit"] for row in last)


def test_the_right_ranges_of_questions_are_those_of_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "CHECKPOINTS", RESULTS.parent)
    study = STUDIES["positions"]
    for dataset, right in study.views[0].ask["right"].items():  # type: ignore[index]
        numbers = build(study, {"dataset": dataset}).numbers
        assert numbers is not None
        accuracy = {name: 100 * numbers.get_mean(name, "") for name in numbers.titles}
        gap = max(accuracy.values()) - accuracy["none"]
        assert right == next(
            key for key, most in (("2", 2), ("10", 10), ("25", 25), ("more", 100)) if gap <= most
        )


@pytest.mark.parametrize("name", STORED)
def test_a_damaged_or_incomplete_file_is_reported_and_no_half_answer_shown(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    study = STUDIES[name]
    numbers = build(study, study.choose(draw=False)).numbers
    assert numbers is not None
    shutil.copytree(RESULTS, tmp_path / "results")
    monkeypatch.setattr(result_file, "RESULTS", tmp_path / "results")
    file = tmp_path / "results" / f"{numbers.evidence[0][0].name}.json"
    for damage in ("half", "one row"):
        whole = json.loads((RESULTS / file.name).read_text("utf-8"))
        whole["rows"] = whole["rows"][:1]
        text = file.read_text("utf-8")
        file.write_text(text[: len(text) // 2] if damage == "half" else json.dumps(whole), "utf-8")
        app = open_app("pages/studies/page.py", **{"studies.study": name})
        assert not app.exception
        assert [info.value for info in app.info if "no complete result" in info.value], damage
        assert not [part for part in app.main.get("bidi_component") if "studies." in str(part.key)]


def test_one_seed_gives_no_verdict_and_a_difference_is_paired() -> None:
    values = {"a": {"": {0: 0.9}}, "b": {"": {0: 0.8}}}
    one = Numbers({"a": "A", "b": "B"}, values, images=1000)
    assert one.compare("a", "b", "").outcome is None
    values = {"a": {"": {0: 0.9, 1: 0.91}}, "b": {"": {0: 0.7, 1: 0.71}}}
    two = Numbers({"a": "A", "b": "B"}, values, images=10_000)
    verdict = two.compare("a", "b", "")
    assert verdict.outcome == "higher" and verdict.estimate == pytest.approx(20)


@pytest.mark.parametrize("name", [name for name in STORED if name not in ("residuals", "positions")])
def test_every_measured_point_has_an_interval_and_its_sample(name: str) -> None:
    """Curves and dots have bars, races the ends of an interval; tooltips name seeds and images."""
    study = STUDIES[name]
    built = build(study, study.choose(draw=False))
    numbers, image = built.numbers, built.figure
    assert numbers is not None and "image" in numbers.sample
    assert ("seed" in numbers.sample) is not numbers.as_trained  # one trained model has no seeds
    if isinstance(image, RaceChart):
        assert image.note.startswith(numbers.sample)
        for variant in image.variants:
            ends = find_interval([*variant.test.values()], variant.images)
            assert ends is not None and ends[0] < variant.mean < ends[1]
            assert variant.band.shape == variant.curve.shape
        return
    assert image is not None and not callable(image)
    for trace in image.traces:
        if "markers" in trace["mode"] and "printed" not in trace["hovertemplate"]:
            assert trace["hovertemplate"].endswith(f"({numbers.sample})")
    bars = [trace for trace in image.traces if {"error_x", "error_y"} & {*trace}]
    lines = [trace for trace in image.traces if trace.get("hoverinfo") == "skip"]
    dots = max(len(numbers.list_seeds(series, numbers.places[0])) for series in numbers.titles)
    assert bars or len(lines) >= (2 if dots > 1 else 1) * len(numbers.titles)  # one dot is its own mean
