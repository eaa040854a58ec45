import io

import numpy as np
import pytest
from PIL import Image

from vitviz.plots.attention_images import attention_image, png, sheet, webp
from vitviz.plots.theme import PALETTES

WHITE = np.full((8, 8, 3), 255, dtype=np.uint8)
WEIGHTS = np.array([0.4, 0.1, 0.0, 0.2])


def _middles(image: np.ndarray) -> list[list[int]]:
    return [image[y, x].tolist() for y in (20, 60) for x in (20, 60)]


def test_overlay_runs_from_the_picture_to_the_accent() -> None:
    image = attention_image(WHITE, WEIGHTS, (2, 2), size_px=80, opacity=1.0)
    full, some, none, _ = _middles(image)
    accent = [int(PALETTES["light"].query[i : i + 2], 16) for i in (1, 3, 5)]
    assert full == accent
    assert none[0] == none[1] == none[2] and none[0] > 200
    assert accent[2] < some[2] < none[2]


def test_dim_keeps_the_picture_where_the_query_looks() -> None:
    full, some, none, _ = _middles(
        attention_image(WHITE, WEIGHTS, (2, 2), size_px=80, style="dim", opacity=1.0)
    )
    assert full == [255] * 3 and none == [0] * 3 and some == [63] * 3


def test_a_mask_shows_the_patches_that_hold_the_share() -> None:
    image = attention_image(WHITE, WEIGHTS, (2, 2), size_px=80, style="mask", share=0.8, opacity=1.0)
    assert [value[0] for value in _middles(image)] == [255, 0, 0, 255]


def test_a_shared_scale_dims_a_faint_map_and_the_query_is_outlined() -> None:
    own = attention_image(WHITE, WEIGHTS, (2, 2), size_px=80, style="heat")
    faint = attention_image(WHITE, WEIGHTS, (2, 2), size_px=80, style="heat", top=4.0)
    assert own[20, 20].tolist() != faint[20, 20].tolist()
    marked = attention_image(WHITE, WEIGHTS, (2, 2), size_px=80, style="heat", query=(1, 1))
    assert (marked != own).any() and (marked[20, 20] == own[20, 20]).all()


def test_a_map_without_weight_is_the_bare_picture() -> None:
    image = attention_image(WHITE, np.zeros(4), (2, 2), size_px=80)
    assert len({tuple(value) for value in _middles(image)}) == 1


def test_files_open_again() -> None:
    tiles = [attention_image(WHITE, WEIGHTS, (2, 2), size_px=40, style=s) for s in ("heat", "dim", "mask")]
    page = Image.open(io.BytesIO(png(sheet(tiles, ["a", "b", "c"], 2))))
    assert page.size == (2 * 48 + 8, 2 * 76 + 8)
    film = Image.open(io.BytesIO(webp(tiles)))
    assert film.n_frames == 3 and film.size == (40, 40)
    with pytest.raises(ValueError, match="at least one frame"):
        webp([])
