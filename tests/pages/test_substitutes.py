"""Where a model has nothing to show, the page says why and one click shows one that has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.controls import session_keys
from pages.selection import image_picker, selection, substitutes
from pages.stores import catalogue, registry, shared_cache
from pages.stores.catalogue import ModelChoice
from pages.stores.session import UserSession
from tests.pages.conftest import ROOT, OpenApp, put_shipped, query_value
from vitviz.checkpoint_header import read_header
from vitviz.config import ViTConfig
from vitviz.data import cifar10_few
from vitviz.data.datasets import default_picture
from vitviz.models.abilities import abilities
from vitviz.models.presets import GREY_32, RGB_32


@pytest.mark.parametrize(
    ("page", "model", "controls", "reason", "expected"),
    [
        ("attention", "cnn_digits", {}, "no attention between patches", "vit_digits"),
        ("block", "swin_mnist", {}, "through a ViT block", "vit_mnist"),
        ("patches", "hybrid_cifar10", {}, "overlapping", "vit_cifar10"),
        ("filters", "recipe_e", {}, "no filters to draw", "vit_mnist"),
        (
            "filters",
            "cnn_digits",
            {"filters__view": "express"},
            "never cuts the image into patches",
            "vit_digits",
        ),
        ("attention_distance", "recipe_e", {}, "no attention over a grid of patches", "vit_mnist"),
        (
            "positions",
            "cnn_digits",
            {"positions__view": "resize"},
            "Only learned position embeddings",
            "vit_digits",
        ),
    ],
)
def test_the_sidebar_shows_the_substitute_with_the_reason_and_a_click_selects_it(
    open_app: OpenApp, page: str, model: str, controls: dict[str, str], reason: str, expected: str
) -> None:
    app = open_app(f"pages/lenses/{page}/page.py", model=f"preset:{model}", **controls)
    shown = app.sidebar.selectbox(key="model")
    assert (shown.value, shown.placeholder) == (
        None,
        catalogue.label_model(catalogue.list_models(UserSession("a visit"))[f"preset:{expected}"]),
    )
    assert any(reason in note.value for note in app.sidebar.caption)
    assert query_value(app, "model") == f"preset:{model}", "the link keeps the user's selection"
    assert selected(app).model == f"preset:{expected}"
    by_button = open_app(f"pages/lenses/{page}/page.py", model=f"preset:{model}", **controls)
    by_button.sidebar.button(key="nouns.select_shown").click().run()
    shown.set_value(f"preset:{expected}").run()
    for chosen in (app, by_button):
        assert not chosen.exception
        assert not any(reason in note.value for note in chosen.sidebar.caption)
        assert query_value(chosen, "model") == f"preset:{expected}"
        assert chosen.sidebar.selectbox(key="model").value == f"preset:{expected}"


def selected(app: AppTest) -> selection.Selection:
    """Return the selection in force."""
    value: selection.Selection = app.session_state[session_keys.SELECTION]
    return value


def test_an_image_that_the_substitute_did_not_learn_is_replaced_until_the_user_asks_for_it(
    open_app: OpenApp,
) -> None:
    app = open_app("pages/lenses/hybrids/page.py", model="preset:vit_digits", image="digits:3")
    assert selected(app).model == "preset:hybrid_cifar10"
    assert selected(app).image == "photos:3" and query_value(app, "image") == "digits:3"
    app.sidebar.button(key="nouns.own_image").click().run()
    assert not app.exception
    assert selected(app).image == "digits:3" and query_value(app, "own") == "1"
    again = open_app("pages/lenses/hybrids/page.py", model="preset:vit_digits", image="digits:3", own="1")
    assert selected(again).image == "digits:3"


def test_an_image_that_nobody_selected_is_replaced_without_a_reason(open_app: OpenApp) -> None:
    app = open_app("pages/lenses/hybrids/page.py", model="preset:vit_digits")
    assert selected(app).image.startswith("photos:")
    assert not [button for button in app.sidebar.button if button.key == "nouns.own_image"]


def test_a_page_opens_on_its_own_model_until_something_is_selected(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    put_shipped(no_shipped_checkpoints, "digits_vit", "cifar10_vit")
    distance = "pages/lenses/attention_distance/page.py"
    app = open_app(distance)
    assert selected(app).model == query_value(app, "model") == "checkpoint:cifar10_vit"
    assert selected(open_app(distance, image="digits:3")).model == "checkpoint:digits_vit"
    assert selected(open_app("pages/lenses/block/page.py")).model == "checkpoint:digits_vit"
    app.sidebar.selectbox(key="model").set_value("checkpoint:digits_vit").run()
    assert selected(app).model == query_value(app, "model") == "checkpoint:digits_vit"


def test_every_default_of_a_page_is_shipped_and_can_be_shown() -> None:
    for entry in registry.PAGES:
        if entry.default:
            config = read_header(ROOT / "checkpoints" / f"{entry.default}.safetensors").config
            assert all(
                getattr(abilities(config), need)
                for needs in entry.requires.values()
                for need in needs.split()
            ), entry.slug


@pytest.mark.parametrize("slug", [entry.slug for entry in registry.PAGES if not entry.sidebar])
def test_a_page_without_a_selection_draws_no_sidebar_and_keeps_the_selection(
    open_app: OpenApp, slug: str
) -> None:
    app = open_app(registry.BY_SLUG[slug].path, model="preset:swin_digits", image="digits:3")
    assert not app.sidebar.selectbox and not app.sidebar.button
    assert query_value(app, "model") == "preset:swin_digits" and query_value(app, "image") == "digits:3"


def test_the_first_image_stands_for_the_first_and_any_other_for_its_number() -> None:
    colour = ModelChoice("colour", "", "", ViTConfig(), RGB_32, "cifar10", (0,))
    own = default_picture("cifar10", 3)
    assert substitutes.find_matching_image(colour, "digits:0") == own
    assert substitutes.find_matching_image(colour, "digits:3") == f"{own.partition(':')[0]}:3"
    grey = replace(colour, config=ViTConfig(in_chans=1), preparation=GREY_32, trained_on="digits")
    assert substitutes.find_matching_image(grey, own) == "digits:0"
    assert substitutes.find_matching_image(grey, "sample:cat") == "digits:0"


def test_a_file_with_few_images_has_a_first_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pages ended in an IndexError: the image that CIFAR-10's models open on has a higher number."""
    colour = ModelChoice("colour", "", "", ViTConfig(), RGB_32, "cifar10", (0,))
    monkeypatch.setattr(shared_cache, "count_test_images", lambda name: 2)
    name = default_picture("cifar10", 3).partition(":")[0]
    assert substitutes.find_matching_image(colour, "digits:0") in (f"{name}:0", f"{name}:1")
    assert image_picker._choose_default(colour) == f"{name}:0"


def test_a_few_of_a_set_are_of_that_set_where_the_whole_one_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """With CIFAR-10 on the machine its 200 images were 'not like those that it learned from'."""
    monkeypatch.setattr(substitutes, "default_pictures", lambda trained_on, in_chans: "cifar10")
    colour = ModelChoice("colour", "", "", ViTConfig(), RGB_32, "cifar10", (0,))
    assert substitutes.find_matching_image(colour, f"{cifar10_few.NAME}:65") == f"{cifar10_few.NAME}:65"


def test_the_nearest_is_trained_then_of_the_same_data_then_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    colour = ModelChoice("random", "", "", ViTConfig(), RGB_32, None, (0,))
    grey = replace(colour, key="grey", config=ViTConfig(in_chans=1), preparation=GREY_32, trained_on="digits")
    shapes = replace(colour, key="shapes", trained_on="shapes", curve=((9, 0.99),))
    worse, better = (
        replace(colour, key=key, trained_on="cifar10", curve=((9, accuracy),))
        for key, accuracy in (("worse", 0.68), ("better", 0.74))
    )
    large = replace(better, key="large", config=ViTConfig(image_size=224, patch_size=16), curve=((9, 1.0),))
    there = [colour, grey, shapes, worse, better, large]
    monkeypatch.setattr(selection, "list_models", lambda: {choice.key: choice for choice in there})

    def nearest_to(choice: ModelChoice) -> str:
        monkeypatch.setattr(selection, "get_model_choice", lambda: choice)
        return substitutes.find_nearest_model(substitutes.is_plain_vit).key

    assert nearest_to(replace(worse, key="cnn")) == "better"
    assert nearest_to(replace(shapes, key="cnn")) == "shapes"
    assert nearest_to(replace(grey, key="cnn", trained_on=None)) == "grey"
    assert nearest_to(replace(large, trained_on="LVD-142M", config=ViTConfig(num_classes=0))) == "better"
    there[:] = [colour, grey]
    assert nearest_to(colour) == "grey"
