import io

import numpy as np
import pytest
from PIL import Image

from vitviz.plots.attention_images import Drawn, attention_image, own_size, png, sheet, veiled_image, webp
from vitviz.plots.theme import PALETTES

WHITE = np.full((8, 8, 3), 255, dtype=np.uint8)
WEIGHTS = np.array([0.4, 0.1, 0.0, 0.2])


def _middles(image: np.ndarray) -> list[list[int]]:
    return [image[y, x].tolist() for y in (20, 60) for x in (20, 60)]


def test_overlay_runs_from_the_image_to_the_accent() -> None:
    image = attention_image(WHITE, WEIGHTS, (2, 2), Drawn(opacity=1.0), size_px=80)
    full, some, none, _ = _middles(image)
    accent = [int(PALETTES["light"].query[i : i + 2], 16) for i in (1, 3, 5)]
    assert full == accent
    assert none[0] == none[1] == none[2] and none[0] > 200
    assert accent[2] < some[2] < none[2]


def test_dim_keeps_the_image_where_the_query_looks() -> None:
    full, some, none, _ = _middles(
        attention_image(WHITE, WEIGHTS, (2, 2), Drawn("dim", opacity=1.0), size_px=80)
    )
    assert full == [255] * 3 and none == [0] * 3 and some == [63] * 3


def test_a_mask_shows_the_patches_that_hold_the_share() -> None:
    image = attention_image(WHITE, WEIGHTS, (2, 2), Drawn("mask", share=0.8, opacity=1.0), size_px=80)
    assert [value[0] for value in _middles(image)] == [255, 0, 0, 255]


def test_a_shared_scale_dims_a_faint_map_and_the_query_is_outlined() -> None:
    own = attention_image(WHITE, WEIGHTS, (2, 2), Drawn("heat"), size_px=80)
    faint = attention_image(WHITE, WEIGHTS, (2, 2), Drawn("heat"), size_px=80, top=4.0)
    assert own[20, 20].tolist() != faint[20, 20].tolist()
    marked = attention_image(WHITE, WEIGHTS, (2, 2), Drawn("heat"), size_px=80, query=(1, 1))
    assert (marked != own).any() and (marked[20, 20] == own[20, 20]).all()


def test_a_map_without_weight_is_the_bare_image() -> None:
    image = attention_image(WHITE, np.zeros(4), (2, 2), size_px=80)
    assert len({tuple(value) for value in _middles(image)}) == 1


def test_files_open_again() -> None:
    tiles = [attention_image(WHITE, WEIGHTS, (2, 2), Drawn(s), size_px=40) for s in ("heat", "dim", "mask")]
    page = Image.open(io.BytesIO(png(sheet(tiles, ["a", "b", "c"], 2))))
    assert page.size == (2 * 48 + 8, 2 * 76 + 8)
    film = Image.open(io.BytesIO(webp(tiles)))
    assert film.n_frames == 3 and film.size == (40, 40)


PHOTO = np.random.default_rng(0).integers(0, 256, (301, 301, 3), dtype=np.uint8)


def test_an_overlay_is_the_image_pixel_for_pixel_where_the_map_is_zero() -> None:
    weights = np.zeros(14 * 14)
    weights[14 * 3 + 5] = 0.7
    for smooth, reach in ((False, 0), (True, 1)):
        image = attention_image(PHOTO, weights, (14, 14), Drawn(smooth=smooth))
        assert image.shape == PHOTO.shape
        changed = (image != PHOTO).any(axis=2)
        side = 301 / 14
        rows, cols = (slice(int((at - reach) * side), int(np.ceil((at + 1 + reach) * side))) for at in (3, 5))
        assert changed[rows, cols].any()
        changed[rows, cols] = False
        assert not changed.any()
    grey = attention_image(PHOTO, weights, (14, 14), Drawn(grey=True))
    assert (grey[0] != PHOTO[0]).any() and (grey[0, :, 0] == grey[0, :, 1]).all()


def test_a_small_image_is_kept_larger_by_a_whole_number() -> None:
    assert [own_size(np.zeros((side, side, 3), np.uint8)) for side in (28, 32, 127, 128, 451)] == [
        1120,
        1120,
        1016,
        128,
        451,
    ]
    small = PHOTO[:32, :32]
    kept = attention_image(small, np.zeros(16), (4, 4))
    np.testing.assert_array_equal(kept, small.repeat(35, axis=0).repeat(35, axis=1))


def test_an_image_that_is_not_square_keeps_its_proportions() -> None:
    wide = PHOTO[:20, :40]
    assert own_size(wide) == 1120
    image = attention_image(wide, np.eye(8)[5], (2, 4), Drawn("mask", share=0.5, opacity=1.0))
    assert image.shape == (560, 1120, 3)  # 28 times as large
    changed = np.where((image != wide.repeat(28, axis=0).repeat(28, axis=1)).any(axis=2))
    kept = image[280:, 280:560]  # the sixth patch: second row, second column
    np.testing.assert_array_equal(kept, wide[10:, 10:20].repeat(28, axis=0).repeat(28, axis=1))
    assert len(changed[0]) and image[:280].max() == 0
    page = sheet([image, image], ["a", "b"], 2)
    assert page.shape == (560 + 56 + 2 * 8, 2 * 1120 + 3 * 8, 3)
    assert veiled_image(wide, (0,), (2, 4)).shape == (560, 1120, 3)


def test_a_veil_covers_its_patches_alone() -> None:
    image = veiled_image(PHOTO[:300, :300], (0, 8), (3, 3))
    assert (image[:100, :100] == 128).all() and (image[200:, 200:] == 128).all()
    np.testing.assert_array_equal(image[:100, 100:], PHOTO[:100, 100:300])


def test_an_animation_for_slides_has_labels_that_can_be_read() -> None:
    def label_height(side: int) -> int:
        page = sheet([np.zeros((side, side, 3), np.uint8)], ["layer 1"], 1)
        rows = np.flatnonzero((page[8 + side :, 8 : 8 + side] < 128).any(axis=(1, 2)))
        return int(rows[-1] - rows[0] + 1)

    assert label_height(1264) == pytest.approx(2 * label_height(280), abs=2)
