"""Test 'CNN or ViT on your image': the changes, the parts, the shifts and the kernels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from pages.lenses.on_your_image import parts, perturbation, shift_equivariance
from pages.lenses.on_your_image import perturbation as change_page
from pages.lenses.on_your_image.parts import PartControls
from pages.lenses.on_your_image.perturbation import PerturbationView
from tests.messages import message
from tests.pages.conftest import OpenApp, captions, opened_again, put_shipped, query_value
from vitviz.analysis.image_changes import CHANGES, WHOLE, apply_change
from vitviz.analysis.image_parts import (
    ImagePart,
    assemble,
    cut_part,
    encode_parts,
    fill_holes,
    misplace_parts,
)
from vitviz.data.datasets import load_dataset
from vitviz.experiments import result_file as results
from vitviz.probe.robustness import Sweep
from vitviz.text import percent

SHIPPED = Path(__file__).parents[2] / "checkpoints"
PAGE = "pages/lenses/on_your_image/page.py"
MODELS = "preset:cnn_digits,preset:vit_digits"
OPEN = {"model": "preset:vit_digits", "image": "digits:3", "on_picture__models": MODELS}
VIEW = "on_picture.sweep"


@pytest.mark.parametrize("kind", ["shift", "noise", "shuffle", "occlude", "pieces"])
def test_the_slider_holds_the_models_own_answers(open_app: OpenApp, kind: str) -> None:
    from pages.stores import catalogue, session, shared_cache

    app = open_app(
        PAGE, on_picture__kind=kind, on_picture__pieces="1023456789abcdef", on_picture__guess="shown", **OPEN
    )
    header, arrays = message(app, VIEW)
    assert [model["by"] for model in header["models"]] == ["gradient", "attention"]
    own = np.broadcast_to(shared_cache.load_dataset("digits").test_images[3], (32, 32, 3))
    last = len(CHANGES[kind].values) - 1
    setting = PerturbationView(0, pieces=(1, 0, *range(2, 16))).build_setting(0, kind)
    strongest = apply_change(np.array(own), kind, CHANGES[kind].values[last], setting)
    assert np.array_equal(arrays["frames"][last], strongest)
    choices = catalogue.list_models(session.UserSession("x" * 22))
    for i, key in enumerate(MODELS.split(",")):
        x = torch.tensor(strongest[None, None, ..., 0] / 255 - 0.5, dtype=torch.float32) / 0.5
        with torch.no_grad():
            wanted = shared_cache.load_model(choices[key]).model(x).softmax(-1)[0]
        assert np.allclose(arrays["chances"][i, last], wanted, atol=1e-5)


def test_a_guess_reveals_and_is_answered_from_the_measured_range(open_app: OpenApp) -> None:
    first = message(open_app(PAGE, **OPEN), VIEW)[1]["chances"][0, 0].argmax()
    known = OPEN | {"image": f"digits:{np.flatnonzero(load_dataset('digits').labels_of('test') == first)[0]}"}
    app = open_app(PAGE, **known)
    concealed, waiting = message(app, VIEW)
    assert not concealed["revealed"] and "on_picture.guess" not in app.query_params
    assert (concealed["change"], concealed["hand"]["at"]) == ("rotate", concealed["neutral"])
    reported = open_app(PAGE, on_picture__guess="preset:cnn_digits", **known)
    header, arrays = message(reported, VIEW)
    assert header["revealed"]
    answers = arrays["chances"].argmax(axis=-1)
    start = header["neutral"]
    own = np.stack([rows[:, rows[start].argmax()] for rows in arrays["chances"]])
    assert np.allclose(waiting["band"], [own.min(axis=0), own.max(axis=0)])
    assert np.ptp(own, axis=0).max() > 0.01
    assert waiting["chances"].shape[1] == 1  # of the unchanged image alone
    assert np.array_equal(waiting["chances"][:, 0], arrays["chances"][:, start])
    assert all(len(waiting[f"view{i}"]) == 1 for i in range(len(own))) and "curve" not in waiting
    ranges = [perturbation.find_stable_range(row, start, header["truth"]) for row in answers]
    steps = [0 if stable.wrong else stable.steps for stable in ranges]
    assert steps[0] > 0 == header["truth"] - first
    (text,) = [
        line.value
        for line in reported.main.markdown
        if "keep" in line.value and "On this image" in line.value
    ]
    verdict = "correct" if steps[0] == max(steps) else "wrong"
    assert f"is {verdict}." in text and f"over {max(steps)} of {len(header['words']) - 1} steps" in text


def test_a_link_restores_change_slider_and_cover(open_app: OpenApp) -> None:
    query = {"kind": "occlude", "at": "5", "place": "0.25,0.75", "seen": "1"}
    app = open_app(PAGE, **OPEN, **{f"on_picture__{name}": value for name, value in query.items()})
    assert {name: query_value(app, f"on_picture.{name}") for name in query} == query
    assert query_value(app, "on_picture.models") == MODELS
    begun = message(app, VIEW)[0]["hand"]
    assert (begun["at"], begun["place"], begun["seen"]) == (5, [0.25, 0.75], True)


def test_a_reload_keeps_the_slider_and_another_change_begins_anew(open_app: OpenApp) -> None:
    app = open_app(PAGE, on_picture__at="12", on_picture__seen="1", **OPEN)
    app.selectbox(key="on_picture.kind").set_value("rotate").run()
    assert message(app, VIEW)[0]["hand"]["at"] == CHANGES["rotate"].start
    app = open_app(PAGE, on_picture__at="12", on_picture__seen="1", **OPEN)
    again = opened_again(app, app.session_state["_visit"])
    begun = message(again, VIEW)[0]["hand"]
    assert (begun["at"], begun["seen"]) == (12, True) and query_value(again, "on_picture.at") == "12"


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
        begun["place"] == [0.5, 0.5]
        and begun["pieces"] == list(WHOLE)
        and begun["at"] == CHANGES[change_page.ORDER[0]].start
    )


def test_what_a_browser_says_is_checked() -> None:
    before = PerturbationView(3)
    assert (
        perturbation.parse_event({"at": True, "place": [1], "pieces": [0] * 16, "seen": 1}, before, "shift")
        == before
    )
    moved = perturbation.parse_event(
        {"at": 4, "place": [0, 0.5], "pieces": list(WHOLE[::-1]), "seen": True}, before, "shift"
    )
    assert moved == PerturbationView(4, (0.0, 0.5), WHOLE[::-1], True)


def test_how_far_an_answer_is_kept() -> None:
    found = perturbation.find_stable_range(np.array([1, 0, 0, 0, 2]), 2)
    assert (found.predicted, found.first, found.last, found.steps) == (0, 1, 3, 2)
    none = perturbation.StableRange(0, 12, 12)
    words = perturbation.describe_outcome(
        "b", ["a", "b"], ["A", "B"], [perturbation.StableRange(0, 0, 24), none], "shift", 32
    )
    assert (
        words.startswith("Your prediction, B, is wrong.")
        and "**A** keeps" in words
        and "A: at all strengths; B: only without a change." in words
    )


def test_a_wrong_prediction_is_never_praised() -> None:
    wrong, right = (
        perturbation.find_stable_range(np.array(row), 1, truth=0) for row in ([1, 1, 1], [1, 0, 0])
    )
    assert (wrong.wrong, wrong.steps, right.wrong, right.steps) == (True, 2, False, 1)
    names = ["a", "b"], ["A", "B"]
    words = perturbation.describe_outcome("a", *names, [wrong, right], "blur", 32)
    assert words.startswith("Your prediction, A, is wrong.") and "**B** keeps its correct prediction" in words
    assert "A: at all strengths, but it is wrong" in perturbation.describe_outcome(
        "a", *names, [perturbation.StableRange(1, 0, 16, wrong=True)] * 2, "blur", 32
    )
    none = perturbation.describe_outcome("a", *names, [wrong, wrong], "blur", 32)
    assert "**no model** keeps a correct prediction" in none


def test_of_models_that_all_change_at_once_none_keeps_its_answer() -> None:
    words = perturbation.describe_outcome(
        "a",
        ["a", "b"],
        ["A", "B"],
        [perturbation.StableRange(0, 0, 0), perturbation.StableRange(1, 0, 0)],
        "pieces",
        32,
    )
    assert (
        words == "Your prediction, A, is wrong. On this image **no model** keeps its prediction."
        " A: changes it; B: changes it."
    )


def test_maps_are_first_shifted_as_far_as_tells_models_apart() -> None:
    found = results.read_result("robustness")
    here = {row["value"] for row in found.where(change="shift", model="cifar10_cnn_wide")}
    apart = {
        px: np.ptp([row["same"] for row in found.where(change="shift", value=px)])
        for px in here & {*range(1, shift_equivariance.MOST_PX + 1)}
    }
    assert max(apart, key=apart.__getitem__) == shift_equivariance.FIRST_PX


def test_every_stored_number_on_the_page_is_in_its_file(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    put_shipped(no_shipped_checkpoints, "cifar10_vit", "cifar10_swin")
    chosen = {"model": "checkpoint:cifar10_vit", "image": "cifar10-few:65", "on_picture__kind": "blur"}
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


def test_an_image_is_not_compared_with_itself(open_app: OpenApp) -> None:
    """The page compared an image with itself and called one head highest and lowest at once."""
    own = {"model": "preset:vit_digits", "image": "digits:65"}
    shown = {"on_picture__view": "kernels", "on_picture__stays": "shown"}
    app = open_app(PAGE, **shown, **own)
    assert app.main.number_input(key="on_picture.second").value == 64
    app = open_app(PAGE, **shown, **own, on_picture__second="65")
    assert not app.exception and "second image" in app.main.info[0].value
    assert not any("Highest of" in line.value for line in app.main.caption)


def test_a_kernel_keeps_its_weights_and_a_head_does_not(open_app: OpenApp) -> None:
    from pages.stores import catalogue, session, shared_cache

    view = {"view": "kernels", "second": "5", "kernel": "2", "stays": "shown"}
    app = open_app(PAGE, **{f"on_picture__{key}": value for key, value in view.items()}, **OPEN)
    _, arrays = message(app, "on_picture.kernel_maps")  # of each image: itself, the weights, the feature map
    assert np.array_equal(arrays["values1"], arrays["values4"])
    assert not np.array_equal(arrays["values2"], arrays["values5"])
    vit = catalogue.list_models(session.UserSession("x" * 22))["preset:vit_digits"]
    rows = [
        shared_cache.capture_activations(vit, None, f"digits:{n}", ("blocks.*.attn",), (0.5, 0.5))
        for n in (3, 5)
    ]
    a, b = (one["blocks.3.attn"][0, 0, 0] for one in rows)
    (text,) = [line.value for line in app.main.caption if "Highest of" in line.value]
    assert f"Head 1 of layer 4 keeps {100 * np.minimum(a, b).sum():.0f}\N{NO-BREAK SPACE}%" in text


def test_a_face_in_parts_holds_the_models_own_answers(open_app: OpenApp) -> None:
    from pages.stores import catalogue, session, shared_cache

    put = (ImagePart(4, 4, 8, 6, 18, 20), cut_part(20, 4, 6, 6))
    app = open_app(PAGE, on_picture__view="parts", on_picture__apart=encode_parts(put), **OPEN)
    header, arrays = message(app, "on_picture.parts")
    own = np.array(np.broadcast_to(shared_cache.load_dataset("digits").test_images[3], (32, 32, 3)))
    assert header["parts"] == [[4, 4, 8, 6, 18, 20], [20, 4, 6, 6, 20, 4]]
    assert np.array_equal(arrays["frames"], [own, assemble(own, put), fill_holes(own, put)])
    choices = catalogue.list_models(session.UserSession("x" * 22))
    for i, key in enumerate(MODELS.split(",")):
        x = torch.tensor(arrays["frames"][:2, None, ..., 0] / 255 - 0.5, dtype=torch.float32) / 0.5
        with torch.no_grad():
            wanted = shared_cache.load_model(choices[key]).model(x).softmax(-1).numpy()
        assert np.allclose(arrays["chances"][i], wanted, atol=1e-5)
        before, now = (f"{100 * share:.1f} %" for share in wanted[:, header["watched"]])
        assert f" {before} → {now}" in captions(app)
    assert header["watched"] == header["truth"] == int(shared_cache.load_dataset("digits").test_labels[3])
    assert query_value(app, "on_picture.apart") == encode_parts(put)


def test_parts_begin_on_the_cat_and_a_guess_is_answered_by_one_click(open_app: OpenApp) -> None:
    models = "preset:cnn_cifar10,preset:vit_cifar10"
    chosen = {"model": "preset:vit_cifar10", "image": "sample:cat", "on_picture__models": models}
    app = open_app(PAGE, on_picture__view="parts", **chosen)
    header, arrays = message(app, "on_picture.parts")
    assert list(header["named"]) == ["left eye", "right eye", "nose", "ear"]
    assert [part[:4] for part in header["parts"]] == list(header["named"].values())
    assert all(part[:2] == part[4:] for part in header["parts"]) and "in place" in captions(app)
    reported = open_app(PAGE, on_picture__view="parts", on_picture__guess="preset:vit_cifar10", **chosen)
    (text,) = [line.value for line in reported.main.markdown if "misplaced parts" in line.value]
    named = {name: cut_part(*at) for name, at in header["named"].items()}
    wrong = open_app(
        PAGE,
        on_picture__view="parts",
        on_picture__apart=encode_parts(misplace_parts(tuple(named.values()), 32)),
        **chosen,
    )
    _, after = message(wrong, "on_picture.parts")
    watched = header["watched"]
    for before, now in zip(arrays["chances"][:, 0, watched], after["chances"][:, 1, watched], strict=True):
        assert f"{percent(float(before))} → {percent(float(now))}" in text
    lost = after["chances"][:, 0, watched] - after["chances"][:, 1, watched]
    assert ("correct" if lost.argmax() == 1 else "wrong") in text
    assert header["truth"] == -1 and "cannot test it" not in text  # a preset's classes have no names


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ((3, 3, 3, 5), "the CNN keeps its prediction and the ViT changes its prediction; one image"),
        ((3, 5, 3, 3), "the CNN changes its prediction and the ViT keeps its prediction; one image"),
        ((3, 3, 6, 6), "cannot test it: for the whole image, the ViT predicts frog."),
    ],
)
def test_the_lectures_claim_is_tested_of_who_knows_the_image(answers: tuple[int, ...], words: str) -> None:
    chances, views = np.eye(10)[list(answers)], np.zeros((1, 2, 2))
    sweeps = [Sweep(one[None], views, "gradient") for one in chances]
    reported = [
        parts.PartPredictions(family, family, whole, wrong, wrong)
        for family, whole, wrong in (("CNN", *sweeps[:2]), ("ViT", *sweeps[2:]))
    ]
    classes = [f"c{i}" for i in range(10)]
    classes[6] = "frog"
    assert words in parts.check_claim(reported, 3, classes)
    assert parts.check_claim(reported[:1], 3, classes) == ""


@pytest.mark.parametrize("apart", ["", "zzz", "001100" * 9, "__" * 3])
def test_a_hostile_arrangement_falls_back(open_app: OpenApp, apart: str) -> None:
    app = open_app(
        PAGE, on_picture__view="parts", on_picture__apart=apart, on_picture__apart_seen="x", **OPEN
    )
    assert [tuple(part[:4]) for part in message(app, "on_picture.parts")[0]["parts"]] == [
        (8, 8, 8, 8),
        (16, 8, 8, 8),
        (8, 16, 8, 8),
        (16, 16, 8, 8),
    ]


def test_what_a_browser_says_of_parts_is_checked() -> None:
    before = PartControls(encode_parts((cut_part(0, 0, 4, 4),)), False)
    for hostile in ({"apart": 3, "apart_seen": 1}, {"apart": ["0"], "apart_seen": []}, {}):
        assert parts.parse_state(hostile, before, 32) == before
    moved = encode_parts((ImagePart(0, 0, 4, 4, 9, 9),))
    assert parts.parse_state({"apart": moved, "apart_seen": True}, before, 32) == PartControls(moved, True)


def read_model_names() -> list[str]:
    from pages.lenses.on_your_image import compared_models
    from pages.stores import catalogue, session

    found = catalogue.list_models(session.UserSession("x" * 22))
    return [compared_models.shorten_title(found[key]) for key in MODELS.split(",")]
