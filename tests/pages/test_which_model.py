"""The page 'Which model when?': the board and its timing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.stores import timings
from pages.which_model import scoreboard
from tests.messages import charts
from tests.pages.conftest import OpenApp, captions, put_shipped, query_value, text
from vitviz.analysis.scoreboard import Timing
from vitviz.models import model_cost
from vitviz.models.presets import PRESETS
from vitviz.models.pretrained_list import PRETRAINED

PAGE = "pages/which_model/page.py"
HERE = {"model": "preset:vit_digits", "image": "digits:3"}


@pytest.fixture(autouse=True)
def nothing_timed() -> Iterator[None]:
    timings._models.clear()
    timings._attention.clear()
    yield
    timings._models.clear()
    timings._attention.clear()


def button(app: AppTest, key: str) -> Any:
    return next(one for one in app.main.button if one.key == key)


def test_the_board_lists_every_published_model_and_vit_l_and_h(open_app: OpenApp) -> None:
    app = open_app(PAGE, **HERE)
    (table,) = app.main.dataframe
    names = list(table.value["Model"])
    assert {entry.title for entry in PRETRAINED.values()} <= set(names)
    assert any(name.startswith("ViT-H/14") for name in names)
    accuracy = dict(zip(names, table.value["Accuracy"], strict=True))
    assert accuracy["ViT-H/14, 518 px, JFT-300M"] == pytest.approx(0.8855)
    assert "Accuracies: 44 cited (hollow)." in captions(app)
    assert app.title[0].value.startswith("Which model")


def test_shipped_models_are_measured_and_the_front_is_named(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    put_shipped(no_shipped_checkpoints, "digits_cnn", "digits_vit", "digits_swin")
    app = open_app(PAGE, **HERE, which_model__set="digits", which_model__model="checkpoint:digits_vit")
    assert "Accuracies: 3 measured by this project." in captions(app)
    finding = next(part.value for part in app.main.caption if "Best for their cost" in part.value)
    assert re.search(r"\(dotted\): \d of 3 models, from \*\*.*\d million multiply-adds", finding)
    assert "| Parameters | **139,978** |" in text(app) and "| 1,295 |" in text(app)
    assert any("on 359 test images" in note.value for note in app.main.caption)


@pytest.mark.parametrize(
    ("model", "grows"),
    [
        ("digits_swin", "the number of tokens (windows have a fixed size)"),
        ("digits_vit", "the square of the number of tokens"),
    ],
)
def test_how_the_cost_of_attention_grows(
    open_app: OpenApp, no_shipped_checkpoints: Path, model: str, grows: str
) -> None:
    put_shipped(no_shipped_checkpoints, model)
    app = open_app(PAGE, **HERE, which_model__set="digits", which_model__model=f"checkpoint:{model}")
    assert f"which grow with {grows}, are" in captions(app)


def test_training_times_of_different_machines_are_not_compared(
    open_app: OpenApp, no_shipped_checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_shipped(no_shipped_checkpoints, "cifar10_cnn", "cifar10_vit")
    alike = tuple(replace(entry, trained_with="A") for entry in scoreboard.list_models())
    apart = tuple(replace(e, trained_with="B") if e.family == "ViT" else e for e in alike)
    for board, differ in ((alike, False), (apart, True)):
        monkeypatch.setattr(scoreboard, "list_models", lambda board=board: board)
        app = open_app(PAGE, **HERE, which_model__set="cifar10", which_model__x="training")
        assert ("from different machines" in captions(app)) == differ
    monkeypatch.setattr(scoreboard, "list_models", lambda: apart)
    app = open_app(PAGE, **HERE, which_model__set="cifar10")
    assert "from different machines" not in captions(app), "no axis has seconds of training"


def test_models_are_timed_on_click_and_large_ones_estimated(
    open_app: OpenApp, no_shipped_checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_shipped(no_shipped_checkpoints, "digits_cnn", "digits_vit")
    app = open_app(PAGE, **HERE, which_model__set="digits", which_model__x="ms")
    assert any("Not timed yet" in info.value for info in app.main.info)
    button(app, "which_model.time").click().run()
    assert not app.exception
    assert len(timings.list_model_timings()) == 2 and not any(
        t.random for t in timings.list_model_timings().values()
    )
    assert "ms** per image on this server, median of" in text(app)
    (table,) = app.main.dataframe
    assert table.value["ms per image"].notna().all()
    base = PRETRAINED["vit_base_patch16_224.augreg_in21k_ft_in1k"].config

    def known() -> dict[Any, Timing]:
        return {(base, 224): Timing(0.1, 0.09, 0.11, 5, 10**6, 1, True)}

    monkeypatch.setattr(timings, "list_model_timings", known)
    app = open_app(PAGE, **HERE, which_model__set="imagenet", which_model__model="pretrained:vit_l_16")
    pace = 100 / sum(model_cost.multiply_adds(base, 224).values())
    rough = pace * sum(model_cost.multiply_adds(PRETRAINED["vit_l_16"].config, 224).values())
    assert f"too large to time: about {rough:,.0f} ms" in text(app)


def test_the_question_is_answered_by_the_formulas(open_app: OpenApp) -> None:
    app = open_app(PAGE, **HERE)
    app.session_state["which_model.predict"] = True  # opened
    app.run()
    assert any("which_model.first.measure" == one.key and one.disabled for one in app.main.button)
    app.main.button_group(key="which_model.first.guess").set_value("1").run()
    button(app, "which_model.first.measure").click().run()
    assert not app.exception
    adds = [
        sum(model_cost.multiply_adds(PRESETS[n].config, 224).values()) for n in ("vit_small_16", "swin_tiny")
    ]
    assert adds[0] > adds[1]
    said_now = captions(app)
    assert re.search("Your prediction: Swin-T, 224 px.*ViT-S/16, 224 px", said_now)
    assert f"{adds[0] / 1e9:.2f} billion" in said_now and f"{adds[1] / 1e9:.2f} billion" in said_now


def test_a_link_restores_axes_and_the_model(open_app: OpenApp) -> None:
    asked = {
        "which_model__x": "parameters",
        "which_model__y": "adds",
        "which_model__model": "pretrained:swin_t",
    }
    app = open_app(PAGE, **HERE, **asked)
    assert {key: query_value(app, key.replace("__", ".")) for key in asked} == asked
    (table,) = app.main.dataframe
    assert table.value["Accuracy"].dropna().is_monotonic_decreasing
    assert "| Parameters | **28,288,354** |" in text(app)
    app = open_app(PAGE, **HERE, which_model__x="everything", which_model__view="length")
    assert not app.exception and len(app.main.dataframe) == 1


def test_published_results_are_a_chart_above_folded_tables(open_app: OpenApp) -> None:
    app = open_app(PAGE, **HERE, which_model__view="papers")
    assert not app.exception
    texts = [drawer.markdown[0].value for drawer in app.main.expander if drawer.label == "The numbers"]
    assert len(texts) == 3 and all(table.startswith("|") for table in texts)
    (picture,) = charts(app)
    names = [name for trace in picture["data"] for name in trace.get("text") or ()]
    assert "ViT-H/14, JFT-300M" in names


def test_the_guide_begins_with_accuracy_by_training_images(open_app: OpenApp) -> None:
    app = open_app(PAGE, **HERE, which_model__view="guide")
    (picture,) = charts(app)
    assert [trace["name"] for trace in picture["data"] if trace.get("name")] == ["CNN", "Hybrid", "ViT"]
    assert "With 250 images of CIFAR-10: CNN 37.5 %, Hybrid 35.1 %, ViT 28.2 %" in captions(app)
