"""Test every section of 'What layers see' for every kind of model."""

from __future__ import annotations

import math
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from pages.lenses.layers import dataset_task, layer_controls, token_similarity
from pages.lenses.layers.changed_tokens import RegisterEffect, describe_register, describe_shuffled
from tests.messages import charts, count_by_row, message, read_panels
from tests.pages.conftest import OpenApp, captions, query_value, ship
from tests.random_models import preset_model
from vitviz.analysis.cka import cka, gram
from vitviz.analysis.sinks import TokenNorms
from vitviz.data.datasets import load_dataset
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.models.abilities import abilities
from vitviz.models.presets import PRESETS, VIT_DIGITS
from vitviz.models.zoo import create_model
from vitviz.probe.capture import Capture, capture
from vitviz.probe.changed_tokens import RegisterNeurons, add_register, find_register_neurons
from vitviz.probe.layers import RecordedLayer, list_layers

PAGE = "pages/lenses/layers/page.py"
DIGITS = {"model": "preset:vit_digits", "image": "digits:3", "layers__count": "32"}


def wait_for_measurements(app: AppTest) -> AppTest:
    """Rerun the page until all measurements over a dataset have ended."""
    deadline = time.monotonic() + 120
    while bars := app.main.get("progress"):
        assert time.monotonic() < deadline, [bar.proto.text for bar in bars]
        time.sleep(0.2)
        app.run()
    assert not app.exception, [error.message for error in app.exception]
    return app


def test_every_layer_of_both_models_is_coloured(open_app: OpenApp) -> None:
    app = open_app(PAGE, **DIGITS, layers__colours_guess="shown")
    assert query_value(app, "layers.other").startswith("preset:") and "cnn" in query_value(
        app, "layers.other"
    )
    header, arrays = message(app, "layers.colours")
    config = PRESETS["vit_digits"].config
    layers, (_, count, others) = header["layers"], count_by_row(header)
    mine = layers[:count]
    assert count == config.depth + 1 and header["chosen"] == config.depth and others
    for i, layer in enumerate(layers):
        assert arrays[f"p{i}"].shape == (*header["panels"][i + 1]["grid"], 3)
        assert 0 < sum(layer["shares"]) <= 1 + 1e-9 and sorted(layer["orders"]) == [1, 2, 3]
    first, last = (100 * sum(mine[i]["shares"]) for i in (0, -1))
    found = re.search(r"explain (\d+)\s%.* and (\d+)\s%", captions(app))
    assert found is not None
    assert [int(n) for n in found.groups() if n][:1] == [round(first)]
    assert f"{last:.0f} % in layer {config.depth}" in captions(app)


def test_colours_over_a_set_are_the_same_for_every_image(open_app: OpenApp) -> None:
    asked = {**DIGITS, "layers__fit": "set", "layers__colours_guess": "shown"}
    one = wait_for_measurements(open_app(PAGE, **asked))
    other = wait_for_measurements(open_app(PAGE, **(asked | {"image": "digits:5"})))
    assert "32 test images of Digits" in captions(one)
    (a, cells), (b, others) = (message(app, "layers.colours") for app in (one, other))
    assert [layer["shares"] for layer in a["layers"]] == [layer["shares"] for layer in b["layers"]]
    assert not np.array_equal(cells["p1"], others["p1"])


def test_a_click_brings_a_layer_onto_the_stage_and_the_link_says_so(open_app: OpenApp) -> None:
    app = open_app(PAGE, **DIGITS, layers__layer="2")
    assert message(app, "layers.colours")[0]["chosen"] == 2 and query_value(app, "layers.layer") == "2"
    app = open_app(PAGE, **DIGITS, layers__layer="99")
    assert message(app, "layers.colours")[0]["chosen"] == PRESETS["vit_digits"].config.depth


def record(preset: str, images: slice, *names: str) -> Capture:
    """Return what a preset's model makes of some of the test digits."""
    model = preset_model(preset)
    return capture(
        model.model, prepare_batch(load_dataset("digits").test_images[images], model.preparation), names
    )


@pytest.mark.parametrize("centred", ["0", "1"])
def test_cosines_of_the_pinned_token_are_the_model_s(open_app: OpenApp, centred: str) -> None:
    app = open_app(PAGE, **DIGITS, pin="0.3,0.7", layers__view="token", layers__centred=centred)
    header, arrays = message(app, "layers.similar")
    tokens = record("vit_digits", slice(3, 4), "blocks.1")["blocks.1"][0].astype(np.float64)
    places = tokens[1:] - (tokens[1:].mean(axis=0) if centred == "1" else 0)
    place = int(0.7 * 8) * 8 + int(0.3 * 8)
    lengths = np.linalg.norm(places, axis=1)
    expected = places @ places[place] / lengths / lengths[place]
    assert header["panels"][3]["title"] == "layer 2" and header["layers"][2]["prefix"] == ["cls"]
    np.testing.assert_allclose(arrays["p2"][1 + place] / 32767, expected, atol=2e-5)


def test_a_cnn_asks_by_the_mean_of_its_map_where_cls_is_pinned(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:cnn_cifar10", image="sample:cat", pin="cls", layers__view="token")
    header, _ = message(app, "layers.similar")
    assert header["layers"][0]["prefix"] == ["mean of the map"] and header["prefix"] == []
    assert "the mean of the map is" in captions(app)


@pytest.mark.parametrize(("form", "debiased"), [("plain", False), ("debiased", True)])
def test_the_matrix_is_linear_cka_of_both_models(open_app: OpenApp, form: str, debiased: bool) -> None:
    asked = {
        "view": "alike",
        "form": form,
        "other": "preset:swin_digits",
        "alike_guess": "shown",
    }
    app = wait_for_measurements(
        open_app(PAGE, **DIGITS, **{f"layers__{name}": value for name, value in asked.items()})
    )
    header, arrays = message(app, "layers.matrix")
    assert [count for _, count in header["panels"][0]["groups"]] == [5, 5]
    matrix = arrays["values0"].reshape(10, 10)
    names = ("embedded", *(f"blocks.{i}" for i in range(4)))
    found = record("vit_digits", slice(32), *names)
    kernels = [gram(found[name]) for name in names]
    np.testing.assert_allclose(matrix[:5, :5], cka(kernels, kernels, debiased=debiased), atol=1e-5)
    across = matrix[:5, 5:]
    assert f"{across[-1, -1]:.2f}" in captions(app)


@pytest.mark.parametrize("model", ["preset:swin_digits", "preset:cnn_cifar10", "preset:deit_digits"])
@pytest.mark.parametrize("view", ["colours", "channels", "token", "alike", "probe", "sinks"])
def test_every_section_shows_every_kind_of_model(open_app: OpenApp, model: str, view: str) -> None:
    app = wait_for_measurements(
        open_app(PAGE, model=model, image="digits:3", layers__view=view, layers__count="32")
    )
    assert "arxiv.org" in captions(app)
    if model == "preset:cnn_cifar10" and view != "channels":
        assert "vit" in query_value(app, "layers.other")


def test_a_model_without_such_layers_is_told_so(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:recipe_e", image="digits:3")
    assert any("no layers" in note.value for note in app.sidebar.caption)


def save_small_vit(folder: Path, name: str, patch_px: int) -> None:
    """A small ViT of digits, with random weights that count as trained."""
    config = replace(VIT_DIGITS, patch_size=patch_px, embed_dim=16, depth=2, num_heads=1)
    ship(folder, name, config, states={9: create_model(config, seed=0).state_dict()})


def test_a_model_of_one_patch_has_no_places_to_tell_apart(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    save_small_vit(no_shipped_checkpoints, "one_patch", 32)
    app = open_app(PAGE, model="checkpoint:one_patch", image="digits:3")
    assert any("single patch" in note.value for note in app.sidebar.caption)
    app = open_app(PAGE, **DIGITS, layers__other="checkpoint:one_patch")
    assert "one_patch" not in query_value(app, "layers.other")
    app = open_app(PAGE, model="preset:cnn_digits", image="digits:3")
    assert "one_patch" not in query_value(app, "layers.other"), "it is of the same pictures, and trained"


def test_layers_that_are_level_are_not_asked_about(open_app: OpenApp, no_shipped_checkpoints: Path) -> None:
    """Rounding errors decided the right answer, because three components explain everything in every layer."""
    save_small_vit(no_shipped_checkpoints, "four_patches", 16)
    app = open_app(PAGE, model="checkpoint:four_patches", image="digits:3")
    assert not [row for row in app.main.button_group if row.key == "layers.colours_guess.row"]
    assert "100 % of the variance in every layer" in captions(app)
    assert layer_controls.LayerOptions(
        [RecordedLayer(str(i), f"layer {i}", "tokens") for i in range(5)]
    ).find_option([3, 1], "").right == (
        3,
        1,
    )


def choose_option(app: AppTest, section: str, option: str) -> AppTest:
    """Choose an option of a section's question."""
    app.main.button_group(key=f"layers.{section}_guess.row").set_value(option).run()
    assert query_value(wait_for_measurements(app), f"layers.{section}_guess") == option
    return app


def has_numbers_drawer(app: AppTest) -> bool:
    """Return True if the drawer with the section's numbers exists."""
    return any(one.label == "The numbers" for one in app.main.expander)


def read_verdict(app: AppTest) -> str:
    """Return the verdict on the prediction."""
    parts = [part.value.replace("\\", "") for part in app.main.markdown]
    return next(part for part in parts if "Your prediction" in part)


def test_what_the_colours_hold_waits_for_a_guess(open_app: OpenApp) -> None:
    app = open_app(PAGE, **DIGITS)
    before, cells = message(app, "layers.colours")
    assert not [panel for panel in before["panels"] if panel["note"]]
    assert not [layer for layer in before["layers"] if "shares" in layer]
    assert (
        "explain" not in captions(app) and "mean correlation" in captions(app) and not has_numbers_drawer(app)
    )
    after, same = message(choose_option(app, "colours", "4"), "layers.colours")
    assert len(after["panels"]) == len(before["panels"]) and np.array_equal(cells["p0"], same["p0"])
    held = [sum(layer["shares"]) for layer in after["layers"][: count_by_row(after)[1]]]
    assert "layer 4" in read_verdict(app) and ("is correct" in read_verdict(app)) == (
        int(np.argmax(held)) == 4
    )
    assert (
        f"{100 * max(held):.1f}" in read_verdict(app)
        and "explain" in captions(app)
        and has_numbers_drawer(app)
    )
    app.session_state["layers.other"] = "preset:swin_digits"
    app.run()
    assert query_value(app, "layers.colours_guess") == "4", "the question is about the sidebar's model"
    assert "explain" not in captions(open_app(PAGE, **DIGITS | {"model": "preset:cnn_digits"}))


def test_the_block_between_the_models_waits_for_a_guess(open_app: OpenApp) -> None:
    app = wait_for_measurements(open_app(PAGE, **DIGITS, layers__view="alike"))
    _, arrays = message(app, "layers.matrix")
    count = math.isqrt(arrays["values0"].size)
    matrix = arrays["values0"].reshape(count, count)
    assert np.isnan(matrix[:5, 5:]).all() and not np.isnan(matrix[:5, :5]).any()
    assert "is most similar to" not in captions(app) and not has_numbers_drawer(app)
    _, arrays = message(choose_option(app, "alike", "0"), "layers.matrix")
    across = arrays["values0"].reshape(count, count)[4, 5:]
    assert ("is correct" in read_verdict(app)) == (int(across.argmax()) == 0)
    assert (
        f"{across.max():.2f}" in read_verdict(app)
        and "is most similar to" in captions(app)
        and has_numbers_drawer(app)
    )
    app.main.selectbox(key="layers.other").set_value("preset:swin_digits").run()
    assert np.isnan(message(wait_for_measurements(app), "layers.matrix")[1]["values0"]).any(), (
        "another model, another question"
    )


def test_how_many_are_of_one_class_waits_for_a_guess(open_app: OpenApp) -> None:
    app = wait_for_measurements(open_app(PAGE, **DIGITS, layers__view="channels"))
    stages = message(app, "layers.channels")[0]["stages"]
    assert "chance" not in captions(app) and "32 test images" in captions(app)
    choose_option(app, "channels", "1")
    assert message(app, "layers.channels")[0]["stages"] == stages and "chance" in captions(app)
    (mean,) = re.findall(r"Last stage: (\d\.\d) ", read_verdict(app))
    assert ("is correct" in read_verdict(app)) == (3 <= float(mean) < 5)


def test_how_far_nearness_counts_waits_for_a_guess(open_app: OpenApp) -> None:
    app = open_app(PAGE, **DIGITS, layers__view="token")
    assert (
        "of neighbouring patches" not in captions(app)
        and "(cosine " in captions(app)
        and not has_numbers_drawer(app)
    )
    choose_option(app, "token", "2")
    first, last = (
        float(v) for v in re.findall(r"([−\d.]+) in (?:the|layer)", read_verdict(app).replace("−", "-"))
    )
    assert ("is correct" in read_verdict(app)) == (last - first <= -token_similarity.MIN_CHANGE)
    assert "of neighbouring patches" in captions(app) and has_numbers_drawer(app)


@pytest.mark.parametrize(("leads", "right"), [((0.1, 0.2), 0), ((0.1, 0.9, 0.14), 1), ((0.4, 0.1), 2)])
def test_a_lead_grows_stays_or_fades(leads: tuple[float, ...], right: int) -> None:
    assert token_similarity.classify_trend(leads) == right


def test_the_sidebar_s_model_s_line_waits_for_a_guess(open_app: OpenApp) -> None:
    app = wait_for_measurements(open_app(PAGE, **DIGITS, layers__view="probe"))
    classes, places = (chart["data"] for chart in charts(app))
    assert len(classes) == 1 and len(places) == 2 and not has_numbers_drawer(app)
    title = places[0]["name"]
    assert classes[0]["name"].startswith(places[1]["name"])
    assert f"the class accuracy of {title}" in captions(app).replace("\N{WORD JOINER}", "")
    choose_option(app, "probe", "0")
    classes, _ = (chart["data"] for chart in charts(app))
    assert len(classes) == 3 and "within 2 points of the best" in captions(app) and has_numbers_drawer(app)


def test_the_last_layer_s_tokens_wait_for_a_guess(open_app: OpenApp) -> None:
    app = wait_for_measurements(open_app(PAGE, **DIGITS, layers__view="sinks"))
    titles, _, _ = read_panels(message(app, "layers.lengths"))
    assert titles == ["embedding", "layer 1", "layer 2", "layer 3"] and not has_numbers_drawer(app)
    assert "to see layer 4" in captions(app) and "in the last layer" not in captions(app)
    choose_option(app, "sinks", "0")
    assert read_panels(message(app, "layers.lengths"))[0] == [*titles, "layer 4"] and has_numbers_drawer(app)
    (times,) = re.findall(r": (\d+\.\d) times", read_verdict(app))
    assert ("is correct" in read_verdict(app)) == (float(times) < 1.5)
    assert re.search(rf"{times} times (the median )?in layer 4", captions(app))


def test_a_deep_model_s_layers_are_asked_for_several_at_a_time() -> None:
    spans = layer_controls.LayerOptions(list_layers(PRESETS["vit_digits"].config))
    assert spans.options == ["embedding", *(f"layer {i}" for i in range(1, 5))]
    deep = layer_controls.LayerOptions([RecordedLayer(str(i), f"layer {i}", "tokens") for i in range(13)])
    assert (
        len(deep.options) == 7 and deep.options[0] == "layer 0 to layer 1" and deep.options[-1] == "layer 12"
    )
    assert [int(deep.find_option([i], "").value) for i in (0, 1, 2, 12)] == [0, 0, 1, 6]


def test_top_patches_are_those_of_the_images_that_a_channel_responds_to_most(open_app: OpenApp) -> None:
    app = wait_for_measurements(
        open_app(PAGE, **DIGITS, layers__view="channels", layers__channels_guess="shown")
    )
    header, arrays = message(app, "layers.channels")
    peaks = record("cnn_digits", slice(32), "layers.2.blocks.0")["layers.2.blocks.0"].max(axis=(2, 3))
    last = header["stages"][-1]
    assert len(last["channels"]) == 4 and last["kind"] == "image/jpeg"
    for channel in last["channels"]:
        of_channel = peaks[:, channel["number"]]
        values, images = zip(*((top["value"], top["image"]) for top in channel["tops"]), strict=True)
        np.testing.assert_allclose(values, np.sort(of_channel)[::-1][:9], rtol=1e-4)
        np.testing.assert_allclose(of_channel[[*images]], values, rtol=1e-4)
    assert arrays["maps2"].shape[0] == 4
    assert "chance" in captions(app)


def test_a_set_without_labels_has_channels_but_no_classes(open_app: OpenApp) -> None:
    app = wait_for_measurements(
        open_app(
            PAGE,
            model="preset:cnn_cifar10",
            image="sample:cat",
            layers__view="channels",
            layers__set="photos",
        )
    )
    assert "no labels" in captions(app)
    assert [row.key for row in app.main.button_group] == ["layers.view"]


def test_the_probe_says_what_its_figures_show(open_app: OpenApp) -> None:
    asked = {"layers__count": "64", "layers__view": "probe", "layers__probe_guess": "shown"}
    app = wait_for_measurements(open_app(PAGE, **(DIGITS | asked)))
    classes, places = charts(app)
    assert [trace["name"].rpartition(", ")[2] for trace in classes["data"]] == [
        "the mean over positions",
        "[CLS]",
        "the mean over positions",
    ]
    first = np.asarray(places["data"][0]["y"])
    assert len(first) == PRESETS["vit_digits"].config.depth + 1
    returned = captions(app)
    assert "64 test images of Digits" in returned
    for trace in classes["data"]:
        y = trace["y"]
        assert f"{y[0]:.0f} % (" in returned and f"{y[-1]:.0f} % (" in returned


def test_registers_are_measured_or_said_to_be_missing(open_app: OpenApp) -> None:
    app = wait_for_measurements(open_app(PAGE, **DIGITS, layers__view="sinks", layers__sinks_guess="shown"))
    said_ = "\n".join(text.value for text in app.main.markdown)
    assert "DINOv2 ViT-S/14 with registers" in said_ and "huggingface.co" in said_
    titles, notes, maps = read_panels(message(app, "layers.lengths"))
    tokens = record("vit_digits", slice(3, 4), "blocks.3")["blocks.3"][0, 1:]
    lengths = np.linalg.norm(tokens, axis=-1)
    np.testing.assert_allclose(maps[-1], lengths - lengths.min(), atol=1e-3)
    assert notes[-1] == f"norms {lengths.min():.1f} to {lengths.max():.1f}"
    assert titles[-1] == "layer 4"
    assert "times the median" in captions(app)


SINKS = DIGITS | {"layers__view": "sinks", "layers__sinks_guess": "shown", "layers__count": "32"}


def test_a_register_changes_norms_and_attention_on_this_image(open_app: OpenApp) -> None:
    app = wait_for_measurements(open_app(PAGE, **SINKS, layers__change="register"))
    titles, notes, maps = read_panels(message(app, "layers.register"))
    assert titles[::2] == ["Token norms, minus the smallest", "Attention of [CLS]"]
    loaded = preset_model("vit_digits")
    inputs = prepare_batch(load_dataset("digits").test_images[:32], loaded.preparation)
    neurons = find_register_neurons(loaded.vit, torch.from_numpy(inputs))
    changed = add_register(loaded, neurons)
    least = min(float(note.split(" ")[0]) for note in notes[:2])
    for index, (model, first) in enumerate(((loaded, 1), (changed, 2))):
        run = capture(model.model, inputs[3:4], ("blocks.3", "blocks.3.attn"))
        norms = np.linalg.norm(run["blocks.3"][0, first:], axis=-1)
        assert notes[index] == f"{norms.min():.3g} to {norms.max():.3g}"
        np.testing.assert_allclose(maps[index] + least, norms, atol=0.01)
        attention = run["blocks.3.attn"][0, :, 0, first:].mean(axis=0)
        np.testing.assert_allclose(maps[2 + index], attention, rtol=1e-3, atol=1e-6)
    assert "There is no outlier to move" in captions(app)


def test_cls_of_another_image_before_a_layer(open_app: OpenApp) -> None:
    app = wait_for_measurements(open_app(PAGE, **SINKS, layers__change="shuffled"))
    shares = charts(app)[-1]["data"][0]["y"]
    assert len(shares) == 4 and shares[0] == 100  # before the first layer all images have the same [CLS]
    assert f"{shares[-1]:.0f} % of 32 test images" in captions(app)
    other = wait_for_measurements(open_app(PAGE, **SINKS | {"model": "preset:swin_digits"}))
    (control,) = (row for row in other.main.button_group if row.key == "layers.change")
    assert (
        control.disabled and control.help == abilities(PRESETS["swin_digits"].config).heads_over_all.why_not
    )


def test_the_shuffled_caption_names_the_layer_from_which_the_other_image_decides() -> None:
    kept = np.array([[True] * 4, [True, True, True, False], [True, False, False, False], [False] * 4])
    text = describe_shuffled(kept, dataset_task.ImageSubset("digits", 4))
    assert "0\N{NO-BREAK SPACE}% of 4 test images" in text and "0\N{NO-BREAK SPACE}% to 49" in text
    assert text.endswith("from layer 3 on.")
    assert "before no layer" in describe_shuffled(kept[:2], dataset_task.ImageSubset("digits", 4))


def test_the_register_s_caption_counts_outliers_or_finds_none() -> None:
    flat, places = np.full((1, 4, 4), 2.0, np.float32), np.full((1, 4, 4), 2.0, np.float32)
    places[0, 1, 1] = 20
    prefix = np.array([[3.0, 8.0]], np.float32)
    effect = RegisterEffect(RegisterNeurons(((2, 5), (4, 1))), [TokenNorms(flat, prefix)])
    subset = dataset_task.ImageSubset("digits", 1)
    with_outlier = describe_register(TokenNorms(places, prefix), effect, subset)
    assert with_outlier.startswith(
        "The register leaves 0 of 1 outliers in the last layer; the largest norm changes from"
    )
    assert "from 10.00 to 1.00 times" in with_outlier and "2 neurons of layers 3 to 5" in with_outlier
    assert "4.0 times" in with_outlier
    assert describe_register(TokenNorms(flat, prefix), effect, subset).startswith(
        "There is no outlier to move"
    )


def test_a_failed_measurement_is_reported_and_repeated(
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
        app = wait_for_measurements(app)
        assert "failed" in app.main.warning[0].value
    app.run()
    assert not wait_for_measurements(app).main.warning and "arxiv.org" in captions(app)
