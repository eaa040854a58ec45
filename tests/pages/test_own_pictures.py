"""Every page shows a model a picture of the set that the model learned from: no digit before a model of photos."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages.shell import registry
from pages.stores import cached
from pages.stores.choice import ModelChoice
from tests.pages.conftest import OpenApp, said

SHIPPED = Path(__file__).parents[2] / "checkpoints"
# What a model learned from -> the pictures that stand for it where only the package is installed.
OWN = {"digits": "digits", "mnist": "digits", "shapes": "shapes", "cifar10": "cifar10-few"}
# One of each set and of each family; what each page lacks, another must bring.
MODELS = ("digits_vit", "shapes_vit", "cifar10_cnn", "mnist_vit", "cifar10_deit_soft", "digits_swin")
ASKING = {"block", "attention", "layers", "hybrids", "distillation"}  # at first sight, of a shipped model
STAND_INS = ("swin", "distillation", "filters", "exercises")


@pytest.fixture
def seen(
    no_shipped_checkpoints: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> list[tuple[str, str]]:
    """(what a model learned from, the picture that it was shown) of every pass through a shipped model."""
    for file in SHIPPED.iterdir():
        (no_shipped_checkpoints / file.name).symlink_to(file)
    monkeypatch.setenv("VITVIZ_DATA", str(tmp_path / "no_data"))
    found: list[tuple[str, str]] = []

    def spied(name: str, place: int) -> None:
        asked = getattr(cached, name)

        def spy(*args: object) -> object:
            choice = args[0]
            assert isinstance(choice, ModelChoice)
            if choice.trained_on is not None:
                found.append((choice.trained_on, str(args[place])))
            return asked(*args)

        monkeypatch.setattr(cached, name, spy)

    spied("captured", 2)
    spied("journey", 2)
    return found


def check(seen: list[tuple[str, str]]) -> None:
    wrong = {(trained_on, image) for trained_on, image in seen if OWN[trained_on] != image.partition(":")[0]}
    assert not wrong


@pytest.mark.parametrize("entry", registry.PAGES, ids=lambda entry: str(entry.slug))
def test_every_page_at_first_sight(
    open_app: OpenApp, seen: list[tuple[str, str]], entry: registry.PageEntry
) -> None:
    open_app(entry.path)
    check(seen)
    assert bool(seen) == (entry.slug in ASKING), "ASKING names the pages that are checked here"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("slug", STAND_INS)
def test_what_stands_in_brings_its_picture(
    open_app: OpenApp, seen: list[tuple[str, str]], slug: str, model: str
) -> None:
    view = {"swin": {"swin__view": "attention"}, "filters": {"filters__view": "express"}}.get(slug, {})
    app = open_app(registry.BY_SLUG[slug].path, model=f"checkpoint:{model}", **view)
    check(seen)
    assert bool(seen) == (slug in ("swin", "distillation"))
    assert said(app, "model") == f"checkpoint:{model}"


@pytest.mark.parametrize(("slug", "view"), [("swin", "attention"), ("swin", "merge"), ("swin", "travel")])
def test_a_picture_of_another_set_is_replaced_and_the_link_keeps_it(
    open_app: OpenApp, seen: list[tuple[str, str]], slug: str, view: str
) -> None:
    """Shapes are in colour as CIFAR's photos are, so the number of channels does not tell them apart."""
    link = {"model": "checkpoint:shapes_vit", "image": "shapes:3", f"{slug}__view": view}
    app = open_app(registry.BY_SLUG[slug].path, **link)
    assert said(app, "image") == "shapes:3"
    assert any("**CIFAR-10, a few 3, " in text.value for text in app.main.markdown)
    check(seen)


def test_the_offer_takes_a_picture_with_it(open_app: OpenApp, seen: list[tuple[str, str]]) -> None:
    page = registry.BY_SLUG["distillation"].path
    app = open_app(page, model="checkpoint:digits_vit", image="digits:7")
    app.main.button(key="distillation.choose").click().run()
    assert not app.exception
    assert said(app, "model") == "checkpoint:cifar10_deit_soft"
    assert said(app, "image") == "cifar10-few:7"
