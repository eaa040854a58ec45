"""What travels to the views of layers is what was measured."""

from __future__ import annotations

import numpy as np

from tests.messages import count_by_row, photo_of, unpack
from vitviz.analysis.token_colours import ColourDirections
from vitviz.plots import layers as plots
from vitviz.plots.layers import LayerPanel, Rows
from vitviz.plots.photo import encode_photo


def make_image(value: int) -> np.ndarray:
    return np.full((8, 8, 3), value, np.uint8)


def rows(*values: int) -> Rows:
    return Rows(
        ["ViT", "CNN"], [encode_photo(make_image(value)) for value in values], 1, "cls", ("cls",), 0.5
    )


def test_panels_carry_their_cells_and_one_photo_where_the_crops_are_one() -> None:
    cells = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    panels = [LayerPanel(0, "layer 1", (2, 2), cells, "note"), LayerPanel(1, "stem", (2, 2), cells + 1)]
    header, arrays = unpack(plots.panels_view(rows(7, 7), panels))
    assert count_by_row(header) == [1, 1, 1] and "photo1" not in arrays
    assert [panel["title"] for panel in header["panels"]] == ["CNN, stem", "layer 1", "stem"]
    assert [layer["name"] for layer in header["layers"]] == ["ViT, layer 1", "CNN, stem"]
    np.testing.assert_array_equal(arrays["p1"], cells + 1)
    assert (header["chosen"], header["pin"], header["prefix"], header["veil"]) == (1, "cls", ["cls"], 0.5)
    header, arrays = unpack(plots.panels_view(rows(7, 9), panels))
    assert [panel["photo"] for panel in header["panels"]] == [0, 1, 0]
    assert photo_of(arrays)[0, 0, 0] == 9


def test_cosines_in_sixteen_bits() -> None:
    cosines = np.linspace(-1, 1, 101)
    codes = plots.cosine_codes(cosines)
    assert codes.dtype == np.int16 and np.abs(codes / plots.UNIT - cosines).max() < 2e-5


def test_what_the_colours_hold() -> None:
    found = ColourDirections(np.zeros(3), np.eye(3), np.array([0.5, 0.2, 0.05]), np.ones(3), (2, 1, 3))
    assert plots.share_note(found) == "75\N{NO-BREAK SPACE}% of variance"
    assert plots.colour_panels(found, shares=True) == {"shares": [0.5, 0.2, 0.05], "orders": [2, 1, 3]}
    assert plots.colour_panels(found, shares=False) == {"orders": [2, 1, 3]}


def test_the_matrix_travels_with_its_names() -> None:
    models = [("ViT", ["a", "b"]), ("CNN", ["c"])]
    header, arrays = unpack(plots.matrix_view(np.eye(3), models, between=True))
    (panel,) = header["panels"]
    assert panel["groups"] == [["ViT", 2], ["CNN", 1]] and panel["row_names"] == panel["col_names"] == [
        "a",
        "b",
        "c",
    ]
    np.testing.assert_array_equal(arrays["values0"], np.eye(3).reshape(1, 9))
    _, arrays = unpack(plots.matrix_view(np.eye(3), models, between=False))
    nan = np.nan
    np.testing.assert_array_equal(arrays["values0"].reshape(3, 3), [[1, 0, nan], [0, 1, nan], [nan, nan, 1]])
