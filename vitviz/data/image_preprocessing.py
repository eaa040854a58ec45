"""From an image of any size to the input that a model was made for, and to what the model then sees."""

from dataclasses import dataclass

import numpy as np
from PIL import Image

from vitviz.config import Preparation
from vitviz.data.photographed_digit import Float32, Uint8, centre_digit

CROP_PX = (
    1120  # the longest side of a crop that is drawn on: twice the stage, for screens of two pixels to one
)
MAX_ASPECT = 8  # beyond it only the square is resized: equal to within rounding, and never a huge image
LUMINANCE = (0.299, 0.587, 0.114)  # ITU-R BT.601
_FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}


@dataclass(frozen=True, eq=False)
class Prepared:
    """One image as a model takes it.

    input: (C, S, S) float32, normalised.
    shown: (S, S, 3) uint8, what the model sees, for people: grey where the model sees grey.
    box: (top, left, side) of the seen square in pixels of the source, not rounded.
    """

    input: Float32
    shown: Uint8
    box: tuple[float, float, float]


def prepare(image: Uint8, preparation: Preparation, offset: tuple[float, float] = (0.5, 0.5)) -> Prepared:
    """Resize an image, cut a square, bring it to the model's channels, and normalise it; equals timm's transform.

    The shorter side becomes `resized_px`, so shapes keep their aspect, and the square lies on whole pixels. A model of
    drawn digits gets the whole image, light on dark, the digit placed as in its training set; an image that
    already has the model's size is taken for one of that set and left alone.

    Args:
        image: (H, W, 3) uint8.
        offset: where the square lies in the room left, (x, y) in [0, 1]: (0, 0) top left, (0.5, 0.5) centred.

    Raises:
        ValueError: if the image or the offset does not fit.
    """
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
        raise ValueError(f"image must be uint8 (H, W, 3) and not empty, received {image.dtype} {image.shape}")
    size = preparation.image_size
    if preparation.digit and image.shape[:2] != (size, size):
        shown = np.repeat(centre_digit(luminance(image), size)[..., None], 3, axis=2)
        box = _enclosing_square(image.shape[0], image.shape[1])
    else:
        crop = Crop.place(image.shape[0], image.shape[1], preparation, offset)
        shown, box = crop.cut(image, preparation.interpolation), crop.box
        if preparation.in_chans == 1:
            shown = np.repeat(luminance(shown)[..., None], 3, axis=2)
    return Prepared(normalise(shown[None, ..., : preparation.in_chans], preparation)[0], shown, box)


def seen_crop(
    image: Uint8,
    preparation: Preparation,
    offset: tuple[float, float] = (0.5, 0.5),
    most_px: int = CROP_PX,
) -> Uint8:
    """Return the square that `prepare` cuts, in the image's own pixels and colours: what maps are drawn on.

    Pixels are copied, so the square lies on whole ones, at most one from where the model's lies; never
    enlarged, and made smaller only where its side is beyond `most_px`. A digit that is redrawn for its model has no
    such square: it is given as the model sees it.

    Args:
        image: (H, W, 3) uint8.
        offset: as `prepare` takes it.
        most_px: the longest side.

    Returns:
        (S, S, 3) uint8.

    Raises:
        ValueError: if the image or the offset does not fit.
    """
    if preparation.digit:
        return prepare(image, preparation, offset).shown
    top, left, side = Crop.place(image.shape[0], image.shape[1], preparation, offset).box
    px = max(1, round(side))
    row, col = min(round(top), image.shape[0] - px), min(round(left), image.shape[1] - px)
    crop = np.ascontiguousarray(image[row : row + px, col : col + px])
    if px <= most_px:
        return crop
    return np.asarray(Image.fromarray(crop).resize((most_px, most_px), _FILTERS["bicubic"]))


def prepare_batch(images: Uint8, preparation: Preparation) -> Float32:
    """Return a dataset's images as a model takes them, (N, C, S, S) float32; centre crop where sizes differ.

    Equals `prepare` image by image. Images of the model's own size are treated all at once, without a
    loop.

    Args:
        images: (N, H, W, 1 or 3) uint8.

    Raises:
        ValueError: if the images do not fit.
    """
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] not in (1, 3) or 0 in images.shape[1:]:
        raise ValueError(f"images must be uint8 (N, H, W, 1 or 3), received {images.dtype} {images.shape}")
    size = preparation.image_size
    whole = preparation.crop_fraction == 1.0 or preparation.digit
    if images.shape[1:3] != (size, size) or not whole:
        colour = np.broadcast_to(images, (*images.shape[:3], 3))
        inputs = [prepare(picture, preparation).input for picture in colour]
        return np.stack(inputs) if inputs else np.empty((0, preparation.in_chans, size, size), np.float32)
    if images.shape[3] == 3 and preparation.in_chans == 1:
        images = luminance(images)[..., None]
    elif images.shape[3] == 1 and preparation.in_chans == 3:
        images = np.broadcast_to(images, (*images.shape[:3], 3))
    return normalise(images, preparation)


def normalise(images: Uint8, preparation: Preparation) -> Float32:
    """Return (x / 255 - mean) / std per channel: (N, H, W, C) uint8 to (N, C, H, W) float32, contiguous."""
    mean = np.array(preparation.mean, dtype=np.float32)
    std = np.array(preparation.std, dtype=np.float32)
    out = np.empty((images.shape[0], images.shape[3], *images.shape[1:3]), dtype=np.float32)
    np.multiply(images.transpose(0, 3, 1, 2), (1 / (255 * std))[:, None, None], out=out, dtype=np.float32)
    out -= (mean / std)[:, None, None]
    return out


def luminance(image: Uint8) -> Uint8:
    """Grey as the eye weighs colour, 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601): (..., 3) to (...) uint8."""
    grey = image.astype(np.float32) @ np.array(LUMINANCE, dtype=np.float32)
    return np.rint(grey).astype(np.uint8)


@dataclass(frozen=True)
class Crop:
    """A square of `side` px at (top, left) of an image of `height` x `width` px that is resized to `resized` first."""

    height: int
    width: int
    resized: tuple[int, int]  # (height, width)
    top: int
    left: int
    side: int

    @staticmethod
    def place(height: int, width: int, preparation: Preparation, offset: tuple[float, float]) -> "Crop":
        """Return the crop of an image at `offset` (x, y) of the room that is left; (0.5, 0.5): centred as timm does.

        Raises:
            ValueError: if the offset does not lie in [0, 1] x [0, 1].
        """
        x, y = offset
        if not (0 <= x <= 1 and 0 <= y <= 1):
            raise ValueError(f"offset must lie in [0, 1] x [0, 1], received {offset!r}")
        short, side = preparation.resized_px, preparation.image_size
        long = int(short * max(height, width) / min(height, width))
        resized = (short, long) if height <= width else (long, short)
        return Crop(
            height, width, resized, round((resized[0] - side) * y), round((resized[1] - side) * x), side
        )

    @property
    def box(self) -> tuple[float, float, float]:
        """(top, left, side) in pixels of the image, not rounded."""
        scale = min(self.height, self.width) / min(self.resized)
        return (
            self.top * self.height / self.resized[0],
            self.left * self.width / self.resized[1],
            self.side * scale,
        )

    def cut(self, image: Uint8, interpolation: str) -> Uint8:
        """Return the square, (side, side, 3)."""
        source, how = Image.fromarray(image), _FILTERS[interpolation]
        if max(self.resized) <= MAX_ASPECT * min(self.resized):
            whole = source.resize(self.resized[::-1], how)
            return np.array(whole.crop((self.left, self.top, self.left + self.side, self.top + self.side)))
        top, left, _ = self.box
        height, width = self.height / self.resized[0], self.width / self.resized[1]
        right = min(left + self.side * width, self.width)  # rounding can put it a hair outside
        bottom = min(top + self.side * height, self.height)
        return np.array(source.resize((self.side, self.side), how, box=(left, top, right, bottom)))


def _enclosing_square(height_px: int, width_px: int) -> tuple[float, float, float]:
    """Return the smallest square around the whole image: a drawn digit is looked for everywhere."""
    side = max(height_px, width_px)
    return (height_px - side) / 2, (width_px - side) / 2, float(side)
