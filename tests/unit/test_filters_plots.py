"""Payloads of both lenses: what travels to the browser is what was computed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.messages import unpack
from vitviz.analysis import filters, position_similarity
from vitviz.plots import filters as filter_plots
from vitviz.plots import positions as plots


def header(payload: bytes) -> dict[str, object]:
    return unpack(payload)[0]


SHOWN = np.zeros((8, 8, 3), np.uint8)


def test_cosines_travel_in_sixteen_bits() -> None:
    similarity = position_similarity.cosine_similarity(np.eye(4))
    film = plots.EncodingPanel("film", "", (2, 2), np.stack([similarity] * 3))
    still = plots.EncodingPanel("still", "", (2, 2), similarity[None])
    arrays = header(plots.mosaic([film, still], SHOWN, (0.5, 0.5)))["arrays"]
    assert arrays["similarity0"]["dtype"] == "uint16" and arrays["similarity0"]["shape"] == [3, 4, 4]
    assert arrays["similarity1"]["dtype"] == "uint16"


@pytest.mark.parametrize(
    ("low", "high", "ends"), [(0.2, 0.4, (0.2, 0.4)), (-0.3, 0.1, (-0.3, 0.3)), (0.5, 0.5, (-1, 1))]
)
def test_a_panel_s_scale_serves_its_different_positions_alone(
    low: float, high: float, ends: tuple[float, float]
) -> None:
    panels = [
        plots.EncodingPanel("two", "", (1, 2), np.array([[[1.0, a], [b, 1.0]]]))
        for a, b in ((low, high), (0, 0.9))
    ]
    reported = header(plots.mosaic(panels, SHOWN, (0.5, 0.5), own_scale=True))["panels"]
    assert [(panel["lo"], panel["hi"]) for panel in reported] == [ends, (0, 0.9)]  # type: ignore[index, attr-defined]


def test_the_sinusoidal_grid_of_the_paper_s_base_uses_its_whole_scale() -> None:
    table = position_similarity.encode("sincos_2d_concat", (8, 8), 128)
    panel = plots.EncodingPanel("2-D", "", (8, 8), position_similarity.cosine_similarity(table)[None])
    (reported,) = header(plots.mosaic([panel], SHOWN, (0.5, 0.5), own_scale=True))["panels"]  # type: ignore[misc]
    assert (reported["lo"], reported["hi"]) == pytest.approx((0.74, 0.98), abs=0.005)  # an eighth of -1 to 1


def test_tiles_travel_with_their_ranges() -> None:
    maps = np.random.default_rng(0).standard_normal((2, 5, 1, 4, 4))
    reported = header(filter_plots.tiles([filter_plots.Sheet("one", "", maps)], 7))
    assert reported["arrays"]["tiles0"]["shape"] == [2, 5, 4, 4, 1]  # type: ignore[index]
    assert reported["arrays"]["ends0"]["shape"] == [2, 5, 2]  # type: ignore[index]


def test_rebuilding_error_is_in_grey_levels_of_each_channel() -> None:
    rng = np.random.default_rng(0)
    patches = rng.standard_normal((4, 3, 2, 2))
    scale = np.array([10.0, 20.0, 30.0])
    found = filters.rebuild_patches(patches, filters.dct_basis(3, 2, 5), scale)
    rebuilt = found.mean + np.einsum("nk,kcyx->ncyx", found.coefficients[:, :3], found.basis[:3])
    expected = np.sqrt((((patches - rebuilt) * scale[:, None, None]) ** 2).mean())
    assert found.error[3] == pytest.approx(expected)
    payload = filter_plots.rebuilding(SHOWN, 2, [("DCT", "", found)], scale / 255, np.zeros(3), 2, 0)
    assert header(payload)["most"] == 5


def test_figures_draw_what_they_are_given() -> None:
    line = np.array([1.0, 0.5, 0.2])
    curves = plots.by_distance_figure({"a": (line, line), "b": (line / 2, line)}, "light").to_plotly()
    assert len(curves.data) == 4 and list(curves.data[0].y) == [0.5, 0.2]
    resized = plots.resize_figure([24, 32], {"grid": [0.5, 0.9]}, 100, 32, "light").to_plotly()
    assert list(resized.data[0].x) == [24, 32]
    right = position_similarity.cosine_similarity(position_similarity.encode("sincos_1d", (1, 10), 64))
    slip = plots.slip_figure(right, right, (1, 2), "light").to_plotly()
    assert slip.data[0].y[0] == pytest.approx(0.9662, abs=5e-5)
    assert [trace.mode for trace in slip.data] == ["lines", "markers+lines"] * 2  # the bug is dotted
