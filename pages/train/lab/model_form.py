"""Draw the form of a model: its family and all settings that matter for teaching."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.selection import selection
from pages.stores import runs
from pages.stores.model_choice import ModelChoice
from pages.train.lab.fields import Dependency, Field, draw_fields, parse_fields
from pages.train.lab.keys import ModelControls
from vitviz.config import (
    CNNConfig,
    ConvAttentionConfig,
    FlatAttentionConfig,
    ModelConfig,
    Preparation,
    TrainConfig,
    ViTConfig,
)
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
_POSITIONS = {
    "learned": "learned",
    "none": "none",
    "sincos_1d": "sinusoidal, 1-D",
    "sincos_2d_sum": "sinusoidal, 2-D summed",
    "sincos_2d_concat": "sinusoidal, 2-D concatenated",
    "pixels": "linear map of the pixels",
}
_READOUTS = {"cls": "[CLS] token", "mean": "mean of patch tokens", "first_patch": "first patch"}
_SCALES = {"head": "1/√d (head width)", "width": "1/√D (model width)", "none": "none"}
_ACTIVATIONS = {"gelu": "GELU", "relu": "ReLU", "silu": "SiLU"}
_NORMS = {"pre": "pre-norm", "post": "post-norm"}
_HEAD_INPUTS = {"all": "whole token", "slice": "slice of the token"}
_EMBEDS = {
    "conv": "strided convolution",
    "unfold": "unfold and linear map",
    "reshape": "reshape (bug: mixes rows)",
}
_DISTILLATIONS = {"hard": "hard: predicted class", "soft": "soft: probabilities"}

_DROPOUT = Field("dropout", "Dropout", "real", "Fraction of activations zeroed during training.", step=0.05)
_DROP_PATH = Field("drop_path", "Drop path", "real", "Probability of skipping a sublayer.", step=0.05)
_ATTENTION_DROPOUT = Field(
    "attention_dropout", "Attention dropout", "real", "Fraction of attention weights zeroed.", step=0.05
)
_QKV_BIAS = Field("qkv_bias", "Bias in q, k, v", "switch", "Learned bias of queries, keys and values.")
VIT = (
    Field("patch_size", "Patch, px", "integer", "Side of a patch; must divide the image size.", top=64),
    Field("embed_dim", "Width D", "integer", "Dimension of the token vectors.", top=512),
    Field("depth", "Blocks", "integer", "Number of transformer blocks.", top=16),
    Field("num_heads", "Heads", "integer", "Attention heads per block; must divide the width.", top=32),
    Field("mlp_ratio", "MLP ratio", "real", "Hidden width of the MLP divided by D.", step=0.5),
    Field("positions", "Positions", "choice", "Type of positional encoding.", _POSITIONS),
    Field("readout", "Readout", "choice", "Input of the classifier head.", _READOUTS),
    Field("num_registers", "Registers", "integer", "Extra learned tokens (Darcet et al. 2024).", top=8),
    _DROPOUT,
    _DROP_PATH,
)
DETAILS = (
    Field("activation", "Activation", "choice", "Nonlinearity of the MLP.", _ACTIVATIONS),
    Field("norm", "Norm", "choice", "LayerNorm before or after each sublayer.", _NORMS),
    Field("attention_scale", "Attention scale", "choice", "Factor on q·k; lecture D uses width D.", _SCALES),
    Field("head_input", "Head input", "choice", "Input of q, k and v; lecture C uses a slice.", _HEAD_INPUTS),
    Field("embed", "Patch extraction", "choice", "The first two compute the same function.", _EMBEDS),
    Field(
        "sincos_on_prefix",
        "Position of [CLS]",
        "switch",
        "Gives [CLS] position 0, as in recipe C of the lecture.",
        only=Dependency("positions", ("sincos_1d",), "only 1-D sinusoidal positions include [CLS]"),
    ),
    _ATTENTION_DROPOUT,
    Field("layer_scale", "LayerScale", "real", "Initial scale (Touvron et al. 2021); 0: off.", step=0.1),
    _QKV_BIAS,
    Field("output_projection", "Output projection", "switch", "Linear map of the concatenated heads."),
    Field("residual", "Residual connections", "switch", "Off: each sublayer's output replaces its input."),
    Field("final_norm", "Final norm", "switch", "LayerNorm before the classifier head."),
    Field("softmax_output", "Softmax in the model", "switch", "A bug: the loss applies softmax again."),
)
STEM = (
    Field(
        "stem",
        "Channels of the convolutions",
        "list",
        "One 3 × 3 convolution per entry; the last log₂(patch), rounded up, have stride 2.",
    ),
)
SWIN = (
    Field("patch_size", "Patch, px", "integer", "Side of a patch in stage 1.", top=64),
    Field("embed_dim", "Width of stage 1", "integer", "Doubles with every stage.", top=256),
    Field("depths", "Blocks per stage", "list", "One number per stage; every second block shifts windows."),
    Field("num_heads", "Heads per stage", "list", "One number per stage."),
    Field("window_size", "Window, tokens", "integer", "Side of an attention window.", top=32),
    Field("mlp_ratio", "MLP ratio", "real", "Hidden width of the MLP divided by the stage's.", step=0.5),
    _DROPOUT,
    _ATTENTION_DROPOUT,
    _DROP_PATH,
    _QKV_BIAS,
    Field("masked", "Mask", "switch", "Off (a bug): opposite edges of the image attend to each other."),
)
CNN = (
    Field("widths", "Channels per stage", "list", "Each stage after the first halves the feature map."),
    Field("blocks", "Blocks per stage", "list", "Blocks of two 3 × 3 convolutions; the first may be 0."),
    Field("pooled", "Plain, pooled", "switch", "Max pooling instead of strides, no residual connections."),
)
CONV_ATTENTION = (
    Field("channels", "Channels", "integer", "Channels of queries, keys and values.", top=256),
    Field("scaled", "Scale by 1/√d", "switch", "Missing in the lecture's version."),
    Field("transposed_values", "Transpose values", "switch", "The lecture's bug."),
    Field("attends", "Attention", "switch", "Off: each pixel keeps its own value, y = V."),
)
FLAT_ATTENTION = (Field("widths", "Hidden widths", "list", "Widths of the two hidden layers."),)
_FIELDS = {
    "vit": (*VIT, *DETAILS),
    "deit": (*VIT, *DETAILS),
    "hybrid": (*STEM, *VIT, *DETAILS),
} | {
    family: tuple(replace(field, family=family) for field in fields)
    for family, fields in (
        ("swin", SWIN),
        ("cnn", CNN),
        ("conv_attention", CONV_ATTENTION),
        ("flat_attention", FLAT_ATTENTION),
    )
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
    """Return the initial value of every control of a family, by key."""
    config = choose_base_config(family, model)
    return {field.key: field.read(config) for field in _FIELDS[family]}


def draw_model(recipe: ModelConfig) -> tuple[str, dict[str, Any]]:
    """Draw the family's choice and its controls; return the family and the controls' values."""
    family = widgets.select(
        ModelControls.key("family"),
        "Model family",
        list(FAMILIES),
        recipe.family,
        format_func=lambda name: FAMILIES[name],
        help="Lenses that do not apply to a family say so.",
    )
    page.caption(_SUMMARIES[family])
    config = choose_base_config(family, recipe)
    if not isinstance(config, ViTConfig):
        return family, draw_fields(_FIELDS[family], config)
    shown = draw_fields(STEM, config) if family == "hybrid" else {}
    shown |= draw_fields(VIT, config, lambda field: _explain_disabled(family, field))
    with st.expander("Details and bugs of the lecture"):
        shown |= draw_fields(DETAILS, config, lambda field: _explain_disabled(family, field))
    return family, shown


def _explain_disabled(family: str, field: Field) -> str | None:
    if family == "deit" and field.name == "readout":
        return "a DeiT uses its class token and its distillation token"
    if family == "hybrid" and field.name == "embed":
        return "the convolutions compute the tokens"
    return None


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
    values = parse_fields(_FIELDS[family], shown)
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
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        key = widgets.select(
            ModelControls.key("teacher"),
            "Teacher",
            list(teacher_paths) or [""],
            recipe_teacher,
            format_func=lambda name: models[name].title if name else "none",
            help="A model trained on the same dataset."
            if teacher_paths
            else "Disabled: no shipped model and none of your runs was trained on this dataset.",
            disabled=not teacher_paths,
        )
    with right:
        target = widgets.select(
            ModelControls.key("distillation"),
            "Distillation",
            list(_DISTILLATIONS),
            train.distillation,
            format_func=lambda name: _DISTILLATIONS[name],
            disabled=not teacher_paths,
            help="Hard: the teacher's predicted class is the target. Soft: its probabilities are.",
        )
    return {"distill_from": teacher_paths.get(key), "distillation": target} | _draw_soft_distillation(
        train, bool(teacher_paths) and target == "soft"
    )


def _draw_soft_distillation(train: TrainConfig, soft: bool) -> dict[str, float]:
    """Draw weight and temperature of soft distillation."""
    disabled_reason = None if soft else "Disabled: hard distillation has weight 0.5 and no temperature."
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        weight = widgets.slider(
            ModelControls.key("distillation_weight"),
            "Distillation weight, λ",
            0.0,
            1.0,
            float(train.distillation_weight),
            0.05,
            why_not=disabled_reason,
            help="Weight of the teacher's loss; the labels get 1 - λ.",
        )
    with right:
        temperature = widgets.slider(
            ModelControls.key("distillation_temperature"),
            "Temperature, τ",
            1.0,
            10.0,
            float(train.distillation_temperature),
            0.5,
            why_not=disabled_reason,
            help="Divides the logits; a higher value gives more uniform teacher probabilities.",
        )
    return {"distillation_weight": weight, "distillation_temperature": temperature} if soft else {}


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
    """Return the key of the teacher at a path, or None."""
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
