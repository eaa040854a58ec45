"""Test the messages of heat grids."""

from __future__ import annotations

import numpy as np

from tests.messages import count_by_row, read_panels, unpack
from vitviz.plots.heat_grid import GridStyle, PanelRow, image_panel, map_panel, pack_heat_rows, pack_maps

IMAGE = np.zeros((4, 4, 3), np.uint8)


def test_rows_keep_their_panels_and_headings() -> None:
    values = np.arange(6.0).reshape(2, 3)
    row = PanelRow(
        "CNN", "stem", (image_panel("Image", IMAGE), map_panel("Weights", values, "e", "signed", 5))
    )
    header, arrays = unpack(pack_heat_rows([row]))
    assert count_by_row(header) == [2] and header["rows"][0]["title"] == "CNN"
    image, weights = header["panels"]
    assert (image["photo"], weights["photo"]) == (0, None) and len(header["photos"]) == 1
    assert (weights["ramp"], weights["high"], weights["grid"]) == ("signed", 5, [2, 3])
    np.testing.assert_array_equal(arrays["values1"], values.reshape(1, 6))


def test_maps_share_an_image_and_the_first_ones_a_scale() -> None:
    maps = np.array([[1.0, -6], [0, 4], [0, 0]])
    sent = unpack(
        pack_maps(IMAGE, maps, "abc", (1, 2), sharing=2, notes=["x", "y", "z"], style=GridStyle(start=1))
    )
    header, _ = sent
    assert [panel["high"] for panel in header["panels"]] == [6, 6, 1]
    assert [panel["photo"] for panel in header["panels"]] == [0, 0, 0] and header["start"] == 1
    titles, notes, values = read_panels(sent)
    assert (titles, notes) == (["a", "b", "c"], ["x", "y", "z"])
    np.testing.assert_array_equal(values, maps)
