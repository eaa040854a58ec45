"""Draw the sidebar's thumbnails with NumPy and Pillow."""

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO

import numpy as np
from PIL import Image, ImageDraw

from vitviz.config import ModelConfig
from vitviz.pin import Pin
from vitviz.plots.theme import HEADS, PALETTES, PIN, Mode

_SCALE = 2  # drawn at twice the size it is shown at
_TILES = 4  # filters in a row and in a column
_DIMMED = 0.35


def encode_image(drawn: np.ndarray, is_photo: bool = False) -> str:
    """Return an image (H, W, 3 or 4) as a data URL: a photo as JPEG, squares and lines as PNG, a quarter of its bytes.

    Streamlit would encode the array in every run, and keep it as a file that the browser asks for.
    """
    image = Image.fromarray(drawn)
    file, kind = BytesIO(), "jpeg" if is_photo else "png"
    image.save(file, kind, quality=90)
    return f"data:image/{kind};base64,{b64encode(file.getvalue()).decode()}"


def draw_crop(
    pixels: np.ndarray,
    box: tuple[float, float, float, float] | None,
    pin: Pin | None,
    mode: Mode,
    side_px: int = 256,
) -> np.ndarray:
    """Draw the image with its crop's edge and pin, dimmed outside the crop.

    Args:
        pixels: (H, W, 3) uint8.
        box: (top, left, height, width) of the crop, in the image's pixels; None dims nothing.
        pin: a position in the crop; a prefix token has none.
        mode: light or dark.
        side_px: the longer side as shown.
    """
    height, width = pixels.shape[:2]
    scale = _SCALE * side_px / max(height, width)
    # At least one pixel must remain of a thin image when Streamlit scales it down again.
    size = (max(_SCALE, round(width * scale)), max(_SCALE, round(height * scale)))
    # Small images show their pixels as squares.
    resampling = Image.Resampling.NEAREST if scale > 3 else Image.Resampling.LANCZOS
    image = Image.fromarray(np.ascontiguousarray(pixels)).resize(size, resampling)
    if box is None:
        return np.asarray(image)
    top, left, tall, wide = (length * scale for length in box)
    paper = Image.new("RGB", size, PALETTES[mode].panel)
    # The crop of a thin image may be less than a pixel: it is shown as one.
    x0, y0 = max(0, min(round(left), size[0] - 1)), max(0, min(round(top), size[1] - 1))
    frame = (x0, y0, max(x0 + 1, round(left + wide)), max(y0 + 1, round(top + tall)))
    seen = image.crop(frame)
    image = Image.blend(paper, image, _DIMMED)
    image.paste(seen, frame[:2])
    draw = ImageDraw.Draw(image)
    if frame[2] - frame[0] < size[0] or frame[3] - frame[1] < size[1]:
        edge = (frame[0], frame[1], min(frame[2], size[0]) - 1, min(frame[3], size[1]) - 1)
        draw.rectangle(edge, outline=PALETTES[mode].primary, width=_SCALE)
    if pin is not None and pin.place is not None:
        x, y = pin.place
        centre, radius = (left + x * wide, top + y * tall), 5 * _SCALE
        dot = (centre[0] - radius, centre[1] - radius, centre[0] + radius, centre[1] + radius)
        draw.ellipse(dot, outline="#FFFFFF", width=2 * _SCALE)
        draw.ellipse(dot, outline=PIN, width=_SCALE + 1)
    return np.asarray(image)


def draw_filters(filters: np.ndarray, side_px: int = 72) -> np.ndarray:
    """Draw the first filters of E (D, C, P, P) as tiles, each scaled to its largest weight, grey at zero."""
    columns = _TILES
    shown = np.asarray(filters[: columns * columns], dtype=np.float32)
    count, channels, patch, _ = shown.shape
    peak = np.abs(shown).max(axis=(1, 2, 3), keepdims=True) + 1e-9
    tiles = np.round(127.5 + 127.5 * shown / peak).astype(np.uint8).transpose(0, 2, 3, 1)
    tiles = tiles if channels == 3 else np.repeat(tiles[..., :1], 3, axis=3)
    tile_px = (side_px * _SCALE - (columns - 1) * _SCALE) // columns
    sheet = np.zeros((columns * tile_px + (columns - 1) * _SCALE,) * 2 + (4,), np.uint8)
    for index in range(count):
        tile = Image.fromarray(tiles[index]).resize((tile_px, tile_px), Image.Resampling.NEAREST)
        row, column = divmod(index, columns)
        top, left = row * (tile_px + _SCALE), column * (tile_px + _SCALE)
        sheet[top : top + tile_px, left : left + tile_px, :3] = np.asarray(tile)
        sheet[top : top + tile_px, left : left + tile_px, 3] = 255
    return sheet


def draw_architecture(config: ModelConfig, mode: Mode, side_px: int = 72) -> np.ndarray:
    """Draw the patch grid, and above it one line per block or stage."""
    palette, side = PALETTES[mode], side_px * _SCALE
    image = Image.new("RGBA", (side, side), (0, 0, 0, 0))
    draw = ImageDraw.Draw(image)
    depths = getattr(config, "depths", None) or getattr(config, "blocks", None)
    blocks = sum(depths) if depths else getattr(config, "depth", 2)
    grid = [max(1, length // getattr(config, "patch_size", 8)) for length in config.image_shape]
    rows, columns = (max(1, round(count * min(1, 8 / max(grid)))) for count in grid)
    base = side * 0.5
    cell = base / max(rows, columns)
    for row in range(rows):
        for column in range(columns):
            x, y = (side - columns * cell) / 2 + column * cell, side - rows * cell + row * cell
            fill = palette.line if (row, column) != (rows // 2, columns // 2) else palette.primary
            draw.rectangle((x, y, x + cell - _SCALE, y + cell - _SCALE), fill=fill)
    step = (side - base - 4 * _SCALE) / max(1, blocks)
    for block in range(blocks):
        y = side - base - 4 * _SCALE - (block + 0.5) * step
        draw.line((side * 0.12, y, side * 0.88, y), fill=palette.muted, width=max(1, min(3, int(step / 2))))
    return np.asarray(image)


def draw_curve(
    curve: Sequence[tuple[int, float]],
    steps: Sequence[int],
    step: int,
    mode: Mode,
    width_px: int,
) -> np.ndarray:
    """Draw accuracy over the log-spaced snapshots and mark the selected step."""
    palette = PALETTES[mode]
    width, height, edge = width_px * _SCALE, 40 * _SCALE, 8 * _SCALE
    image = Image.new("RGBA", (width, height), (0, 0, 0, 0))
    draw = ImageDraw.Draw(image)
    last = max(*steps, *(s for s, _ in curve), 1)

    def x(at: float) -> float:
        return edge + (width - 2 * edge) * float(np.log1p(at) / np.log1p(last))

    def y(accuracy: float) -> float:
        return height - edge - (height - 2 * edge) * accuracy

    draw.line((edge, height - edge, width - edge, height - edge), fill=palette.line, width=_SCALE)
    points = [(x(at), y(accuracy)) for at, accuracy in curve]
    if len(points) > 1:
        draw.line(points, fill=HEADS[0], width=2 * _SCALE, joint="curve")
    for at in steps:
        draw.line((x(at), height - edge - 3 * _SCALE, x(at), height - edge), fill=palette.muted, width=_SCALE)
    level = float(np.interp(step, [at for at, _ in curve], [right for _, right in curve])) if curve else 0.0
    radius = 5 * _SCALE
    centre = (x(step), y(level))
    draw.ellipse(
        (centre[0] - radius, centre[1] - radius, centre[0] + radius, centre[1] + radius), fill=palette.primary
    )
    return np.asarray(image)
