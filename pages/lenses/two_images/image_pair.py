"""Run the selected model on two images, cache its tokens, and hold what the sections compute of the pair."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pages.selection.subject import Subject
from pages.stores import shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.attention import kept_by_mass, readout_row
from vitviz.analysis.image_changes import copy_image
from vitviz.analysis.token_colours import ColourDirections, reduce_grid, split_by_component
from vitviz.analysis.token_similarity import FloatArray, Matches
from vitviz.config import Preparation
from vitviz.data.image_preprocessing import Prepared, prepare, seen_crop
from vitviz.models.abilities import abilities, as_vit
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots.photo import Photo, encode_photo
from vitviz.probe.capture import capture, limit_pools
from vitviz.probe.layers import RecordedLayer, list_layers, read_layer_outputs

SMALL_PX = 64  # up to this image size one thread is fastest


@dataclass(frozen=True)
class PairSource:
    """An image key, the position of its crop, and the kind of copy made of the crop; '' for none."""

    image: str
    offset: shared_cache.Offset
    copy: str = ""


@dataclass(frozen=True, eq=False)
class Activations:
    """Activations of one model on one image.

    layers: (rows, cols, D) of every layer, larger grids reduced (`reduce_grid`).
    logits: (classes,); empty without a classifier head. probabilities: theirs.
    attention: (rows, cols), the readout's attention in the last layer, mean of the heads; None without one.
    """

    layers: tuple[FloatArray, ...]
    logits: FloatArray
    probabilities: FloatArray
    attention: FloatArray | None


@dataclass(frozen=True, eq=False)
class PairedImage:
    """One image of the pair with its title and its activations."""

    model: LoadedModel
    source: PairSource
    title: str

    @property
    def prepared(self) -> Prepared:
        return prepare_source(self.source, self.model.preparation)

    @property
    def photo(self) -> Photo:
        """Return the original crop, on which cells are drawn."""
        if self.source.copy:
            return _encode_copy(self.source, self.model.preparation)
        return shared_cache.encode_photo(self.source.image, self.model.preparation, self.source.offset, None)

    @cached_property
    def activations(self) -> Activations:
        return _run(self.model, self.source)

    def tokens(self, layer: int) -> FloatArray:
        """Return (rows, cols, D) of a layer."""
        return self.activations.layers[layer]

    def grid(self, layer: int) -> tuple[int, int]:
        rows, cols = self.tokens(layer).shape[:2]
        return rows, cols

    def flat(self, layer: int) -> FloatArray:
        """Return (rows * cols, D) of a layer."""
        tokens = self.tokens(layer)
        return tokens.reshape(-1, tokens.shape[-1])

    def foreground(self, method: str, share: float, layer: int) -> NDArray[np.bool_]:
        """Return (rows, cols), True for the foreground, on the grid of a layer.

        Args:
            method: 'attention' (the patches with the share of the readout's attention), 'component' or 'off'.
        """
        if method == "component":
            return split_by_component(self.tokens(layer))
        attention = self.activations.attention
        if method == "off" or attention is None:
            return np.ones(self.grid(layer), bool)
        return kept_by_mass(attention.ravel(), share).reshape(attention.shape)


@dataclass(frozen=True, eq=False)
class ImagePair:
    """One model at one step on two images."""

    subject: Subject
    model: LoadedModel  # of the subject, or before training
    first: PairedImage
    second: PairedImage

    @property
    def images(self) -> tuple[PairedImage, PairedImage]:
        return self.first, self.second

    @property
    def layers(self) -> tuple[RecordedLayer, ...]:
        return list_layers(self.model.config)

    @property
    def is_small(self) -> bool:
        """Return True if a forward pass takes only milliseconds."""
        return max(self.model.preparation.image_shape) <= SMALL_PX

    def before_training(self) -> ImagePair:
        """Return the same images before training: the snapshot of step 0, or random weights from a fixed seed."""
        choice, trained = self.subject.choice, self.subject.model
        model = (
            shared_cache.load_model(choice, 0) if has_start(choice) else shared_cache.load_untrained(trained)
        )
        first, second = (PairedImage(model, image.source, image.title) for image in self.images)
        return replace(self, model=model, first=first, second=second)


@dataclass(frozen=True, eq=False)
class MatchedPair:
    """The cosines (N, M) between both images' patches in one layer, and the foreground's mutual nearest neighbours."""

    cosines: NDArray[np.float64]
    matches: Matches
    foreground: int  # patches of the first image that count


@dataclass(frozen=True, eq=False)
class ColouredPair:
    """The components, where they were fitted, and both images' foreground (rows, cols)."""

    components: ColourDirections
    fitted_on: str
    foregrounds: tuple[NDArray[np.bool_], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class PatchedRuns:
    """One measure in runs on an image with parts of the other.

    part: 'head' or 'token'. layer: whose tokens are replaced. grid: of the tokens. prefix: names of prefix tokens.
    is_noising: True if parts of the second image stand in the run on the first. is_difference: True if the measure is
    the normalised logit difference, not a probability. target: the class, or both classes. first, second: the measure
    of each image alone. after: (layers, heads) or (tokens,).
    """

    part: str
    layer: str
    grid: tuple[int, int]
    prefix: tuple[str, ...]
    is_noising: bool
    is_difference: bool
    target: str
    first: float
    second: float
    after: FloatArray

    @property
    def alone(self) -> float:
        """Return the measure of the image that receives parts, without them."""
        return self.first if self.is_noising else self.second

    @property
    def changes(self) -> NDArray[np.float32]:
        """Return the change of the measure; that of a probability in points."""
        return np.asarray((1 if self.is_difference else 100) * (self.after - self.alone), np.float32)


@dataclass(frozen=True, eq=False)
class SegmentedPair:
    """The first image's foreground, and both images' segments (rows, cols), counted from 0."""

    foreground: NDArray[np.bool_]
    by_attention: bool
    first: NDArray[np.intp]
    second: NDArray[np.intp]


def has_start(choice: ModelChoice) -> bool:
    """Return True if the weights before training are a snapshot."""
    return choice.steps[0] == 0 and len(choice.steps) > 1


def build_pair(subject: Subject, first_title: str, second: PairSource, second_title: str) -> ImagePair:
    model = subject.model
    first = PairedImage(model, PairSource(subject.image, subject.offset), first_title)
    title = f"{second_title} (second)" if second_title == first_title else second_title
    return ImagePair(subject, model, first, PairedImage(model, second, title))


def prepare_source(source: PairSource, preparation: Preparation) -> Prepared:
    """Return an image or a copy of its crop as the model takes it."""
    if not source.copy:
        return shared_cache.prepare_image(source.image, preparation, source.offset)
    return _prepare_copy(source, preparation)


@shared_cache.per_image(shared=32, upload=8)
def _prepare_copy(source: PairSource, preparation: Preparation) -> Prepared:
    return prepare(_copy_crop(source, preparation), replace(preparation, crop_fraction=1.0))


@shared_cache.per_image(shared=16, upload=4)
def _encode_copy(source: PairSource, preparation: Preparation) -> Photo:
    return encode_photo(_copy_crop(source, preparation))


def _copy_crop(source: PairSource, preparation: Preparation) -> NDArray[np.uint8]:
    return copy_image(
        seen_crop(shared_cache.load_image(source.image), preparation, source.offset), source.copy
    )


@shared_cache.per_image(shared=16, upload=6)
def _run(model: LoadedModel, source: PairSource) -> Activations:
    pixels = prepare_source(source, model.preparation).input
    size = (pixels.shape[-2], pixels.shape[-1])
    able, layers = abilities(model.config), list_layers(model.config)
    last = f"blocks.{as_vit(model.config).depth - 1}.attn" if able.heads_over_all else ""
    with limit_pools(1 if max(size) <= SMALL_PX else None):
        run = capture(model.model, pixels[None], record=(*(layer.record for layer in layers), last))
    outputs = read_layer_outputs(model, run.arrays, size)
    attention = None
    if last:
        config, layout = as_vit(model.config), model.layout(*size)
        row = readout_row(run[last][0].mean(axis=0), layout.prefix, config.readout)
        attention = reduce_grid(row.reshape(*layout.grid, 1))[..., 0]
    logits = run.logits[0] if able.class_head else np.empty(0, np.float32)
    return Activations(
        tuple(reduce_grid(output.places[0]) for output in outputs),
        logits,
        model.probabilities(logits) if able.class_head else logits,
        attention,
    )
