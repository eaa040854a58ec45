"""A family has one colour everywhere, told apart on both pages' backgrounds, and none is attention's orange."""

import colorsys
from itertools import combinations

import pytest

from vitviz.plots import data_size, scoreboard, theme

TITLES = {"cnn": "CNN", "hybrid": "Hybrid", "swin": "Swin", "vit": "ViT", "deit": "DeiT"}


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("family", theme.FAMILIES)
def test_a_family_has_one_colour_in_all_figures(family: str) -> None:
    color = theme.FAMILIES[family]
    assert data_size.COLOURS[family] == scoreboard.FAMILY[TITLES[family]] == color
    assert theme.variant_colors([family, "other"])[0].upper() == color


def test_models_of_one_family_are_told_apart() -> None:
    colors = theme.family_colors(["vit", "cnn", "vit", "vit", "vit"])
    assert len({*colors}) == len(colors)
    assert colors[0].upper() == theme.FAMILIES["vit"]
    assert theme.variant_colors(["vit"] * 8) == [*theme.VARIANTS]


def test_only_attention_is_orange() -> None:
    def hue(color: str) -> float:
        return 360 * colorsys.rgb_to_hsv(*(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)))[0]

    for color in (*theme.FAMILIES.values(), *theme.HEADS, *theme.VARIANTS):
        assert not 28 < hue(color) < 50, color
    for palette in theme.PALETTES.values():
        assert 200 < hue(palette.primary) < 230


@pytest.mark.parametrize("mode", theme.PALETTES)
def test_both_ends_of_signed_values_stand_out_from_zero(mode: theme.Mode) -> None:
    stops = theme.DIVERGING[mode]
    assert all(contrast(end, theme.PALETTES[mode].paper) > 4.5 for end in (stops[0], stops[-1]))
    assert all(contrast(one, other) > 1.15 for one, other in combinations(stops[:4], 2))
    assert contrast(stops[2], stops[4]) < 1.3  # both signs weigh the same
