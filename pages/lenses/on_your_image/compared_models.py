"""Select the compared models and the image that they classify."""

from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from pages.controls import popover, widgets
from pages.selection import selection
from pages.selection.substitutes import describe_classes, is_comparable
from pages.stores import catalogue, shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.config import ModelConfig, Preparation
from vitviz.data.image_preprocessing import seen_crop
from vitviz.plots.photo import Photo, encode_photo

MIN_MODELS, MAX_MODELS = 2, 5
MAX_OFFERED = 12  # models
PHOTO_PX = 384  # longest side of a photo that is drawn on


@dataclass(frozen=True)
class ImageCrop:
    """The crop of an image that all compared models receive; each normalises it in its own way."""

    image: str
    preparation: Preparation
    offset: shared_cache.Offset

    @property
    def model_input(self) -> NDArray[np.uint8]:
        """(S, S, 3), before normalisation."""
        return shared_cache.prepare_image(self.image, self.preparation, self.offset).shown


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models with the same input format, and the image that they classify."""

    choices: tuple[ModelChoice, ...]
    image: str
    offset: tuple[float, float]

    @property
    def preparation(self) -> Preparation:
        """The crop and scale of the image, equal for all models."""
        return self.choices[0].preparation

    @property
    def input_px(self) -> int:
        """The side of the models' input."""
        return max(self.preparation.image_shape)

    @property
    def steps(self) -> tuple[int, ...]:
        """The training step of each model: the selected one for the sidebar's model, else its last."""
        current = selection.get_current()
        return tuple(
            current.step if choice.key == current.model else choice.last_step for choice in self.choices
        )

    @property
    def crop(self) -> ImageCrop:
        return ImageCrop(self.image, self.preparation, self.offset)

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names, equal for all models."""
        return shared_cache.load_model(self.choices[0], self.steps[0]).classes

    @property
    def class_note(self) -> str:
        """Return the note that belongs to the predictions for a photo, or ''."""
        return describe_classes(self.choices[0], self.image)

    @property
    def truth(self) -> int:
        """The image's class, from its dataset or from a sample's name; -1 if unknown."""
        kind, _, name = self.image.partition(":")
        if kind == "sample":
            return self.classes.index(name) if name in self.classes else -1
        if kind in ("upload", "drawing"):
            return -1
        dataset = shared_cache.load_dataset(kind)
        if dataset.test_labels is None or dataset.classes != self.classes:
            return -1
        return int(dataset.test_labels[int(name)])

    @property
    def names(self) -> tuple[str, ...]:
        """The models' short titles."""
        return tuple(shorten_title(choice) for choice in self.choices)


def shorten_title(choice: ModelChoice) -> str:
    """Return a model's title without its dataset, which all compared models share: 'Hybrid'."""
    dataset = "" if choice.trained_on is None else catalogue.get_dataset_title(choice.trained_on)
    name = choice.title.removeprefix(dataset).strip() or choice.title
    return name[:1].upper() + name[1:]


def find_family(config: ModelConfig) -> str:
    """Return 'CNN', 'ViT', 'Hybrid', 'Swin', 'DeiT', or 'other'."""
    return FAMILIES.get(config.family, "other")


FAMILIES = {
    "cnn": "CNN",
    "vit": "ViT",
    "hybrid": "Hybrid",
    "swin": "Swin",
    "deit": "DeiT",
}  # in display order
ORDER = (*FAMILIES.values(), "other")


def list_peers(anchor: ModelChoice) -> list[ModelChoice]:
    """Return all models with the anchor's input format and dataset, by family, the most accurate first."""
    peers = [choice for choice in selection.list_models().values() if is_comparable(anchor, choice)]
    peers.sort(key=lambda choice: (ORDER.index(find_family(choice.config)), -(choice.accuracy or 0.0)))
    return peers[:MAX_OFFERED] if anchor in peers[:MAX_OFFERED] else [*peers[: MAX_OFFERED - 1], anchor]


def pick_defaults(peers: list[ModelChoice]) -> list[str]:
    """Return the keys of the best model of every family, or of the first few models if there is one family."""
    best = {find_family(choice.config): choice.key for choice in reversed(peers)}
    keys = [choice.key for choice in peers if choice.key in best.values()]
    return keys[:MAX_MODELS] if len(keys) >= MIN_MODELS else [choice.key for choice in peers[:MAX_MODELS]]


def choose_models() -> Comparison | None:
    """Draw the control of the models in a popover; return them with the sidebar's image, None without two models."""
    current, anchor = selection.get_current(), selection.get_model_choice()
    peers = {choice.key: choice for choice in list_peers(anchor)}
    if len(peers) < MIN_MODELS:
        st.info(f"No other model has the input format of {anchor.shown}.", icon=":material/compare:")
        return None
    with popover.draw_popover("Models", "view_column", "on_your_picture.choosing"):
        keys = widgets.pills(
            "on_picture.models",
            f"Compared models ({MIN_MODELS} to {MAX_MODELS})",
            list(peers),
            pick_defaults(list(peers.values())),
            least=MIN_MODELS,
            most=min(MAX_MODELS, len(peers)),
            format_func=lambda key: shorten_title(peers[key]),
        )
    return Comparison(tuple(peers[key] for key in keys), current.image, current.offset)


@shared_cache.per_image(shared=24, upload=4)
def crop_photo(crop: ImageCrop) -> Photo:
    """Return the crop in the image's original resolution, or the model input if that is not coarser."""
    if crop.preparation.digit:
        return encode_photo(crop.model_input)
    pixels = seen_crop(shared_cache.load_image(crop.image), crop.preparation, crop.offset, PHOTO_PX)
    return encode_photo(pixels if pixels.shape[0] > crop.preparation.image_shape[0] else crop.model_input)


def draw_stage(name: str) -> DeltaGenerator:
    """Return the place of a picture above its question, which the picture's computation follows.

    An empty container would have no height until the picture is drawn.
    """
    stage = st.container(key=f"on_picture-stage-{name}", gap=None)
    stage.html("<span></span>")
    return stage
