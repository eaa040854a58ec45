"""The pin: a place or a prefix token, resolved on any grid and any sequence."""

from __future__ import annotations

import pytest

from vitviz.models.token_layout import TokenLayout
from vitviz.pin import Pin

DEIT = TokenLayout(("cls", "dist"), (2, 4), 8)
PLAIN = TokenLayout((), (2, 4), 8)


@pytest.mark.parametrize("text", ["0.500,0.500", "0.000,1.000", "0.123,0.877", "cls", "dist", "reg1", "reg9"])
def test_a_pin_is_written_as_it_is_read(text: str) -> None:
    assert str(Pin.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0.5",
        "0.1,0.2,0.3",
        "-0.1,0.5",
        "0.5,1.1",
        "nan,0.5",
        "inf,0",
        "CLS",
        "reg0",
        "reg10",
        "clsx",
        ",",
        "a,b",
    ],
)
def test_what_is_no_pin_is_none(text: str) -> None:
    assert Pin.parse(text) is None


def test_a_place_has_three_decimals() -> None:
    assert Pin((1 / 3, 2 / 3)).place == (0.333, 0.667)
    assert Pin.parse("0.33333,0.66667") == Pin((1 / 3, 2 / 3))


def test_a_pin_is_one_thing() -> None:
    for wrong in (
        lambda: Pin(None),
        lambda: Pin(None, "CLS"),
        lambda: Pin((0.5, 0.5), "cls"),
        lambda: Pin((2.0, 0.0)),
    ):
        with pytest.raises(ValueError, match="received"):
            wrong()


def test_places_and_cells() -> None:
    assert Pin().cell((2, 4)) == 6
    assert Pin((0.0, 0.0)).cell((2, 4)) == 0
    assert Pin((1.0, 1.0)).cell((2, 4)) == 7  # the edges belong to the image
    assert Pin((0.3, 0.9)).row_col((2, 4)) == (1, 1)
    assert Pin.of_cell((2, 4), 5) == Pin((0.375, 0.75))


@pytest.mark.parametrize("grid", [(1, 1), (2, 4), (7, 7), (14, 14), (37, 37), (64, 48)])
def test_a_cell_s_place_lies_in_that_cell(grid: tuple[int, int]) -> None:
    rows, cols = grid
    assert [Pin.of_cell(grid, cell).cell(grid) for cell in range(rows * cols)] == list(range(rows * cols))


@pytest.mark.parametrize("cell", [-1, 8])
def test_a_cell_outside_the_grid_is_refused(cell: int) -> None:
    with pytest.raises(ValueError, match="0..7"):
        Pin.of_cell((2, 4), cell)


def test_a_prefix_token_is_found_by_name_and_else_the_centre_stands_for_it() -> None:
    assert Pin(None, "dist").token(DEIT) == 1
    assert Pin(None, "dist").token(PLAIN) == 6
    assert Pin(None, "reg1").token(DEIT) == 2 + 6
    assert Pin(None, "cls").point == (0.5, 0.5) and Pin(None, "cls").place is None


@pytest.mark.parametrize("layout", [DEIT, PLAIN])
def test_every_token_is_its_pin_s(layout: TokenLayout) -> None:
    tokens = range(layout.num_tokens)
    assert [Pin.of_token(layout, token).token(layout) for token in tokens] == list(tokens)


def test_a_patch_is_named_by_its_number_or_by_row_and_column() -> None:
    assert Pin.parse("7", (2, 4)) == Pin.parse("2,3", (2, 4)) == Pin.of_cell((2, 4), 6)
    for text in ("0", "9", "3,1", "1,5", "0.5", "-1", ""):
        assert Pin.parse(text, (2, 4)) is None, text
