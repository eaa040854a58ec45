"""What the page's controls say, and what each starts from."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.controls import session_keys, widgets
from pages.frame import page
from pages.lenses.attention_distance.distances import YOURS, Measure, Pictures, pictures
from pages.lenses.attention_distance.training_distances import MOMENTS
from pages.selection import selection
from vitviz.data.datasets import default_pictures, note_of, picture_sets
from vitviz.models.abilities import Abilities, abilities
from vitviz.models.loaded_model import LoadedModel

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
MOST_BY_GRADIENT = 16  # pictures: each layer takes a backward pass
SMALL = 100  # tokens: a model of more is measured over few pictures at first, and without its training
FIRST_COUNT, FIRST_COUNT_LARGE = 64, 4
MEASURES = {"distance": "distance", "entropy": "entropy", "prefix": "prefix mass"}
UNITS = {"distance": "px", "entropy": "bits", "prefix": "%"}
AXES = {
    "distance": "mean attention distance, px",
    "entropy": "entropy, bits",
    "prefix": "mass on prefix tokens, %",
}
LAST_DEFAULT = "attention_distance.last_default"
NO_TWIN = "Its weights are random themselves."
NO_TWIN_OF_CNN = "A CNN has no heads to compare."
NO_TRAINING = "Only the last step of its training is here."
RAW = "The function that Raghu et al. published drops [CLS] and leaves the rest as it is."


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="attention_distance"):
    """What the controls say; `compare`, `renormalise` and `training` only where the model has what they ask for."""

    set: str
    count: int
    measure: str
    compare: bool
    renormalise: bool
    training: bool

    @property
    def asked(self) -> Measure:
        """What is asked of every head."""
        return Measure(self.measure, self.renormalise)

    @property
    def seen(self) -> Pictures:
        """What is measured over."""
        return pictures(self.set, self.count)


def read(model: LoadedModel) -> Choice:
    """Draws the controls."""
    able = abilities(model.config)
    with page.row():
        with st.container(width="content"):
            names = [name for name in MEASURES if name != "prefix" or able.prefix]
            measure = widgets.segmented(
                Choice.key("measure"),
                "Measure",
                names if able.heads_over_all else ["distance"],
                format_func=MEASURES.__getitem__,
                why_not=able.heads_over_all.why_not or None,
            )
        with page.options("attention_distance"):
            source = choose_set(model)
            count = choose_count(model, source, able)
            compare, renormalise, training = choose_more(model, able)
    return Choice(source, count, measure, compare, renormalise, training)


def choose_set(model: LoadedModel) -> str:
    """The pictures; where nobody chose them, those that are like what the model learned from."""
    key = Choice.key("set")
    default = default_pictures(model.trained_on, model.preparation.in_chans)
    before = st.session_state.get(LAST_DEFAULT)
    now = st.session_state.get(key, session_keys.kept().get(key))
    if now is not None and now == before != default:  # another model: its pictures come with it
        widgets.set_value(key, default)
    st.session_state[LAST_DEFAULT] = default
    return widgets.select(
        key,
        "Pictures",
        [*picture_sets(), YOURS],
        default,
        format_func=lambda name: "your picture" if name == YOURS else note_of(name).title,
    )


def choose_count(model: LoadedModel, source: str, able: Abilities) -> int:
    """How many pictures; few of a large model, so that it is shown at once."""
    counts = [count for count in COUNTS if count <= MOST_BY_GRADIENT or not able.receptive_field]
    count: int = widgets.select_slider(
        Choice.key("count"),
        "How many",
        counts,
        min(FIRST_COUNT if is_small(model) else FIRST_COUNT_LARGE, counts[-1]),
        disabled=source == YOURS,
        help="The first pictures of the test set. Your picture is one.",
    )
    return count


def is_small(model: LoadedModel) -> bool:
    """Whether it has few tokens, and so is quick."""
    size = model.preparation.image_size
    return model.layout(size, size).num_tokens <= SMALL


def choose_more(model: LoadedModel, able: Abilities) -> tuple[bool, bool, bool]:
    """Random weights beside, renormalised rows, and the film: each False where it has no meaning."""
    random = model.trained_on is None
    no_twin = NO_TWIN if random else NO_TWIN_OF_CNN if not able.attention else None
    compare = widgets.toggle(Choice.key("compare"), "Beside random weights", True, why_not=no_twin)
    no_prefix = able.heads_over_all.why_not or able.prefix.why_not or None
    renormalise = widgets.toggle(
        Choice.key("renormalise"), "Renormalise without prefix tokens", help=RAW, why_not=no_prefix
    )
    one_step = NO_TRAINING if len(selection.choice().steps) < 2 else None
    no_film = able.heads_over_all.why_not or one_step
    training = widgets.toggle(
        Choice.key("training"),
        "Through training",
        is_small(model),
        help=f"Measures {MOMENTS} snapshots, so that the heads can be dragged through time.",
        why_not=no_film,
    )
    return compare and no_twin is None, renormalise and no_prefix is None, training and no_film is None
