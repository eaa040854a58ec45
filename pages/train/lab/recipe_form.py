"""The lab's controls: a recipe, and every part of it that can be changed; gives a RunConfig or the reason why not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from pages.controls import popover, query_params, session_keys, widgets
from pages.stores import cached, runs, session, user_datasets
from pages.train.lab import fields, model_form, own_dataset
from pages.train.lab.keys import LOADED, Family, Recipe
from vitviz.checkpoint_limits import check_buildable
from vitviz.config import ModelConfig, Preparation, TrainConfig
from vitviz.data import own_datasets
from vitviz.data.dataset import DatasetError
from vitviz.data.datasets import DATASETS, available_datasets
from vitviz.models.presets import GREY_28, GREY_32, RGB_32
from vitviz.text import plural
from vitviz.training.presets import TRAINING_PRESETS, TrainingPreset
from vitviz.training.run_config import RunConfig

FIRST = "digits_live"
EMBEDDING = ("patch_embed",)
_PREPARATIONS = {"digits": GREY_32, "mnist": GREY_28, "fashion-mnist": GREY_28}
_CLASSES = {"shapes": 4, "cifar100": 100}
MOST_LAYERS = 256  # of a model from this form: a visitor shares the machine
_EMBEDDED = ("vit", "deit", "hybrid", "swin")


def draw() -> RunConfig | ValueError:
    """Draws the controls; the run that they describe, or why it cannot be."""
    gone = _adopt_linked_set()
    _complete_link()
    columns = st.columns([2.6, 1.9, 7.2], vertical_alignment="bottom")
    with columns[0]:
        preset = _recipe()
    with columns[1]:
        dataset = _dataset(preset)
    preparation = preparation_of(preset, dataset)
    with columns[2], st.container(horizontal=True, gap="small"):
        with popover.button("Data", "database", f"{fields.PREFIX}behind_data"):
            values = _data_group(preset, dataset)
        with popover.button("Model", "account_tree", f"{fields.PREFIX}behind_model"):
            family, shown = model_form.draw_model(preset.model)
            taught = _teacher(preset, family, preparation, dataset)
        with popover.button("Optimiser", "trending_down", f"{fields.PREFIX}behind_optimiser"):
            optimiser = fields.draw(fields.OPTIMISER, preset.train)
            frozen = _frozen(preset, family)
        with popover.button("Pictures", "auto_fix", f"{fields.PREFIX}behind_pictures"):
            st.caption("Changes to each picture every time it is seen, so that it is never quite the same.")
            augmented = fields.draw(fields.PICTURES, preset.train)
    _shorten_link(preset, family)
    if gone:
        st.warning("The pictures of this link are no longer on the server: upload them again.")
    try:
        values |= fields.meant(fields.OPTIMISER, optimiser) | fields.meant(fields.PICTURES, augmented)
        train = replace(preset.train, **values, **taught, frozen=frozen)
        shape = _shape(dataset, preparation)
        model = model_form.build(preset.model, family, shown, shape)
        check_buildable(model, MOST_LAYERS)
        _check(family, train)
        return RunConfig(model, preparation, train, preset.title, preset.name)
    except ValueError as error:
        return error
    except DatasetError as error:
        return ValueError(str(error).rstrip("."))


def _adopt_linked_set() -> bool:
    """Takes a visitor's set that the link names into the visit; whether it is gone."""
    said = st.session_state.get(session_keys.INCOMING, {}).get(Recipe.key("dataset"), "")
    return own_datasets.is_own(said) and not user_datasets.adopt(session.current(), said)


def _recipe() -> TrainingPreset:
    name = widgets.select(
        Recipe.key("recipe"),
        "Recipe",
        list(TRAINING_PRESETS),
        FIRST,
        format_func=lambda key: TRAINING_PRESETS[key].title,
        help="A whole training in one click: model, data and optimiser. Everything can be changed beside it."
        " 'Lecture A' to 'G' are the seven recipes of the course that this app goes with, as written there and"
        " corrected.",
    )
    preset = TRAINING_PRESETS[name]
    if st.session_state.get(LOADED, name) != name:
        fill(preset.model, preset.train)
    st.session_state[LOADED] = name
    return preset


def fill(model: ModelConfig, train: TrainConfig, recipe: str | None = None) -> None:
    """Sets every control to these configs; call it before they are drawn, or in a callback."""
    if recipe in TRAINING_PRESETS:
        Recipe.change(recipe=recipe)
        st.session_state[LOADED] = recipe
    for key, value in _starts(model, train, model.family).items():
        widgets.set_value(key, value)


def _starts(model: ModelConfig, train: TrainConfig, family: str) -> dict[str, Any]:
    """Where every control but the recipe's stands for these configs and this family, by its key."""
    found: dict[str, Any] = {
        Recipe.key("dataset"): train.dataset,
        Recipe.key("unit"): "seconds" if train.epochs is None else "epochs",
        Recipe.key("length"): float(train.epochs or train.seconds or 1.0),
        Family.key("family"): model.family,
        Recipe.key("embedding_learns"): train.frozen != EMBEDDING,
    }
    for field in (*fields.DATA, *fields.OPTIMISER, *fields.PICTURES):
        found[field.key] = field.start(train)
    return found | model_form.starts(family, model) | _taught(train)


def _taught(train: TrainConfig) -> dict[str, Any]:
    """Where the teacher's controls stand."""
    if train.distill_from is None:
        return {}
    key = model_form.teacher_of(train.distill_from)
    return ({} if key is None else {Family.key("teacher"): key}) | {
        Family.key("distillation"): train.distillation,
        Family.key("distillation_weight"): float(train.distillation_weight),
        Family.key("distillation_temperature"): float(train.distillation_temperature),
    }


def _complete_link() -> None:
    """A link says only what sets it apart from its recipe: what a new one leaves out is the recipe's."""
    said = st.query_params.to_dict()
    preset = TRAINING_PRESETS.get(said.get(Recipe.key("recipe"), ""))
    ours = [st.session_state.get(session_keys.WRITTEN, {})]
    ours += [before for _, before in st.session_state.get(session_keys.SUPERSEDED, [])]
    if preset is None or said in ours:
        return
    incoming = st.session_state.setdefault(session_keys.INCOMING, {})
    family = said.get(Family.key("family"), "")
    if family not in model_form.FAMILIES:
        family = preset.model.family
    for key, value in _starts(preset.model, preset.train, family).items():
        incoming.setdefault(key, said.get(key, widgets.encode(value)))


def _shorten_link(preset: TrainingPreset, family: str) -> None:
    """Leaves out of the link what is as the recipe has it."""
    said = query_params.written()
    for key, value in _starts(preset.model, preset.train, family).items():
        if said.get(key) == widgets.encode(value):
            query_params.drop(key)


def _dataset(preset: TrainingPreset) -> str:
    mine = user_datasets.mine(session.current())

    def title(name: str) -> str:
        if name in mine:
            return f"Yours: {mine[name].title}"
        return DATASETS[name].title + ("" if name in available_datasets() else " (downloads)")

    return widgets.select(
        Recipe.key("dataset"),
        "Data set",
        [*DATASETS, *mine],
        preset.train.dataset,
        format_func=title,
        help="For your own pictures, upload a zip under *Data*.",
    )


def preparation_of(preset: TrainingPreset, dataset: str) -> Preparation:
    """How the pictures of a set are brought to what a recipe's model reads."""
    if dataset == preset.train.dataset:
        return preset.preparation
    note = own_datasets.own_note(dataset, runs.folder())
    if note is not None:
        return replace(RGB_32, image_size=note.image_size)
    return _PREPARATIONS.get(dataset, RGB_32)


def _shape(dataset: str, preparation: Preparation) -> dict[str, int]:
    note = own_datasets.own_note(dataset, runs.folder())
    return {
        "image_size": preparation.image_size,
        "in_chans": preparation.in_chans,
        "num_classes": _CLASSES.get(dataset, 10) if note is None else len(note.classes),
    }


def _data_group(preset: TrainingPreset, dataset: str) -> dict[str, Any]:
    if not popover.closed():
        _about(dataset)
    values = _length(preset) | fields.meant(fields.DATA, fields.draw(fields.DATA, preset.train))
    if not popover.closed():
        st.divider()
        own_dataset.draw_upload(values["batch_size"])
    return {"dataset": dataset} | values


def _about(dataset: str) -> None:
    note = user_datasets.mine(session.current()).get(dataset)
    if note is None:
        st.caption(DATASETS[dataset].summary)
    else:
        own_dataset.draw_set(note)


def _length(preset: TrainingPreset) -> dict[str, float | None]:
    train = preset.train
    beside, unit = st.columns([1, 1], vertical_alignment="bottom")
    with unit:
        chosen = widgets.segmented(
            Recipe.key("unit"),
            "Counted in",
            ("epochs", "seconds"),
            "seconds" if train.epochs is None else "epochs",
            help="Seconds end a run on the clock, wherever it stands.",
        )
    with beside:
        amount = widgets.real(
            Recipe.key("length"),
            "Train for",
            train.epochs or train.seconds or 1.0,
            1.0,
            help="An epoch sees every training picture once.",
        )
    return {"epochs": amount, "seconds": None} if chosen == "epochs" else {"epochs": None, "seconds": amount}


def _teacher(preset: TrainingPreset, family: str, preparation: Preparation, dataset: str) -> dict[str, Any]:
    """Who teaches: of a DeiT as its controls say, of others only as their recipe has it."""
    train = preset.train
    if family == "deit":
        return model_form.draw_teacher(preparation, dataset, train)
    return {} if family == preset.model.family else {"distill_from": None}


def _frozen(preset: TrainingPreset, family: str) -> tuple[str, ...]:
    embedded = family in _EMBEDDED
    learns = widgets.toggle(
        Recipe.key("embedding_learns"),
        "The patch embedding learns",
        preset.train.frozen != EMBEDDING,
        disabled=not embedded,
        help="Off: it stays random, outside the optimiser: the slip of the lecture's recipe A (CIFAR-10, patch 8)."
        if embedded
        else "Disabled: this family has no patch embedding.",
    )
    return () if learns or not embedded else EMBEDDING


def _check(family: str, train: TrainConfig) -> None:
    """What the configs cannot know by themselves."""
    if family == "deit" and train.distill_from is None:
        raise ValueError(
            "a DeiT needs a teacher, and no shipped model and no run of this visit was trained on these pictures;"
            " train a CNN on them first"
        )
    if train.dataset in available_datasets() or own_datasets.is_own(train.dataset):
        count = len(cached.dataset(train.dataset).train_images)
        left = round(round(count * (1 - train.validation_fraction)) * train.train_fraction)
        if train.batch_size > left:
            raise ValueError(
                f"batch_size {train.batch_size} is larger than the {plural(left, 'training picture')}"
            )
