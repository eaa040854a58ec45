"""Draw the form of one training run: a recipe and all settings that can be changed."""

from dataclasses import replace
from typing import Any

import streamlit as st

from pages.controls import notices, popover, query_params, session_keys, widgets
from pages.stores import runs, session, shared_cache, user_datasets
from pages.train.lab import dataset_upload, field_widgets, model_form
from pages.train.lab.lab_controls import LOADED_RECIPE, ModelControls, RecipeControls
from vitviz.config import ModelConfig, Preparation, TrainConfig
from vitviz.data import uploaded_datasets
from vitviz.data.dataset import DatasetError
from vitviz.data.datasets import DATASETS, available_datasets
from vitviz.models.presets import GREY_28, GREY_32, RGB_32
from vitviz.text import plural
from vitviz.training.presets import TRAINING_PRESETS, TrainingPreset
from vitviz.training.run_config import RunConfig
from vitviz.upload_limits import check_buildable

FIRST = "digits_live"
EMBEDDING = ("patch_embed",)
_PREPARATIONS = {"digits": GREY_32, "mnist": GREY_28, "fashion-mnist": GREY_28}
_CLASSES = {"shapes": 4, "cifar100": 100}
DATASET_MISSING = "The dataset of this link is no longer on the server: upload it again."
MOST_LAYERS = 256  # limit for models from this form, because users share the machine
_EMBEDDED = ("vit", "deit", "hybrid", "swin")


def draw() -> RunConfig | ValueError:
    _adopt_linked_dataset()
    _complete_link()
    columns = st.columns(2, vertical_alignment="bottom")
    with columns[0]:
        preset = _choose_recipe()
    with columns[1]:
        dataset = _choose_dataset(preset)
    preparation = choose_preparation(preset, dataset)
    data_tab, model_tab, optimizer_tab, augment_tab = st.tabs(["Data", "Model", "Optimizer", "Augmentation"])
    with data_tab:
        values = _draw_data(preset, dataset)
    with model_tab:
        family, model_values = model_form.draw_model(preset.model)
        teacher = _draw_teacher(preset, family, preparation, dataset)
    with optimizer_tab:
        optimiser = field_widgets.draw_fields(field_widgets.OPTIMIZER, preset.train)
        frozen = _draw_embedding_toggle(preset, family)
    with augment_tab:
        st.caption("Random changes to each training image in every epoch.")
        augmented = field_widgets.draw_fields(field_widgets.AUGMENTATION, preset.train)
    _shorten_link(preset, family)
    notices.draw_notice(dataset_upload.LINK_NOTICE)
    try:
        values |= field_widgets.parse_fields(field_widgets.OPTIMIZER, optimiser) | field_widgets.parse_fields(
            field_widgets.AUGMENTATION, augmented
        )
        values["alternate_flip"] = preset.train.alternate_flip and values["flip"]
        train = replace(preset.train, **values, **teacher, frozen=frozen)
        shape = _get_shape(dataset, preparation)
        model = model_form.build_model_config(preset.model, family, model_values, shape)
        check_buildable(model, MOST_LAYERS)
        _check_config(family, train)
        return RunConfig(model, preparation, train, preset.title, preset.name)
    except ValueError as error:
        return error
    except DatasetError as error:
        return ValueError(str(error).rstrip("."))


def _adopt_linked_dataset() -> None:
    """Add the uploaded dataset that a link names to this session, or store a notice if it is missing."""
    key = RecipeControls.key("dataset")
    linked_name = st.session_state.get(session_keys.INCOMING, {}).get(key, "")
    if uploaded_datasets.is_uploaded(linked_name):
        adopted = user_datasets.adopt_dataset(session.get_current(), linked_name)
        if not adopted:
            query_params.take_value(key)  # the notice names it
        notices.store_notice(dataset_upload.LINK_NOTICE, "" if adopted else DATASET_MISSING)


def _choose_recipe() -> TrainingPreset:
    name = widgets.select(
        RecipeControls.key("recipe"),
        "Recipe",
        {key: preset.title for key, preset in TRAINING_PRESETS.items()},
        FIRST,
        help="Sets model, data and optimizer. 'Lecture A' to 'G' are the lecture's seven recipes.",
    )
    preset = TRAINING_PRESETS[name]
    if st.session_state.get(LOADED_RECIPE, name) != name:
        fill_form(preset.model, preset.train)
    st.session_state[LOADED_RECIPE] = name
    return preset


def fill_form(model: ModelConfig, train: TrainConfig, recipe: str | None = None) -> None:
    """Set every control to these configs; call it before they are drawn or in a callback."""
    if recipe in TRAINING_PRESETS:
        RecipeControls.change(recipe=recipe)
        st.session_state[LOADED_RECIPE] = recipe
    for key, setting in _get_initial_values(model, train, model.family).items():
        widgets.set_control(key, setting)


def _get_initial_values(model: ModelConfig, train: TrainConfig, family: str) -> dict[str, Any]:
    """Return the initial values of all controls except the recipe, by key."""
    initial: dict[str, Any] = {
        RecipeControls.key("dataset"): train.dataset,
        RecipeControls.key("unit"): "seconds" if train.epochs is None else "epochs",
        RecipeControls.key("length"): float(train.epochs or train.seconds or 1.0),
        ModelControls.key("family"): model.family,
        RecipeControls.key("embedding_learns"): train.frozen != EMBEDDING,
    }
    for setting in (
        *field_widgets.DATA,
        *field_widgets.OPTIMIZER,
        *field_widgets.AUGMENTATION,
        *field_widgets.DISTILLATION,
    ):
        initial[field_widgets.get_key(setting)] = field_widgets.read_value(setting, train)
    teacher = train.distill_from and model_form.find_teacher_key(train.distill_from)
    if teacher:
        initial[ModelControls.key("teacher")] = teacher
    return initial | model_form.get_initial_values(family, model)


def _complete_link() -> None:
    """Add the recipe's values to a new link, which holds only those that differ from its recipe."""
    params = st.query_params.to_dict()
    preset = TRAINING_PRESETS.get(params.get(RecipeControls.key("recipe"), ""))
    own_links = [st.session_state.get(session_keys.WRITTEN, {})]
    own_links += [before for _, before in st.session_state.get(session_keys.SUPERSEDED, [])]
    if preset is None or params in own_links:
        return
    incoming = st.session_state.setdefault(session_keys.INCOMING, {})
    family = params.get(ModelControls.key("family"), "")
    if family not in model_form.FAMILIES:
        family = preset.model.family
    for key, setting in _get_initial_values(preset.model, preset.train, family).items():
        if key in params:
            incoming.setdefault(key, params[key])
        else:  # set, not linked: the form of this family may lack it, which is no fault of the link
            widgets.set_control(key, setting)


def _shorten_link(preset: TrainingPreset, family: str) -> None:
    params = query_params.get_values()
    for key, setting in _get_initial_values(preset.model, preset.train, family).items():
        if params.get(key) == widgets.encode_value(setting):
            query_params.remove_value(key)


def _choose_dataset(preset: TrainingPreset) -> str:
    own_notes = user_datasets.list_datasets(session.get_current())

    def title(name: str) -> str:
        if name in own_notes:
            return f"Your upload: {own_notes[name].title}"
        return DATASETS[name].title + ("" if name in available_datasets() else " (will be downloaded)")

    return widgets.select(
        RecipeControls.key("dataset"),
        "Dataset",
        [*DATASETS, *own_notes],
        preset.train.dataset,
        format_func=title,
        help="Upload your own images as a zip under *Data*.",
    )


def choose_preparation(preset: TrainingPreset, dataset: str) -> Preparation:
    """Return how a dataset's images are prepared for a recipe's model."""
    if dataset == preset.train.dataset:
        return preset.preparation
    note = uploaded_datasets.read_note(dataset, runs.get_folder())
    if note is not None:
        return replace(RGB_32, image_size=note.image_size)
    return _PREPARATIONS.get(dataset, RGB_32)


def _get_shape(dataset: str, preparation: Preparation) -> dict[str, Any]:
    note = uploaded_datasets.read_note(dataset, runs.get_folder())
    return {
        "image_size": preparation.image_size,
        "in_chans": preparation.in_chans,
        "num_classes": _CLASSES.get(dataset, 10) if note is None else len(note.classes),
    }


def _draw_data(preset: TrainingPreset, dataset: str) -> dict[str, Any]:
    if not popover.is_closed():
        _draw_dataset_summary(dataset)
    values = _draw_length(preset) | field_widgets.parse_fields(
        field_widgets.DATA, field_widgets.draw_fields(field_widgets.DATA, preset.train)
    )
    if not popover.is_closed():
        st.divider()
        dataset_upload.draw_upload(values["batch_size"])
    return {"dataset": dataset} | values


def _draw_dataset_summary(dataset: str) -> None:
    note = user_datasets.list_datasets(session.get_current()).get(dataset)
    if note is None:
        st.caption(DATASETS[dataset].summary)
    else:
        dataset_upload.draw_dataset(note)


def _draw_length(preset: TrainingPreset) -> dict[str, float | None]:
    train = preset.train
    amount_column, unit_column = st.columns([1, 1], vertical_alignment="bottom")
    with unit_column:
        unit = widgets.segmented(
            RecipeControls.key("unit"),
            "Unit",
            ("epochs", "seconds"),
            "seconds" if train.epochs is None else "epochs",
            help="Epochs, or seconds after which training stops.",
        )
    with amount_column:
        amount = widgets.real(
            RecipeControls.key("length"),
            "Train for",
            train.epochs or train.seconds or 1.0,
            1.0,
            help="One epoch uses every training image once.",
        )
    return {"epochs": amount, "seconds": None} if unit == "epochs" else {"epochs": None, "seconds": amount}


def _draw_teacher(
    preset: TrainingPreset, family: str, preparation: Preparation, dataset: str
) -> dict[str, Any]:
    """Draw the teacher's controls for a DeiT; other families keep their recipe's teacher."""
    train = preset.train
    if family == "deit":
        return model_form.draw_teacher(preparation, dataset, train)
    return {} if family == preset.model.family else {"distill_from": None}


def _draw_embedding_toggle(preset: TrainingPreset, family: str) -> tuple[str, ...]:
    has_embedding = family in _EMBEDDED
    learns = widgets.toggle(
        RecipeControls.key("embedding_learns"),
        "Train the patch embedding",
        preset.train.frozen != EMBEDDING,
        help="Off: E keeps its random weights, the bug of the lecture's recipe A.",
        why_not=None if has_embedding else "Disabled: this family has no patch embedding.",
    )
    return () if learns or not has_embedding else EMBEDDING


def _check_config(family: str, train: TrainConfig) -> None:
    """Raise ValueError for settings that the configs alone cannot check."""
    if family == "deit" and train.distill_from is None:
        raise ValueError(
            "a DeiT needs a teacher, but no shipped model and none of your runs was trained on this dataset;"
            " train a CNN on it first"
        )
    if train.dataset in available_datasets() or uploaded_datasets.is_uploaded(train.dataset):
        count = len(shared_cache.load_dataset(train.dataset).train_images)
        train_count = round(round(count * (1 - train.validation_fraction)) * train.train_fraction)
        if train.batch_size > train_count:
            raise ValueError(
                f"batch_size {train.batch_size} is larger than the {plural(train_count, 'training image')}"
            )
