"""Draw the form of a model: its family and all settings that matter for teaching."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.selection import selection
from pages.stores import runs
from pages.stores.model_choice import ModelChoice
from pages.train.lab.field_widgets import (
    DISTILLATION,
    draw_fields,
    get_key,
    parse_fields,
    read_value,
    select_settings,
)
from pages.train.lab.lab_controls import ModelControls
from vitviz.config import (
    CNNConfig,
    ConvAttentionConfig,
    FlatAttentionConfig,
    ModelConfig,
    Preparation,
    SwinConfig,
    TrainConfig,
    ViTConfig,
)
from vitviz.config_fields import Setting, list_settings
from vitviz.models.presets import SWIN_DIGITS, VIT_DIGITS

PROJECT = Path(__file__).parents[3]
FAMILIES = {
    "vit": "ViT",
    "deit": "DeiT: distilled ViT",
    "hybrid": "Hybrid: convolutional stem and ViT",
    "swin": "Swin",
    "cnn": "CNN",
    "conv_attention": "Lecture G: attention over convolutions",
    "flat_attention": "Lecture E: 'attention' over the flat image",
}
KINDS = FAMILIES | {"conv_attention": "Lecture G", "flat_attention": "Lecture E"}  # short names for tables
_SUMMARIES = {
    "vit": "Dosovitskiy et al. 2021: patches become tokens, and every token attends to all others.",
    "deit": "Touvron et al. 2021: a distillation token with its own head learns a teacher's predictions.",
    "hybrid": "Xiao et al. 2021: 3 × 3 convolutions compute the tokens instead of a linear patch projection.",
    "swin": "Liu et al. 2021: attention within windows that shift from block to block, in stages.",
    "cnn": "He et al. 2016: 3 × 3 convolutions in residual or plain blocks; the baseline and a DeiT's teacher.",
    "conv_attention": "Convolutions compute queries, keys and values; the lecture's version has two bugs.",
    "flat_attention": "A single token, so its attention weight is always 1: a multilayer perceptron.",
}
VIT = select_settings(
    "patch_size embed_dim depth num_heads mlp_ratio positions readout num_registers dropout drop_path"
)
STEM = select_settings("stem")


def _list_offered(config_class: type) -> tuple[Setting, ...]:
    return tuple(setting for setting in list_settings(config_class).values() if setting.help)


DETAILS = tuple(setting for setting in _list_offered(ViTConfig) if setting not in (*VIT, *STEM))
_SETTINGS = {
    "vit": (*VIT, *DETAILS),
    "deit": (*VIT, *DETAILS),
    "hybrid": (*STEM, *VIT, *DETAILS),
} | {
    config_class.kind: _list_offered(config_class)
    for config_class in (SwinConfig, CNNConfig, ConvAttentionConfig, FlatAttentionConfig)
}


def choose_base_config(family: str, model: ModelConfig) -> ModelConfig:
    """Return the recipe's model if it is of the family, else a small one of the family."""
    if model.family == family:
        return model
    start = model if isinstance(model, ViTConfig) else VIT_DIGITS
    plain_vit = replace(start, distilled=False, stem=())
    configs: dict[str, ModelConfig] = {
        "vit": plain_vit,
        "deit": replace(plain_vit, distilled=True, readout="cls"),
        "hybrid": replace(
            plain_vit,
            patch_size=4,
            embed="conv",
            embed_bias=True,
            stem=tuple(max(1, start.embed_dim // part) for part in (4, 2, 1)),
        ),
        "swin": replace(SWIN_DIGITS, window_size=7 if model.image_size == 28 else 4),
        "cnn": CNNConfig(widths=(16, 32, 64)),
        "conv_attention": ConvAttentionConfig(),
        "flat_attention": FlatAttentionConfig(),
    }
    return configs[family]


def get_initial_values(family: str, model: ModelConfig) -> dict[str, Any]:
    config = choose_base_config(family, model)
    return {get_key(setting): read_value(setting, config) for setting in _SETTINGS[family]}


def draw_model(recipe: ModelConfig) -> tuple[str, dict[str, Any]]:
    """Draw the family's choice and its controls; return the family and the controls' values."""
    family = widgets.select(
        ModelControls.key("family"),
        "Model family",
        FAMILIES,
        recipe.family,
        help="Pages that do not support this family explain why.",
    )
    page.caption(_SUMMARIES[family])
    config = choose_base_config(family, recipe)
    if not isinstance(config, ViTConfig):
        return family, draw_fields(_SETTINGS[family], config)
    shown = draw_fields(STEM, config) if family == "hybrid" else {}
    shown |= draw_fields(VIT, config)
    with st.expander("Details and bugs of the lecture"):
        shown |= draw_fields(DETAILS, config)
    return family, shown


def build_model_config(
    recipe: ModelConfig, family: str, shown: dict[str, Any], shape: dict[str, int]
) -> ModelConfig:
    """Return the config that the controls describe.

    Args:
        recipe: the recipe's model.
        family, shown: as returned by `draw_model`.
        shape: image_size, in_chans and num_classes of the data.

    Raises:
        ValueError: if the config is invalid.
    """
    values = parse_fields(_SETTINGS[family], shown)
    if family == "deit":
        values["readout"] = "cls"
    if family == "hybrid":
        values["embed"] = "conv"
        if not values["stem"]:
            raise ValueError("a hybrid needs at least one convolution, received none")
    return replace(choose_base_config(family, recipe), **(values | shape))


def draw_teacher(preparation: Preparation, dataset: str, train: TrainConfig) -> dict[str, Any]:
    """Draw a DeiT's distillation controls; return the fields of the training config that they set.

    A teacher must have been trained on the same dataset with the same preparation of the images.
    """
    teacher_paths, models = find_teachers(preparation, dataset), selection.list_models()
    recipe_teacher = next((key for key, path in teacher_paths.items() if path == train.distill_from), None)
    disabled_reason = (
        None if teacher_paths else "no shipped model and none of your runs was trained on this dataset"
    )
    key = widgets.select(
        ModelControls.key("teacher"),
        "Teacher",
        {key: models[key].title for key in teacher_paths} or {"": "none"},
        recipe_teacher,
        help="A model trained on the same dataset.",
        why_not=disabled_reason and f"Disabled: {disabled_reason}.",
    )
    shown = draw_fields(DISTILLATION, train, lambda _: disabled_reason)
    return {"distill_from": teacher_paths.get(key)} | parse_fields(DISTILLATION, shown)


def find_teachers(preparation: Preparation, dataset: str) -> dict[str, str]:
    """Return the paths of possible teachers by model key: shipped models, then the user's runs."""
    return {
        key: _get_path(choice)
        for key, choice in _list_trained_models().items()
        if choice.preparation == preparation
        and _get_dataset(choice) == dataset
        and not getattr(choice.config, "softmax_output", False)
    }


def find_teacher_key(path: str) -> str | None:
    return next((key for key, choice in _list_trained_models().items() if _get_path(choice) == path), None)


def _list_trained_models() -> dict[str, ModelChoice]:
    return {
        key: choice
        for key, choice in selection.list_models().items()
        if key.startswith(("checkpoint:", "run:")) and choice.path is not None
    }


def _get_dataset(choice: ModelChoice) -> str | None:
    run = runs.find_run(choice.key.removeprefix("run:")) if choice.key.startswith("run:") else None
    return choice.trained_on if run is None else run.config().train.dataset


def _get_path(choice: ModelChoice) -> str:
    """Return the path for a config, relative to the project if inside it, so that it works on other machines."""
    path = Path(str(choice.path)).resolve()
    return str(path.relative_to(PROJECT) if path.is_relative_to(PROJECT) else path)
