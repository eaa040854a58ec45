"""The page 'On your picture': models side by side, one slider."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from pages.beyond.on_picture import guess, hand
from pages.beyond.on_picture.hand import Hand
from tests.messages import message
from tests.pages.conftest import OpenApp, said
from vitviz.analysis.changes import CHANGES, WHOLE, changed
from vitviz.words import percent

SHIPPED = Path(__file__).parents[2] / "checkpoints"
PAGE = "pages/beyond/on_picture/page.py"
MODELS = "preset:cnn_digits,preset:vit_digits"
OPEN = {"model": "preset:vit_digits", "image": "digits:3", "on_picture__models": MODELS}
VIEW = "on_picture.sweep"


@pytest.mark.parametrize("kind", ["shift", "noise", "shuffle", "occlude", "pieces"])
def test_the_slider_holds_the_models_own_answers(open_app: OpenApp, kind: str) -> None:
    from pages.stores import cached, catalogue, visit

    app = open_app(PAGE, on_picture__kind=kind, on_picture__pieces="1023456789abcdef", **OPEN)
    header, arrays = message(app, VIEW)
    assert [model["by"] for model in header["models"]] == ["gradient", "attention"]
    own = np.broadcast_to(cached.dataset("digits").test_images[3], (32, 32, 3))
    last = len(CHANGES[kind].values) - 1
    setting = Hand(0, pieces=(1, 0, *range(2, 16))).setting(0, kind)
    strongest = changed(np.array(own), kind, CHANGES[kind].values[last], setting)
    assert np.array_equal(arrays["frames"][last], strongest)
    choices = catalogue.models(visit.Visit("x" * 22))
    for i, key in enumerate(MODELS.split(",")):
        x = torch.tensor(strongest[None, None, ..., 0] / 255 - 0.5, dtype=torch.float32) / 0.5
        with torch.no_grad():
            wanted = cached.loaded(choices[key]).model(x).softmax(-1)[0]
        assert np.allclose(arrays["chances"][i, last], wanted, atol=1e-5)


def test_a_guess_reveals_and_is_answered_from_the_measured_range(open_app: OpenApp) -> None:
    app = open_app(PAGE, **OPEN)
    assert not message(app, VIEW)[0]["revealed"] and "on_picture.guess" not in app.query_params
    told = open_app(PAGE, on_picture__guess="preset:cnn_digits", **OPEN)
    header, arrays = message(told, VIEW)
    assert header["revealed"]
    answers = arrays["chances"].argmax(axis=-1)
    steps = [guess.outlasted(row, header["neutral"]).steps for row in answers]
    (text,) = [
        line.value for line in told.main.markdown if "keep" in line.value and "On this picture" in line.value
    ]
    verdict = "right" if steps[0] == max(steps) else "not so"
    assert f": {verdict}." in text and f"over {max(steps)} of {len(header['words']) - 1} steps" in text


def test_a_link_restores_change_slider_and_cover(open_app: OpenApp) -> None:
    query = {"kind": "occlude", "at": "5", "place": "0.25,0.75", "seen": "1"}
    app = open_app(PAGE, **OPEN, **{f"on_picture__{name}": value for name, value in query.items()})
    assert {name: said(app, f"on_picture.{name}") for name in query} == query
    assert said(app, "on_picture.models") == MODELS
    begun = message(app, VIEW)[0]["hand"]
    assert (begun["at"], begun["place"], begun["seen"]) == (5, [0.25, 0.75], True)


@pytest.mark.parametrize(
    "query",
    [
        {"kind": "melt", "at": "999", "place": "2,nan", "pieces": "0", "seen": "x"},
        {"models": "preset:nothing", "guess": "preset:nothing", "at": "-1", "place": "a", "pieces": "z" * 16},
    ],
)
def test_a_hostile_link_falls_back(open_app: OpenApp, query: dict[str, str]) -> None:
    app = open_app(
        PAGE,
        **{"model": OPEN["model"], "image": OPEN["image"]},
        **{f"on_picture__{k}": v for k, v in query.items()},
    )
    begun = message(app, VIEW)[0]["hand"]
    assert (
        begun["place"] == [0.5, 0.5] and begun["pieces"] == list(WHOLE) and begun["at"] == hand.begin("shift")
    )


def test_what_a_browser_says_is_checked() -> None:
    before = Hand(3)
    assert hand.parsed({"at": True, "place": [1], "pieces": [0] * 16, "seen": 1}, before, "shift") == before
    moved = hand.parsed(
        {"at": 4, "place": [0, 0.5], "pieces": list(WHOLE[::-1]), "seen": True}, before, "shift"
    )
    assert moved == Hand(4, (0.0, 0.5), WHOLE[::-1], True)


def test_how_far_an_answer_is_kept() -> None:
    found = guess.outlasted(np.array([1, 0, 0, 0, 2]), 2)
    assert (found.answer, found.first, found.last, found.steps) == (0, 1, 3, 2)
    none = guess.Kept(0, 12, 12)
    words = guess.measured("b", ["a", "b"], ["A", "B"], [guess.Kept(0, 0, 24), none], "shift", 32)
    assert (
        words.startswith("You said B: not so.")
        and "**A** keeps" in words
        and "A everywhere; B nowhere else." in words
    )


def test_every_stored_number_on_the_page_is_in_its_file(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    for name in ("cifar10_vit", "cifar10_swin"):
        shutil.copy(SHIPPED / f"{name}.safetensors", no_shipped_checkpoints / f"{name}.safetensors")
    chosen = {"model": "checkpoint:cifar10_vit", "image": "cifar10-few:65", "on_picture__kind": "blur"}
    hidden = open_app(PAGE, **chosen)
    assert not any("test pictures, at" in line.value for line in hidden.main.caption), "the question is open"
    app = open_app(PAGE, on_picture__guess="shown", **chosen)
    header, arrays = message(app, VIEW)
    rows = json.loads((SHIPPED / "results/robustness.json").read_text("utf-8"))["rows"]
    for i, name in enumerate(("cifar10_vit", "cifar10_swin")):
        mine = {
            row["value"]: row["right"]
            for row in rows
            if row["model"] == name and row["change"] in ("blur", "none")
        }
        drawn = {
            header["values"][int(at)]: share
            for at, share in zip(arrays["curve_at"], arrays["curve"][i], strict=True)
        }
        assert drawn == pytest.approx(mine, abs=1e-6) and len(mine) > 4
    (text,) = [line.value for line in app.main.caption if "test pictures, at" in line.value]
    last = [row["right"] for row in rows if row["change"] == "blur" and row["value"] == 4]
    assert (
        sum(f"→ {percent(share)}" in text for share in last) >= 2
        and "python -m vitviz.experiment robustness" in text
    )


def test_equivariance_is_said_of_what_is_drawn(open_app: OpenApp) -> None:
    app = open_app(
        PAGE, on_picture__view="shift", on_picture__shift_px="4", on_picture__depth="first", **OPEN
    )
    header, arrays = message(app, "on_picture.moved")
    assert [row["title"] for row in header["rows"]] == _names()
    words = [tile["words"] for tile in header["rows"][1]["tiles"]]
    assert words[0] == "8 × 8 places" and words[1] == "1 cell to the right"
    (text,) = [line.value for line in app.main.caption if line.value.startswith("Moved by 4 px")]
    cnn = header["rows"][0]["title"]
    assert f"the first map of {cnn}" in text.replace("\\", "") or "No model's first map" in text


def test_a_kernel_keeps_its_weights_and_a_head_does_not(open_app: OpenApp) -> None:
    from pages.stores import cached, catalogue, visit

    app = open_app(PAGE, on_picture__view="kernels", on_picture__second="5", on_picture__kernel="2", **OPEN)
    header, arrays = message(app, "on_picture.kernel_maps")
    first, second = (row["tiles"] for row in header["rows"])
    assert np.array_equal(arrays[first[1]["array"]], arrays[second[1]["array"]])
    assert not np.array_equal(arrays[first[2]["array"]], arrays[second[2]["array"]])
    vit = catalogue.models(visit.Visit("x" * 22))["preset:vit_digits"]
    rows = [cached.captured(vit, None, f"digits:{n}", ("blocks.*.attn",), (0.5, 0.5)) for n in (3, 5)]
    a, b = (one["blocks.3.attn"][0, 0, 0] for one in rows)
    (text,) = [line.value for line in app.main.caption if "are computed from each picture" in line.value]
    assert f"head 1 of layer 4 keeps {100 * np.minimum(a, b).sum():.0f}\N{NO-BREAK SPACE}%" in text


def _names() -> list[str]:
    from pages.beyond.on_picture import choosing
    from pages.stores import catalogue, visit

    found = catalogue.models(visit.Visit("x" * 22))
    return [choosing.name_of(found[key]) for key in MODELS.split(",")]
