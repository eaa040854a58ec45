"""Test that model, step, image and pin stay from page to page, with one photo and with an image of a class."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages.controls import session_keys
from pages.stores import registry
from tests.pages.conftest import OpenApp, put_shipped, query_value
from vitviz.models.published_weights import SHIPPED

PHOTO = f"pretrained:{SHIPPED}"
PHOTO_PAGES = ("patches", "attention", "layers", "two_images")
WALK = (
    "attention",
    "patches",
    "filters",
    "swin",
    "positions",
    "block",
    "attention_distance",
    "distillation",
    "layers",
    "two_images",
    "attention",
)
SUBSTITUTED = {"swin": "checkpoint:cifar10_swin", "distillation": "checkpoint:cifar10_deit_soft"}


@pytest.fixture
def shipped(no_shipped_checkpoints: Path) -> Path:
    """The photo model and the models that pages show instead of it."""
    own = ("cifar10_vit", "cifar10_swin", "cifar10_deit_soft", "cifar10_cnn", "digits_vit")
    put_shipped(no_shipped_checkpoints, SHIPPED, *own)
    return no_shipped_checkpoints


@pytest.mark.parametrize("slug", PHOTO_PAGES)
def test_pages_open_on_a_photo_with_the_photo_model(open_app: OpenApp, shipped: Path, slug: str) -> None:
    app = open_app(registry.BY_SLUG[slug].path)
    assert (query_value(app, "model"), query_value(app, "image")) == (PHOTO, registry.BY_SLUG[slug].photo)
    assert not app.main.error and not app.main.info
    if slug == "attention":
        assert (query_value(app, "attention.layer"), query_value(app, "attention.head")) == ("10", "5")


@pytest.mark.parametrize("view", registry.BY_SLUG["attention"].class_views)
def test_a_view_about_classes_opens_on_a_model_with_classes(
    open_app: OpenApp, shipped: Path, view: str
) -> None:
    app = open_app(registry.BY_SLUG["attention"].path, **{"attention.view": view})
    assert (query_value(app, "model"), query_value(app, "image")) == (
        "checkpoint:cifar10_vit",
        "cifar10-few:134",
    )
    assert not any("no classifier head" in info.value for info in app.main.info)


def test_a_chosen_model_without_classes_keeps_its_reason(open_app: OpenApp, shipped: Path) -> None:
    app = open_app(registry.BY_SLUG["attention"].path, model=PHOTO, **{"attention.view": "methods"})
    texts = [*app.main.info, *app.main.caption]
    assert query_value(app, "model") == PHOTO and any("no classifier head" in text.value for text in texts)


def test_without_the_photo_model_they_open_on_their_other_default(open_app: OpenApp, shipped: Path) -> None:
    (shipped / f"{SHIPPED}.safetensors").unlink()
    app = open_app(registry.BY_SLUG["attention"].path)
    assert (query_value(app, "model"), query_value(app, "image")) == (
        "checkpoint:cifar10_vit",
        "cifar10-few:134",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "image"), [(PHOTO, "sample:cat"), ("checkpoint:cifar10_vit", "cifar10-few:118")]
)
def test_a_walk_of_ten_pages_keeps_model_and_image(
    open_app: OpenApp, shipped: Path, model: str, image: str
) -> None:
    """A page that cannot use the model shows another, and the next page shows the model again."""
    linked = {} if model == PHOTO else {"model": model, "image": image, "pin": "0.100,0.900"}
    app = open_app(registry.BY_SLUG[WALK[0]].path, **linked)
    for slug in WALK[1:]:
        app.switch_page(registry.BY_SLUG[slug].path).run()
        assert not app.exception, slug
        assert (query_value(app, "model"), query_value(app, "image")) == (model, image), slug
        assert app.session_state[session_keys.SELECTION].model == SUBSTITUTED.get(slug, model), slug
        assert not linked or query_value(app, "pin") == linked["pin"], (slug, query_value(app, "pin"))


@pytest.mark.parametrize(
    ("image", "model"),
    [
        ("sample:coffee", PHOTO),
        ("cifar10-few:3", "checkpoint:cifar10_vit"),
        ("digits:3", "checkpoint:digits_vit"),
    ],
)
def test_a_link_that_names_an_image_opens_the_model_that_suits_it(
    open_app: OpenApp, shipped: Path, image: str, model: str
) -> None:
    app = open_app(registry.BY_SLUG["attention"].path, image=image)
    assert (query_value(app, "model"), query_value(app, "image")) == (model, image)


@pytest.mark.parametrize(("linked", "nearest"), [("1", "0"), ("1000", "1179"), ("40000", "40500")])
def test_a_link_to_a_dropped_step_opens_the_nearest_and_says_so(
    open_app: OpenApp, shipped: Path, linked: str, nearest: str
) -> None:
    app = open_app(registry.BY_SLUG["attention"].path, model="checkpoint:cifar10_vit", step=linked)
    assert query_value(app, "step") == nearest
    notes = [caption.value for caption in app.sidebar.caption]
    assert (
        f"Step {int(linked):,} of this model is not stored. The nearest one, {int(nearest):,}, is shown."
        in notes
    )
    app.sidebar.select_slider(key="step").set_value(34).run()
    assert not any("is not stored" in caption.value for caption in app.sidebar.caption)


def test_a_link_to_a_dropped_step_of_a_cnn_opens_its_last(open_app: OpenApp, shipped: Path) -> None:
    app = open_app(registry.BY_SLUG["on_your_picture"].path, model="checkpoint:cifar10_cnn", step="32")
    assert query_value(app, "step") == "33750"
    assert any("Step 32 of this model is not stored" in caption.value for caption in app.sidebar.caption)


@pytest.mark.parametrize("pin", ["28", "4,4"])
def test_an_address_names_a_patch_by_number_or_row_and_column(open_app: OpenApp, pin: str) -> None:
    app = open_app(registry.BY_SLUG["attention"].path, model="preset:vit_digits", image="digits:3", pin=pin)
    assert query_value(app, "pin") == "0.438,0.438"
