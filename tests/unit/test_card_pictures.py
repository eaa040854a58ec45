"""The image on a lesson's card is drawn from the arrays of one of its stops, without text, in both themes, and stored.

After a change of a stop, `python -m pytest -n 0 --store-pictures tests/unit/test_card_pictures.py` draws them anew.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageColor, ImageDraw

import vitviz
from vitviz.analysis.position_similarity import cosine_similarity, patch_rows
from vitviz.analysis.token_colours import colour_tokens, fit_layers
from vitviz.data.datasets import load_dataset
from vitviz.growth import find_growth, load_growth
from vitviz.plots.attention_images import Drawn, attention_image
from vitviz.plots.theme import DIVERGING, PALETTES, VARIANTS, Mode, ramp
from vitviz.shifted_windows import attention_mask, region_ids
from vitviz.view import View

ROOT = Path(__file__).parents[2]
CARDS = ROOT / "static" / "cards"
SIZE, TILE, GAP, MOST_BYTES, MOST_APART = (720, 240), 216, 36, 15_000, 4.0
MIDDLE = slice(2, 6)  # rows and columns of the positions whose similarities are drawn
GRID, WINDOW, SHIFT = (8, 8), (4, 4), (2, 2)  # of the Swin lesson's stop
Tile = NDArray[np.uint8]


def inspect(model: str, dataset: str, number: int) -> View:
    image = load_dataset(dataset).test_images[number]
    return vitviz.inspect(model, np.broadcast_to(image, (*image.shape[:2], 3)))


def enlarge(pixels: NDArray[np.uint8], cells: int = 1, gap: int = 0) -> Tile:
    """Return a square of side `TILE`, cut into cells x cells pieces with clear gaps."""
    color = np.broadcast_to(pixels, (*pixels.shape[:2], 3))
    side = TILE // cells - gap
    tile = np.zeros((TILE, TILE, 4), np.uint8)
    for row, column in np.ndindex(cells, cells):
        y, x, cell = row * color.shape[0] // cells, column * color.shape[1] // cells, color.shape[0] // cells
        piece = Image.fromarray(np.ascontiguousarray(color[y : y + cell, x : x + cell]))
        at = slice(row * (side + gap), row * (side + gap) + side)
        tile[at, column * (side + gap) : column * (side + gap) + side, :3] = np.asarray(
            piece.resize((side, side), 0)
        )
        tile[at, column * (side + gap) : column * (side + gap) + side, 3] = 255
    return tile


def blend(ground: Tile, cells: NDArray[np.integer]) -> Tile:
    """Return the square with each cell tinted in the colour of its number."""
    colors = np.array([ImageColor.getrgb(color) for color in (*VARIANTS[::-1], "#FFFFFF")], np.uint8)
    tinted = (0.45 * ground + 0.55 * enlarge(colors[cells])).astype(np.uint8)
    tinted[..., 3] = ground[..., 3]
    return tinted


def overlay(view: View, weights: NDArray[np.floating], mode: Mode) -> Tile:
    drawn = Drawn(grey=True, mode=mode)
    return enlarge(attention_image(view.image, weights.ravel(), weights.shape, drawn, size_px=TILE))


def draw_fifteen(mode: Mode) -> Sequence[Tile]:
    view = inspect("digits_vit", "digits", 33)
    return enlarge(view.image), enlarge(view.image, 8, 5), overlay(view, view.attention(query="cls"), mode)


def draw_lecture(mode: Mode) -> Sequence[Tile]:
    view = inspect("cifar10_vit", "cifar10-few", 118)
    layers = [view.tokens(layer)[1:].reshape(1, 8, 8, -1) for layer in (0, 5)]
    fits = fit_layers(layers, view.image.mean(axis=-1)[None])
    colored = [enlarge(colour_tokens(fit, layer[0])) for fit, layer in zip(fits, layers, strict=True)]
    return enlarge(view.image), *colored


def draw_positions(mode: Mode) -> Sequence[Tile]:
    path = find_growth("digits_vit")
    assert path is not None
    tables, tiles = load_growth(path).positions, []
    for table in (tables[0], tables[len(tables) // 3], tables[-1]):
        cosines = cosine_similarity(patch_rows(table, GRID))
        mosaic = cosines.reshape(8, 8, 8, 8)[MIDDLE, MIDDLE].swapaxes(1, 2).reshape(32, 32)
        limit = np.quantile(np.abs(cosines[~np.eye(64, dtype=bool)]), 0.98)
        colors = [ramp(DIVERGING[mode], (round(6 * value / limit) / 6 + 1) / 2) for value in mosaic.ravel()]
        pixels = np.array([ImageColor.getrgb(color) for color in colors], np.uint8).reshape(32, 32, 3)
        tiles.append(enlarge(pixels, 4, 6))
    return tiles


def draw_swin(mode: Mode) -> Sequence[Tile]:
    image = inspect("digits_swin", "digits", 3).image
    windows = np.arange(4).reshape(2, 2)
    rolled = np.roll(image, (-image.shape[0] // 4, -image.shape[1] // 4), (0, 1))
    ids = region_ids(GRID, WINDOW, SHIFT)
    allowed = attention_mask(ids, WINDOW) == 0
    mask = allowed.reshape(2, 2, 16, 16).swapaxes(1, 2).reshape(32, 32, 1)
    palette = PALETTES[mode]
    shades = np.array([ImageColor.getrgb(color) for color in (palette.line, palette.primary)], np.uint8)
    masks = enlarge(shades[mask[..., 0].astype(int)], 2, 8)
    return blend(enlarge(image, 2, 8), windows), blend(enlarge(rolled, 2, 8), ids), masks


def draw_explanation(mode: Mode) -> Sequence[Tile]:
    view = inspect("cifar10_vit", "cifar10-few", 118)
    maps = (view.attention(query="cls"), view.explain("gradient"))
    return enlarge(view.image), *(overlay(view, weights, mode) for weights in maps)


DRAWN: dict[str, Callable[[Mode], Sequence[Tile]]] = {
    "fifteen": draw_fifteen,
    "lecture": draw_lecture,
    "positions": draw_positions,
    "swin": draw_swin,
    "explanation": draw_explanation,
}


def draw_card(name: str, mode: Mode) -> Image.Image:
    """Return three squares in a row, with an arrow between steps."""
    card = Image.new("RGBA", SIZE)
    pen = ImageDraw.Draw(card)
    top = (SIZE[1] - TILE) // 2
    for place, tile in enumerate(DRAWN[name](mode)):
        card.paste(Image.fromarray(tile), (place * (TILE + GAP), top))
        if place == 1 or (place and name != "explanation"):  # two maps of one image are no steps
            x, y = place * (TILE + GAP) - GAP // 2, SIZE[1] // 2
            pen.line([(x - 4, y - 10), (x + 5, y), (x - 4, y + 10)], PALETTES[mode].muted, 4, joint="curve")
    return card


def encode(image: Image.Image) -> bytes:
    data = io.BytesIO()
    image.save(data, "WEBP", lossless=True, method=6)
    return data.getvalue()


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", DRAWN)
def test_a_card_shows_the_arrays_of_its_stop(request: pytest.FixtureRequest, name: str, mode: Mode) -> None:
    drawn, path = draw_card(name, mode), CARDS / f"lesson_{name}_{mode}.webp"
    if request.config.option.store_pictures:
        path.write_bytes(encode(drawn))
    assert path.stat().st_size <= MOST_BYTES
    with Image.open(path) as opened:
        stored = opened.convert("RGBA")
    assert stored.size == SIZE
    both = [np.asarray(image.resize((60, 20), Image.Resampling.BOX), float) for image in (drawn, stored)]
    assert np.abs(both[0] - both[1]).mean() <= MOST_APART


def test_every_shipped_lesson_has_a_card_in_both_themes() -> None:
    assert {path.stem for path in (ROOT / "lessons").glob("*.toml")} == {*DRAWN}
    files = {f"lesson_{name}_{mode}.webp" for name in DRAWN for mode in ("light", "dark")}
    assert {path.name for path in CARDS.glob("*.webp")} == files
