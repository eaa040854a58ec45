"""Decode an untrusted image file to an upright RGB array, or raise one error sentence for the user.

Headers are checked before pixels are decoded, one image at a time, so hostile files cost little memory.
"""

import io
import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from PIL import (
    AvifImagePlugin,
    BmpImagePlugin,
    GifImagePlugin,
    Image,
    ImageChops,
    ImageFile,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from vitviz import upload_limits as limits
from vitviz.data.image_structure import ImageStructureError, check_structure, is_avif, webp_size
from vitviz.locks import FairLock
from vitviz.text import cut

DRAFT_PIXELS = 2 * 2**20  # a JPEG above IMAGE_PIXELS is decoded at 1/2, 1/4 or 1/8, with at least as many

ACCEPTED = "PNG, JPEG, WebP, AVIF, GIF, BMP or TIFF"
_PLUGINS: tuple[tuple[str, tuple[bytes, ...], type[ImageFile.ImageFile]], ...] = (
    # the plugins themselves, not Image.open: that one's size check depends on a global that anyone may change
    ("PNG", (b"\x89PNG\r\n\x1a\n",), PngImagePlugin.PngImageFile),
    ("JPEG", (b"\xff\xd8\xff",), JpegImagePlugin.JpegImageFile),
    ("GIF", (b"GIF87a", b"GIF89a"), GifImagePlugin.GifImageFile),
    ("BMP", (b"BM",), BmpImagePlugin.BmpImageFile),
    ("TIFF", (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), TiffImagePlugin.TiffImageFile),
    ("WebP", (b"RIFF",), WebPImagePlugin.WebPImageFile),
    ("AVIF", (), AvifImagePlugin.AvifImageFile),  # its brand lies further back: see `is_avif`
)
AvifImagePlugin.DEFAULT_MAX_THREADS = 1  # each thread of its decoder reserves address space
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_ORIENTATION_TAG = 0x0112
_SCALES_16 = (255, 4095, 65535)  # full scale of 16-bit files: many cameras of laboratories write 12 bits
_NEARLY_WHITE = 224
_PIECE = 1 << 20  # values made into bytes at a time
# One at a time in each process: it bounds the memory, and makes the silencing of warnings below safe among decoders.
# The server decodes uploads in processes of their own, see `image_worker`.
_decoding = FairLock()


class ImageError(ValueError):
    """A file is not an image that we show; the message is one sentence for the user."""


def decode_image(encoded: bytes) -> NDArray[np.uint8]:
    """Return the image in a PNG, JPEG, WebP, AVIF, GIF (first frame), BMP or TIFF file, upright.

    Transparent pixels become white, or black if the visible pixels are nearly white.

    16-bit, 32-bit and float values are brought to 8 bits, palettes, CMYK, grey and black-and-white to RGB. A
    JPEG of more than 16 megapixels is decoded at a half, a quarter or an eighth of its size.

    Returns:
        (H, W, 3) uint8, writable and the caller's own.

    Raises:
        ImageError: empty, too large, not an image, or damaged. All but 'damaged' is said before any pixel
        is decoded.
    """
    with _opened(encoded) as (name, image):
        try:
            if name == "JPEG" and image.width * image.height > limits.IMAGE_PIXELS:
                _draft(image)
            return convert_image(image)
        except MemoryError as error:
            raise ImageError(f"Decoding this {name} needs too much memory: make it smaller first.") from error
        except Exception as error:  # as in `_opened`
            raise ImageError(
                f"This {name} is truncated or damaged: its pixels cannot be decoded ({_reason(error)})."
            ) from error


def convert_image(image: Image.Image) -> NDArray[np.uint8]:
    """Return a Pillow image upright, as `decode_image` returns its file: (H, W, 3) uint8, the caller's own."""
    image.load()
    turn = _UPRIGHT.get(_orientation(image))  # after load(): Pillow has turned a TIFF by then
    colour = _rgb(image)
    return np.array(colour if turn is None else colour.transpose(turn))


def picture_pixels(encoded: bytes) -> int:
    """Return how many pixels `decode_image` would decode, from the header alone.

    Raises:
        ImageError: as `decode_image`, but for damage after the header.
    """
    with _opened(encoded) as (_, image):
        return image.width * image.height


def picture_size(encoded: bytes) -> tuple[int, int]:
    """Return (height, width) of the upright image from the header alone; `decode_image` may shrink it.

    Raises:
        ImageError: as `decode_image`, but for damage after the header.
    """
    with _opened(encoded) as (_, image):
        turned = _orientation(image) in (5, 6, 7, 8)  # EXIF's four that lie on their side
        return image.size if turned else (image.height, image.width)


def shrink_image(image: NDArray[np.uint8], most_pixels: int) -> NDArray[np.uint8]:
    """Return an image (H, W, 3) with about `most_pixels` where it has more, at the same ratio of sides."""
    shrink = math.sqrt(most_pixels / (image.shape[0] * image.shape[1]))
    if shrink >= 1:
        return image
    height, width = (max(1, round(side * shrink)) for side in image.shape[:2])
    return np.asarray(Image.fromarray(image).resize((width, height), Image.Resampling.LANCZOS))


def in_colour(image: NDArray[np.uint8]) -> bool:
    """Return True if an image (H, W, 3) has colour: more than 1 % of its pixels, of a grid of at most 256 x 256.

    A pixel has colour if its channels differ by more than 16 of 255: JPEGs of grey photos and scanned paper are not
    exactly grey.
    """
    height, width = image.shape[:2]
    few = image[:: max(1, height // 256), :: max(1, width // 256)]
    apart = few.max(axis=2).astype(np.int16) - few.min(axis=2)
    return bool((apart > 16).mean() > 0.01)


def some_in_colour(images: NDArray[np.uint8]) -> bool:
    """Return True if one of a set's first 24 images has colour; (N, H, W, 3)."""
    return any(in_colour(image) for image in images[:24])


@contextmanager
def _opened(encoded: bytes) -> Iterator[tuple[str, ImageFile.ImageFile]]:
    """Yield (kind, image before decoding) of a file with a valid header, and hold the decoder's lock."""
    check_file_size(len(encoded))
    name, plugin = _recognise(encoded)
    try:
        check_structure(name, encoded)
    except ImageStructureError as error:
        raise ImageError(
            f"This {name} has {error}, which is invalid: open it in an image editor and save it again."
        ) from error
    if name == "WebP" and (canvas := webp_size(encoded)) is not None:
        _check_size(name, canvas)
    with _decoding, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of harmless bugs in a file's metadata
        try:
            image = plugin(io.BytesIO(encoded))
        except Exception as error:  # for hostile bytes Pillow's plugins raise nearly any kind of error
            raise ImageError(
                f"This file looks like {_with_article(name)} but cannot be decoded ({_reason(error)})."
            ) from error
        try:
            _check_size(name, image.size)
            if name == "JPEG":
                _check_passes(encoded, image)
            yield name, image
        finally:
            image.close()


def check_file_size(size: int) -> None:
    """Raise ImageError for a file of so many bytes that is empty or larger than `IMAGE_BYTES`."""
    if not size:
        raise ImageError("This file is empty (0 bytes).")
    if size > limits.IMAGE_BYTES:
        raise ImageError(f"This file has {size / 2**20:.1f} MB; the limit is {limits.IMAGE_BYTES >> 20} MB.")


def _recognise(encoded: bytes) -> tuple[str, type[ImageFile.ImageFile]]:
    for name, starts, plugin in _PLUGINS:
        if (is_avif(encoded) if name == "AVIF" else encoded.startswith(starts)) and (
            name != "WebP" or encoded[8:12] == b"WEBP"
        ):
            if name == "JPEG" and encoded.count(b"\xff\xda") > limits.JPEG_SCANS:
                raise ImageError(
                    f"This JPEG has more than {limits.JPEG_SCANS} scans, the limit: save it again as a baseline JPEG."
                )
            return name, plugin
    raise ImageError(f"{_other_kind(encoded)} Supported formats: {ACCEPTED}.")


def _other_kind(encoded: bytes) -> str:
    head = encoded[:4096]
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<svg", b"<?xml", b"<!doctype svg", b"<!--")) and b"<svg" in text:
        return "This is an SVG drawing, which is not supported: export it as PNG."
    if head[4:8] == b"ftyp":
        kind = head[8:12]
        if kind in (b"heic", b"heix", b"hevc", b"mif1", b"msf1"):
            return "This is a HEIC photo, which is not supported: export it as JPEG."
    if head.startswith(b"%PDF"):
        return "This is a PDF document, which is not supported: export the page as PNG."
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "This is a zip archive, not an image."
    return "This file is not an image in a supported format."


def _with_article(name: str) -> str:
    return f"an {name}" if name == "AVIF" else f"a {name}"


def _check_size(name: str, size: tuple[int, int]) -> None:
    width, height = size
    if width < 1 or height < 1:
        raise ImageError(f"This {name} has {width} × {height} pixels: there is nothing to show.")
    limit = {"JPEG": limits.JPEG_PIXELS, "WebP": limits.WEBP_PIXELS}.get(name, limits.IMAGE_PIXELS)
    if width * height > limit:
        hint = "" if name == "JPEG" else f", a JPEG up to {limits.JPEG_PIXELS >> 20}"
        raise ImageError(
            f"This {name} has {width} × {height} pixels, {width * height / 1e6:,.0f} megapixels;"
            f" {_with_article(name)} may have up to {limit // 2**20}{hint}. Make it smaller first."
        )
    if max(size) > limits.IMAGE_SIDE_PX:
        raise ImageError(
            f"This {name} has {width} × {height} pixels; the limit per side is {limits.IMAGE_SIDE_PX:,}. Crop it first."
        )


def _check_passes(encoded: bytes, image: ImageFile.ImageFile) -> None:
    """Limit the pixels and passes of a progressive JPEG, which is always decoded at full size."""
    pixels, scans = image.width * image.height, encoded.count(b"\xff\xda")
    one_pass = not image.info.get("progressive") and _first_scan_layers(encoded) == getattr(
        image, "layers", 0
    )
    if pixels > limits.IMAGE_PIXELS and not one_pass:
        raise ImageError(
            f"This JPEG has {image.width} × {image.height} pixels, {pixels / 1e6:,.0f} megapixels, and is"
            f" progressive; the limit for progressive JPEGs is {limits.IMAGE_PIXELS >> 20} megapixels. Make it"
            " smaller first."
        )
    if not one_pass and scans * pixels > limits.SCANNED_PIXELS:
        raise ImageError(
            f"This JPEG has {scans} scans over {pixels / 1e6:,.0f} megapixels; the limit at this size is"
            f" {limits.SCANNED_PIXELS // pixels} scans. Save it again as a baseline JPEG."
        )


def _first_scan_layers(encoded: bytes) -> int:
    """Return how many of its layers a JPEG's first scan draws; 0 where there is none."""
    at = 2
    while at + 4 < len(encoded):
        if encoded[at] != 0xFF or encoded[at + 1] == 0xFF:
            at += 1
        elif encoded[at + 1] == 0xDA:
            return encoded[at + 4]
        elif encoded[at + 1] in (0x00, 0x01) or 0xD0 <= encoded[at + 1] <= 0xD8:  # markers without a length
            at += 2
        else:
            at += 2 + int.from_bytes(encoded[at + 2 : at + 4])
    return 0


def _draft(image: ImageFile.ImageFile) -> None:
    shrink = math.sqrt(DRAFT_PIXELS / (image.width * image.height))
    image.draft(image.mode, (max(1, int(image.width * shrink)), max(1, int(image.height * shrink))))


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(_ORIENTATION_TAG, 1))
    except Exception:  # a broken EXIF block must not cost the image
        return 1


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        return Image.fromarray(_to_8_bits(np.asarray(image), image.mode)).convert("RGB")
    if "transparency" in image.info or image.mode in ("RGBA", "LA", "PA", "La", "RGBa"):
        colour = image if image.mode == "RGBA" else image.convert("RGBA")
        ground = Image.new("RGB", colour.size, "black" if _nearly_white(colour) else "white")
        ground.paste(colour, mask=colour)  # `alpha_composite` would hold two more copies
        return ground
    return image.convert("RGB")


def _nearly_white(image: Image.Image) -> bool:
    """Return True if an RGBA image has visible pixels and 99 % of them are nearly white."""
    few = image.resize((min(image.width, 512), min(image.height, 512)), Image.Resampling.NEAREST)
    red, green, blue, alpha = few.split()
    darkest = ImageChops.darker(ImageChops.darker(red, green), blue)
    counts = darkest.histogram(mask=alpha.point(lambda level: 255 * (level >= 128)))
    return sum(counts[_NEARLY_WHITE:]) > 0.99 * sum(counts)


def _to_8_bits(values: NDArray[np.generic], mode: str) -> NDArray[np.uint8]:
    """Convert one-channel values of more than 8 bits to 8 bits.

    The scale is the first that holds all values: 0..255, 0..4095 or 0..65535 for 16 bits, 0..255 or 0..65535 for wider
    integers, 0..1 or 0..255 for floats. Other values are scaled from minimum to maximum. NaN becomes black.
    """
    if mode not in ("I", "F"):
        whole = next(scale for scale in _SCALES_16 if int(values.max()) <= scale)
        bytes_of = np.rint(np.minimum(np.arange(65536) * 255.0 / whole, 255.0)).astype(np.uint8)
        return np.asarray(bytes_of[values.astype(np.uint16)])
    flat = values.reshape(-1)
    pieces = [flat[start : start + _PIECE] for start in range(0, flat.size, _PIECE)]
    low = min(float(_finite(piece).min()) for piece in pieces)
    high = max(float(_finite(piece).max()) for piece in pieces)
    scales = (1.0, 255.0) if mode == "F" else (255.0, 65535.0)
    full = next((scale for scale in scales if low >= 0 and high <= scale), None)
    start, full = (low, (high - low) or 1.0) if full is None else (0.0, full)
    small = np.empty(flat.size, np.uint8)
    for number, piece in enumerate(pieces):
        small[number * _PIECE :][: len(piece)] = np.rint((_finite(piece) - start) * 255.0 / full)
    return small.reshape(values.shape)


def _finite(values: NDArray[np.generic]) -> NDArray[np.float64]:
    return np.nan_to_num(values.astype(np.float64), copy=False, nan=0.0, posinf=0.0, neginf=0.0)


def _reason(error: Exception) -> str:
    # Pillow counts the bytes it has left over, which tells a user nothing.
    text = re.sub(r"\s*\(\d+ bytes not processed\)", "", " ".join(str(error).split())) or type(error).__name__
    return cut(text, 120)
