"""What layers see: every section says what its numbers say, for every kind of model."""

from __future__ import annotations

import base64
import json
import re
import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.messages import message
from tests.pages.conftest import OpenApp, said
from vitviz.analysis.cka import cka, gram
from vitviz.data.datasets import load_dataset
from vitviz.data.preparation import prepare_batch
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model
from vitviz.probe.capture import capture

PAGE = "pages/inside/layers/page.py"
DIGITS = {"model": "preset:vit_digits", "image": "digits:3", "layers__count": "32"}


def captions(app: AppTest) -> str:
    return "\n".join(caption.value for caption in app.main.caption)


def ended(app: AppTest) -> AppTest:
    """Looks again, as the page does by itself, until what is measured over a set is there."""
    deadline = time.monotonic() + 120
    while bars := app.main.get("progress"):
        assert time.monotonic() < deadline, [bar.proto.text for bar in bars]
        time.sleep(0.2)
        app.run()
    assert not app.exception, [error.message for error in app.exception]
    return app


def test_every_layer_of_both_models_is_coloured(open_app: OpenApp) -> None:
    app = open_app(PAGE, **DIGITS)
    assert said(app, "layers.other").startswith("preset:") and "cnn" in said(app, "layers.other")
    header, arrays = message(app, "layers.colours")
    config = PRESETS["vit_digits"].config
    mine = [panel for panel in header["panels"] if panel["row"] == 0]
    assert len(mine) == config.depth + 1 and header["chosen"] == config.depth
    assert len(header["panels"]) > len(mine)
    for panel in header["panels"]:
        assert arrays[panel["array"]].shape == (*panel["grid"], 3)
        assert 0 < sum(panel["shares"]) <= 1 + 1e-9 and sorted(panel["orders"]) == [1, 2, 3]
    first, last = (100 * sum(mine[i]["shares"]) for i in (0, -1))
    found = re.search(r"hold (\d+)\s%.* and (\d+)\s% of|hold (\d+)\s%.* and (\d+)\s%", captions(app))
    assert found is not None
    assert [int(n) for n in found.groups() if n][:1] == [round(first)]
    assert f"{last:.0f}\N{NO-BREAK SPACE}% in layer {config.depth}" in captions(app)


def test_colours_over_a_set_are_the_same_for_every_picture(open_app: OpenApp) -> None:
    one = ended(open_app(PAGE, **DIGITS, layers__fit="set"))
    other = ended(open_app(PAGE, **(DIGITS | {"image": "digits:5"}), layers__fit="set"))
    assert "Fitted over 32 test pictures of Digits" in captions(one)
    (a, cells), (b, others) = (message(app, "layers.colours") for app in (one, other))
    assert [panel["shares"] for panel in a["panels"]] == [panel["shares"] for panel in b["panels"]]
    assert not np.array_equal(cells["p1"], others["p1"])


def test_a_click_brings_a_layer_onto_the_stage_and_the_link_says_so(open_app: OpenApp) -> None:
    app = open_app(PAGE, **DIGITS, layers__layer="2")
    assert message(app, "layers.colours")[0]["chosen"] == 2 and said(app, "layers.layer") == "2"
    app = open_app(PAGE, **DIGITS, layers__layer="99")
    assert message(app, "layers.colours")[0]["chosen"] == PRESETS["vit_digits"].config.depth


@pytest.mark.parametrize("centred", ["0", "1"])
def test_cosines_of_the_pinned_token_are_the_model_s(open_app: OpenApp, centred: str) -> None:
    app = open_app(PAGE, **DIGITS, pin="0.3,0.7", layers__view="token", layers__centred=centred)
    header, arrays = message(app, "layers.similar")
    preset = PRESETS["vit_digits"]
    picture = load_dataset("digits").test_images[3:4]
    found = capture(
        create_model(preset.config, seed=0).eval(), prepare_batch(picture, preset.preparation), ("blocks.1",)
    )
    tokens = found["blocks.1"][0].astype(np.float64)
    places = tokens[1:] - (tokens[1:].mean(axis=0) if centred == "1" else 0)
    place = int(0.7 * 8) * 8 + int(0.3 * 8)
    lengths = np.linalg.norm(places, axis=1)
    expected = places @ places[place] / lengths / lengths[place]
    panel = header["panels"][2]
    assert panel["title"] == "layer 2" and panel["prefix"] == ["cls"]
    np.testing.assert_allclose(arrays[panel["array"]][1 + place] / 127, expected, atol=0.006)


def test_a_cnn_asks_by_the_mean_of_its_map_where_cls_is_pinned(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:cnn_cifar10", image="sample:cat", pin="cls", layers__view="token")
    header, _ = message(app, "layers.similar")
    assert header["panels"][0]["prefix"] == ["mean of the map"] and header["prefix"] == []
    assert "the mean of the map is most like" in captions(app)


@pytest.mark.parametrize(("form", "debiased"), [("plain", False), ("debiased", True)])
def test_the_matrix_is_linear_cka_of_both_models(open_app: OpenApp, form: str, debiased: bool) -> None:
    app = ended(
        open_app(PAGE, **DIGITS, layers__view="alike", layers__form=form, layers__other="preset:swin_digits")
    )
    header, arrays = message(app, "layers.matrix")
    assert [len(model["layers"]) for model in header["models"]] == [5, 5]
    preset = PRESETS["vit_digits"]
    images = prepare_batch(load_dataset("digits").test_images[:32], preset.preparation)
    model = create_model(preset.config, seed=0).eval()
    names = ("embedded", *(f"blocks.{i}" for i in range(4)))
    found = capture(model, images, names)
    kernels = [gram(found[name]) for name in names]
    np.testing.assert_allclose(arrays["matrix"][:5, :5], cka(kernels, kernels, debiased=debiased), atol=1e-5)
    across = arrays["matrix"][:5, 5:]
    assert f"{across[-1, -1]:.2f}" in captions(app)


@pytest.mark.parametrize("model", ["preset:swin_digits", "preset:cnn_cifar10", "preset:deit_digits"])
@pytest.mark.parametrize("view", ["colours", "channels", "token", "alike", "probe", "sinks"])
def test_every_section_shows_every_kind_of_model(open_app: OpenApp, model: str, view: str) -> None:
    app = ended(open_app(PAGE, model=model, image="digits:3", layers__view=view, layers__count="32"))
    assert "Found elsewhere" in captions(app)
    if model == "preset:cnn_cifar10" and view != "channels":
        assert "vit" in said(app, "layers.other")


def test_a_model_without_such_layers_is_told_so(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:recipe_e", image="digits:3")
    assert "no row of layers" in app.main.info[0].value


def test_the_question_is_answered_by_what_the_section_computed(open_app: OpenApp) -> None:
    app = ended(open_app(PAGE, **DIGITS, layers__view="alike"))
    (opener,) = [one for one in app.main.expander if one.label == "Predict first"]
    app.session_state[opener.proto.id.split("-", 2)[-1]] = True
    app.run()
    (guess,) = app.main.radio
    header, arrays = message(app, "layers.matrix")
    best = int(arrays["matrix"][4, 5:].argmax())
    guess.set_value(best).run()
    next(button for button in app.main.button if button.label == "Measure it").click().run()
    assert any("and so it is" in caption.value for caption in app.main.caption)


def test_top_patches_are_those_of_the_pictures_that_a_channel_responds_to_most(open_app: OpenApp) -> None:
    app = ended(open_app(PAGE, **DIGITS, layers__view="channels"))
    header, arrays = message(app, "layers.channels")
    preset = PRESETS["cnn_digits"]
    images = prepare_batch(load_dataset("digits").test_images[:32], preset.preparation)
    found = capture(create_model(preset.config, seed=0).eval(), images, ("layers.2.blocks.0",))
    peaks = found["layers.2.blocks.0"].max(axis=(2, 3))
    last = header["stages"][-1]
    assert len(last["channels"]) == 4 and last["kind"] == "image/jpeg"
    for channel in last["channels"]:
        of_channel = peaks[:, channel["number"]]
        np.testing.assert_allclose(channel["values"], np.sort(of_channel)[::-1][:9], rtol=1e-4)
        np.testing.assert_allclose(of_channel[channel["pictures"]], channel["values"], rtol=1e-4)
    assert arrays["maps2"].shape[0] == 4
    assert "by chance" in captions(app)


def test_a_set_without_labels_has_channels_but_no_classes(open_app: OpenApp) -> None:
    app = ended(
        open_app(
            PAGE,
            model="preset:cnn_cifar10",
            image="sample:cat",
            layers__view="channels",
            layers__set="photos",
        )
    )
    assert "no labels" in captions(app)
    assert not [one for one in app.main.expander if one.label == "Predict first"]


def test_the_probe_says_what_its_figures_show(open_app: OpenApp) -> None:
    app = ended(open_app(PAGE, **(DIGITS | {"layers__count": "64"}), layers__view="probe"))
    classes, places = (json.loads(chart.proto.spec) for chart in app.main.get("plotly_chart"))
    assert [trace["name"].rpartition(", ")[2] for trace in classes["data"]] == [
        "the mean of its places",
        "[CLS]",
        "the mean of its places",
    ]
    first = np.asarray(values(places["data"][0]["y"]))
    assert len(first) == PRESETS["vit_digits"].config.depth + 1
    said = captions(app)
    assert "Over 64 test pictures of Digits" in said
    for trace in classes["data"]:
        y = values(trace["y"])
        assert f"{y[0]:.0f}\N{NO-BREAK SPACE}% (" in said and f"{y[-1]:.0f}\N{NO-BREAK SPACE}% (" in said


def values(told: object) -> list[float]:
    """Numbers of a figure's JSON, plain or as typed bytes."""
    if isinstance(told, dict):
        return [float(v) for v in np.frombuffer(base64.b64decode(told["bdata"]), told["dtype"])]
    assert isinstance(told, list)
    return [float(v) for v in told]


def test_registers_are_measured_or_said_to_be_missing(open_app: OpenApp) -> None:
    app = ended(open_app(PAGE, **DIGITS, layers__view="sinks"))
    said_ = "\n".join(text.value for text in app.main.markdown)
    assert "DINOv2 ViT-S/14 with registers" in said_ and "huggingface.co" in said_
    header, arrays = message(app, "layers.lengths")
    preset = PRESETS["vit_digits"]
    images = prepare_batch(load_dataset("digits").test_images[3:4], preset.preparation)
    tokens = capture(create_model(preset.config, seed=0).eval(), images, ("blocks.3",))["blocks.3"][0, 1:]
    lengths = np.linalg.norm(tokens, axis=-1)
    np.testing.assert_allclose(arrays["maps"][-1], lengths - lengths.min(), atol=1e-3)
    assert header["notes"][-1] == f"lengths {lengths.min():.1f} to {lengths.max():.1f}"
    assert header["titles"][-1] == "layer 4"
    assert "times the median" in captions(app)


def test_what_cannot_be_measured_is_said_and_tried_again(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vitviz.analysis import cka as analysis

    def broken(features: np.ndarray) -> np.ndarray:
        raise ValueError("nothing to compare")

    with monkeypatch.context() as patch:
        patch.setattr(analysis, "gram", broken)
        app = open_app(
            PAGE, **(DIGITS | {"image": "digits:6"}), layers__view="alike", layers__compared="mean"
        )
        app = ended(app)
        assert "could not be computed" in app.main.warning[0].value
    app.run()
    assert not ended(app).main.warning and "Found elsewhere" in captions(app)
