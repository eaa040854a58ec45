"""Which models stand side by side, and which picture they are asked about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import pills, popover, widgets
from pages.selection import selection, substitute
from pages.stores import cached, catalogue
from pages.stores.model_choice import ModelChoice
from vitviz.config import ModelConfig, Preparation
from vitviz.data.preparation import seen_crop
from vitviz.models.abilities import abilities
from vitviz.plots.photo import Photo, photo

FEWEST, MOST = 2, 5
OFFERED = 12  # models
LARGEST_PX = 64  # of the pictures of a model here: every step of every slider runs through each
PHOTO_PX = 384  # the longest side of a photograph that is drawn on


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="on_picture"):
    """The models that are compared, by key."""

    models: tuple[str, ...]


@dataclass(frozen=True)
class OwnPicture(widgets.Chosen, page="on_picture"):
    """Whether the chosen picture is shown although the models never learned from such ones."""

    own_picture: bool


@dataclass(frozen=True, eq=False)
class Compared:
    """Models that read the same pictures, by key in their order, the picture that they are asked about, and its key."""

    choices: tuple[ModelChoice, ...]
    image: str
    offset: tuple[float, float]

    @property
    def preparation(self) -> Preparation:
        """How the picture is cut and scaled, for all of them alike; each normalises it in its own way."""
        return self.choices[0].preparation

    @property
    def grain_px(self) -> int:
        """The side of what the models read."""
        return self.preparation.image_size

    @property
    def steps(self) -> tuple[int, ...]:
        """The step at which each is asked: the sidebar's for the sidebar's model, else its last."""
        now = selection.current()
        return tuple(now.step if one.key == now.model else one.last_step for one in self.choices)

    @property
    def seen(self) -> NDArray[np.uint8]:
        """(S, S, 3), what the models read."""
        return cached.prepared(self.image, self.preparation, self.offset).shown

    @property
    def classes(self) -> tuple[str, ...]:
        """What all of them choose from."""
        return cached.loaded(self.choices[0], self.steps[0]).classes

    @property
    def truth(self) -> int:
        """The picture's class: as its set says, or a sample's that is named like it; -1 where nobody says."""
        kind, _, name = self.image.partition(":")
        if kind == "sample":
            return self.classes.index(name) if name in self.classes else -1
        if kind == "upload":
            return -1
        data = cached.dataset(kind)
        if data.test_labels is None or data.classes != self.classes:
            return -1
        return int(data.test_labels[int(name)])

    @property
    def names(self) -> tuple[str, ...]:
        """What each is called beside the others."""
        return tuple(name_of(choice) for choice in self.choices)


def name_of(choice: ModelChoice) -> str:
    """A model's title without the set that all of them learned from: 'Hybrid'."""
    data = "" if choice.trained_on is None else catalogue.data_title(choice.trained_on)
    name = choice.title.removeprefix(data).strip() or choice.title
    return name[:1].upper() + name[1:]


def family(config: ModelConfig) -> str:
    """'CNN', 'ViT', 'Hybrid', 'Swin', 'DeiT', or what else there is."""
    return FAMILIES.get(config.family, "other")


FAMILIES = {"cnn": "CNN", "vit": "ViT", "hybrid": "Hybrid", "swin": "Swin", "deit": "DeiT"}  # as they stand
ORDER = (*FAMILIES.values(), "other")


def anchor() -> ModelChoice:
    """The model whose kind is compared: the sidebar's; where nobody chose it the best of colour photos."""
    own = selection.choice()
    fits = abilities(own.config).class_head and own.config.image_size <= LARGEST_PX
    photos = [one for one in selection.models().values() if one.trained_on == "cifar10" and one.path]
    if photos and (selection.nobody_chose() or not fits):
        return max(photos, key=lambda one: one.accuracy or 0.0)
    return own if fits else substitute.nearest(lambda config: bool(abilities(config).class_head))


def peers(of: ModelChoice) -> list[ModelChoice]:
    """Every model that reads such pictures and has learned from the same set, families in order, the best first."""

    def alike(other: ModelChoice) -> bool:
        return (
            (other.trained_on, other.config.num_classes, other.preparation.in_chans, other.config.image_size)
            == (of.trained_on, of.config.num_classes, of.preparation.in_chans, of.config.image_size)
            and other.preparation.digit == of.preparation.digit
            and bool(abilities(other.config).class_head)
        )

    found = [one for one in selection.models().values() if alike(one)]
    found.sort(key=lambda one: (ORDER.index(family(one.config)), -(one.accuracy or 0.0)))
    return found[:OFFERED] if of in found[:OFFERED] else [*found[: OFFERED - 1], of]


def first_of_each(found: list[ModelChoice]) -> list[str]:
    """The best of every family; where there is one family alone its first few."""
    best = {family(one.config): one.key for one in reversed(found)}
    keys = [one.key for one in found if one.key in best.values()]
    return keys[:MOST] if len(keys) >= FEWEST else [one.key for one in found[:MOST]]


def choose() -> tuple[ModelChoice, ...]:
    """Draws the models behind one button; none where there are not two to compare."""
    of = anchor()
    found = {one.key: one for one in peers(of)}
    if len(found) < FEWEST:
        st.info(f"{of.shown} is the only model here that reads such pictures.", icon=":material/compare:")
        return ()
    with popover.button("Models", "view_column", "on_your_picture.choosing"):
        keys = pills.pills(
            Choice.key("models"),
            f"Models side by side, {FEWEST} to {MOST}",
            list(found),
            first_of_each(list(found.values())),
            least=FEWEST,
            most=min(MOST, len(found)),
            format_func=lambda key: name_of(found[key]),
        )
    return tuple(found[key] for key in Choice(keys).models)


def compared(choices: tuple[ModelChoice, ...]) -> Compared:
    """The models with the picture that they are asked about; says so where it is not the chosen one."""
    return Compared(
        choices,
        substitute.picture_or_own(choices[0], OwnPicture.key("own_picture"), "these models"),
        selection.current().offset,
    )


@cached.per_picture(shared=24, upload=4)
def ground(image: str, preparation: Preparation, offset: cached.Offset) -> Photo:
    """The crop in the picture's own pixels, where it has more of them than the models read; else what they read."""
    if preparation.digit:
        return photo(cached.prepared(image, preparation, offset).shown)
    crop = seen_crop(cached.picture(image), preparation, offset, PHOTO_PX)
    return photo(crop if crop.shape[0] > preparation.image_size else _exact(image, preparation, offset))


def _exact(image: str, preparation: Preparation, offset: cached.Offset) -> NDArray[np.uint8]:
    return cached.prepared(image, preparation, offset).shown
