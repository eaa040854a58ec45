"""The attention distance page: captions repeat the numbers of the plots, for every kind of model."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from pages.lenses.attention_distance.captions import describe_distances
from tests.messages import first_view, unpack
from tests.pages.conftest import OpenApp, captions, ship
from vitviz import checkpoints
from vitviz.analysis.distance import uniform_distance_px
from vitviz.analysis.image_means import summarise_images
from vitviz.models.abilities import abilities
from vitviz.models.presets import PRESETS, VIT_DIGITS
from vitviz.models.zoo import create_model

PAGE = "pages/lenses/attention_distance/page.py"


def heads(app: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and the arrays of the plot of heads."""
    message = first_view(app)
    return unpack(message)


def wait_for_training(app: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Rerun, as the page does by itself, until all snapshots are measured."""
    deadline = time.monotonic() + 120
    while len((found := heads(app))[0]["steps"]) == 1:
        assert time.monotonic() < deadline, [part.proto.text for part in app.main.get("progress")]
        time.sleep(0.2)
        assert not app.run().exception
    return found


def sharpen(*steps: tuple[int, float]) -> dict[int, dict[str, torch.Tensor]]:
    """Return states of the small ViT whose scores are so many times those of random weights, by step."""
    states = {}
    for step, sharper in steps:
        model = create_model(VIT_DIGITS, seed=1)
        for block in model.blocks:
            block.attn.qkv.weight.data[:128] *= sharper
        states[step] = model.state_dict()
    return states


def get_dataset(app: AppTest) -> str:
    (chosen,) = (box for box in app.main.selectbox if box.key == "attention_distance.set")
    return str(chosen.value)


def test_the_default_dataset_resembles_the_training_data(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:hybrid_cifar10", attention_distance__count="1")
    assert get_dataset(app) == "photos"  # never trained: images in colour
    (model,) = (box for box in app.sidebar.selectbox if box.key == "model")
    model.set_value("preset:vit_digits").run()
    assert get_dataset(app) == "digits"
    (chosen,) = (box for box in app.main.selectbox if box.key == "attention_distance.set")
    chosen.set_value("shapes").run()
    (model,) = (box for box in app.sidebar.selectbox if box.key == "model")
    model.set_value("preset:hybrid_cifar10").run()
    assert not app.exception and get_dataset(app) == "shapes"  # chosen by hand


def test_a_model_with_a_wider_range_is_suggested(open_app: OpenApp, no_shipped_checkpoints: Path) -> None:
    for name, sharper in (("sharp", 8.0), ("sharper", 30.0), ("flat", 1.0)):
        ship(no_shipped_checkpoints, name, states=sharpen((9, sharper)))
    app = open_app(PAGE, model="checkpoint:flat", attention_distance__count="4")
    _, arrays = heads(app)
    returned = re.search(r"all 16 heads of flat lie within ([\d.]+) px", captions(app))
    assert returned is not None and float(returned[1]) == pytest.approx(np.ptp(arrays["values0"]), abs=0.06)
    (offer,) = (button for button in app.main.button if button.key == "attention_distance.show_more")
    offer.click().run()
    assert not app.exception and not [b for b in app.main.button if b.key == "attention_distance.show_more"]
    _, arrays = heads(app)
    shown = re.search(r"([\d.]+) to ([\d.]+) px.* over 4 images", captions(app))
    assert shown is not None
    assert float(shown[2]) - float(shown[1]) == pytest.approx(np.ptp(arrays["values0"]), abs=0.11)
    assert float(shown[2]) - float(shown[1]) > 0.2 * uniform_distance_px((8, 8), 4, prefix_tokens=1)


def test_untrained_heads_attend_uniformly(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", attention_distance__count="4")
    assert app.title[0].value == "Attention distance"
    assert any("random weights" in part.value for part in app.main.markdown)
    header, arrays = heads(app)
    even = uniform_distance_px((8, 8), 4, prefix_tokens=1)
    assert header["lines"][0]["value"] == pytest.approx(even)
    assert arrays["values0"].shape == (1, 4, 4)
    np.testing.assert_allclose(arrays["values0"], even, rtol=0.1)
    assert "over 4 images" in captions(app)
    assert f"uniform attention: {even:.1f} px" in captions(app)
    assert f"{even:.1f} px" in header["lines"][0]["label"]


def test_the_measure_changes_the_plot(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", attention_distance__count="2")
    (measure,) = (g for g in app.main.get("button_group") if g.key == "attention_distance.measure")
    measure.set_value("prefix").run()
    assert not app.exception
    header, arrays = heads(app)
    assert header["unit"] == "%" and header["lines"][0]["value"] == pytest.approx(100 / 65)
    assert 0 < arrays["values0"].min() and arrays["values0"].max() < 10
    measure.set_value("entropy").run()
    header, arrays = heads(app)
    assert header["unit"] == "bits"
    assert (arrays["values0"] <= np.log2(65) + 1e-3).all()


def test_a_trained_model_is_compared_with_random_weights_over_training(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    ship(
        no_shipped_checkpoints, "sharp", states=sharpen((0, 1.0), (7, 6.0))
    )  # as training does to these heads
    app = open_app(PAGE, model="checkpoint:sharp", step="7", attention_distance__count="4")
    header, first = heads(app)
    assert (
        header["steps"] == [7] and len(header["series"]) == 2
    )  # the chosen step at once, the film behind it
    assert "of 2 snapshots" in app.main.get("progress")[0].proto.text
    header, arrays = wait_for_training(app)
    assert not app.main.get("progress")
    np.testing.assert_allclose(arrays["values0"][1], first["values0"][0], rtol=1e-4)
    assert header["steps"] == [0, 7] and header["shown"] == 1 and len(header["series"]) == 2
    spread = np.ptp(arrays["values0"], axis=(1, 2))
    assert spread[1] > spread[0]
    returned = re.search(r"([\d.]+) px over all layers", captions(app))
    assert returned is not None and float(returned[1]) == pytest.approx(spread[1], abs=0.05)


@pytest.mark.slow
def test_few_of_many_snapshots_are_measured(
    open_app: OpenApp, no_shipped_checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ship(no_shipped_checkpoints, "long", states=sharpen(*((step, 1.0) for step in range(30))))
    app = open_app(PAGE, model="checkpoint:long", step="7", attention_distance__count="1")
    header, _ = wait_for_training(app)
    assert header["steps"][header["shown"]] == 7
    assert (header["steps"][0], header["steps"][-1]) == (0, 29) and 12 <= len(header["steps"]) <= 13
    # What was measured is not loaded again: a dozen of models would push one another out of their cache.
    app.run()
    loads: list[int | None] = []
    monkeypatch.setattr(checkpoints, "open_model", lambda path, step: loads.append(step))
    assert not app.run().exception and not loads


def test_another_crop_changes_the_distances(open_app: OpenApp) -> None:
    returned = {
        "model": "preset:vit_shapes",
        "image": "sample:coffee",
        "attention_distance__set": "picture",
        "attention_distance__training": "0",
    }
    (_, left), (_, right) = (heads(open_app(PAGE, **returned, crop=crop)) for crop in ("0", "1"))
    assert not np.array_equal(left["values0"], right["values0"])


def test_a_cnn_shows_its_reach_and_other_models_a_reason(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:cnn_cifar10", attention_distance__count="2")
    assert "over 2 images" in captions(app)
    assert not any(node.proto.id.endswith("attention_distance.heads") for node in app.get("bidi_component"))
    app = open_app(PAGE, model="preset:recipe_e")
    why = abilities(PRESETS["recipe_e"].config).distance.why_not.removeprefix("This model")
    assert any(why in note.value for note in app.sidebar.caption)


def test_swin_attends_inside_its_windows(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:swin_digits", attention_distance__count="2")
    _, arrays = heads(app)
    assert np.nanmax(arrays["values0"][:, :2]) < 2**0.5 * 32
    first = arrays["values0"][0, 0]
    assert f"is {np.nanmin(first):.1f} px in layer 1" in captions(app)


def test_a_model_without_prefix_tokens_has_no_prefix_measure(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:hybrid_cifar10", attention_distance__renormalise="1")
    (switch,) = (toggle for toggle in app.main.toggle if toggle.key == "attention_distance.renormalise")
    assert switch.disabled
    assert "% of the attention goes to patches" in captions(app)
    renormalised = open_app(PAGE, model="preset:vit_digits", attention_distance__renormalise="1")
    assert "% of the attention goes to patches" not in captions(renormalised)
    (measure,) = (group for group in app.main.button_group if group.key == "attention_distance.measure")
    assert [option.content for option in measure.proto.options] == ["distance", "entropy"]


def test_the_caption_counts_the_images_of_the_dataset(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", attention_distance__count="512")
    assert any("over 359 images" in caption.value for caption in app.main.caption)


@pytest.mark.parametrize(
    ("model", "idle"),
    [
        ("preset:vit_digits", {"compare"}),  # it is random itself
        ("preset:swin_digits", {"compare", "measure", "renormalise"}),
        ("preset:cnn_cifar10", {"compare", "measure", "renormalise"}),
    ],
)
def test_controls_that_a_model_lacks_are_disabled(open_app: OpenApp, model: str, idle: set[str]) -> None:
    app = open_app(PAGE, model=model, attention_distance__count="2")
    controls = [*app.main.button_group, *app.main.toggle]
    asked = {c.key.removeprefix("attention_distance."): c.proto.disabled for c in controls}
    assert {name for name in ("compare", "measure", "renormalise") if asked[name]} == idle


def test_the_selected_image_has_no_spread(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", attention_distance__set="picture")
    assert "over this image" in captions(app)
    _, arrays = heads(app)
    np.testing.assert_array_equal(arrays["spread0"], 0)


def test_a_cnn_with_the_same_channels_is_compared(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", attention_distance__count="2")
    assert any("CNN" in part.value for part in app.main.subheader)
    (caption,) = (c.value for c in app.main.caption if "the CNN's reach is" in c.value)
    first, last, layers = re.search(
        r"reach is ([\d.]+) px after .* and ([\d.]+) px after layer (\d+)", caption
    ).groups()
    assert float(first) < float(last) and layers == "4"


def test_one_local_head_is_singular() -> None:
    layers = summarise_images("digits", {"1": [10.0, 11.0], "2": [20.0, 20.0]})
    text = describe_distances(np.array([[1.0, 20.0], [20.0, 20.0]]), 16.0, 39.0, layers, None)
    assert "1 of 4 heads is local" in text
