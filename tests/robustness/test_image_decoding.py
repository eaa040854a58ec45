"""A corpus of odd and hostile images, made here, against decode_image; every pixel value is worked out by hand."""

import struct
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from tests.files import encode
from tests.robustness.fuzz.crafted_images import chunk, jpeg_passes
from vitviz import upload_limits
from vitviz.data import image_decoding
from vitviz.data.image_decoding import ImageError, decode_image
from vitviz.data.image_preprocessing import Preparation, prepare


def png_header(width: int, height: int) -> bytes:
    """A PNG of one colour that claims any size: header and no pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


QUARTERS = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]], dtype=np.uint8)


@pytest.fixture
def quarters() -> Image.Image:
    """Red, green / blue, white; 16 px a side, so that JPEG keeps the colours."""
    return Image.fromarray(QUARTERS.repeat(8, axis=0).repeat(8, axis=1))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "AVIF", "GIF", "BMP", "TIFF"])
def test_every_accepted_kind(kind, quarters):
    options = {
        "JPEG": {"quality": 95, "subsampling": 0},
        "WEBP": {"lossless": True},
        "AVIF": {"quality": 100, "subsampling": "4:4:4"},
    }.get(kind, {})
    decoded = decode_image(encode(quarters, kind, **options))
    assert decoded.shape == (16, 16, 3) and decoded.dtype == np.uint8 and decoded.flags.writeable
    assert np.abs(decoded[4::8, 4::8].astype(int) - QUARTERS).max() <= 3


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF", "TIFF"])
def test_exif_is_turned_upright(kind, orientation):
    upright = np.zeros((24, 16, 3), np.uint8)
    upright[:8, :8] = 255  # a white corner at the top left, and not square: all eight turns differ
    stored = {
        1: lambda a: a,
        2: lambda a: a[:, ::-1],
        3: lambda a: a[::-1, ::-1],
        4: lambda a: a[::-1],
        5: lambda a: a.transpose(1, 0, 2),
        6: lambda a: np.rot90(a, 1),
        7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
        8: lambda a: np.rot90(a, -1),
    }[orientation](upright)
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"JPEG": {"quality": 100}, "WEBP": {"lossless": True}, "AVIF": {"quality": 100}}.get(kind, {})
    data = encode(Image.fromarray(np.ascontiguousarray(stored)), kind, exif=exif, **options)
    decoded = decode_image(data)
    assert decoded.shape == upright.shape
    assert np.abs(decoded.astype(int) - upright).max() <= 4


def test_broken_exif_costs_nothing(quarters):
    data = encode(quarters, "JPEG", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff garbage")
    assert decode_image(data).shape == (16, 16, 3)


def test_transparency_lies_on_white():
    clear_red = Image.new("RGBA", (2, 2), (255, 0, 0, 0))
    half_black = Image.new("RGBA", (2, 2), (0, 0, 0, 128))
    for kind in ("PNG", "WEBP", "TIFF"):
        options = {"lossless": True, "exact": True} if kind == "WEBP" else {}
        assert decode_image(encode(clear_red, kind, **options)).tolist() == [[[255] * 3] * 2] * 2
        assert decode_image(encode(half_black, kind, **options)).tolist() == [[[127] * 3] * 2] * 2
    assert decode_image(encode(Image.new("LA", (1, 1), (0, 0)), "PNG")).tolist() == [[[255] * 3]]
    assert decode_image(encode(Image.new("LA", (1, 1), (51, 255)), "PNG")).tolist() == [[[51] * 3]]


def test_a_nearly_white_drawing_lies_on_black():
    drawn = np.zeros((8, 8, 4), np.uint8)
    drawn[2:6, 2:6] = (250, 255, 240, 255)
    shown = decode_image(encode(Image.fromarray(drawn), "PNG"))
    assert shown[3, 3].tolist() == [250, 255, 240] and not shown[0, 0].any()
    drawn[4, 4, :3] = 90  # one pixel of sixteen is dark
    assert decode_image(encode(Image.fromarray(drawn), "PNG"))[0, 0].tolist() == [255] * 3
    grey = Image.fromarray(np.array([[0, 240]], np.uint8))
    assert decode_image(encode(grey, "PNG", transparency=0)).tolist() == [[[0] * 3, [240] * 3]]


def test_palettes_with_and_without_transparency():
    palette = Image.new("P", (3, 1))
    palette.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    palette.putdata([0, 1, 2])
    plain = [[[255, 0, 0], [0, 255, 0], [0, 0, 255]]]
    assert decode_image(encode(palette, "PNG")).tolist() == plain
    assert decode_image(encode(palette, "GIF")).tolist() == plain
    holed = [[[255, 0, 0], [255, 255, 255], [0, 0, 255]]]
    assert decode_image(encode(palette, "PNG", transparency=1)).tolist() == holed
    assert decode_image(encode(palette, "GIF", transparency=1)).tolist() == holed
    graded = decode_image(encode(palette, "PNG", transparency=bytes([255, 0, 255])))
    assert graded.tolist() == holed


def test_grey_with_a_transparent_level():
    grey = Image.fromarray(np.array([[10, 200]], np.uint8))
    assert decode_image(encode(grey, "PNG", transparency=10)).tolist() == [[[255] * 3, [200] * 3]]


def test_grey_one_bit_and_cmyk():
    assert decode_image(encode(Image.new("L", (1, 1), 77), "PNG")).tolist() == [[[77] * 3]]
    bits = Image.fromarray(np.array([[True, False]]))
    for kind in ("PNG", "BMP", "TIFF"):
        assert decode_image(encode(bits, kind)).tolist() == [[[255] * 3, [0] * 3]]
    cyan = Image.new("CMYK", (16, 16), (255, 0, 0, 0))
    for kind in ("JPEG", "TIFF"):
        assert np.abs(decode_image(encode(cyan, kind))[8, 8].astype(int) - [0, 255, 255]).max() <= 2


def test_sixteen_bits():
    deep = np.array([[0, 257, 32896, 65535]], np.uint16)  # 257 k is the 16-bit form of level k
    for kind in ("PNG", "TIFF"):
        assert decode_image(encode(Image.fromarray(deep), kind))[0, :, 0].tolist() == [0, 1, 128, 255]
    big_endian = Image.fromarray(deep.astype(">u2"))
    assert decode_image(encode(big_endian, "TIFF"))[0, :, 0].tolist() == [0, 1, 128, 255]


@pytest.mark.parametrize(
    ("most", "levels"), [(255, [0, 128, 255]), (4095, [0, 128, 255]), (5000, [0, 10, 19])]
)
def test_sixteen_bits_of_which_few_are_used(most, levels):
    dim = np.array([[0, most // 2 + 1, most]], np.uint16)
    assert decode_image(encode(Image.fromarray(dim), "PNG"))[0, :, 0].tolist() == levels


def test_wide_integers_and_floats():
    def decoded(values: list[float], dtype: type) -> list[int]:
        return decode_image(encode(Image.fromarray(np.array([values], dtype)), "TIFF"))[0, :, 0].tolist()

    assert decoded([0, 255], np.int32) == [0, 255]
    assert decoded([0, 65535], np.int32) == [0, 255]
    assert decoded([-100, 0, 100], np.int32) == [0, 128, 255]
    assert decoded([1_000_000, 2_000_000], np.int32) == [0, 255]
    assert decoded([0, 0.2, 1], np.float32) == [0, 51, 255]
    assert decoded([0, 51, 255], np.float32) == [0, 51, 255]
    assert decoded([-1, 0, 1], np.float32) == [0, 128, 255]
    assert decoded([np.nan, 1, np.inf], np.float32) == [0, 255, 0]
    assert decoded([1e6, 1e6], np.float32) == [0, 0]


def test_animations_show_their_first_frame():
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    for kind, options in (("GIF", {}), ("WEBP", {"lossless": True}), ("PNG", {}), ("TIFF", {})):
        data = encode(frames[0], kind, save_all=True, append_images=frames[1:], **options)
        assert decode_image(data)[0, 0].tolist() == [255, 0, 0], kind


@pytest.mark.parametrize("size", [(1, 1), (1, 5000), (5000, 1)])
def test_extreme_shapes_decode_and_prepare(size):
    for kind in ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP"):
        decoded = decode_image(encode(Image.new("RGB", size, (10, 20, 30)), kind))
        assert decoded.shape == (size[1], size[0], 3)
    prepared = prepare(decoded, Preparation(image_size=32), offset=(1.0, 1.0))
    assert prepared.shown.shape == (32, 32, 3) and prepared.box[2] == 1


def test_a_fifty_megapixel_photo_is_decoded_small():
    data = encode(Image.new("RGB", (8192, 6144), (40, 120, 200)), "JPEG", quality=30)
    decoded = decode_image(data)
    assert decoded.shape == (1536, 2048, 3)  # a quarter
    assert np.abs(decoded[700, 700].astype(int) - [40, 120, 200]).max() <= 4


def test_a_large_panorama_keeps_its_shorter_side():
    data = encode(Image.new("L", (12000, 2600)), "JPEG")
    assert decode_image(data).shape == (1300, 6000, 3)  # a half; a quarter were less than a stage's pixels


def test_a_large_photo_on_its_side_is_turned_after_it_is_made_small():
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encode(Image.new("L", (6000, 4000)), "JPEG", exif=exif)
    assert decode_image(data).shape == (3000, 2000, 3)


def test_sixteen_megapixels_are_welcome_and_one_row_more_is_not():
    assert decode_image(encode(Image.new("L", (4096, 4096)), "PNG")).shape == (4096, 4096, 3)
    with pytest.raises(ImageError, match="4096 × 4097 pixels"):
        decode_image(png_header(4096, 4097))


def never(*_: object) -> None:
    raise AssertionError("a pixel was decoded")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is empty"),
        (b"\0" * (upload_limits.IMAGE_BYTES + 1), "20.0 MB; the limit is 20 MB"),
        (b"hello, world", "not an image"),
        (b"\0" * 100, "not an image"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- x --><svg/>", "SVG"),
        (b"%PDF-1.7", "PDF"),
        (b"PK\x03\x04....", "zip archive"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "HEIC"),
        (b"\0\0\0\x18ftypavif\0\0\0\0", "looks like an AVIF"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "not an image"),
        (png_header(13_000, 13_000), "13000 × 13000 pixels, 169 megapixels"),
        (png_header(60_000, 60_000), "60000 × 60000"),
        (png_header(0, 5), "PNG"),
        (b"\x89PNG\r\n\x1a\n", "looks like a PNG"),
        (b"\xff\xd8\xff", "looks like a JPEG"),
        (b"GIF89a", "looks like a GIF"),
        (b"BM" + b"\xff" * 60, "BMP"),
        (b"II*\0\xff\xff\xff\xff", "TIFF"),
        (b"RIFF\x04\0\0\0WEBP", "looks like a WebP"),
        (b"\xff\xd8\xff\xe0" + b"\xff\xda" * 100, "scans"),
    ],
)
def test_what_is_not_shown_is_refused_before_a_pixel_is_decoded(data, why, monkeypatch):
    for name in (
        "PngImagePlugin.PngImageFile",
        "JpegImagePlugin.JpegImageFile",
        "TiffImagePlugin.TiffImageFile",
    ):
        monkeypatch.setattr(f"PIL.{name}.load", never)
    with pytest.raises(ImageError, match=why) as caught:
        decode_image(data)
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and len(message) < 400


@pytest.mark.parametrize("size", [(16_000_000, 1), (1, 16_000_000), (32_769, 1)])
def test_a_side_is_bounded_too(size):
    with pytest.raises(ImageError, match=f"{size[0]} × {size[1]} pixels; the limit per side is 32,768"):
        decode_image(png_header(*size))


@pytest.mark.parametrize("values", [np.uint16, np.float32])
def test_the_largest_image_costs_little_more_than_its_pixels(values):
    """Of what numpy and Python hold; Pillow's own copies are 4 bytes a pixel each."""
    data = encode(Image.fromarray(np.zeros((4096, 4096), values)), "TIFF", compression="tiff_lzw")
    tracemalloc.start()
    decode_image(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 13 * 4096 * 4096  # 3 bytes a pixel are the result's; float64 copies were 32


def test_a_jpegs_passes_are_bounded_by_its_pixels():
    assert decode_image(jpeg_passes(512, 64)).shape == (512, 512, 3)
    with pytest.raises(ImageError, match="64 scans over 17 megapixels; the limit at this size is 16"):
        decode_image(jpeg_passes(4096, 64))


@pytest.mark.parametrize("options", [{"progressive": True}, {"progressive": False}])
def test_only_a_jpeg_of_one_pass_is_decoded_small(options):
    """In several passes all its coefficients are held: 0.4 GB for 64 megapixels."""
    data = bytearray(encode(Image.new("RGB", (4096, 4104)), "JPEG", **options))
    if options["progressive"]:
        with pytest.raises(ImageError, match="limit for progressive JPEGs is 16"):
            decode_image(bytes(data))
    else:
        assert decode_image(bytes(data)).shape == (2052, 2048, 3)
        data[data.index(b"\xff\xda") + 4] = 1  # the first scan draws one layer only
        with pytest.raises(ImageError, match="progressive"):
            decode_image(bytes(data))


def test_pixels_are_known_from_the_header(quarters, monkeypatch):
    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", never)
    assert image_decoding.picture_pixels(encode(quarters, "PNG")) == 256
    with pytest.raises(ImageError, match="4096 × 4097"):
        image_decoding.picture_pixels(png_header(4096, 4097))


def test_a_small_gif_that_claims_a_huge_canvas(quarters):
    data = bytearray(encode(quarters, "GIF"))
    data[6:10] = struct.pack("<HH", 65535, 65535)
    with pytest.raises(ImageError, match="65535 × 65535"):
        decode_image(bytes(data))


def test_a_jpeg_above_its_limit(quarters):
    data = bytearray(encode(quarters, "JPEG"))
    frame = data.index(b"\xff\xc0")
    data[frame + 5 : frame + 9] = struct.pack(">HH", 60_000, 60_000)
    with pytest.raises(ImageError, match="a JPEG may have up to 64"):
        decode_image(bytes(data))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "BMP", "TIFF"])
def test_cut_off_files_say_so_on_decoding(kind):
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    data = encode(Image.fromarray(noise), kind)
    with pytest.raises(ImageError, match="truncated or damaged|cannot be decoded"):
        decode_image(data[: len(data) * 2 // 3])


def test_no_warning_leaves_and_no_global_is_changed(quarters):
    limit, filters = Image.MAX_IMAGE_PIXELS, list(warnings.filters)
    palette = Image.new("P", (1, 1))
    data = encode(palette, "PNG", transparency=bytes([100]))  # Pillow itself warns of this one
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        decode_image(data)
        with pytest.raises(ImageError):
            decode_image(png_header(20_000, 20_000))  # and of this
    assert not caught
    assert limit == Image.MAX_IMAGE_PIXELS and filters == list(warnings.filters)


def test_another_librarys_smaller_limit_does_not_matter(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    assert decode_image(encode(Image.new("L", (100, 100)), "PNG")).shape == (100, 100, 3)


def test_many_threads_at_once(quarters):
    with ThreadPoolExecutor(8) as threads:
        shapes = [image.shape for image in threads.map(decode_image, [encode(quarters, "PNG")] * 40)]
    assert shapes == [(16, 16, 3)] * 40
