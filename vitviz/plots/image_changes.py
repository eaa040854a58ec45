"""Pack an image at every strength of a change, or in parts, and the models' predictions, for the browser."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitviz.analysis.image_parts import LEAST_PX, MOST, SIGNS, ImagePart, Uint8
from vitviz.plots.blob import pack
from vitviz.plots.photo import Photo, encode_photo
from vitviz.plots.theme import family_colors
from vitviz.text import percent, signed

NOISE_CODES = 32  # of a standard deviation: the noise travels in eight bits
FloatArray = NDArray[np.floating[Any]]
WHOLE, NOW, EMPTY = range(3)  # of `Apart.frames`


@dataclass(frozen=True, eq=False)
class Answered:
    """One model: its name, its family, the kind of its map, its probabilities and maps at every strength.

    probabilities: (strengths, classes). views: (strengths, rows, cols), not negative. weights: their address for the
    browser's engine, '' without one.
    """

    name: str
    family: str
    by: str
    probabilities: FloatArray
    views: FloatArray
    weights: str = ""


@dataclass(frozen=True, eq=False)
class StoredCurves:
    """Stored accuracies, one row per model (NaN if missing), with their strengths and image count.

    at: (points,), places on the slider, from 0; whole numbers but where a strength lies between two of its steps.
    accuracy: (models, points).
    """

    at: FloatArray
    accuracy: FloatArray
    images: int


@dataclass(frozen=True, eq=False)
class Changed:
    """An image at every strength of a change, with the data to change a photograph alike.

    frames: (strengths, S, S, 3). words: of every strength. orders: (strengths, patches), which patch lies where.
    noise: (S, S, 3), of one standard deviation. border: the colour beyond the image.
    """

    name: str
    title: str
    values: tuple[float, ...]
    start: int
    frames: NDArray[np.uint8]
    border: tuple[int, ...]
    orders: NDArray[np.int64] | None = None
    noise: FloatArray | None = None

    @property
    def words(self) -> list[str]:
        """Every strength in words."""
        return [strength_words(self.name, strength, self.frames.shape[1]) for strength in self.values]


def strength_words(name: str, strength: float, grain_px: int) -> str:
    """Format a strength, as '3 px right'."""
    if name == "shift":
        return f"{abs(strength):.0f} px {'right' if strength > 0 else 'left'}" if strength else "0 px"
    if name == "rotate":
        return f"{signed(strength, 0)}°"
    if name == "blur":
        return f"{strength:.2f} px (σ)"
    if name == "occlude":
        side = round(strength * grain_px)
        return f"{side} × {side} px"
    if name in ("zoom", "contrast"):
        return f"× {strength:.2f}"
    if name == "pieces":
        return "taken apart" if strength else "whole"
    return f"{'+' if name == 'brightness' and strength > 0 else ''}{percent(strength, 0).replace('-', '−')}"


@dataclass(frozen=True)
class Start:
    """The initial state of the view.

    hand: where slider, cover and pieces are. mark: of this beginning; what the browser says later counts of it alone.
    truth: the image's class, -1 where nobody says. revealed: False conceals which model is which: beyond the unchanged
    image the message holds only the lowest and the highest confidence of all models. place: of the cover to which the
    models have answered.
    """

    hand: dict[str, Any]
    mark: int
    truth: int
    revealed: bool
    place: tuple[float, float] = (0.5, 0.5)


def payload(
    changed: Changed,
    answered: Sequence[Answered],
    ground: Photo,
    classes: Sequence[str],
    start: Start,
    curve: StoredCurves | None,
) -> bytes:
    """Pack all strengths for `sweep_view`.

    Args:
        curve: stored accuracies of these models under this change.
    """
    header: dict[str, Any] = {
        "change": changed.name,
        "title": changed.title,
        "values": list(changed.values),
        "words": changed.words,
        "neutral": changed.start,
        "border": list(changed.border),
        "classes": list(classes),
        "models": describe_models(answered),
        "photograph": ground.pixels.shape[0] > changed.frames.shape[1],
        "pictures": 0 if curve is None or not start.revealed else curve.images,
        "weights": [model.weights for model in answered] if start.revealed else [],
    }
    shown = answered if start.revealed else [_conceal(model, changed.start) for model in answered]
    arrays = _arrays(changed, shown, ground, curve if start.revealed else None)
    if not start.revealed:
        arrays["band"] = find_band([model.probabilities for model in answered], changed.start)
    return pack(header | vars(start) | ground.header, **arrays)


def describe_models(answered: Sequence[Answered]) -> list[dict[str, Any]]:
    """Return each model's name, kind of map, the map's largest value and colour."""
    colors = family_colors([model.family for model in answered])
    return [
        {"name": model.name, "by": model.by, "color": color, "top": float(model.views.max()) or 1.0}
        for model, color in zip(answered, colors, strict=True)
    ]


def pack_answers(answered: Sequence[Answered]) -> dict[str, NDArray[Any]]:
    """Return all models' probabilities, and each model's maps scaled to their maximum, in eight bits."""
    arrays: dict[str, NDArray[Any]] = {
        "chances": np.stack([model.probabilities for model in answered]).astype(np.float32)
    }
    for i, model in enumerate(answered):
        arrays[f"view{i}"] = np.rint(255 * model.views / (float(model.views.max()) or 1.0)).astype(np.uint8)
    return arrays


def find_band(probabilities: Sequence[FloatArray], start: int) -> NDArray[np.float32]:
    """Return (2, strengths): the lowest and the highest of the models' confidences in their initial predictions.

    Args:
        probabilities: (strengths, classes) of every model.
        start: the neutral strength.
    """
    curves = np.stack([rows[:, rows[start].argmax()] for rows in probabilities])
    return np.stack([curves.min(axis=0), curves.max(axis=0)]).astype(np.float32)


def _conceal(model: Answered, start: int) -> Answered:
    visible = slice(start, start + 1)
    return replace(model, probabilities=model.probabilities[visible], views=model.views[visible])


def _arrays(
    changed: Changed, answered: Sequence[Answered], ground: Photo, curve: StoredCurves | None
) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "frames": changed.frames,
        "photo": ground.array,
        **pack_answers(answered),
    }
    if changed.orders is not None:
        arrays["orders"] = changed.orders.astype(np.uint16)
    if changed.noise is not None:
        arrays["noise"] = np.rint(np.clip(NOISE_CODES * changed.noise, -127, 127)).astype(np.int8)
    if curve is not None:
        arrays["curve_at"] = curve.at.astype(np.float32)
        arrays["curve"] = curve.accuracy.astype(np.float32)
    return arrays


@dataclass(frozen=True)
class AssemblyHeader:
    """The header of the view's message.

    watched: the class whose probability is drawn. truth: the image's class, -1 where nobody says. mark: of this
    beginning; what the browser says later counts of it alone. seen: whether what the models read is drawn.
    """

    watched: int
    truth: int
    mark: int
    seen: bool


@dataclass(frozen=True, eq=False)
class ImageParts:
    """An image in parts.

    frames: (3, S, S, 3): whole, as it is put together, and without its parts. parts: where each is cut and lies.
    named: parts that have a name, where they are cut.
    """

    frames: Uint8
    parts: tuple[ImagePart, ...]
    named: Mapping[str, ImagePart]
    told: AssemblyHeader


def pack_parts(
    apart: ImageParts, answered: Sequence[Answered], ground: Photo, classes: Sequence[str]
) -> bytes:
    """Pack the image and every model's predictions, original and rearranged, for `parts_view`.

    Args:
        answered: each model's probabilities (2, classes) and views (2, rows, cols).
    """
    both = stack_payloads(ground.pixels, apart.frames[EMPTY], apart.parts)
    header: dict[str, Any] = {
        "parts": [astuple(part) for part in apart.parts],
        "named": {name: astuple(part)[:4] for name, part in apart.named.items()},
        "signs": SIGNS,
        "most": MOST,
        "least": LEAST_PX,
        "neutral": WHOLE,
        "classes": list(classes),
        "models": describe_models(answered),
        "photograph": ground.pixels.shape[0] > apart.frames.shape[1],
    }
    header |= vars(apart.told) | both.header
    return pack(header, frames=apart.frames, photo=both.array, **pack_answers(answered))


def stack_payloads(ground: Uint8, empty: Uint8, parts: Sequence[ImagePart]) -> Photo:
    """Return the photograph, and below it the photograph with the holes filled.

    Args:
        ground: (P, P, 3), whole.
        empty: (S, S, 3), without its parts.
    """
    side, size = ground.shape[0], empty.shape[0]
    smooth = np.asarray(Image.fromarray(empty).resize((side, side), Image.Resampling.BICUBIC))
    below = ground.copy()
    for part in parts:
        across, down = (
            slice(round(at * side / size), round((at + wide) * side / size))
            for at, wide in ((part.left, part.width), (part.top, part.height))
        )
        below[down, across] = smooth[down, across]
    return encode_photo(np.concatenate([ground, below]))
