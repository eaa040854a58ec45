"""Tokens of extreme length, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pages.lenses.layers import sinks
from vitviz.analysis import sinks as s
from vitviz.models.presets import PRESETS
from vitviz.models.token_layout import TokenLayout
from vitviz.plots.layers import NormQuantiles, lengths_figure
from vitviz.probe.layers import list_layers


def test_lengths_and_the_tokens_that_stand_out() -> None:
    places = np.zeros((1, 2, 3, 2), np.float32)
    places[..., 0] = [[3, 3, 3], [3, 3, 30]]
    places[..., 1] = [[4, 4, 4], [4, 4, 40]]
    found = s.measure_norms(places, np.full((1, 1, 2), 5, np.float32))
    assert found.places[0].tolist() == [[5, 5, 5], [5, 5, 50]]
    assert found.prefix[0, 0] == pytest.approx(np.sqrt(50))
    assert (found.median, found.longest, found.times) == (5, 50, 10)
    assert np.argwhere(found.extreme).tolist() == [[0, 1, 2]]
    assert not s.TokenNorms(np.full((1, 2, 2), 7, np.float32), found.prefix).extreme.any()


def test_a_layer_of_zeros_has_no_longest() -> None:
    nothing = s.measure_norms(np.zeros((1, 2, 2, 3)), np.zeros((1, 0, 3)))
    assert nothing.times == 0 and not nothing.extreme.any()


def test_plain_patches_have_no_contrast() -> None:
    image = np.zeros((1, 4, 4), np.uint8)
    image[0, :2, 2:] = [[0, 10], [10, 0]]
    assert s.patch_contrast(image, (2, 2))[0].tolist() == [[0, 5], [0, 0]]


def test_extreme_patches_are_compared_within_images_that_have_others() -> None:
    values = np.array([[[1.0, 2.0, 6.0]], [[4.0, 4.0, 4.0]], [[2.0, 3.0, 7.0]]])
    extreme = np.array([[[True, True, False]], [[True, True, True]], [[False, True, False]]])
    found = s.compare_extreme(values, extreme)
    assert (
        found is not None
        and found.images == 2
        and found.estimate == pytest.approx(((1.5 - 6) + (3 - 4.5)) / 2)
    )
    assert s.compare_extreme(values[1:2], extreme[1:2]) is None
    assert found.outcome is None and found.reason == "too few images"
    many = s.compare_extreme(np.tile(values[:1], (40, 1, 1)), np.tile(extreme[:1], (40, 1, 1)))
    assert many is not None and (many.outcome, many.low, many.high) == ("lower", -4.5, -4.5)


def test_the_edge_of_a_grid() -> None:
    assert s.edge_mask((3, 4)).sum() == 10 and not s.edge_mask((3, 4))[1, 1]


def test_the_figure_holds_the_lengths() -> None:
    layers = [NormQuantiles("a", (1, 2, 3), 9, (4,)), NormQuantiles("b", (2, 3, 4), 8, (5,))]
    drawn = lengths_figure(layers, ("cls",), "dark").to_plotly().to_plotly_json()["data"]
    by_name = {trace["name"]: list(trace["y"]) for trace in drawn if "name" in trace}
    assert by_name.pop("1 to 99 % of the patches") == [1, 3, None, 2, 4, None]
    assert by_name == {"median patch": [2, 3], "largest patch": [9, 8], "[CLS], mean": [4, 5]}


def test_sinks_of_earlier_layers_are_told_where_the_last_one_has_none() -> None:
    """Of a longest place of 4.2 times the median in layer 3 it said that there are no sinks among the patches."""

    def lengths(longest: float) -> s.TokenNorms:
        places = np.ones((1, 2, 3), np.float32)
        places[0, 0, 0] = longest
        return s.TokenNorms(places, np.ones((1, 0), np.float32))

    class Shown:
        layers = list_layers(PRESETS["vit_digits"].config)[:3]
        layout, safe_title = TokenLayout((), (2, 3), 4), "A model"

    class Titled:
        title = "a set"

    reported = {
        longest: sinks.describe_lengths(Shown(), [lengths(each) for each in longest], Titled())  # type: ignore[arg-type]
        for longest in ((1, 4.2, 1.5), (1, 1.2, 1.5))
    }
    first, second = reported.values()
    assert "4.2 times the median in layer 1 and 1.5 times in layer 2." in first
    assert "3 times the median" in first and first.endswith("have 1, most in layer 1 (1).")
    assert (
        "1.5 times the median in layer 2, the last layer." in second and "no high-norm patch tokens" in second
    )


def test_norms_of_patches_and_of_each_kind_of_prefix_token() -> None:
    norms = np.array([[5.0, 1.0, 3.0, 10.0, 20.0], [7.0, 2.0, 2.0, 30.0, 80.0]])
    prefix = ("cls", "reg1", "reg2")
    assert s.group_prefix(prefix) == {"[CLS]": [0], "registers": [1, 2]}
    assert s.summarise_norms(norms, prefix).tolist() == [25.0, 80.0, 6.0, 2.0]
