"""From an image of any size to the input that a model was made for, and to what the model then sees."""

from dataclasses import dataclass
from math import floor

import numpy as np
from PIL import Image

from vitviz.config import Interpolation, Preparation
from vitviz.data.digit_placement import Float32, Uint8, centre_digit

CROP_PX = (
    1120  # the longest side of a crop that is drawn on: twice the stage, for screens of two pixels to one
)
MOST_RESIZED_PX = (
    2**24
)  # beyond it only the crop is resized: equal to within rounding, and never a huge image
LUMINANCE = (0.299, 0.587, 0.114)  # ITU-R BT.601
_FILTERS: dict[Interpolation, Image.Resampling] = {
    "nearest": Image.Resampling.NEAREST,
    "box": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "hamming": Image.Resampling.HAMMING,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
Box = tuple[float, float, float, float]  # (top, left, height, width) in pixels of an image, not rounded


@dataclass(frozen=True, eq=False)
class Prepared:
    """One image as a model takes it.

    input: (C, H, W) float32, normalised, of the model's height and width.
    shown: (H, W, 3) uint8, what the model sees, for people: grey where the model sees grey.
    box: (top, left, height, width) of the seen part in pixels of the source, not rounded; it reaches beyond the
        image where the input is padded.
    """

    input: Float32
    shown: Uint8
    box: Box


def prepare(image: Uint8, preparation: Preparation, offset: tuple[float, float] = (0.5, 0.5)) -> Prepared:
    """Resize an image, cut the centre, bring it to the model's channels and normalise it, as the publisher does.

    The crop lies on whole pixels of the resized image. A model of drawn digits gets the whole image, light on dark,
    the digit placed as in its training set; an image that already has the model's size is taken for one of that set
    and left alone.

    Args:
        image: (H, W, 3) uint8.
        offset: where the crop lies in the room left, (x, y) in [0, 1]: (0, 0) top left, (0.5, 0.5) centred.

    Raises:
        ValueError: if the image or the offset does not fit.
    """
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
        raise ValueError(f"image must be uint8 (H, W, 3) and not empty, received {image.dtype} {image.shape}")
    shape = preparation.image_shape
    if preparation.digit and image.shape[:2] != shape:
        shown = np.repeat(centre_digit(luminance(image), shape[0])[..., None], 3, axis=2)
        box = _enclosing_square(image.shape[0], image.shape[1])
    else:
        crop = Crop.place(image.shape[0], image.shape[1], preparation, offset)
        seen, box = crop.cut(image, preparation), crop.box
        shown = np.rint(seen.clip(0, 255)).astype(np.uint8)
        if preparation.in_chans == 1:
            shown = np.repeat(luminance(shown)[..., None], 3, axis=2)
        elif not preparation.whole_levels:
            return Prepared(normalise(seen[None], preparation)[0], shown, box)
    return Prepared(normalise(shown[None, ..., : preparation.in_chans], preparation)[0], shown, box)


def seen_crop(
    image: Uint8,
    preparation: Preparation,
    offset: tuple[float, float] = (0.5, 0.5),
    most_px: int = CROP_PX,
) -> Uint8:
    """Return the part that `prepare` cuts, in the image's own pixels and colours: what maps are drawn on.

    Pixels are copied, so the part lies on whole ones, at most one from where the model's lies; never
    enlarged, and made smaller only where a side is beyond `most_px`. A digit that is redrawn for its model has no
    such part: it is given as the model sees it.

    Args:
        image: (H, W, 3) uint8.
        offset: as `prepare` takes it.
        most_px: the longest side.

    Returns:
        (height, width, 3) uint8, in the proportions of the model's input.

    Raises:
        ValueError: if the image or the offset does not fit.
    """
    if preparation.digit:
        return prepare(image, preparation, offset).shown
    place = Crop.place(image.shape[0], image.shape[1], preparation, offset)
    top, left, height, width = place.box
    ratio = height * place.shape[1] / (width * place.shape[0])  # 1 where nothing is squeezed
    if place.is_padded or preparation.resize == "squash" and abs(ratio - 1) * min(height, width) > 0.5:
        scale = max(height / place.shape[0], width / place.shape[1])
        return _stretch(image, place.box, _limit(place.shape, scale, most_px), preparation)
    scale = min(height / place.shape[0], width / place.shape[1])
    rows, cols = (
        max(1, min(round(side * scale), room)) for side, room in zip(place.shape, image.shape, strict=False)
    )
    row, col = min(round(top), image.shape[0] - rows), min(round(left), image.shape[1] - cols)
    crop = np.ascontiguousarray(image[row : row + rows, col : col + cols])
    if max(rows, cols) <= most_px:
        return crop
    limited = _limit(place.shape, scale, most_px)
    return np.asarray(Image.fromarray(crop).resize(limited[::-1], _FILTERS["bicubic"]))


def _limit(shape: tuple[int, int], scale: float, most_px: int) -> tuple[int, int]:
    """Return a scaled (height, width) whose longer side is at most `most_px`."""
    scale = min(scale, most_px / max(shape))
    return max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale))


def _stretch(image: Uint8, box: Box, shape: tuple[int, int], preparation: Preparation) -> Uint8:
    """Return a part of an image in another shape (height, width, 3): stretched, and padded outside the image."""
    top, left, height, width = box
    down, across = shape[0] / height, shape[1] / width
    inside = (max(0, left), max(0, top), min(image.shape[1], left + width), min(image.shape[0], top + height))
    size = (
        max(1, round((inside[2] - inside[0]) * across)),
        max(1, round((inside[3] - inside[1]) * down)),
    )
    canvas = Image.new("RGB", shape[::-1], _fill_colour(preparation))
    part = Image.fromarray(image).resize(size, _FILTERS["bicubic"], box=inside)
    canvas.paste(part, (round((inside[0] - left) * across), round((inside[1] - top) * down)))
    return np.asarray(canvas)


def _fill_colour(preparation: Preparation) -> tuple[int, int, int]:
    if preparation.fill == "black":
        return (0, 0, 0)
    red, *others = (round(255 * mean) for mean in preparation.mean)
    green, blue = others or (red, red)
    return (red, green, blue)


def prepare_batch(images: Uint8, preparation: Preparation) -> Float32:
    """Return a dataset's images as a model takes them, (N, C, height, width) float32; centre crop where sizes differ.

    Equals `prepare` image by image. Images of the model's own size are treated all at once, without a
    loop.

    Args:
        images: (N, H, W, 1 or 3) uint8.

    Raises:
        ValueError: if the images do not fit.
    """
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] not in (1, 3) or 0 in images.shape[1:]:
        raise ValueError(f"images must be uint8 (N, H, W, 1 or 3), received {images.dtype} {images.shape}")
    shape = preparation.image_shape
    whole = preparation.crop_fraction == 1.0 or preparation.digit
    if images.shape[1:3] != shape or not whole:
        colour = np.broadcast_to(images, (*images.shape[:3], 3))
        inputs = [prepare(image, preparation).input for image in colour]
        return np.stack(inputs) if inputs else np.empty((0, preparation.in_chans, *shape), np.float32)
    if images.shape[3] == 3 and preparation.in_chans == 1:
        images = luminance(images)[..., None]
    elif images.shape[3] == 1 and preparation.in_chans == 3:
        images = np.broadcast_to(images, (*images.shape[:3], 3))
    return normalise(images, preparation)


def normalise(images: Uint8 | Float32, preparation: Preparation) -> Float32:
    """Return (x / pixel_range - mean) / std per channel: (N, H, W, C) levels to (N, C, H, W) float32, contiguous."""
    mean = np.array(preparation.mean, dtype=np.float32)
    std = np.array(preparation.std, dtype=np.float32)
    out = np.empty((images.shape[0], images.shape[3], *images.shape[1:3]), dtype=np.float32)
    gain = (1 / (preparation.pixel_range * std))[:, None, None]
    np.multiply(images.transpose(0, 3, 1, 2), gain, out=out, dtype=np.float32)
    out -= (mean / std)[:, None, None]
    return out


def luminance(image: Uint8) -> Uint8:
    """Grey as the eye weighs colour, 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601): (..., 3) to (...) uint8."""
    grey = image.astype(np.float32) @ np.array(LUMINANCE, dtype=np.float32)
    return np.rint(grey).astype(np.uint8)


@dataclass(frozen=True)
class Crop:
    """A part of `shape` px at (top, left) of an image of `height` x `width` px that is resized to `resized` first.

    Where the part is larger than the resized image, the rest is padded: top or left is
    negative, or 0 where one row or column is missing.
    """

    height: int
    width: int
    resized: tuple[int, int]  # (height, width)
    top: int
    left: int
    shape: tuple[int, int]  # (height, width)

    @staticmethod
    def place(height: int, width: int, preparation: Preparation, offset: tuple[float, float]) -> "Crop":
        """Return the crop of an image at `offset` (x, y) of the room that is left; (0.5, 0.5): the publisher's.

        Raises:
            ValueError: if the offset does not lie in [0, 1] x [0, 1].
        """
        x, y = offset
        if not (0 <= x <= 1 and 0 <= y <= 1):
            raise ValueError(f"offset must lie in [0, 1] x [0, 1], received {offset!r}")
        resized, shape = _resized_size(height, width, preparation), preparation.image_shape
        top, left = (
            _place_edge(room - side, share, preparation)
            for room, side, share in zip(resized, shape, (y, x), strict=True)
        )
        return Crop(height, width, resized, top, left, shape)

    @property
    def is_padded(self) -> bool:
        """True if the part reaches beyond the resized image."""
        return self.resized[0] < self.shape[0] or self.resized[1] < self.shape[1]

    @property
    def box(self) -> Box:
        """(top, left, height, width) in pixels of the image, not rounded."""
        down, across = self.height / self.resized[0], self.width / self.resized[1]
        return self.top * down, self.left * across, self.shape[0] * down, self.shape[1] * across

    def cut(self, image: Uint8, preparation: Preparation) -> Uint8 | Float32:
        """Return the part, (height, width, 3), in levels: whole ones unless the publisher resizes floats."""
        how = _FILTERS[preparation.interpolation]
        region = (self.left, self.top, self.left + self.shape[1], self.top + self.shape[0])
        if self.resized == image.shape[:2]:
            resized = Image.fromarray(image)
        elif self.resized[0] * self.resized[1] <= MOST_RESIZED_PX:
            if not preparation.whole_levels:
                return self._cut_floats(image, how)
            resized = Image.fromarray(image).resize(self.resized[::-1], how)
        else:
            return self._cut_part(image, how, preparation)
        if not self.is_padded:
            return np.array(resized.crop(region))
        canvas = Image.new("RGB", self.shape[::-1], _fill_colour(preparation))
        canvas.paste(resized, (-self.left, -self.top))
        return np.array(canvas)

    def _cut_part(self, image: Uint8, how: Image.Resampling, preparation: Preparation) -> Uint8:
        """Return the part after resizing only the pixels inside it."""
        down, across = self.height / self.resized[0], self.width / self.resized[1]
        top, left = max(0, self.top), max(0, self.left)
        bottom = min(self.top + self.shape[0], self.resized[0])
        right = min(self.left + self.shape[1], self.resized[1])
        # Rounding can put the far edges a hair outside.
        box = (left * across, top * down, min(right * across, self.width), min(bottom * down, self.height))
        part = Image.fromarray(image).resize((right - left, bottom - top), how, box=box)
        canvas = Image.new("RGB", self.shape[::-1], _fill_colour(preparation))
        canvas.paste(part, (left - self.left, top - self.top))
        return np.array(canvas)

    def _cut_floats(self, image: Uint8, how: Image.Resampling) -> Float32:
        rows, cols = (
            slice(max(0, self.top), self.top + self.shape[0]),
            slice(max(0, self.left), self.left + self.shape[1]),
        )
        channels = [Image.fromarray(image[..., channel].astype(np.float32)) for channel in range(3)]
        resized = np.stack([np.asarray(c.resize(self.resized[::-1], how)) for c in channels], axis=-1)
        seen = np.zeros((*self.shape, 3), np.float32)
        part = resized[rows, cols]
        top, left = max(0, -self.top), max(0, -self.left)
        seen[top : top + part.shape[0], left : left + part.shape[1]] = part
        return seen


def _resized_size(height: int, width: int, preparation: Preparation) -> tuple[int, int]:
    """Return (height, width) of the resized image."""
    rows, cols = preparation.resized_shape
    if preparation.resize == "none":
        return height, width
    if preparation.resize == "squash":
        return rows, cols
    if preparation.resize == "longer" or rows != cols:
        ratio = (max if preparation.resize == "longer" else min)(height / rows, width / cols)
        return max(1, round(height / ratio)), max(1, round(width / ratio))
    longer = int(rows * max(height, width) / min(height, width))
    return (rows, longer) if height <= width else (longer, rows)


def _place_edge(room: int, share: float, preparation: Preparation) -> int:
    """Return the top or left edge of a crop; a negative one where `room` is negative: padding."""
    if room < 0:
        return -(-room // 2)
    return floor(room * share) if preparation.crop_rounding == "down" else round(room * share)


def _enclosing_square(height_px: int, width_px: int) -> Box:
    """Return the smallest square around the whole image: a drawn digit is looked for everywhere."""
    side = max(height_px, width_px)
    return (height_px - side) / 2, (width_px - side) / 2, float(side), float(side)
