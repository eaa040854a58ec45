"""The page 'Hybrids': its stem on the picture, the records, the open question's file, the one token."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.lenses.hybrids import training_curves
from tests.pages.conftest import OpenApp
from vitviz.analysis.hybrids import reached
from vitviz.analysis.recipes import differing
from vitviz.checkpoint_header import Header, read_header
from vitviz.experiments.conv_nets import TITLES
from vitviz.experiments.result import RESULTS, read_result
from vitviz.text import listed, percent

PAGE = "pages/lenses/hybrids/page.py"
SHIPPED = Path(__file__).resolve().parents[2] / "checkpoints"
GUESSED = {f"hybrids__{key}": "shown" for key in ("reads", "sooner", "weight")}
HYBRID = {"model": "preset:hybrid_cifar10", "image": "sample:cat", **GUESSED}


def captions(app: AppTest) -> str:
    return "\n".join(caption.value for caption in app.main.caption)


def text(app: AppTest) -> str:
    return "\n".join(part.value for part in app.main.markdown)


def test_the_stem_s_shapes_are_said_step_by_step(open_app: OpenApp) -> None:
    app = open_app(PAGE, **HYBRID, hybrids__step="1")
    assert "After convolution 1: 32 maps of 32 × 32" in captions(app) and "reads 3 × 3 px" in captions(app)
    app = open_app(PAGE, **HYBRID, hybrids__step="3")
    assert "After convolution 3: 128 maps of 8 × 8" in captions(app) and "reads 9 × 9 px" in captions(app)
    app = open_app(PAGE, **HYBRID, hybrids__step="tokens")
    assert "8 × 8 places, 64 tokens of 128" in captions(app)
    assert "not the 4 × 4 px of a patch" in captions(app)
    assert not app.exception


def test_another_model_is_stood_in_for(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", image="digits:3")
    assert "has no convolutional stem; this is" in text(app) and "It has not been trained" in text(app)
    next(one for one in app.main.button if one.key == "hybrids.choose").click().run()
    assert not app.exception and "has no convolutional stem" not in text(app)


def test_training_is_drawn_from_the_files_own_records(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    app = open_app(PAGE, **HYBRID, hybrids__view="training")
    assert any("no records to draw" in info.value for info in app.main.info)
    for name in ("cifar10_cnn", "cifar10_hybrid", "cifar10_vit"):
        shutil.copy(SHIPPED / f"{name}.safetensors", no_shipped_checkpoints / f"{name}.safetensors")
    app = open_app(PAGE, **HYBRID, hybrids__view="training")
    curves: dict[str, Any] = {}
    headers = {
        name: read_header(SHIPPED / f"{name}.safetensors") for name in ("cifar10_hybrid", "cifar10_vit")
    }
    for name, header in headers.items():  # of two machines, so over pictures
        rows = [r for r in header.history if r.get("split") == "validation"]
        assert header.train is not None
        seen = [r["step"] * header.train.batch_size for r in rows]
        curves[name] = (seen, [r["accuracy"] for r in rows])
    best = max(curves["cifar10_vit"][1])
    import numpy as np

    when = reached(*(np.array(part) for part in curves["cifar10_hybrid"]), best)
    assert when is not None
    assert f"The ViT's best, {percent(best)}" in captions(app)
    assert f"the hybrid has it after {when:,.0f}" in captions(app)
    assert "On different machines, whose seconds are not compared: AMD EPYC" in captions(app).replace(
        "\\", ""
    )
    app = open_app(PAGE, **HYBRID, hybrids__view="training", hybrids__over="pictures")
    assert "pictures; the hybrid" in captions(app) and not app.exception


def test_every_number_of_the_open_question_stands_in_its_file(open_app: OpenApp) -> None:
    app = open_app(PAGE, **HYBRID, hybrids__view="asked", hybrids__results="1")
    found = read_result("conv_attention")
    (table,) = app.main.dataframe
    by_title = {title: name for name, title in TITLES.items()}
    assert len(table.value) == len(TITLES)
    for _, row in table.value.iterrows():
        name = by_title[row["Net"]]
        tests = [entry["test"] for entry in found.where(model=name)]
        assert row["Mean"] == pytest.approx(sum(tests) / len(tests)) and row["Seeds"] == len(tests)
        assert row["Parameters"] == found.settings["parameters"][name]
        assert row["Multiply-adds"] == found.settings["multiply_adds"][name]
    drawn = [json.loads(chart.proto.spec) for chart in app.main.get("plotly_chart")]
    dots = [x for figure in drawn for trace in figure["data"] for x in _numbers(trace["x"])]
    assert sorted(dots) == pytest.approx(sorted(100 * entry["test"] for entry in found.rows))
    assert found.made[0].date in captions(app) and (RESULTS / "conv_attention.json").is_file()


def test_the_results_wait_for_a_prediction(open_app: OpenApp) -> None:
    app = open_app(PAGE, **HYBRID, hybrids__view="asked")
    assert not app.main.dataframe and "attention over convolutions is" not in captions(app)
    next(one for one in app.main.radio if one.key == "hybrids.question.guess").set_value(0).run()
    next(one for one in app.main.button if one.key == "hybrids.question.measure").click().run()
    assert not app.exception and app.main.dataframe
    assert "At this budget attention over convolutions is" in captions(app)


def _numbers(values: Any) -> list[float]:
    return [float(value) for value in values]


def test_the_answer_follows_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    from pages.lenses.hybrids.conv_attention import describe
    from vitviz.experiments.result import Result

    settings = {"multiply_adds": {name: 10 if name == "control" else 100 for name in TITLES}}

    def told(written: float, control: float, seeds: int = 3) -> str:
        rows = tuple(
            {"model": name, "seed": seed, "test": value + seed / 1000}
            for name, value in (("written", written), ("control", control))
            for seed in range(seeds)
        )
        return describe(Result("conv_attention", "", "", settings, (), rows))

    assert "is worth 10.0 points more" in told(0.9, 0.8) and "every seed apart" in told(0.9, 0.8)
    assert "is no gain: 10.0 points less" in told(0.8, 0.9)
    assert "within the spread of the seeds" in told(0.801, 0.8)
    assert "for 10 times the multiply-adds" in told(0.9, 0.8)
    assert "of one seed, for" in told(0.9, 0.8, seeds=1)


def test_the_one_token_s_weight_is_shown_as_computed(open_app: OpenApp) -> None:
    app = open_app(
        PAGE, **(HYBRID | {"model": "preset:vit_digits", "image": "digits:3"}), hybrids__view="flat"
    )
    assert [metric.value for metric in app.main.metric] == ["1.000000", "1.000000"]
    assert "no logit changes at all" in captions(app)
    assert f"{2 * 128 * 129 + 2 * 64 * 65:,} of" in captions(app)


def test_who_learned_from_mixed_pictures_is_said() -> None:
    known = {
        family: read_header(SHIPPED / f"{name}.safetensors") for family, name in training_curves.SHOWN.items()
    }
    plain = {family: _mixing(header, 0.0) for family, header in known.items()}
    assert "mixed" not in training_curves.origin(plain)
    one = plain | {"ViT": _mixing(known["ViT"], 1.0)}
    assert "pictures mixed for ViT" in training_curves.origin(one)
    assert "mixed" not in training_curves.origin({family: _mixing(h, 1.0) for family, h in known.items()})


def test_who_is_ahead_is_said_as_far_as_both_go() -> None:
    """'Then the hybrid is ahead', said the caption of a CNN that went on, and ended five points above it."""
    known = {
        family: read_header(SHIPPED / f"{name}.safetensors") for family, name in training_curves.SHOWN.items()
    }
    courses = {family: training_curves.course(family, header, "pictures") for family, header in known.items()}
    said = training_curves.describe([*courses.values()], "pictures")
    ends = [f"{min(courses[name].x[-1] for name in ('Hybrid', other)):,.0f}" for other in ("CNN", "ViT")]
    assert re.findall(r"is ahead,? as far as both go, to ([\d,]+) pictures\.", said) == ends


def test_all_in_which_the_shipped_trainings_differ_is_said() -> None:
    """The CNN and the Swin saw pictures with a square cut out, and the sentence spoke of mixed ones alone."""
    known = {
        family: read_header(SHIPPED / f"{name}.safetensors") for family, name in training_curves.SHOWN.items()
    }
    trains = {family: header.train for family, header in known.items() if header.train}
    said = differing(trains)
    assert said and said in training_curves.origin(known)
    for field, words in (("epochs", "epochs"), ("learning_rate", "rate"), ("weight_decay", "decay")):
        differs = len({getattr(train, field) for train in trains.values()}) > 1
        assert (words in said) == differs
    erased = [family for family, train in trains.items() if train.erase_px]
    assert f"squares cut out of pictures for {listed(erased)}" in said
    student = trains | {"DeiT": replace(trains["ViT"], distill_from="a.safetensors")}
    assert differing(student).endswith("; a teacher for DeiT")
    assert differing(dict.fromkeys("ab", trains["ViT"])) == ""


def test_seconds_of_different_machines_are_not_compared(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {
        family: read_header(SHIPPED / f"{name}.safetensors") for family, name in training_curves.SHOWN.items()
    }
    alike = {family: replace(h, card=h.card | {"machine": "A"}) for family, h in known.items()}
    apart = alike | {"ViT": replace(known["ViT"], card=known["ViT"].card | {"machine": "B"})}
    for here, axes in ((alike, ["Seconds", "Pictures seen"]), (apart, ["Pictures seen"])):
        monkeypatch.setattr(training_curves, "headers", lambda here=here: here)
        app = open_app(PAGE, model="preset:hybrid_cifar10", image="sample:cat", hybrids__view="training")
        assert app.main.button_group(key="hybrids.over").options == axes
        unit = "s." if len(axes) == 2 else "pictures."
        label = app.main.button_group(key="hybrids.sooner.row").label.replace("\N{NO-BREAK SPACE}", " ")
        assert f" {unit} When does the hybrid have that?" in label
        app.main.button_group(key="hybrids.sooner.row").set_value("never").run()
        assert ("whose seconds are not compared: A; B." in captions(app)) == (len(axes) == 1)
    assert "1.5 times as late" in training_curves.judged(100.0, 150.0, "never", "s")


def _mixing(header: Header, alpha: float) -> Header:
    assert header.train is not None
    return replace(header, train=replace(header.train, mixup_alpha=0.0, cutmix_alpha=alpha))
