"""The patches page: its numbers follow its controls, for every kind of model."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.messages import body
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model
from vitviz.probe.capture import capture

PAGE = "pages/lenses/patches/page.py"
OpenApp = Callable[..., AppTest]


def captions(app: AppTest) -> str:
    return "\n".join(caption.value for caption in app.main.caption)


def text(app: AppTest) -> str:
    return "\n".join(part.value for part in (*app.main.markdown, *app.main.info))


def payloads(app: AppTest) -> list[tuple[dict[str, Any], bytes]]:
    """(header, message) of every client view, in the page's order."""
    found = []
    for view in app.main.get("bidi_component"):
        if not view.proto.bytes:  # a script of the shell, without data
            continue
        message = body(view.proto.bytes)
        (length,) = struct.unpack_from("<I", message)
        found.append((json.loads(message[4 : 4 + length]), message[4 + length :]))
    return found


def array(payload: tuple[dict[str, Any], bytes], name: str) -> np.ndarray:
    header, buffers = payload
    entry = header["arrays"][name]
    count = int(np.prod(entry["shape"]))
    return np.frombuffer(buffers, entry["dtype"], count, entry["offset"]).reshape(entry["shape"])


def choose_view(app: AppTest, view: str) -> None:
    (views,) = (group for group in app.main.get("button_group") if group.key == "patches.view")
    views.set_value(view).run()
    assert not app.exception, [error.message for error in app.exception]


def test_the_counts_are_computed_from_the_sizes(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits")
    assert app.title[0].value == "Patches and embedding"
    assert "N = HW/P² = 32²/4² = 64 patches of P²C = 4² · 1 = 16 values" in captions(app)
    (sizes,) = (group for group in app.main.get("button_group") if group.key == "patches.patch_px")
    sizes.set_value(8).run()
    assert not app.exception
    assert "N = HW/P² = 32²/8² = 16 patches of P²C = 8² · 1 = 64 values" in captions(app)
    assert "random E, seed 0" in text(app)


def test_the_stage_holds_the_models_own_tokens(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", image="digits:3", patches__column="7")
    stage = payloads(app)[0]
    header = stage[0]
    assert (header["rows"], header["cols"], header["dim"], header["column"]) == (8, 8, 64, 6)
    assert header["prefix"] == ["cls"] and header["pin"] == 1 + 4 * 8 + 4
    values, weight = array(stage, "values"), array(stage, "weight")
    patch = values[:, 16:20, 16:20].reshape(-1)
    token = patch @ weight.T + array(stage, "bias")
    assert np.abs(token - array(stage, "tokens")[36]).max() < 1e-5


def test_both_ways_of_embedding_agree_and_the_slip_does_not(open_app: OpenApp) -> None:
    said = captions(open_app(PAGE, model="preset:vit_cifar10", patches__view="ways"))
    power = re.search(r"largest difference is \*\*[1-9]·10⁻([⁰¹²³⁴⁵⁶⁷⁸⁹]+)\*\*", said)
    assert power is not None and int(power[1].translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789"))) > 5
    assert "rounding only" in said
    assert "a run of 16 pixels over 1 row" in said


def test_the_puzzle_moves_only_the_model_with_positions(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:recipe_f_good", patches__view="puzzle", patches__shuffled="50")
    puzzle = payloads(app)[0][0]
    (own, blind) = puzzle["bars"]
    changes = [max(abs(before - after) for _, before, after in bars["rows"]) for bars in (own, blind)]
    assert changes[1] < 1e-6 < changes[0]
    assert "which is rounding: to this model the tokens are a set" in captions(app)
    app.slider(key="patches.shuffled").set_value(0).run()
    assert all(before == after for bars in payloads(app)[0][0]["bars"] for _, before, after in bars["rows"])


def test_a_model_runs_once_for_a_picture_and_an_order(
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
    told = payloads(app)[0][0]["bars"]
    app.run()
    assert len(passes) == 3 and payloads(app)[0][0]["bars"] == told
    app.slider(key="patches.shuffled").set_value(30).run()
    assert passes[3:] == [2, 2] and payloads(app)[0][0]["bars"] != told


def test_a_pinned_prefix_token_is_under_the_glass(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", pin="cls")
    assert payloads(app)[0][0]["pin"] == 0


@pytest.mark.parametrize(
    ("model", "image_px", "patch_px", "count"),
    [("preset:vit_tiny_16", "224", "16", "196"), ("preset:vit_tiny_16", "224", "8", "784")],
)
def test_full_size_grids(open_app: OpenApp, model: str, image_px: str, patch_px: str, count: str) -> None:
    app = open_app(PAGE, model=model, patches__image_px=image_px, patches__patch_px=patch_px)
    assert f"= {count} patches" in captions(app)


def test_another_image_size_keeps_e_and_says_that_positions_are_stretched(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_cifar10", patches__image_px="64")
    assert "64 px instead of 32" in text(app)
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
            "one learned token, [CLS]: the sequence has N + 1 = 65 tokens. [CLS] is the same",
        ),
        ("preset:deit_cifar10", "2 learned tokens, [CLS] and [DIST]: the sequence has N + 2 = 66 tokens"),
        ("preset:swin_digits", "No token stands before them: the sequence has N = 256 tokens"),
    ],
)
def test_patches_are_not_tokens_where_something_stands_before_them(
    open_app: OpenApp, model: str, words: str
) -> None:
    """Start counts the N patches of the picture, this page the sequence."""
    assert words in captions(open_app(PAGE, model=model))


def test_symbols_are_said_in_words_where_they_first_stand(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits")
    said = captions(app)
    choose_view(app, "sequence")
    said += captions(app)
    for words in (
        "E, a learned matrix",
        "a token of D = 64 values",
        "z₀ is what the first layer reads",
        "E_pos, a table with a row for each",
    ):
        assert words in said
    sizes = r"([\d.]+) from the picture, ([\d.]+) from the place, ([\d.]+) times as large\. A size is no influence"
    picture, place, ratio = map(float, re.search(sizes, said).groups())
    assert ratio == pytest.approx(place / picture, abs=0.02)
    model = create_model(PRESETS["vit_digits"].config, seed=0)
    assert place == pytest.approx(float(model.pos_embed.detach()[0, 1:].square().mean().sqrt()), abs=6e-4)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("recipe_d", "a second linear map of each patch's own pixels: it knows no place."),
        ("recipe_a", "E_pos, a table with a row for each patch, says where a patch lies."),
        ("vit_digits", "E_pos, a table with a row for each, says where a patch lies."),
    ],
)
def test_what_is_added_is_said_of_what_it_reads(open_app: OpenApp, model: str, words: str) -> None:
    said = captions(open_app(PAGE, model=f"preset:{model}", image="digits:3", patches__view="sequence"))
    assert words in said and ("from the place" in said) == (model != "recipe_d")


def test_one_patch_is_one_patch(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", patches__image_px="32", patches__patch_px="32")
    assert "= 1 patch of" in captions(app) and "1 patches" not in captions(app)


def test_a_shuffle_of_nothing_is_not_called_rounding(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", patches__view="puzzle", patches__shuffled="0")
    assert "lie in order: nothing changes" in captions(app) and "by more than 0" not in captions(app)


def test_one_patch_cannot_be_cut_wrongly(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", patches__view="ways", patches__patch_px="32")
    assert "one patch cannot be cut wrongly" in captions(app) and "wrong pixels" not in captions(app)


def test_a_link_s_words_on_another_section_wait_for_it(open_app: OpenApp) -> None:
    """Links from before the page had sections name no section, and every control."""
    app = open_app(PAGE, model="preset:vit_digits", patches__column="7", patches__shuffled="40")
    assert payloads(app)[0][0]["column"] == 6
    choose_view(app, "puzzle")
    assert app.slider(key="patches.shuffled").value == 40
    choose_view(app, "stage")
    assert payloads(app)[0][0]["column"] == 6


@pytest.mark.parametrize("view", ["stage", "sequence", "puzzle", "ways"])
def test_every_section_says_what_stands_in(open_app: OpenApp, view: str) -> None:
    app = open_app(PAGE, model="preset:vit_digits", patches__view=view, patches__patch_px="8")
    assert "random E, seed 0" in text(app)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("preset:cnn_digits", "never cuts it into patches"),
        ("preset:hybrid_cifar10", "overlapping 3 × 3 convolutions"),
        ("preset:recipe_e", "one flat vector"),
        ("preset:swin_tiny", "56 × 56 patches, too many"),
        ("preset:recipe_g", "convolutions of the picture"),
    ],
)
def test_models_without_patches_offer_one_with(open_app: OpenApp, model: str, words: str) -> None:
    app = open_app(PAGE, model=model)
    assert words in text(app)
    app.button(key="patches.instead").click().run()
    assert not app.exception
    assert "so N = HW/P²" in captions(app)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("preset:swin_digits", "A Swin has no [CLS] and adds no positions"),
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
    assert "rounding only" in captions(app) or "the same to the last bit" in captions(app)


def test_a_second_map_of_the_pixels_is_not_called_positions(open_app: OpenApp) -> None:
    """Recipe D's stood under 'With positions', though it knows no place."""
    app = open_app(PAGE, model="preset:recipe_d", image="digits:3", patches__view="puzzle")
    said = " ".join(part.value for part in (*app.main.markdown, *app.main.caption))
    assert "With the second map of the pixels" in said and "With positions" not in said
