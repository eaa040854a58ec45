"""The patches page: numbers, controls and reasons for every model family."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.stores import registry
from tests.messages import body, unpack
from tests.pages.conftest import OpenApp, captions
from vitviz.models.abilities import abilities
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model
from vitviz.probe.capture import capture

PAGE = "pages/lenses/patches/page.py"


def text(app: AppTest) -> str:
    return "\n".join(part.value for part in (*app.main.markdown, *app.main.info))


def payloads(app: AppTest) -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Return (header, arrays) of every client view with data, in the page's order."""
    views = app.main.get("bidi_component")
    return [unpack(body(view.proto.bytes)) for view in views if view.proto.bytes]


def choose_view(app: AppTest, view: str) -> None:
    (views,) = (group for group in app.main.get("button_group") if group.key == "patches.view")
    views.set_value(view).run()
    assert not app.exception, [error.message for error in app.exception]


def test_the_counts_are_computed_from_the_sizes(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits")
    assert app.title[0].value == registry.BY_SLUG["patches"].title
    assert (
        "N = HW/P² = 32²/4² = 64 patches; E maps each patch's P²C = 4² · 1 = 16 values (4² · 3 = 48 in colour) to a"
        " token of D = 64" in captions(app)
    )
    (sizes,) = (group for group in app.main.get("button_group") if group.key == "patches.patch_px")
    sizes.set_value(8).run()
    assert not app.exception
    assert "N = HW/P² = 32²/8² = 16 patches; E maps each patch's P²C = 8² · 1 = 64 values" in captions(app)
    assert "random E, seed 0" in text(app) and "the random token [CLS]" in captions(app)


def test_the_stage_holds_the_models_own_tokens(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", image="digits:3", patches__column="7")
    stage = payloads(app)[0]
    header = stage[0]
    assert (header["rows"], header["cols"], header["dim"], header["column"]) == (8, 8, 64, 6)
    assert header["prefix"] == ["cls"] and header["pin"] == 1 + 4 * 8 + 4
    values, weight = stage[1]["values"], stage[1]["weight"]
    patch = values[:, 16:20, 16:20].reshape(-1)
    token = patch @ weight.T + stage[1]["bias"]
    assert np.abs(token - stage[1]["tokens"][36]).max() < 1e-5


def test_both_implementations_agree_and_the_reshape_does_not(open_app: OpenApp) -> None:
    sentences = captions(open_app(PAGE, model="preset:vit_cifar10", patches__view="ways"))
    count = 64 * PRESETS["vit_cifar10"].config.embed_dim
    power = re.search(rf"\*\*[1-9]·10⁻([⁰¹²³⁴⁵⁶⁷⁸⁹]+)\*\* over {count:,} values", sentences)
    assert power is not None and int(power[1].translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789"))) > 5
    assert "up to rounding" in sentences
    assert "64 × 48" in sentences and "16 consecutive pixels from 1 image row" in sentences


def test_the_puzzle_moves_only_the_model_with_positions(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:recipe_f_good", patches__view="puzzle", patches__shuffled="50")
    puzzle = payloads(app)[0][0]
    changes = [max(abs(before - after) for _, before, after in bars["rows"]) for bars in puzzle["bars"]]
    assert changes[1] < 1e-6 < changes[0]
    assert "(rounding)" in captions(app)
    app.slider(key="patches.shuffled").set_value(0).run()
    assert all(before == after for bars in payloads(app)[0][0]["bars"] for _, before, after in bars["rows"])


def test_a_model_runs_once_for_an_image_and_an_order(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vitviz.probe import embedding

    passes: list[int] = []

    def counted(model: Any, batch: np.ndarray, record: Any = ()) -> Any:
        passes.append(len(batch))
        return capture(model, batch, record)

    monkeypatch.setattr(embedding, "capture", counted)
    app = open_app(
        PAGE,
        model="preset:recipe_f_good",
        image="digits:11",
        patches__view="puzzle",
        patches__shuffled="70",
    )
    assert passes == [1, 2, 2]  # the embedding; the puzzle with and without positions
    bars = payloads(app)[0][0]["bars"]
    app.run()
    assert len(passes) == 3 and payloads(app)[0][0]["bars"] == bars
    app.slider(key="patches.shuffled").set_value(30).run()
    assert passes[3:] == [2, 2] and payloads(app)[0][0]["bars"] != bars


def test_a_pinned_prefix_token_is_selected(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", pin="cls")
    assert payloads(app)[0][0]["pin"] == 0


@pytest.mark.parametrize(
    ("model", "image_px", "patch_px", "count"),
    [("preset:vit_tiny_16", "224", "16", "196"), ("preset:vit_tiny_16", "224", "8", "784")],
)
def test_full_size_grids(open_app: OpenApp, model: str, image_px: str, patch_px: str, count: str) -> None:
    app = open_app(PAGE, model=model, patches__image_px=image_px, patches__patch_px=patch_px)
    assert f"= {count} patches" in captions(app)


def test_another_image_size_keeps_e(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_cifar10", patches__image_px="64")
    assert re.search(r"64 px instead of\s32", text(app))
    assert "random E" not in text(app)
    assert "= 256 patches" in captions(app)


def test_a_patch_size_that_does_not_divide_falls_back(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", patches__patch_px="7")
    assert "= 64 patches" in captions(app)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            "preset:vit_digits",
            "[CLS], the sequence has N + 1 = 65 tokens; the prediction is read from the output of [CLS]",
        ),
        ("preset:deit_cifar10", "[CLS] and [DIST], the sequence has N + 2 = 66 tokens"),
        ("preset:swin_digits", "the sequence has N = 256 tokens"),
    ],
)
def test_prefix_tokens_count_as_tokens_and_not_as_patches(open_app: OpenApp, model: str, words: str) -> None:
    assert words in captions(open_app(PAGE, model=model))


def test_the_magnitudes_of_patches_and_positions_are_the_models_own(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits")
    choose_view(app, "sequence")
    sentences = captions(app)
    assert "z₀ has 65 rows: 1 prefix token and 64 patches" in sentences
    magnitudes = r"([\d.]+) for x·E, ([\d.]+) for E_pos \(([\d.]+) times"
    patches, positions, ratio = map(float, re.search(magnitudes, sentences).groups())
    assert ratio == pytest.approx(positions / patches, abs=0.02)
    model = create_model(PRESETS["vit_digits"].config, seed=0)
    assert positions == pytest.approx(float(model.pos_embed.detach()[0, 1:].square().mean().sqrt()), abs=6e-4)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("recipe_d", "a second linear map of the pixels, without position information"),
        ("recipe_a", "each patch gets one row of E_pos"),
        ("vit_digits", "each token gets one row of E_pos"),
    ],
)
def test_the_added_term_is_named(open_app: OpenApp, model: str, words: str) -> None:
    sentences = captions(open_app(PAGE, model=f"preset:{model}", image="digits:3", patches__view="sequence"))
    assert words in sentences and ("E_pos" in sentences) == (model != "recipe_d")


def test_one_patch_is_one_patch(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", patches__image_px="32", patches__patch_px="32")
    assert "= 1 patch;" in captions(app) and "1 patches" not in captions(app)


def test_an_empty_shuffle_is_not_called_rounding(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", patches__view="puzzle", patches__shuffled="0")
    assert "All 64 patches" in captions(app) and "rounding" not in captions(app)


def test_a_reshape_of_one_patch_is_correct(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", patches__view="ways", patches__patch_px="32")
    assert "only one patch" in captions(app) and "mixes patches" not in captions(app)


def test_link_parameters_of_another_section_are_held(open_app: OpenApp) -> None:
    """Old links name every control and no section."""
    app = open_app(PAGE, model="preset:vit_digits", patches__column="7", patches__shuffled="40")
    assert payloads(app)[0][0]["column"] == 6
    choose_view(app, "puzzle")
    assert app.slider(key="patches.shuffled").value == 40
    choose_view(app, "stage")
    assert payloads(app)[0][0]["column"] == 6


@pytest.mark.parametrize("view", ["stage", "sequence", "puzzle", "ways"])
def test_every_section_names_the_random_weights(open_app: OpenApp, view: str) -> None:
    app = open_app(PAGE, model="preset:vit_digits", patches__view=view, patches__patch_px="8")
    assert "random E, seed 0" in text(app)


@pytest.mark.parametrize("model", ["cnn_digits", "hybrid_cifar10", "recipe_e", "recipe_g"])
def test_models_without_patches_offer_one_with(open_app: OpenApp, model: str) -> None:
    app = open_app(PAGE, model=f"preset:{model}")
    why = abilities(PRESETS[model].config).embedding.why_not.removeprefix("This model")
    assert any(why in note.value for note in app.sidebar.caption)
    assert "N = HW/P²" in captions(app)


def test_a_model_of_too_many_patches_is_told_so(open_app: OpenApp) -> None:
    assert "56 × 56 patches" in text(open_app(PAGE, model="preset:swin_tiny"))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("preset:swin_digits", "A Swin has no [CLS]"),
        ("preset:deit_cifar10", ""),
        ("preset:recipe_a", ""),
        ("preset:recipe_b", ""),
        ("preset:recipe_c", ""),
        ("preset:recipe_d", ""),
    ],
)
def test_every_family_has_its_page(open_app: OpenApp, model: str, words: str) -> None:
    app = open_app(PAGE, model=model, patches__view="sequence")
    assert words in text(app)
    choose_view(app, "ways")
    assert "up to rounding" in captions(app) or "give identical tokens" in captions(app)


def test_a_second_map_of_the_pixels_is_not_called_positions(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:recipe_d", image="digits:3", patches__view="puzzle")
    assert [bars["title"] for bars in payloads(app)[0][0]["bars"]] == [
        "With the second map of the pixels",
        "Without the second map of the pixels",
    ]
