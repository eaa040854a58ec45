"""From image to input: crops, luminance, normalisation and drawn digits, against numbers worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from vitviz.config import Preparation
from vitviz.data.image_preprocessing import (
    Crop,
    luminance,
    normalise,
    prepare,
    prepare_batch,
    seen_crop,
)

RGB = Preparation(image_size=4, mean=(0.5, 0.25, 0.0), std=(0.5, 0.25, 1.0))
GREY = Preparation(image_size=4, mean=(0.0,), std=(1.0,))


def test_an_image_of_the_models_size_passes_unchanged():
    image = np.random.default_rng(0).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    prepared = prepare(image, RGB)
    assert (prepared.shown == image).all() and prepared.box == (0, 0, 4, 4)
    expected = (image.transpose(2, 0, 1) / 255 - np.reshape(RGB.mean, (3, 1, 1))) / np.reshape(
        RGB.std, (3, 1, 1)
    )
    assert prepared.input.dtype == np.float32 and prepared.input.flags.c_contiguous
    np.testing.assert_allclose(prepared.input, expected, atol=1e-6)


def test_luminance_is_bt601():
    colours = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255], [7, 7, 7]], np.uint8)
    assert luminance(colours).tolist() == [76, 150, 29, 255, 7]  # 0.299, 0.587 and 0.114 of 255


def test_grey_models_see_luminance_and_people_are_shown_it():
    image = np.full((4, 4, 3), (0, 255, 0), np.uint8)
    prepared = prepare(image, GREY)
    assert prepared.input.shape == (1, 4, 4) and (prepared.shown == 150).all()
    np.testing.assert_allclose(prepared.input, 150 / 255, rtol=1e-6)


def test_the_crop_keeps_the_aspect_and_moves():
    image = np.zeros((4, 12, 3), np.uint8)
    image[:, 4:8] = 100
    image[:, 8:] = 200
    for x, level, left in ((0.0, 0, 0), (0.5, 100, 4), (1.0, 200, 8)):
        prepared = prepare(image, RGB, offset=(x, 0.3))
        assert (prepared.shown == level).all() and prepared.box == (0, left, 4, 4)


def test_crop_fraction_takes_the_middle():
    half = Preparation(image_size=50, crop_fraction=0.5)
    assert Crop.place(100, 200, half, (0.5, 0.5)).box == (25, 75, 50, 50)
    assert Crop.place(100, 200, half, (0, 1)).box == (50, 0, 50, 50)
    image = np.zeros((16, 16, 3), np.uint8)
    image[4:12, 4:12] = 255
    cropped = prepare(image, Preparation(image_size=8, crop_fraction=0.5))
    assert (cropped.shown[1:-1, 1:-1] == 255).all() and cropped.box == (4, 4, 8, 8)


@settings(deadline=None, max_examples=60)
@given(
    height=st.integers(1, 70),
    width=st.integers(1, 70),
    fraction=st.floats(0.05, 1),
    x=st.floats(0, 1),
    y=st.floats(0, 1),
)
def test_any_shape_and_offset_stays_inside(height, width, fraction, x, y):
    preparation = Preparation(image_size=8, crop_fraction=fraction)
    prepared = prepare(np.full((height, width, 3), 90, np.uint8), preparation, offset=(x, y))
    top, left, tall, wide = prepared.box
    assert prepared.shown.shape == (8, 8, 3) and (prepared.shown == 90).all()
    assert top >= 0 and left >= 0 and top + tall <= height + 1e-9 and left + wide <= width + 1e-9
    assert min(tall, wide) == pytest.approx(8 / preparation.resized_shape[0] * min(height, width))


@pytest.mark.parametrize(
    "preparation", [RGB, GREY, Preparation(image_size=4, digit=True, mean=(0.1,), std=(0.3,))]
)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("side", [4, 6])
def test_a_batch_equals_its_images(preparation, channels, side):
    images = np.random.default_rng(1).integers(0, 256, (5, side, side, channels), dtype=np.uint8)
    one_by_one = [prepare(np.repeat(image, 3 // channels, axis=2), preparation).input for image in images]
    batch = prepare_batch(images, preparation)
    assert batch.shape == (5, preparation.in_chans, 4, 4) and batch.flags.c_contiguous
    np.testing.assert_array_equal(batch, np.stack(one_by_one))


def test_an_empty_batch():
    assert prepare_batch(np.empty((0, 9, 9, 1), np.uint8), RGB).shape == (0, 3, 4, 4)
    assert prepare_batch(np.empty((0, 4, 4, 3), np.uint8), RGB).shape == (0, 3, 4, 4)


def test_normalise_is_exact_at_the_ends():
    ends = np.array([0, 255], np.uint8).reshape(1, 1, 2, 1)
    half = Preparation(mean=(0.5,), std=(0.5,))
    assert normalise(ends, half).ravel().tolist() == [-1, 1]


@pytest.mark.parametrize(
    "image", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)]
)
def test_what_is_no_image_is_refused(image):
    with pytest.raises(ValueError, match="uint8 \\(H, W, 3\\)"):
        prepare(image, RGB)


@pytest.mark.parametrize("offset", [(-0.1, 0), (0, 1.1), (float("nan"), 0)])
def test_an_offset_outside_is_refused(offset):
    with pytest.raises(ValueError, match="offset must lie in"):
        prepare(np.zeros((4, 4, 3), np.uint8), RGB, offset=offset)


def test_the_models_own_digits_are_left_alone():
    own = np.random.default_rng(3).integers(0, 256, (28, 28, 3), dtype=np.uint8)
    preparation = Preparation(image_size=28, mean=(0.1,), std=(0.3,), digit=True)
    assert (prepare(own, preparation).shown[..., 0] == luminance(own)).all()
    drawn = prepare(np.zeros((200, 280, 3), np.uint8), preparation)
    assert drawn.input.shape == (1, 28, 28) and drawn.box == (-40, 0, 280, 280)


PHOTO = np.random.default_rng(5).integers(0, 256, (40, 61, 3), dtype=np.uint8)


def test_the_crop_is_the_images_own_pixels_where_the_model_looks():
    rgb, grey = replace(RGB, image_size=40), replace(GREY, image_size=40)
    np.testing.assert_array_equal(seen_crop(PHOTO, rgb, (0.0, 0.5)), PHOTO[:, :40])
    np.testing.assert_array_equal(seen_crop(PHOTO, grey, (1.0, 0.5)), PHOTO[:, 21:])  # in its colours
    part = Preparation(image_size=35, mean=(0.5,) * 3, std=(0.5,) * 3, crop_fraction=0.875)
    top, left, height, width = prepare(PHOTO, part, (1.0, 1.0)).box
    crop = seen_crop(PHOTO, part, (1.0, 1.0))
    assert crop.shape == (35, 35, 3) and (top, left, height, width) == (5, 26, 35, 35)
    np.testing.assert_array_equal(crop, PHOTO[5:, 26:])


def test_a_crop_is_made_smaller_beyond_the_cap_and_never_larger():
    assert seen_crop(PHOTO, RGB, most_px=16).shape == (16, 16, 3)
    assert seen_crop(PHOTO[:3, :3], Preparation(image_size=32)).shape == (3, 3, 3)
    flat = np.full((50, 70, 3), 9, np.uint8)
    assert (seen_crop(flat, RGB, most_px=16) == 9).all()


@given(st.integers(1, 40), st.integers(1, 40), st.floats(0.05, 1), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_a_crop_lies_within_a_pixel_of_what_the_model_sees(height, width, fraction, x, y):
    how = Preparation(image_size=4, crop_fraction=fraction)
    image = np.zeros((height, width, 3), np.uint8)
    image[..., 0], image[..., 1] = np.arange(height)[:, None], np.arange(width)
    top, left, tall, wide = Crop.place(height, width, how, (x, y)).box
    crop = seen_crop(image, how, (x, y))
    assert abs(len(crop) - max(1, min(tall, wide))) <= 0.5
    assert abs(float(crop[0, 0, 0]) - top) <= 1 and abs(float(crop[0, 0, 1]) - left) <= 1


@pytest.mark.parametrize("shape, row, column", [((498, 500, 3), -1, 0), ((500, 498, 3), 0, -1)])
def test_one_missing_row_or_column_is_padded_and_the_whole_image_shown(shape, row, column):
    how = replace(RGB, image_size=224, mean=(0.2, 0.4, 0.6), resize="longer", fill="mean")
    white = np.full(shape, 255, np.uint8)
    shown = prepare(white, how).shown
    assert shown[row, column].tolist() == [51, 102, 153] and (shown[:223, :223] == 255).all()
    crop = seen_crop(white, how)
    assert crop.shape == (500, 500, 3) and (crop[:498, :498] == 255).all()
    assert crop[row, column].tolist() == shown[row, column].tolist()


def test_a_thin_image_that_is_padded_is_never_resized_whole(monkeypatch):
    made, resize = [], Image.Image.resize

    def resized(image, size, *args, **options):
        made.append(size)
        return resize(image, size, *args, **options)

    monkeypatch.setattr(Image.Image, "resize", resized)
    how = replace(RGB, image_size=64, crop_fraction=2.0)  # 32 x 640,000 px, of which 32 x 64 are seen
    thin = np.zeros((1, 20_000, 3), np.uint8)
    thin[:, 10_000:] = 255
    shown = prepare(thin, how).shown
    assert made == [(64, 32)]
    assert not shown[:16].any() and not shown[48:].any()
    assert not shown[16:48, :16].any() and (shown[16:48, 48:] == 255).all()


def test_a_redrawn_digit_is_drawn_on_as_the_model_sees_it():
    digit = Preparation(image_size=28, mean=(0.0,), std=(1.0,), digit=True)
    np.testing.assert_array_equal(seen_crop(PHOTO, digit), prepare(PHOTO, digit).shown)


def test_a_model_that_takes_unrounded_levels_is_shown_with_the_nearest_ones() -> None:
    preparation = Preparation(image_size=16, mean=(0.5,) * 3, std=(0.25,) * 3, whole_levels=False)
    image = np.random.default_rng(4).integers(0, 256, (37, 53, 3), dtype=np.uint8)
    prepared = prepare(image, preparation)
    levels = (255 * (0.25 * prepared.input.transpose(1, 2, 0) + 0.5)).clip(0, 255)
    distance = np.abs(levels - prepared.shown)
    assert 0.4 < distance.max() <= 0.501
