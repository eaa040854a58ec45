"""Test the images beside a lesson's text: whole, with numbers of the papers and of the code that they draw."""

import re
from xml.etree import ElementTree

import pytest

from vitviz.lessons.lesson import PICTURES
from vitviz.models.published_results import TRANSFERS
from vitviz.papers import cite
from vitviz.plots import lesson_pictures
from vitviz.training import lesson_recipe

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", PICTURES)
def test_an_image_keeps_its_width_and_cites_papers(name: str) -> None:
    assert tuple(lesson_pictures.PICTURES) == PICTURES
    light, dark = (lesson_pictures.PICTURES[name](mode) for mode in ("light", "dark"))
    root = ElementTree.fromstring(light)
    assert light != dark and root.get("viewBox", "").startswith(f"0 0 {lesson_pictures.WIDTH} ")
    assert all(0 <= float(text.get("x", "")) < lesson_pictures.WIDTH for text in root.iter(f"{SVG}text"))
    assert "{" not in cite(lesson_pictures.CAPTIONS[name])


def test_the_recipe_s_rates_are_those_of_the_code() -> None:
    assert {
        "new head": lesson_recipe.HEAD_RATE,
        "backbone": lesson_recipe.BACKBONE_RATE,
    } == lesson_pictures.RATES
    assert lesson_pictures.EPOCHS == lesson_recipe.EPOCHS
    assert lesson_recipe.HEAD_RATE / lesson_recipe.BACKBONE_RATE == pytest.approx(100)


def test_a_more_accurate_model_stands_higher_and_a_costlier_one_to_the_right() -> None:
    dots = ElementTree.fromstring(lesson_pictures.draw_pretraining("light")).findall(f"{SVG}circle")
    places = [(float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in dots]
    ranked = sorted(range(len(TRANSFERS)), key=lambda i: TRANSFERS[i].core_days)
    assert ranked == sorted(range(len(places)), key=lambda i: places[i][0])
    best = sorted(range(len(TRANSFERS)), key=lambda i: -TRANSFERS[i].accuracy["ImageNet"])
    assert best == sorted(range(len(places)), key=lambda i: places[i][1])
    by_name = {(model.name.split(",")[0], model.data): model for model in TRANSFERS}
    vit, cnn = by_name["ViT-L/16", "JFT-300M"], by_name["BiT-L", "JFT-300M"]
    assert vit.accuracy["ImageNet"] > cnn.accuracy["ImageNet"] and 14 < cnn.core_days / vit.core_days < 15.5


def test_the_years_are_in_order_and_in_the_papers_names() -> None:
    years = [year for year, *_ in lesson_pictures.HISTORY]
    cited = [int(year) for year in re.findall(r"[a-z](\d{4})", lesson_pictures.CAPTIONS["history"])]
    assert years == sorted(years) == [*cited[:-1], 2020]  # the ViT's preprint is of October 2020
