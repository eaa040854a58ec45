"""Every number that a caption says of an experiment is computed anew here from the rows of its file.

The grids of data sizes see `test_stored_grids`; what is drawn `test_stored_numbers` and `test_stored_changes`.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pytest

from pages.studies.image_count import describe_rates
from tests.messages import message
from tests.pages.conftest import OpenApp
from tests.pages.test_drawers import open_drawers
from tests.pages.told import points, shares, words, written
from vitviz.data.datasets import DATASETS
from vitviz.experiments.gradients import VARIANTS
from vitviz.experiments.result_file import RESULTS, read_result
from vitviz.experiments.transfer_plan import PLAN_OF
from vitviz.experiments.tuning_methods import PLAN, SIZES, WAYS
from vitviz.text import percent

CHECKPOINTS = RESULTS.parent
STUDIES = "pages/studies/page.py"
DEIT, TUNING, PICTURE, HYBRIDS = (
    f"pages/{name}/page.py"
    for name in (
        "lenses/distillation",
        "train/fine_tuning",
        "lenses/on_your_image",
        "lenses/hybrids",
    )
)
FINE_TUNED = [source for source, plan in PLAN_OF.items() if (RESULTS / f"{plan.name}.json").is_file()]
TAUGHT = [name for name in DATASETS if (RESULTS / f"teaching_{name}.json").is_file()]
VIT = {"model": "preset:vit_digits", "image": "digits:3"}


@pytest.mark.parametrize("name", TAUGHT)
def test_which_way_of_teaching_is_chosen(open_app: OpenApp, name: str) -> None:
    found = read_result(f"teaching_{name}")
    for size in sorted({row["pictures"] for row in found.rows}):
        view = {
            "distillation.view": "worth",
            "distillation.teaching_set": name,
            "distillation.teaching_shown": "methods",
            "distillation.teaching_method": "shown",
            "distillation.teaching_pictures": str(size),
        }
        text = words(open_app(DEIT, **view, model="preset:deit_digits"))
        rows = [row for row in found.where(pictures=size) if "test" in row]
        names = dict.fromkeys(row["lesson"] for row in rows if row["lesson"] != "twin")
        by = {name: [row for row in rows if row["lesson"] == name] for name in (*names, "twin")}
        chosen = max(names, key=lambda name: mean(row["validation"] for row in by[name]))
        ends = [100 * mean(row["test"] for row in by[name]) for name in (chosen, "twin")]
        best = text.partition(f"With {size:,} ")[2]
        assert f"'{chosen}': {ends[0]:.1f} %" in best and f"against the twin's {ends[1]:.1f} %" in best
        assert written([round(ends[0], 1) - round(ends[1], 1)]) <= points(text)  # as both are shown


@pytest.mark.parametrize("source", FINE_TUNED)
def test_where_the_ways_of_fine_tuning_meet(open_app: OpenApp, source: str) -> None:
    view = {"view": "grown", "body_of": source, "grown_guess": "shown"}
    text = words(open_app(TUNING, **VIT, **{f"fine_tuning.{key}": value for key, value in view.items()}))
    plan, reached = PLAN_OF[source], dict[str, dict[int, list[float]]]()
    for method, title in plan.methods.items():
        rows = [row for row in read_result(plan.name).where(source=source, method=method) if "test" in row]
        sizes = sorted({row["a_class"] for row in rows})
        reached[title] = {n: [100 * row["test"] for row in rows if row["a_class"] == n] for n in sizes}
    found = re.sub("Stored experiment.*", "", text).replace("\n", " ")
    assert shares(found) <= written(mean(seeds) for at in reached.values() for seeds in at.values())
    own, other = "", ""
    for part in re.split(r"(?:; it )?(?=is still|matches|exceeds)|(?<=[a-z)])\. ", found):
        own = next(iter(re.findall(r"'(From scratch[^']*)' $", part)), own)
        other = next(iter(re.findall(r"^(?:is still|matches|exceeds)[^']*'([^']+)'", part)), other)
        if one := re.match(
            r"is still (\d+\.\d) points below '[^']+' with (\d[\d,]*) images? per class( \(below in)?", part
        ):
            low, high = reached[own][size(one[2])], reached[other][size(one[2])]
            assert one[1] in written([mean(high) - mean(low)]) and bool(one[3]) == (max(low) < min(high))
        if one := re.match(r"matches '[^']+' from ([\d,]+) \w+", part):
            level = [n for n in reached[own] if n >= size(one[1])]
            assert all(mean(reached[other][n]) - mean(reached[own][n]) <= 2 for n in level)
            assert all(max(reached[own][n]) >= min(reached[other][n]) for n in level)
        if one := re.match(r"exceeds .* in every seed from ([\d,]+)", part):
            above = [n for n in reached[own] if n >= size(one[1])]
            assert above and all(min(reached[own][n]) > max(reached[other][n]) for n in above)
    tuned, scratch, longer = (reached[plan.methods[name]] for name in ("tuned", "scratch", "longer"))
    told = re.findall(
        r"(\d+\.\d) points with ([\d,]+) \w+ per class \(longer training adds (−?\d+\.\d)\)", found
    )
    assert told
    for lacked, n, gained in ((one[0], size(one[1]), one[2]) for one in told):
        assert lacked in written([mean(tuned[n]) - mean(scratch[n])])
        assert f"{float(gained.replace('−', '-')):.1f}" == f"{mean(longer[n]) - mean(scratch[n]):.1f}"


@pytest.mark.parametrize("source", FINE_TUNED)
def test_the_rates_that_are_said_are_those_of_the_file(source: str) -> None:
    settings = read_result(PLAN_OF[source].name).settings
    kept = [settings[name] for name in ("learning_rate", "head_learning_rate")]
    said = re.findall(r"\d+(?:\.\d+)?(?:e-\d+)?", describe_rates(PLAN_OF[source], source))
    assert [float(rate) for rate in said] == [*kept, settings["scratch_learning_rate"][source]]


def size(text: str) -> int:
    """A number of pictures as it is said."""
    return int(text.replace(",", ""))


def test_what_attention_over_convolutions_is_worth(open_app: OpenApp) -> None:
    found = read_result("conv_attention")
    app = open_app(HYBRIDS, **VIT, **{"hybrids.view": "asked", "hybrids.question": "shown"})
    open_drawers(app)
    by: dict[str, list[float]] = {}
    for row in found.rows:
        by.setdefault(row["model"], []).append(100 * row["test"])
    text, means = words(app), {name: mean(values) for name, values in by.items()}
    attends = max(("written", "scaled", "upright", "corrected"), key=lambda name: means.get(name, 0))
    assert shares(text.partition("epoch on")[0]) <= written(means.values())
    shown = {name: round(value, 1) for name, value in means.items()}
    wanted = [shown[attends] - shown["control"], shown["written"] - shown["corrected"]]
    assert points(text) == written(wanted)
    cost = found.settings["multiply_adds"]
    assert f"for {cost[attends] / cost['control']:.0f} times the multiply-adds" in text
    (table,) = app.main.dataframe
    spread = [stdev(values) for values in by.values()]
    assert sorted(table.value["± (seeds), points"]) == pytest.approx(sorted(spread))
    spent = [mean(row["training_core_s"] for row in found.where(model=name)) for name in by]
    assert sorted(table.value["Training, s on one core"]) == pytest.approx(sorted(spent))


@pytest.mark.parametrize("change", ["shift", "rotate", "occlude"])
def test_which_model_loses_least_over_many_test_images(open_app: OpenApp, change: str) -> None:
    shown = {"studies.study": "robustness", "studies.robust_change": change, "studies.robust_guess": "shown"}
    app, found = open_app(STUDIES, **VIT, **shown), read_result("robustness")
    last = max(row["value"] for row in found.where(change=change))
    ends = {
        row["model"]: (100 * found.where(change="none", model=row["model"])[0]["right"], 100 * row["right"])
        for row in found.where(change=change, value=last)
    }
    lost = {name: before - after for name, (before, after) in ends.items()}
    wanted = [
        " → ".join(f"{share:.1f} %" for share in ends[pick(lost, key=lost.__getitem__)])
        for pick in (min, max)
    ]
    assert re.findall(r"\((\d[^)]*→[^)]*)\)", words(app)) == wanted
    assert f"the first {found.settings['pictures']:,} test images" in words(app)


@pytest.mark.parametrize(("px", "counted"), [(6, True), (5, False)])
def test_how_many_answers_a_shift_changes(
    open_app: OpenApp, no_shipped_checkpoints: Path, px: int, counted: bool
) -> None:
    names = ("cifar10_cnn_wide", "cifar10_swin")
    for name in names:
        shutil.copy(CHECKPOINTS / f"{name}.safetensors", no_shipped_checkpoints)
    view = {"model": "checkpoint:cifar10_cnn_wide", "image": "cifar10-few:65", "on_picture.view": "shift"}
    view["on_picture.shift_px"] = str(px)
    app = open_app(PICTURE, **view)
    asked = words(app)
    assert ("Test images shift 6 px" in asked, "The image shifts 5 px" in asked) == (counted, not counted)
    app.main.button_group(key="on_picture.moves.row").set_value("checkpoint:cifar10_cnn_wide").run()
    text = words(app)
    found = read_result("robustness")
    changed = [1 - row["same"] for n in names for row in found.where(change="shift", value=px, model=n)]
    assert bool(changed) == ("test images shifted by" in text) == counted
    if counted:
        told = text.partition("Of 1,000 test images shifted by 6 px")[2].partition("Two standard errors")
        assert shares(told[0]) == written(100 * share for share in changed)
        widest = 200 * max((share * (1 - share) / 1000) ** 0.5 for share in changed)
        assert f"at most {widest:.1f} points" in told[2] and "python -m vitviz.experiment robustness" in text
        verdict = ": right" if changed[0] >= changed[1] else ". Measured:"
        predicted = f"Your prediction: CNN, wide, {100 * changed[0]:.1f} % of its predictions change"
        assert predicted + verdict in text


@pytest.mark.parametrize("updates", [0, 10, 200])
def test_the_first_block_s_share_of_the_gradient(open_app: OpenApp, updates: int) -> None:
    found = read_result("gradient_norms")
    at = found.settings["marks"].index(updates)
    view = {"experiments.updates": str(updates), "experiments.gradient_guess": "shown"}
    text = words(open_app(STUDIES, **VIT, **{"studies.study": "residuals", **view}))
    for variant, title in VARIANTS.items():
        norms = [row["norms"][at] for row in found.where(variant=variant) if len(row["norms"]) > at]
        if not norms or not all(row[-1] for row in norms):
            continue
        share = float(np.exp(np.mean([np.log(max(row[0], 5e-324)) - np.log(row[-1]) for row in norms])))
        said = re.search(rf"(below 1e-30|1/[\d,]+|\d+(?:\.\d)?)(?: \(\w+\))? in '{re.escape(title)}'", text)
        assert said is not None, title
        if said[1].startswith("1/"):
            assert float(said[1][2:].replace(",", "")) == pytest.approx(1 / share, rel=0.01, abs=0.51)
        elif not said[1].startswith("below"):
            assert float(said[1]) == pytest.approx(share, rel=0.01, abs=0.51)


@pytest.mark.parametrize("name", json.loads((CHECKPOINTS / "positions_race.json").read_text())["races"])
def test_what_positions_bring(open_app: OpenApp, no_shipped_checkpoints: Path, name: str) -> None:
    file = CHECKPOINTS / "positions_race.json"
    (no_shipped_checkpoints / file.name).write_bytes(file.read_bytes())
    shown = {"positions.dataset": name, "experiments.positions_guess": "shown"}
    app = open_app(STUDIES, **VIT, **{"studies.study": "positions", **shown})
    race = json.loads(file.read_text())["races"][name]
    reached = {
        run["positions"]: float(percent(run["measured"]["accuracy"])[:-2]) for run in race["runs"]
    }  # as written
    none, best, poor = reached.pop("none"), max(reached.values()), min(reached.values())
    sentence = (
        rf"reaches {none:.1f} % on {DATASETS[name].title} after {race['train']['epochs']:g} epochs,"
        rf" {abs(best - none):.1f} points {'below' if none <= best else 'above'} the best encoding"
        rf" \([^)]*{best:g}[.0]* %\);"
        rf" the worst encoding \([^)]*\) is {best - poor:.1f} points below"
    )
    assert re.search(sentence, words(app)), sentence
    open_drawers(app)
    (table,) = app.main.dataframe
    assert table.value["test"].tolist() == [run["measured"]["accuracy"] for run in race["runs"]]
    assert table.value["shuffled"].tolist() == [run["measured"]["shuffled"] for run in race["runs"]]


@pytest.mark.parametrize("pictures", SIZES)
@pytest.mark.parametrize("source", PLAN.sources)
def test_what_each_way_to_fine_tune_is_worth(open_app: OpenApp, source: str, pictures: int) -> None:
    rows = read_result("tuning").where(source=source, a_class=pictures)
    if not rows:
        pytest.skip("not measured yet")
    view = {"view": "ways", "way_body": source, "way_pictures": str(pictures), "way_guess": "shown"}
    app = open_app(TUNING, **VIT, **{f"fine_tuning.{key}": value for key, value in view.items()})
    by: dict[str, dict[int, float]] = {}
    for row in rows:
        by.setdefault(row["way"], {})[row["seed"]] = 100 * row["test"]
    drawn = [racer["dots"] for racer in message(app, "studies.tuning_methods.race")[0]["racers"]]
    wanted = [[value / 100 for value in by[way].values()] for way in WAYS if way in by]
    assert drawn == [pytest.approx(dots, abs=1e-4) for dots in wanted]
    told = words(app).partition("Stored experiment")[0]
    assert shares(told) <= written((mean(seeds.values()) for seeds in by.values()), 2)
    usual = by["two_rates"]
    gains = [[seeds[seed] - usual[seed] for seed in seeds.keys() & usual.keys()] for seeds in by.values()]
    assert points(told) <= written(mean(gain) for gain in gains)
    best, last = (pick(by, key=lambda way: mean(by[way].values())) for pick in (max, min))
    assert f"Best of {len(by)} options: " in told and WAYS[best].title in told and WAYS[last].title in told
    open_drawers(app)
    (table,) = app.main.dataframe
    assert table.value["Method"].tolist() == [WAYS[way].title for way in WAYS if way in by]
    assert table.value["Mean"].tolist() == pytest.approx(
        [mean(by[way].values()) / 100 for way in WAYS if way in by], abs=1e-6
    )
