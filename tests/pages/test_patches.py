"""The patches page: numbers, controls and reasons for every model family."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.stores import registry
from tests.messages import body, unpack
from tests.pages.conftest import OpenApp, captions, text
from vitviz.models.abilities import abilities
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model
from vitviz.probe.capture import capture

PAGE = "pages/lenses/patches/page.py"


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
    assert "random E, seed 0" in text(app, "markdown", "info") and "the random token [CLS]" in captions(app)


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
    ("model", "query", "said", "unsaid"),
    [
        ("vit_tiny_16", {"image_px": "224", "patch_px": "16"}, "= 196 patches", ""),
        ("vit_tiny_16", {"image_px": "224", "patch_px": "8"}, "= 784 patches", ""),
        ("vit_cifar10", {"image_px": "64"}, "= 256 patches", "random E"),
        ("vit_cifar10", {"image_px": "64"}, "64 px instead of\n32", ""),
        ("swin_tiny", {}, "56 × 56 patches", ""),
        ("vit_digits", {"patch_px": "7"}, "= 64 patches", ""),  # does not divide 32
        ("vit_digits", {"image_px": "32", "patch_px": "32"}, "= 1 patch;", "1 patches"),
        ("vit_digits", {"view": "puzzle", "shuffled": "0"}, "All 64 patches", "rounding"),
        ("vit_digits", {"view": "ways", "patch_px": "32"}, "only one patch", "mixes patches"),
        (
            "vit_digits",
            {},
            "[CLS], the sequence has N + 1 = 65 tokens; the prediction is read from the output of [CLS]",
            "",
        ),
        ("deit_cifar10", {}, "[CLS] and [DIST], the sequence has N + 2 = 66 tokens", ""),
        ("swin_digits", {}, "the sequence has N = 256 tokens", ""),
        ("recipe_a", {"view": "sequence"}, "each patch gets one row of E_pos", ""),
        ("vit_digits", {"view": "sequence"}, "each token gets one row of E_pos", ""),
        (
            "recipe_d",
            {"view": "sequence"},
            "a second linear map of the pixels, without position information",
            "E_pos",
        ),
    ],
)
def test_counts_and_terms_are_those_of_the_model_and_the_sizes(
    open_app: OpenApp, model: str, query: dict[str, str], said: str, unsaid: str
) -> None:
    app = open_app(
        PAGE, model=f"preset:{model}", **{f"patches__{key}": value for key, value in query.items()}
    )
    words = text(app, "markdown", "info", "caption")
    assert " ".join(said.split()) in " ".join(words.split())
    assert not unsaid or unsaid not in words


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
    assert "random E, seed 0" in text(app, "markdown", "info")


@pytest.mark.parametrize("model", ["cnn_digits", "hybrid_cifar10", "recipe_e", "recipe_g"])
def test_models_without_patches_offer_one_with(open_app: OpenApp, model: str) -> None:
    app = open_app(PAGE, model=f"preset:{model}")
    why = abilities(PRESETS[model].config).embedding.why_not.removeprefix("This model")
    assert any(why in note.value for note in app.sidebar.caption)
    assert "N = HW/P²" in captions(app)


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
    assert words in text(app, "markdown", "info")
    choose_view(app, "ways")
    assert "up to rounding" in captions(app) or "give identical tokens" in captions(app)


def test_a_second_map_of_the_pixels_is_not_called_positions(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:recipe_d", image="digits:3", patches__view="puzzle")
    assert [bars["title"] for bars in payloads(app)[0][0]["bars"]] == [
        "With the second map of the pixels",
        "Without the second map of the pixels",
    ]
