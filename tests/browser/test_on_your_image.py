"""Test 'CNN or ViT on your image' in a browser: the displayed predictions are the models' own."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, frames_sent, settle, wait_for
from vitviz.analysis.image_parts import assemble, encode_parts, misplace_parts
from vitviz.checkpoint_header import read_header
from vitviz.checkpoints import open_model
from vitviz.config import Preparation
from vitviz.data.faces import parts_of
from vitviz.data.image_preprocessing import prepare
from vitviz.data.samples import load_sample
from vitviz.text import percent

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
MODELS = ("cnn_wide", "vit", "hybrid", "swin", "deit_soft")
SIDE = 64


def make_image() -> np.ndarray:
    """Return smooth colour waves, so that resizing from 64 to 32 px is unambiguous."""
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE
    waves = [np.sin(7 * x + 3 * y), np.cos(5 * y * x), np.sin(4 * y) * np.cos(9 * x)]
    return np.rint(127.5 + 127 * np.stack(waves, axis=-1)).astype(np.uint8)


def encode_png(image: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(image).save(out, "PNG")
    return out.getvalue()


def shift_image(image: np.ndarray, columns: int) -> np.ndarray:
    """Shift the 32 px image to the right, without the project's own code."""
    small = np.array(Image.fromarray(image).resize((32, 32), Image.Resampling.BICUBIC))
    edge = np.concatenate([small[0], small[-1], small[1:-1, 0], small[1:-1, -1]]).astype(np.float64)
    padded = np.repeat(np.rint(edge.mean(0))[None, None], 32, 0).repeat(32, 1)
    padded[:, columns:] = small[:, : 32 - columns]
    return padded


def predict_classes(image: np.ndarray) -> list[tuple[str, float]]:
    """Return each model's predicted class and its probability."""
    found = []
    x = torch.tensor((image / 255 - 0.5) / 0.5, dtype=torch.float32).permute(2, 0, 1)[None]
    for name in MODELS:
        path = CHECKPOINTS / f"cifar10_{name}.safetensors"
        model = open_model(path, read_header(path).steps[-1])
        with torch.no_grad():
            chances = model.model(x).softmax(-1)[0]
        found.append((model.classes[int(chances.argmax())], float(chances.max())))
    return found


def read_predictions(page: Page) -> list[str]:
    return page.locator("[data-component] .op-answer").all_text_contents()


@pytest.mark.slow
def test_before_a_guess_the_range_of_all_models_waits(open_page: OpenPage) -> None:
    page = open_page(
        "on_your_picture?model=checkpoint:cifar10_vit&image=cifar10-few:118&on_picture.kind=rotate"
    )
    view = page.locator("[data-component=sweep_view]")
    expect(page.get_by_label("Range of all models’ confidence, from −180° to 180°")).to_be_visible()
    before = read_predictions(page)
    view.locator("input[type=range]").press("ArrowRight")
    expect(view).to_have_attribute("data-at", "13")  # it opened on the unchanged image
    assert read_predictions(page) == before
    page.get_by_test_id("stButtonGroup").get_by_text("Skip", exact=True).click()
    expect(page.get_by_label("Confidence in each model’s initial prediction")).to_be_visible()
    assert read_predictions(page) != before


@pytest.mark.slow
def test_a_slider_on_an_upload_moves_five_answers_that_are_the_models_own(open_page: OpenPage) -> None:
    image = make_image()
    page = open_page("filters?model=checkpoint:cifar10_vit&image=cifar10-few:3")
    page.get_by_text("Upload", exact=True).click()
    page.locator('input[type="file"]').set_input_files(
        {"name": "waves.png", "mimeType": "image/png", "buffer": encode_png(image)}
    )
    page.wait_for_function("() => location.search.includes('upload')")
    page.goto(
        f"{page.url.replace('/filters', '/on_your_picture')}&on_picture.kind=shift&on_picture.guess=shown"
    )
    view = page.locator("[data-component=sweep_view]")
    expect(view).to_have_attribute("data-ready", "true", timeout=120_000)  # five models are loaded
    sent = frames_sent(page)
    expect(view).to_have_attribute("data-ready", "true", timeout=120_000)
    slider = view.locator("input[type=range]")
    expect(slider).to_have_attribute("max", "24")
    reported: list[list[str]] = []
    for columns in (0, 5, 9):
        slider.evaluate(
            "(node, at) => { node.value = at; node.dispatchEvent(new Event('input')); }", str(12 + columns)
        )
        expect(view).to_have_attribute("data-at", str(12 + columns))
        for text, (name, chance) in zip(
            read_predictions(page), predict_classes(shift_image(image, columns)), strict=True
        ):
            answer, share = text.replace("\N{NO-BREAK SPACE}%", "").rsplit(" ", 1)
            assert answer == name and abs(float(share) - 100 * chance) < 0.11, (columns, text, name, chance)
        reported.append(read_predictions(page))
    assert reported[0] != reported[1] != reported[2] and not sent
    slider.dispatch_event("change")  # at rest: the link follows
    page.wait_for_url("**on_picture.at=21**")


@pytest.mark.slow
def test_a_cover_is_dragged_and_pieces_change_places(open_page: OpenPage) -> None:
    page = open_page(
        "on_your_picture?model=checkpoint:cifar10_vit&image=cifar10-few:3&on_picture.kind=occlude&on_picture.guess=shown"
    )
    view = page.locator("[data-component=sweep_view]")
    image = view.locator(".op-picture")
    expect(view).to_have_attribute("data-ready", "true")
    before = read_predictions(page)
    image.scroll_into_view_if_needed()
    box = image.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 4, steps=6)
    page.mouse.up()
    page.wait_for_url("**on_picture.place=0.25**")
    expect(view.locator(".op-answer").first).not_to_have_text(before[0])
    page.goto(page.url.replace("kind=occlude", "kind=pieces"))
    page.get_by_role("button", name="Misplace pieces").click()
    page.wait_for_url("**on_picture.pieces=dcfe98ba54761032**")


PAIR = "on_picture.models=checkpoint:cifar10_cnn,checkpoint:cifar10_vit"


@pytest.mark.slow
def test_both_models_follow_the_cover_without_the_server(open_page: OpenPage) -> None:
    page = open_page(
        "on_your_picture?model=checkpoint:cifar10_vit&image=cifar10-few:3&on_picture.kind=occlude"
        f"&on_picture.guess=shown&on_picture.at=3&{PAIR}"
    )
    view = page.locator("[data-component=sweep_view]")
    image = view.locator(".op-picture")
    expect(view).to_have_attribute("data-ready", "true", timeout=120_000)
    expect(view.locator(".op-answer")).to_have_count(2)
    image.scroll_into_view_if_needed()
    box = image.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    # Until the weights are there, the server answers a rest sooner: the square moves again.
    view.evaluate(
        """(node) => {
          const read = (part) => [...node.querySelectorAll(part)].map((each) => each.textContent);
          new MutationObserver(() => {
            if (!node.dataset.live) return;
            node.lastLive = node.dataset.live;
            if (node.dataset.live.startsWith('[[0.25,0.25]')) node.answers = [read('.op-answer'), read('.op-bars')];
          }).observe(node, { attributes: true });
        }"""
    )

    def move() -> str:
        for share in (3, 4):
            page.mouse.move(box["x"] + box["width"] / share, box["y"] + box["height"] / share, steps=6)
            page.wait_for_timeout(150)
        return view.evaluate("node => node.lastLive") or ""

    wait_for(page, move, lambda live: live.startswith("[[0.25,0.25]"))
    live = view.evaluate("node => node.answers")
    page.mouse.up()
    page.wait_for_url("**on_picture.place=0.25**")
    expect(view).not_to_have_attribute("data-live", re.compile("."))
    assert [read_predictions(page), view.locator(".op-bars").all_text_contents()] == live


@pytest.mark.slow
def test_a_hidden_prediction_has_no_weights_in_the_browser(open_page: OpenPage) -> None:
    fetched: list[str] = []
    page = open_page("patches")
    page.on("request", lambda request: fetched.append(request.url))
    page.goto(
        page.url.partition("/patches")[0]
        + f"/on_your_picture?model=checkpoint:cifar10_vit&image=cifar10-few:3&on_picture.kind=occlude&{PAIR}"
    )
    view = page.locator("[data-component=sweep_view]")
    expect(view).to_have_attribute("data-ready", "true", timeout=120_000)
    image = view.locator(".op-picture")
    image.scroll_into_view_if_needed()
    image.click(position={"x": 60, "y": 60})
    page.wait_for_url("**on_picture.place=**")
    expect(page.get_by_test_id("stButtonGroup").get_by_text("Skip", exact=True)).to_be_visible()
    assert not [address for address in fetched if "/media/" in address and address.endswith(".gz")], fetched


@pytest.mark.slow
def test_a_face_is_put_together_wrong_by_a_click_by_hand_and_by_keys(open_page: OpenPage) -> None:
    page = open_page("on_your_picture?model=checkpoint:cifar10_vit&image=sample:cat&on_picture.view=parts")
    view = page.locator("[data-component=parts_view]")
    expect(view).to_have_attribute("data-ready", "true", timeout=120_000)  # five models are loaded
    parts = tuple(parts_of("cat", (0.0, 75.5, 300.0, 300.0), 32).values())
    before = read_predictions(page)
    view.get_by_role("button", name="Misplace parts").click()
    wrong = misplace_parts(parts, 32)
    expect(view).to_have_attribute("data-parts", encode_parts(wrong))  # the server has answered to it
    assert (
        read_predictions(page)
        == [f"{name} {percent(chance)}" for name, chance in predict_classes(assemble(prepare_cat(), wrong))]
        != before
    )
    view.get_by_role("button", name="Restore parts").click()
    expect(view).to_have_attribute("data-parts", encode_parts(parts))
    assert read_predictions(page) == before

    settle(page)  # what the answer moves has moved
    nose = view.get_by_role("button", name="nose")
    nose.hover(position={"x": 10, "y": 10})
    box = nose.bounding_box()
    assert box is not None
    pixel = box["width"] / parts[2].width
    page.mouse.move(box["x"] + 10, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 10 - 6 * pixel, box["y"] + 10 - 10 * pixel, steps=5)
    page.mouse.up()
    nose.press("ArrowLeft")
    moved = replace(parts[2], x=parts[2].x - 7, y=parts[2].y - 10)
    expect(view).to_have_attribute("data-parts", encode_parts((*parts[:2], moved, parts[3])))
    page.wait_for_url(f"**on_picture.apart={encode_parts((*parts[:2], moved, parts[3]))}**")
    page.reload()
    expect(view).to_have_attribute("data-parts", encode_parts((*parts[:2], moved, parts[3])), timeout=120_000)


def prepare_cat() -> np.ndarray:
    """Return the models' input for the cat."""
    return prepare(load_sample("cat"), Preparation(image_size=32)).shown
