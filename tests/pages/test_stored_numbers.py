"""What pages draw and say of experiments is in their files: those whose own tests do not look at each number.

On 'How much data?', Hybrids, On your picture and Experiments' knobs and slips see their pages' own tests.
"""

from __future__ import annotations

import re
from statistics import mean
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.messages import charts
from tests.pages.conftest import OpenApp
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result_file import RESULTS, Result, read_result
from vitviz.experiments.transfer_plan import PLAN_OF
from vitviz.text import gained as gained_points

SHIPPED = [name for name in GRIDS if (RESULTS / f"data_size_{name}.json").is_file()]
TAUGHT = [name for name in GRIDS if (RESULTS / f"teaching_{name}.json").is_file()]
FINE_TUNED = [source for source, plan in PLAN_OF.items() if (RESULTS / f"{plan.name}.json").is_file()]
NBSP = "\N{NO-BREAK SPACE}"
DEIT = {"model": "preset:deit_digits", "image": "digits:3", "distillation.view": "worth"}
ANSWERS = {
    "Mean of the logits": "test",
    "Sum of the softmaxes": "test_softmax_sum",
    "[CLS] only": "test_cls",
    "[DIST] only": "test_dist",
}


def captions(app: AppTest) -> str:
    return " ".join(caption.value for caption in app.main.caption).replace(NBSP, " ")


def lines(app: AppTest, within: list[str]) -> dict[str, list[tuple[Any, float]]]:
    """What is drawn under these names: places and heights of the points that are there."""
    figures = charts(app)
    found = {}
    for trace in (trace for figure in figures for trace in figure["data"]):
        if trace.get("name") in within and "markers" in trace["mode"]:
            points = zip(trace["x"], trace["y"], strict=True)
            found[trace["name"]] = [(x, y) for x, y in points if y is not None]
    return found


def pairs(found: Result, key: str) -> dict[int, list[float]]:
    """By size, student less twin of one seed, in points; read without the project's own means."""
    rows = [row for row in found.rows if row["augmented"]]
    twins = {(row["pictures"], row["seed"]): row["test"] for row in rows if row["model"] == "vit"}
    gained: dict[int, list[float]] = {}
    for row in rows:
        at = row["pictures"], row["seed"]
        if row["model"] == "deit" and at in twins:
            gained.setdefault(row["pictures"], []).append(100 * (row[key] - twins[at]))
    return dict(sorted(gained.items()))


@pytest.mark.parametrize("name", SHIPPED)
def test_what_a_teacher_is_worth_is_in_the_grid_s_file(open_app: OpenApp, name: str) -> None:
    found = read_result(f"data_size_{name}")
    asked = {"teaching_set": name, "teaching_guess": "shown", "teaching_shown": "gains"}
    app = open_app(
        "pages/lenses/distillation/page.py",
        **DEIT,
        **{f"distillation.{key}": value for key, value in asked.items()},
    )
    drawn = lines(app, list(ANSWERS))
    if not pairs(found, "test"):  # a grid in its first hour
        assert not drawn and "No student has a twin of its seed" in captions(app)
        return
    for title, key in ANSWERS.items():
        wanted = [mean(values) for values in pairs(found, key).values()]
        assert [y for _, y in drawn[title]] == pytest.approx(wanted, abs=1e-6)
    gained, told = pairs(found, "test"), captions(app)
    best = max(gained, key=lambda size: mean(gained[size]))
    assert f"{gained_points(mean(gained[best]))} points with {best:,} " in told
    wins = [f"{s:,}" for s, v in gained.items() if len(v) > 1 and mean(v) > max(v) - min(v)]
    said = re.search(r"The student is better .*?with ([\d, and]+) \w+\.", told)
    assert ([] if said is None else re.findall(r"[\d,]*\d", said[1])) == wins


@pytest.mark.parametrize("name", TAUGHT)
def test_every_lesson_s_accuracy_is_in_its_file(open_app: OpenApp, name: str) -> None:
    found = read_result(f"teaching_{name}")
    asked = {"teaching_set": name, "teaching_method": "shown", "teaching_shown": "methods"}
    app = open_app(
        "pages/lenses/distillation/page.py",
        **DEIT,
        **{f"distillation.{key}": value for key, value in asked.items()},
    )
    figures = charts(app)
    lessons = list(dict.fromkeys(row["lesson"] for row in found.rows))
    (dots,) = (trace for f in figures for trace in f["data"] if trace.get("y") == lessons)
    least = min(row["pictures"] for row in found.rows)
    wanted = [
        100 * mean(row["test"] for row in found.where(lesson=lesson, pictures=least)) for lesson in lessons
    ]
    assert dots["x"] == pytest.approx(wanted)


@pytest.mark.parametrize("source", FINE_TUNED)
def test_fine_tuning_s_curves_are_in_their_file(open_app: OpenApp, source: str) -> None:
    plan = PLAN_OF[source]
    found = read_result(plan.name)
    view = {
        "fine_tuning.view": "grown",
        "fine_tuning.body_of": source,
        "fine_tuning.grown_guess": "shown",
    }
    app = open_app("pages/train/fine_tuning/page.py", model="preset:vit_digits", **view)
    drawn, known = lines(app, list(plan.methods.values())), set()
    for method, title in plan.methods.items():
        by_size: dict[int, list[float]] = {}
        for row in found.where(source=source, method=method):
            if "test" in row:
                by_size.setdefault(row["a_class"], []).append(100 * row["test"])
        wanted = [(size, mean(by_size[size])) for size in sorted(by_size)]
        assert [x for x, _ in drawn.get(title, [])] == [x for x, _ in wanted]
        assert [100 - y for _, y in drawn.get(title, [])] == pytest.approx([y for _, y in wanted])  # mistakes
        known |= {f"{y:.1f}" for _, y in wanted}
    assert {*re.findall(r"(\d+\.\d) %", captions(app))} <= known


@pytest.mark.parametrize("updates", [0, 200])
def test_gradient_norms_are_in_their_file(open_app: OpenApp, updates: int) -> None:
    found = read_result("gradient_norms")
    from vitviz.experiments.gradients import VARIANTS

    at = found.settings["marks"].index(updates)
    view = {"experiments.updates": str(updates), "experiments.gradient_guess": "shown"}
    asked = {"studies.study": "residuals", **view}
    app = open_app("pages/studies/page.py", model="preset:vit_digits", **asked)
    drawn = lines(app, list(VARIANTS.values()))
    for variant, title in VARIANTS.items():
        norms = [row["norms"][at] for row in found.where(variant=variant) if len(row["norms"]) > at]
        wanted = [max(block) for block in zip(*norms, strict=True)]
        least = [min(block) for block in zip(*norms, strict=True)]
        inside = [
            low * 0.999 <= y <= high * 1.001
            for (_, y), low, high in zip(drawn[title], least, wanted, strict=True)
        ]
        assert len(inside) == found.settings["depth"] and all(inside)
    known = {f"{100 * row['test']:.1f}" for row in found.rows if "test" in row}
    told = re.split("Test accuracy after|Stored", captions(app))[1]
    assert {*re.findall(r"(\d+\.\d) %", told)} <= known and "%" in told


def test_the_guide_s_numbers_are_in_the_grid_s_file(open_app: OpenApp) -> None:
    rows = [row for row in read_result("data_size_cifar10").rows if row["augmented"]]
    app = open_app("pages/which_model/page.py", **{"which_model.view": "guide"}, model="preset:vit_digits")
    told = "\n".join(part.value for part in app.main.markdown).replace(NBSP, " ")
    said = re.search(r"With ([\d,]+) training images, choose the (\w+), not the (\w+)", told)
    assert said is not None
    size = int(said[1].replace(",", ""))
    means = {
        kind: mean(row["test"] for row in rows if row["model"] == kind.lower() and row["pictures"] == size)
        for kind in ("CNN", "Hybrid", "ViT")
    }
    assert (said[2], said[3]) == (max(means, key=means.__getitem__), min(means, key=means.__getitem__))
    assert ", ".join(f"{kind} {100 * value:.1f} %" for kind, value in means.items()) in told
    sizes = [duel for name in SHIPPED for duel in pairs(read_result(f"data_size_{name}"), "test").values()]
    wins = sum(len(gains) > 1 and mean(gains) > max(gains) - min(gains) for gains in sizes)
    assert re.search(
        rf"{len(sizes)} dataset sizes with augmentation, the student is better [^.]* at {wins or 'none'}",
        told,
    )
    assert f"by more than the seed spread at {wins or 'none'} of {len(sizes)} sizes" in told
