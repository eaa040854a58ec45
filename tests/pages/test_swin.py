"""The Swin page: its numbers follow its controls, for every kind of model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.lenses.swin import stepper
from tests.messages import body, read_panels, unpack
from tests.pages.conftest import ROOT, OpenApp, captions, query_value, ship
from vitviz.config import SwinConfig, TrainConfig
from vitviz.models.presets import GREY_32
from vitviz.models.zoo import create_model
from vitviz.plots.theme import family_colors
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run
from vitviz.training.run_trainer import Session

PAGE = "pages/lenses/swin/page.py"
Payload = tuple[dict[str, Any], dict[str, np.ndarray]]
STEPPER, REACH, GRADIENT, BIAS, PYRAMID = "ids", "hops", "values0", "index", "normed"


def payload(app: AppTest, holds: str, without: str = "\0") -> Payload:
    """Return (header, buffers) of the client view that carries an array of this name."""
    for view in app.main.get("bidi_component"):
        if view.proto.bytes:  # not a script without data
            header, arrays = unpack(body(view.proto.bytes))
            if holds in arrays and without not in arrays:
                return header, arrays
    raise AssertionError(f"no view carries {holds}")


def choose(app: AppTest, key: str, value: Any) -> None:
    (group,) = (group for group in app.main.get("button_group") if group.key == key)
    group.set_value(value).run()
    assert not app.exception, [error.message for error in app.exception]


def test_the_stepper_follows_grid_window_and_shift(open_app: OpenApp) -> None:
    """14 / 7 / 3: 4,128 of 9,604 pairs in 3 of 4 windows; 4 / 2 / 1: the ids counted by hand."""
    app = open_app(PAGE, model="preset:swin_digits", image="digits:3")
    assert app.title[0].value.startswith("Swin")
    choose(app, "swin.grid", 14)
    choose(app, "swin.window", 7)
    assert "removes 4,128 of 9,604 query–key pairs" in payload(app, STEPPER)[0]["captions"][5]
    choose(app, "swin.grid", 4)
    choose(app, "swin.window", 2)
    found = payload(app, STEPPER)
    assert found[1]["ids"].tolist() == [[0, 0, 1, 2], [0, 0, 1, 2], [3, 3, 4, 5], [6, 6, 7, 8]]
    assert int((found[1]["allowed"] == 0).sum()) == 28
    assert "moves 7 of 16 patches" in found[0]["captions"][2]
    choose(app, "swin.shift", 0)
    assert int((payload(app, STEPPER)[1]["allowed"] == 0).sum()) == 0
    findings = payload(app, STEPPER)[0]["captions"]
    assert "4 windows of 4" in findings[0] and not any("mask" in finding for finding in findings)


def test_gradients_agree_with_the_masks(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:swin_digits", image="digits:3", pin="0.100,0.100", swin__view="travel")
    hops = payload(app, REACH)[1]["hops"]
    assert hops.shape == (4, 64, 64)
    assert (hops[2] <= 1).all()  # a ViT: everywhere at once
    assert (hops[1] == 255).any() and not (hops[0] == 255).any()  # never shifted; shifted
    titles, notes, percents = read_panels(payload(app, GRADIENT))
    assert titles[:2] == ["Stage 1, block 1", "Stage 1, block 2 · shifted"]
    reached = np.isfinite(percents).sum(axis=1)
    assert (percents[np.isfinite(percents)] > 1e-18).all() and np.nanmax(percents) == 100
    assert notes == [f"{count} non-zero, {count} allowed" for count in reached]
    assert "In 4 of 4 blocks" in captions(app)


def test_the_bias_and_the_merging_are_the_models_own(open_app: OpenApp) -> None:
    app = open_app(
        PAGE, model="preset:swin_digits", image="digits:3", swin__view="bias", swin__bias_block="2.1"
    )
    found = payload(app, "table")
    assert found[1]["table"].shape == (1, 4, 49) and found[1]["index"].shape == (16, 16)
    assert "(2·4 − 1)(2·4 − 1) = 49" in captions(app) and "all 256 query–key pairs" in captions(app)
    choose(app, "swin.view", "merge")
    pyramid = payload(app, PYRAMID)
    model = create_model(
        SwinConfig(in_chans=1, embed_dim=32, depths=(2, 2), num_heads=(2, 4), mlp_ratio=2.0), 0
    )
    weight = model.layers[1].downsample.reduction.weight.detach().numpy()  # type: ignore[union-attr]
    assert np.allclose(weight @ pyramid[1]["normed"], pyramid[1]["merged"], atol=1e-5)
    assert [stage["rows"] for stage in pyramid[0]["stages"]] == [16, 8]


def test_the_bias_is_shown_over_a_training(open_app: OpenApp, no_shipped_checkpoints: Path) -> None:
    config = SwinConfig(in_chans=1, embed_dim=8, depths=(2, 2), num_heads=(1, 2), mlp_ratio=1.0)
    state = create_model(config, seed=0).state_dict()
    later = {name: tensor + 1 if "bias_table" in name else tensor.clone() for name, tensor in state.items()}
    model = ship(no_shipped_checkpoints, "tiny_swin", config, states={0: state, 40: later}, dataset="digits")
    app = open_app(PAGE, model=model, image="digits:3", swin__view="bias")
    tables = payload(app, "table")[1]["table"]
    assert tables.shape[0] == 2
    assert np.allclose(tables[1] - tables[0], 1, atol=2e-3)
    assert payload(app, "table")[0]["steps"] == [0, 40]


def test_a_swin_of_the_lab_shows_its_bias_over_its_snapshots(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run stores each snapshot in its own file."""
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path))
    model = SwinConfig(in_chans=1, embed_dim=8, depths=(2, 2), num_heads=(1, 2), mlp_ratio=1.0)
    recipe = TrainConfig(dataset="digits", epochs=1, batch_size=256, train_fraction=0.3, snapshots=3)
    run = Run.create(tmp_path, RunConfig(model, GREY_32, recipe, "A tiny Swin"))
    assert Session(run, device="cpu").perform().state == "done"
    app = open_app(PAGE, model=f"run:{run.id}", image="digits:3", swin__view="bias")
    assert payload(app, "table")[0]["steps"] == run.snapshots()
    assert not app.exception


def test_cost_is_measured_on_click(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    from pages.stores import timings
    from vitviz.probe.swin import Measurement

    def known(window: int, dim: int) -> list[Measurement]:
        return [Measurement(s, 1e-9 * s**4, 1e-6 * s**2, s**4, 10 * s**2) for s in timings.list_sides(window)]

    monkeypatch.setattr(timings, "time_attention", known)
    app = open_app(PAGE, model="preset:swin_digits", image="digits:3", swin__view="cost")
    found = re.search(
        r"the log-log slope is (1\.\d\d|2\.00) \(limit 2\) for global attention and 1\.00 for windows",
        captions(app),
    )
    assert found is not None and float(found[1]) > 1.9
    assert "Measured slopes" not in captions(app)
    (button,) = (button for button in app.main.button if button.key == "swin.measure")
    button.click().run()
    assert not app.exception
    assert re.search(r"Measured slopes: 2\.00 .* 1\.00 for windows", captions(app))


def test_a_hostile_link_falls_back(open_app: OpenApp) -> None:
    app = open_app(
        PAGE,
        model="preset:swin_digits",
        image="digits:3",
        pin="cls",
        swin__view="everything",
        swin__grid="9",
        swin__shift="-1",
        swin__layer="99",
        swin__bias_block="9.9",
    )
    assert payload(app, STEPPER)[1]["ids"].shape == (8, 8)
    for view in ("travel", "attention", "bias", "merge", "cost"):
        choose(app, "swin.view", view)
    assert query_value(app, "swin.cost_window") == "7"


def test_controls_of_other_sections_keep_their_permalink(open_app: OpenApp) -> None:
    """Old permalinks name controls but no section."""
    app = open_app(PAGE, model="preset:swin_digits", image="digits:3", swin__layer="3", swin__head="2")
    assert payload(app, STEPPER)
    assert query_value(app, "swin.layer") == "3" and query_value(app, "swin.head") == "2"
    app.run()
    assert query_value(app, "swin.layer") == "3"
    choose(app, "swin.view", "attention")
    assert app.selectbox(key="swin.layer").value == 3 and app.selectbox(key="swin.head").value == 2
    app.selectbox(key="swin.layer").set_value(1).run()
    choose(app, "swin.view", "cost")
    choose(app, "swin.view", "attention")
    assert app.selectbox(key="swin.layer").value == 1  # what was chosen since stands


def test_grid_and_window_are_one_choice_for_both_sections(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:swin_digits", image="digits:3", swin__grid="6", swin__window="3")
    choose(app, "swin.view", "travel")
    colors = payload(app, REACH)[0]["colors"]
    assert colors == family_colors(["swin", "swin", "vit", "cnn"]), "as on every other page"
    assert payload(app, REACH)[1]["hops"].shape == (4, 36, 36)
    assert "shift 1" in str(payload(app, REACH)[0]["panels"])
    choose(app, "swin.window", 2)
    choose(app, "swin.view", "steps")
    assert "9 windows of 4 " in payload(app, STEPPER)[0]["captions"][0]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([0, 0, 0, 0, 9, 0, 0, 0, 0], "is 9.000 in head 1, for a query at the position of its key"),
        ([0, 0, 0, 0, 0, 0, 0, -9, 0], "−9.000 in head 1, for a query 1 below its key"),
        ([9, 0, 0, 0, 0, 0, 0, 0, 0], "for a query 1 above and 1 left of its key"),
        ([1] * 9, "of a token to itself is at the table’s mean"),
    ],
)
def test_the_bias_caption_describes_its_table(table: list[float], words: str) -> None:
    from pages.lenses.swin import captions

    assert words in captions.describe_bias(np.array([table], np.float32), (2, 2))


def test_the_corner_s_question_is_answered_by_the_view(open_app: OpenApp) -> None:
    """'Grid 16, windows of 4: after how many blocks has a corner reached the whole image?'"""
    app = open_app(
        PAGE,
        model="preset:swin_digits",
        image="digits:3",
        swin__view="travel",
        swin__grid="16",
        swin__window="4",
    )
    found = payload(app, REACH)
    from_corner = found[1]["hops"][0][:, 0]
    assert from_corner.max() == 7 and found[0]["blocks"] >= 7


def test_a_permalink_sets_the_first_stage_and_block(open_app: OpenApp) -> None:
    link = {"model": "preset:swin_digits", "image": "digits:3"}
    assert stepper.STAGES[payload(open_app(PAGE, **link), STEPPER)[0]["begin"]] == "partition"
    app = open_app(PAGE, **link, swin__stage="mask")
    assert (
        stepper.STAGES[payload(app, STEPPER)[0]["begin"]] == "mask"
        and query_value(app, "swin.stage") == "mask"
    )
    app = open_app(PAGE, **link, swin__view="travel", swin__blocks="7")
    assert payload(app, REACH)[0]["begin"] == 7
    app = open_app(PAGE, **link, swin__stage="nowhere")
    assert stepper.STAGES[payload(app, STEPPER)[0]["begin"]] == "partition"


def test_the_stages_of_a_link_are_those_of_the_view() -> None:
    stages = (ROOT / "pages/lenses/swin/swin_stepper_stages.js").read_text("utf-8")
    assert re.findall(r"key: '(\w+)'", stages) == list(stepper.STAGES)
