"""Controls of the attention distance page and their defaults."""

from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.attention_distance.distances import (
    MOST_SNAPSHOTS,
    SELECTED_IMAGE,
    HeadMeasure,
    MeasuredImages,
    has_small_images,
    is_small,
    select_images,
)
from pages.selection import selection
from vitviz.data.datasets import default_pictures, find_note, picture_sets
from vitviz.models.abilities import Abilities, abilities
from vitviz.models.loaded_model import LoadedModel

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
MOST_GRADIENT_IMAGES = 16  # each layer takes a backward pass
MOST_PHOTOS = 32  # 256 photos through a ViT-S at 224 px occupied a loaded server for 41 s
DEFAULT_COUNT, DEFAULT_COUNT_LARGE = 64, 4
MEASURES = {"distance": "distance", "entropy": "entropy", "prefix": "prefix attention"}
UNITS = {"distance": "px", "entropy": "bits", "prefix": "%"}
AXES = {
    "distance": "mean attention distance, px",
    "entropy": "entropy, bits",
    "prefix": "attention on prefix tokens, %",
}
RANDOM_ITSELF = "This model already has random weights."
NO_HEADS = "A CNN has no heads to compare."
NO_TRAINING = "This model has only one snapshot."
RENORMALISE_HELP = "Divides each row by its attention on patches; Raghu et al. do not."


@dataclass(frozen=True)
class DistanceControls:
    """The selected images, measure and comparisons; `compare` and `training` are False if the model lacks them."""

    set: str
    count: int
    measure: str
    compare: bool
    renormalise: bool
    training: bool

    @property
    def head_measure(self) -> HeadMeasure:
        return HeadMeasure(self.measure, self.renormalise)

    @property
    def images(self) -> MeasuredImages:
        return select_images(self.set, self.count)


def read_controls(model: LoadedModel) -> DistanceControls:
    able = abilities(model.config)
    with page.row():
        with st.container(width="content"):
            names = {name: title for name, title in MEASURES.items() if name != "prefix" or able.prefix}
            measure = widgets.segmented(
                "attention_distance.measure",
                "Metric",
                names if able.heads_over_all else {"distance": MEASURES["distance"]},
                help="Prefix attention: attention weight on prefix tokens such as [CLS]."
                if able.prefix
                else None,
                why_not=able.heads_over_all.why_not or None,
            )
        with page.options("attention_distance"):
            source = _read_dataset(model)
            count = _read_count(model, source, able)
            compare, renormalise, training = _read_toggles(model, able)
    return DistanceControls(source, count, measure, compare, renormalise, training)


def _read_dataset(model: LoadedModel) -> str:
    """Draw the dataset, by default one that resembles the model's training data."""
    key = "attention_distance.set"
    default = default_pictures(model.trained_on, model.preparation.in_chans)
    widgets.follow_default(key, default)
    return widgets.select(
        key,
        "Images",
        [*picture_sets(), SELECTED_IMAGE],
        default,
        format_func=lambda name: "selected image" if name == SELECTED_IMAGE else find_note(name).title,
    )


def _read_count(model: LoadedModel, source: str, able: Abilities) -> int:
    most = COUNTS[-1] if has_small_images(model) else MOST_PHOTOS
    most = min(most, MOST_GRADIENT_IMAGES) if able.receptive_field else most
    counts = [count for count in COUNTS if count <= most]
    count: int = widgets.select_slider(
        "attention_distance.count",
        "Image count",
        counts,
        min(DEFAULT_COUNT if has_small_images(model) else DEFAULT_COUNT_LARGE, counts[-1]),
        help="The heads are measured on the first images of the test set.",
        why_not="Only for the test set's images." if source == SELECTED_IMAGE else None,
    )
    return count


def _read_toggles(model: LoadedModel, able: Abilities) -> tuple[bool, bool, bool]:
    """Return the toggles of random weights, renormalised rows and training; each is False if impossible."""
    random = model.trained_on is None
    no_compare = RANDOM_ITSELF if random else NO_HEADS if not able.attention else None
    compare = widgets.toggle(
        "attention_distance.compare", "Compare with random weights", True, why_not=no_compare
    )
    no_prefix = able.heads_over_all.why_not or able.prefix.why_not or None
    renormalise = widgets.toggle(
        "attention_distance.renormalise",
        "Renormalise without prefix tokens",
        help=RENORMALISE_HELP,
        why_not=no_prefix,
    )
    single_step = NO_TRAINING if len(selection.get_model_choice().steps) < 2 else None
    no_training = able.heads_over_all.why_not or single_step
    training = widgets.toggle(
        "attention_distance.training",
        "Show training",
        is_small(model),
        help=f"Measures up to {MOST_SNAPSHOTS} snapshots and adds a slider over training steps.",
        why_not=no_training,
    )
    return compare and no_compare is None, renormalise and no_prefix is None, training and no_training is None
