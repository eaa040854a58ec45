"""Every number that a caption says of the grids of data sizes is computed anew here from the rows of their files.

Whatever cells there are: a grid in its first hour and a whole one are read alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations
from statistics import mean, stdev
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.messages import charts
from tests.pages.conftest import OpenApp
from tests.pages.told import points, shares, words, written
from vitviz.experiments.data_size import GRIDS, TITLES
from vitviz.experiments.result_file import RESULTS, Result, read_result

SHIPPED = [name for name in GRIDS if (RESULTS / f"data_size_{name}.json").is_file()]
DATA, DEIT, WHICH = (
    f"pages/{name}/page.py" for name in ("studies/data", "lenses/distillation", "which_model")
)
Means = dict[str, dict[int, float]]  # by title and number of pictures, in percent


def halves(found: Result) -> list[bool]:
    return [half for half in (True, False) if any(row["augmented"] == half for row in found.rows)]


def grouped(rows: Sequence[Any], key: str) -> Means:
    """Means over the seeds, read without the project's own."""
    by: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        if key in row:
            by.setdefault(TITLES[row["model"]], {}).setdefault(row["pictures"], []).append(row[key])
    # As the page takes it: of a mean half way between two tenths the last bit decides.
    return {title: {size: 100 * float(np.mean(at[size])) for size in sorted(at)} for title, at in by.items()}


def on_one_machine(found: Result, rows: Sequence[Any]) -> list[Any]:
    """The rows of the machine that measured most models and sizes, or else most rows."""
    by: dict[str, list[Any]] = {}
    for row in rows:
        by.setdefault(found.made[row["made"]].machine, []).append(row)
    return max(by.values(), key=lambda own: (len({(row["model"], row["pictures"]) for row in own}), len(own)))


def at_equal_time(rows: Sequence[Any]) -> list[Any]:
    """The rows with 'timed', read off their curves when the quickest of their size was done."""
    spent: dict[int, list[float]] = {}
    for row in rows:
        if "training_core_s" in row:
            spent.setdefault(row["pictures"], []).append(row["training_core_s"])
    found = []
    for row in rows:
        if "training_core_s" in row and row["curve"]:
            _, seconds, accuracy = zip(*row["curve"], strict=True)
            timed = float(np.interp(min(spent[row["pictures"]]), seconds, accuracy))
            found.append({**row, "timed": timed})
    return found


def gaps(reached: Means) -> list[float]:
    """How far each model lies above each other, size by size."""
    return [
        one[size] - other[size]
        for one, other in permutations(reached.values(), 2)
        for size in one.keys() & other.keys()
        if one[size] >= other[size]
    ]


@pytest.mark.parametrize("equal", ["updates", "time"])
@pytest.mark.parametrize("name", SHIPPED)
def test_sizes_at_equal_updates_and_at_equal_time(open_app: OpenApp, name: str, equal: str) -> None:
    found = read_result(f"data_size_{name}")
    for half in halves(found):
        view = {"dataset": name, "augmented": str(int(half)), "equal": equal, "guess": "shown"}
        app = open_app(DATA, **{f"data.{key}": value for key, value in view.items()})
        rows = [row for row in found.rows if row["augmented"] == half]
        reached = grouped(
            at_equal_time(on_one_machine(found, rows)) if equal == "time" else rows,
            "timed" if equal == "time" else "test",
        )
        drawn = {title: at for title, at in figures(app).items() if title in reached}
        assert drawn.keys() == reached.keys()
        for title, at in reached.items():
            assert drawn[title] == pytest.approx(at, abs=1e-6)
        text = words(app)
        assert shares(text) <= written(value for at in reached.values() for value in at.values())
        assert points(text.partition("CNN minus ViT")[0]) <= written(gaps(reached))
        cnn, vit = reached.get("CNN", {}), reached.get("ViT", {})
        both = sorted(cnn.keys() & vit.keys())
        said = re.search(r"CNN minus ViT: \+?(-?\d+\.\d) points with ([\d,]+) \w+, \+?(-?\d+\.\d) with", text)
        assert bool(said) == (len(both) > 1 and len(reached) > 1)
        if said:
            assert float(said[1]) == pytest.approx(cnn[both[0]] - vit[both[0]], abs=0.0501)
            assert float(said[3]) == pytest.approx(cnn[both[-1]] - vit[both[-1]], abs=0.0501)


def figures(app: AppTest) -> dict[str, dict[float, float]]:
    """By name of a line the heights of its points, by their places."""
    specs = charts(app)
    return {
        trace["name"]: {x: y for x, y in zip(trace["x"], trace["y"], strict=True) if y is not None}
        for spec in specs
        for trace in spec["data"]
        if trace.get("name") and "markers" in trace.get("mode", "")
    }


@pytest.mark.parametrize("name", SHIPPED)
def test_training_time_at_the_fewest_few_and_the_most_pictures(open_app: OpenApp, name: str) -> None:
    found = read_result(f"data_size_{name}")
    for half in halves(found):
        rows = [row for row in found.rows if row["augmented"] == half and row.get("curve")]
        sizes = sorted({row["pictures"] for row in rows})
        for size in {*sizes[:2], sizes[-1]}:
            view = {"view": "time", "dataset": name, "augmented": str(int(half)), "pictures": str(size)}
            app = open_app(
                DATA, **{f"data.{key}": value for key, value in (view | {"time_guess": "shown"}).items()}
            )
            text, ends, spans = words(app), {}, {}
            here = on_one_machine(found, [row for row in rows if row["pictures"] == size])
            assert ("machine" in text.partition("Trainings measured")[0]) == any(
                row not in here for row in rows if row["pictures"] == size
            ), size
            for model, title in TITLES.items():
                own = [row["curve"] for row in here if row["model"] == model]
                if own:
                    line = np.mean([curve for curve in own if len(curve) == max(map(len, own))], axis=0)
                    ends[title], spans[title] = line[-1], (line[0, 1], line[-1, 1])
            said = dict(re.findall(r"(\w+) (\d+\.\d % after \d+ s)", text.partition("At the end")[2]))
            assert said == {
                title: f"{100 * end[2]:.1f} % after {end[1]:.0f} s" for title, end in ends.items()
            }
            (count,) = re.findall(r"on the ([\d,]+) validation \w+", text)
            behind = int(count.replace(",", ""))  # of so many every share is a whole number
            ends_of_all = np.array([row["curve"][-1][2] for row in here])
            np.testing.assert_allclose(
                ends_of_all * behind, (ends_of_all * behind).round(), atol=0.6e-4 * behind
            )
            if len(spans) > 1 and "leads from" in text:
                start, end = (
                    max(first for first, _ in spans.values()),
                    min(last for _, last in spans.values()),
                )
                places = 0 if end >= 30 else 1
                assert f"leads from {start:.{places}f} s" in text
                assert "when the fastest" not in text or f"to {end:.{places}f} s, when the fastest" in text


@pytest.mark.parametrize("name", SHIPPED)
def test_what_augmentation_gives(open_app: OpenApp, name: str) -> None:
    found = read_result(f"data_size_{name}")
    pairs: dict[tuple[str, int], list[float]] = {}
    plain = {(row["model"], row["pictures"], row["seed"]): row for row in found.rows if not row["augmented"]}
    for row in found.rows:
        other = plain.get((row["model"], row["pictures"], row["seed"]), {})
        if row["augmented"] and "test" in row and "test" in other:
            pairs.setdefault((TITLES[row["model"]], row["pictures"]), []).append(
                100 * (row["test"] - other["test"])
            )
    text = words(
        open_app(DATA, **{"data.view": "augmented", "data.dataset": name, "data.gain_guess": "shown"})
    )
    said = re.findall(r"(\w+) with ([\d,]+) \w+ \(\+?(-?\d+\.\d) points\)", text)
    assert bool(said) == bool(pairs)
    for title, size, value in said:
        assert float(value) == pytest.approx(mean(pairs[title, int(size.replace(",", ""))]), abs=0.0501)
    if len(said) > 1:
        means = [mean(values) for values in pairs.values()]
        assert [float(value) for *_, value in said] == pytest.approx([max(means), min(means)], abs=0.0501)


def duels(rows: Sequence[Any], key: str = "test") -> dict[int, list[float]]:
    """By size, student less twin of one seed, in points."""
    twins = {
        (row["pictures"], row["seed"]): row["test"] for row in rows if row["model"] == "vit" and "test" in row
    }
    by: dict[int, list[float]] = {}
    for row in rows:
        at = row["pictures"], row["seed"]
        if row["model"] == "deit" and key in row and at in twins:
            by.setdefault(row["pictures"], []).append(100 * (row[key] - twins[at]))
    return dict(sorted(by.items()))


@pytest.mark.parametrize("name", SHIPPED)
def test_what_a_teacher_is_worth(open_app: OpenApp, name: str) -> None:
    found = read_result(f"data_size_{name}")
    for half in (half for half in halves(found) if duels([r for r in found.rows if r["augmented"] == half])):
        view = {
            "view": "worth",
            "teaching_set": name,
            "teaching_augmented": str(int(half)),
            "teaching_guess": "shown",
        }
        app = open_app(
            DEIT, **{f"distillation.{key}": value for key, value in view.items()}, model="preset:deit_digits"
        )
        rows = [row for row in found.rows if row["augmented"] == half]
        pairs, text = duels(rows), words(app)
        roles = {"cnn": "Teacher, a CNN", "vit": "Twin, no teacher", "deit": "Student"}
        reached, drawn = grouped(rows, "test"), figures(app)
        for model, title in roles.items():
            assert drawn[title] == pytest.approx(reached[TITLES[model]], abs=1e-6)
        told = re.search(r"gain from the teacher .*?\+?(-?\d+\.\d) points with ([\d,]+) images", text)
        assert told is not None
        best = max(pairs, key=lambda size: mean(pairs[size]))
        assert (float(told[1]), told[2]) == (pytest.approx(mean(pairs[best]), abs=0.0501), f"{best:,}")
        if worst := re.search(r"ranges from \+?(-?\d+\.\d) points with ([\d,]+) to", text):
            assert float(worst[1]) == pytest.approx(min(map(mean, pairs.values())), abs=0.0501)


def test_the_guide_s_comparison(open_app: OpenApp) -> None:
    rows = [row for row in read_result("data_size_cifar10").rows if row["augmented"] and "test" in row]
    kinds = {"CNN": "cnn", "Hybrid": "hybrid", "ViT": "vit"}
    text = words(open_app(WHICH, **{"which_model.view": "guide"}))
    sizes = set.intersection(
        *({row["pictures"] for row in rows if row["model"] == name} for name in kinds.values())
    )
    line = next((line for line in text.splitlines() if "Accuracy by training images" in line), "")
    assert bool(line) == bool(sizes)
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    for name, cell in zip(kinds.values(), cells, strict=False):
        wanted = []
        for size in sorted({min(sizes), max(sizes)}):
            own = [100 * row["test"] for row in rows if row["model"] == name and row["pictures"] == size]
            more = f" ({len(own)} seeds, ± {stdev(own):.1f})" if len(own) > 1 else ""
            wanted.append(f"{mean(own):.1f} % with {size:,}{more}")
        assert cell == "; ".join(wanted)


def test_the_guide_s_word_on_teachers(open_app: OpenApp) -> None:
    """Hard labels and the chosen way of teaching are counted apart: they win at other sizes."""
    text = words(open_app(WHICH, **{"which_model.view": "guide"}))
    hard: list[list[float]] = []
    for name in SHIPPED:
        by = {
            (row["model"], row["pictures"], row["seed"]): row["test"]
            for row in read_result(f"data_size_{name}").rows
            if row["augmented"] and "test" in row
        }
        for size in GRIDS[name].sizes:
            own = [by["deit", size, s] - by["vit", size, s] for s in range(3) if ("deit", size, s) in by]
            hard += [own] if own else []
    chosen = []
    for name in (name for name in GRIDS if (RESULTS / f"teaching_{name}.json").is_file()):
        rows = read_result(f"teaching_{name}").rows
        for size in {row["pictures"] for row in rows}:
            at = {
                lesson: sorted(
                    (row["seed"], row["validation"], row["test"])
                    for row in rows
                    if row["pictures"] == size and row["lesson"] == lesson
                )
                for lesson in {row["lesson"] for row in rows}
            }
            alone = [test for _, _, test in at.pop("twin")]
            best = max(at.values(), key=lambda own: mean(validation for _, validation, _ in own))
            chosen.append([test - twin for (_, _, test), twin in zip(best, alone, strict=True)])
    won = [sum(len(g) > 1 and mean(g) > max(g) - min(g) for g in gains) or "none" for gains in (hard, chosen)]
    assert f"hard labels help by more than the seed spread at {won[0]} of {len(hard)} sizes" in text
    assert f"by more than the seed spread at {won[1]} of {len(chosen)} sizes." in text
