"""Sentences about patches, token sequences and shuffled patches."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pages.lenses.patches.embedded_image import EmbeddedImage
from vitviz.analysis import patches
from vitviz.models.abilities import abilities, as_vit
from vitviz.probe.embedding import FloatArray
from vitviz.text import percent, plain, plural

ROUNDING = 1e-5  # smaller differences of probabilities come from the order of summation


@dataclass(frozen=True, eq=False)
class ShuffledProbabilities:
    """Class probabilities (classes,) of one model for the original and the shuffled image."""

    title: str
    note: str
    before: FloatArray
    after: FloatArray

    @property
    def change(self) -> float:
        """The largest change of a class probability."""
        return patches.largest_difference(self.before, self.after)


def describe_patches(image: EmbeddedImage) -> str:
    """Describe how the image becomes patches, and patches become tokens."""
    channels, *shape = image.values.shape
    dim, values = image.embedding.weight.shape
    p, count = image.patch_px, plural(len(image.embedding.tokens), "patch", "patches")
    colour = f" ({p}² · 3 = {3 * values:,} in colour)" if channels == 1 else ""
    return (
        f"The image becomes N = HW/P² = {format_area(shape)}/{p}² = {count}; E maps each patch's P²C = {p}² ·"
        f" {channels} = {values:,} values{colour} to a token of D = {dim:,}. {describe_sequence_length(image)}"
    )


def format_area(shape: Sequence[int]) -> str:
    """Return '32²' for a square, '224 · 160' for height and width."""
    height, width = shape
    return f"{height}²" if height == width else f"{height} · {width}"


def describe_sequence_length(image: EmbeddedImage) -> str:
    """Describe the length of the sequence and its prefix tokens."""
    names, tokens = image.layout.prefix, image.layout.num_tokens
    if not names:
        return f"No token is prepended: the sequence has N = {plural(tokens, 'token')}."
    prefix = " and ".join(f"[{name.upper()}]" for name in names)
    noun = "token" if len(names) == 1 else "tokens"
    origin = "learned" if image.trained else "random"
    text = f"With the {origin} {noun} {prefix}, the sequence has N + {len(names)} = {tokens:,} tokens"
    if abilities(image.config).cls_readout:
        text += "; the prediction is read from the output of [CLS]"
    return text + "."


def describe_magnitudes(image: EmbeddedImage, positions: np.ndarray) -> str:
    """Describe the rows of z0 and the magnitudes of its terms.

    Args:
        image: the embedded image.
        positions: (N, D), added to the patch embeddings.
    """
    patch_rms, position_rms = (
        float(np.sqrt(np.mean(rows**2))) for rows in (image.embedding.tokens, positions)
    )
    layout, table = image.layout, image.embedding.table
    prefix = f"{plural(layout.num_prefix_tokens, 'prefix token')} and " if layout.prefix else ""
    text = (
        f"The first layer's input z₀ has {plural(layout.num_tokens, 'row')}: {prefix}"
        f"{plural(layout.num_patches, 'patch', 'patches')}"
    )
    if table is None:
        return f"{text}; nothing is added for the position."
    if as_vit(image.config).positions == "pixels":
        name = "a second linear map of the pixels"
        text += f"; {name}, without position information, is added."
    else:
        name = "E_pos"
        text += f"; each {'token' if len(table) == layout.num_tokens else 'patch'} gets one row of E_pos."
    text += f" Root mean square: {patch_rms:.3f} for x·E, {position_rms:.3f} for {name}"
    if patch_rms:
        text += f" ({position_rms / patch_rms:.2f} times as large)"
    return text + "; magnitude alone does not show influence (see 'Shuffled patches')."


def describe_difference(difference: float, largest: float, count: int) -> str:
    """Describe the largest difference between two implementations of E, among `count` values up to `largest`."""
    verdict = (
        "agree up to rounding" if difference < 1e-4 * max(1.0, largest) else "differ by more than rounding"
    )
    if difference == 0:
        verdict = "give identical tokens"
    return (
        f"Both implementations {verdict}: the largest difference is **{format_power_of_ten(difference)}** over"
        f" {count:,} values (largest value {largest:.2f})."
    )


def describe_reshape_bug(image: EmbeddedImage, count: int) -> str:
    """Describe the pixels that a plain reshape mixes into its `count` patches."""
    (height, width), p = image.pixels.shape[:2], image.patch_px
    text = f"`image.reshape(N, P·P·C)` returns the right shape, {count:,} × {p * p * len(image.values):,}"
    if count == 1:
        return f"{text}, and the right pixels, because there is only one patch."
    rows = patches.slip_rows(width, p)
    share = percent(patches.slip_share((height, width), p), 0)
    return (
        f"{text}, but mixes patches: each row holds {p * p} consecutive pixels"
        f" from {'1 image row' if rows == 1 else f'up to {rows} image rows'}, and on average {share} of them belong"
        " to the patch of that index."
    )


def describe_shuffle(image: EmbeddedImage, moved: int, predictions: list[ShuffledProbabilities]) -> str:
    """Describe how moving patches changes each model's class probabilities."""
    total = plural(len(image.embedding.tokens), "patch", "patches")
    if not moved:
        return f"All {total} are in their original order, so nothing changes."
    first, *others = predictions
    top = int(first.before.argmax())
    text = (
        f"{first.title}, P({plain(format_class(image, top))}) changes from"
        f" {format_probability(float(first.before[top]))} to {format_probability(float(first.after[top]))} when"
        f" {moved} of {total} move (upper bars: original order, lower bars: shuffled)."
    )
    text += "".join(f" {other.title}, {_describe_change(image, other)}" for other in others)
    if not image.trained:
        text += " These weights are random: choose a trained model for a meaningful comparison."
    return text


def _describe_change(image: EmbeddedImage, prediction: ShuffledProbabilities) -> str:
    if not prediction.change:
        return "no probability changes: token order has no effect."
    text = f"no probability changes by more than {format_probability(prediction.change)}"
    if prediction.change < ROUNDING:
        return f"{text} (rounding): token order has no effect."
    if as_vit(image.config).readout == "first_patch":
        return f"{text}: the prediction is read from the first patch, which has changed."
    return f"{text}."


def format_class(image: EmbeddedImage, index: int) -> str:
    """Return the name of a class: 'cat', or 'class 3' where classes are numbers."""
    name = image.classes[index] if index < len(image.classes) else str(index)
    return f"class {name}" if name.isdigit() else name


def format_probability(probability: float) -> str:
    """Return a probability in percent, or as a power of ten where percent would be 0."""
    return f"{100 * probability:.3g} %" if probability >= 5e-5 else format_power_of_ten(probability)


def format_power_of_ten(number: float) -> str:
    """Return a small number as a power of ten: 3·10⁻⁷."""
    if number == 0:
        return "0"
    factor, power = f"{number:.0e}".split("e")
    return f"{factor}·10{str(int(power)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
