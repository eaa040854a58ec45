"""The lab's model: a family, and every option of it that matters for teaching."""

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
from pages.train.lab.fields import Field, Only, draw, meant
from pages.train.lab.keys import Family
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
    "deit": "DeiT: a ViT with a teacher",
    "hybrid": "Hybrid: convolutions, then a ViT",
    "swin": "Swin",
    "cnn": "CNN: small convolutions",
    "conv_attention": "Lecture G: attention over convolutions",
    "flat_attention": "Lecture E: 'attention' over the flat picture",
}
KINDS = FAMILIES | {"cnn": "CNN", "conv_attention": "Lecture G", "flat_attention": "Lecture E"}  # in a table
_WORDS = {
    "vit": "Patches become tokens, and every block lets every token look at every other.",
    "deit": "Touvron et al. 2021: a second token and a second head learn what a trained teacher answers.",
    "hybrid": "Xiao et al. 2021: 3 × 3 convolutions make the tokens instead of one large patch projection.",
    "swin": "Liu et al. 2021: attention inside windows that shift from block to block, in stages.",
    "cnn": "3 × 3 convolutions, in residual blocks (He et al. 2016) or plain ones; the baseline, and a DeiT's teacher.",
    "conv_attention": "Convolutions give queries, keys and values; the lecture's version has two slips.",
    "flat_attention": "One token only, so its attention is the constant 1: a perceptron in disguise.",
}
_POSITIONS = {
    "learned": "learned",
    "none": "none",
    "sincos_1d": "sinusoidal, 1-D",
    "sincos_2d_sum": "sinusoidal, 2-D summed",
    "sincos_2d_concat": "sinusoidal, 2-D concatenated",
    "pixels": "a second linear map of the pixels",
}
_READOUTS = {"cls": "[CLS] token", "mean": "mean of the patches", "first_patch": "first patch"}
_SCALES = {"head": "1/√d of a head", "width": "1/√D of the width", "none": "none"}
_ACTIVATIONS = {"gelu": "GELU", "relu": "ReLU", "silu": "SiLU"}
_NORMS = {"pre": "before", "post": "after"}
_HEAD_INPUTS = {"all": "the whole token", "slice": "a slice of the token"}
_EMBEDS = {
    "conv": "a strided convolution",
    "unfold": "unfold, then a linear map",
    "reshape": "a reshape, which cuts rows: a slip",
}
_DISTILLATIONS = {"hard": "its answer (hard)", "soft": "its probabilities (soft)"}

VIT = (
    Field("patch_size", "Patch, px", "whole", "Side of a patch; it must divide the picture's side.", top=64),
    Field("embed_dim", "Width D", "whole", "Length of every token's vector.", top=512),
    Field("depth", "Blocks", "whole", "How many transformer blocks stand on one another.", top=16),
    Field("num_heads", "Heads", "whole", "Attention heads per block; they share the width.", top=32),
    Field("mlp_ratio", "MLP ratio", "real", "Hidden width of the MLP over D.", step=0.5),
    Field("positions", "Positions", "choice", "What tells a token where its patch lies.", _POSITIONS),
    Field("readout", "Readout", "choice", "Which token the classifier head reads.", _READOUTS),
    Field("num_registers", "Registers", "whole", "Extra tokens without a patch (Darcet et al. 2024).", top=8),
    Field("dropout", "Dropout", "real", "Share of activations set to zero while training.", step=0.05),
    Field(
        "drop_path", "Drop path", "real", "Chance that a block's part is left out (Huang 2016).", step=0.05
    ),
)
DETAILS = (
    Field("activation", "Activation", "choice", "Non-linearity of the MLP.", _ACTIVATIONS),
    Field(
        "norm", "Norm", "choice", "LayerNorm before each part (ViT) or after it (first Transformer).", _NORMS
    ),
    Field(
        "attention_scale",
        "Scale of scores",
        "choice",
        "What q·k is multiplied by; the lecture's recipe D (MNIST, patch 7) uses the width.",
        _SCALES,
    ),
    Field(
        "head_input",
        "A head reads",
        "choice",
        "The lecture's recipe C (MNIST, width 8) maps a slice per head.",
        _HEAD_INPUTS,
    ),
    Field("embed", "Patches by", "choice", "The first two compute one and the same map.", _EMBEDS),
    Field(
        "sincos_on_prefix",
        "[CLS] has a place",
        "switch",
        "Places are counted from the first token, [CLS], as in the lecture's recipe C.",
        only=Only(
            "positions", ("sincos_1d",), "only 1-D sinusoidal positions are counted along the sequence"
        ),
    ),
    Field("attention_dropout", "Dropout of attention", "real", "Share of weights set to zero.", step=0.05),
    Field(
        "layer_scale", "LayerScale", "real", "Start of a gain per channel (Touvron 2021); 0: none.", step=0.1
    ),
    Field("qkv_bias", "Bias in q, k, v", "switch", "A constant added to queries, keys and values."),
    Field("output_projection", "Output projection", "switch", "The linear map after the heads are joined."),
    Field("residual", "Residual connections", "switch", "Off: a block's output replaces its input."),
    Field("final_norm", "Last norm", "switch", "A LayerNorm before the head."),
    Field(
        "softmax_output", "Softmax in the model", "switch", "A lecture slip: the loss applies it once more."
    ),
)
STEM = (
    Field(
        "stem",
        "Channels of the convolutions",
        "list",
        "One 3 × 3 convolution each; the last log₂(patch) of them, rounded up, halve the picture.",
    ),
)
SWIN = tuple(
    replace(field, family="swin")
    for field in (
        Field("patch_size", "Patch, px", "whole", "Side of a patch in the first stage.", top=64),
        Field("embed_dim", "Width of stage 1", "whole", "It doubles from stage to stage.", top=256),
        Field("depths", "Blocks per stage", "list", "One number per stage; windows shift in every second."),
        Field("num_heads", "Heads per stage", "list", "One number per stage."),
        Field(
            "window_size", "Window, tokens", "whole", "Side of the windows that attention stays in.", top=32
        ),
        Field("mlp_ratio", "MLP ratio", "real", "Hidden width of the MLP over the stage's width.", step=0.5),
        Field("dropout", "Dropout", "real", "Share of activations set to zero while training.", step=0.05),
        Field(
            "attention_dropout", "Dropout of attention", "real", "Share of weights set to zero.", step=0.05
        ),
        Field("drop_path", "Drop path", "real", "Chance that a block's part is left out.", step=0.05),
        Field("qkv_bias", "Bias in q, k, v", "switch", "A constant added to queries, keys and values."),
        Field("masked", "Mask", "switch", "Off, a slip: a shifted window's far edges attend to each other."),
    )
)
CNN = tuple(
    replace(field, family="cnn")
    for field in (
        Field("widths", "Channels per stage", "list", "Each stage after the first halves the picture."),
        Field("blocks", "Blocks per stage", "list", "Of two 3 × 3 convolutions each; the first may be 0."),
        Field(
            "pooled",
            "Plain, pooled",
            "switch",
            "Max pooling halves the picture, and no block has a shortcut.",
        ),
    )
)
CONV_ATTENTION = tuple(
    replace(field, family="conv_attention")
    for field in (
        Field("channels", "Channels", "whole", "Of queries, keys and values.", top=256),
        Field("scaled", "Scale by 1/√d", "switch", "The lecture's version leaves it out."),
        Field("transposed_values", "Values transposed", "switch", "The lecture's slip."),
        Field("attends", "Attends", "switch", "Off: every pixel keeps its own value, y = V."),
    )
)
FLAT_ATTENTION = (Field("widths", "Hidden widths", "list", "Two layers.", family="flat_attention"),)
_FIELDS = {
    "vit": (*VIT, *DETAILS),
    "deit": (*VIT, *DETAILS),
    "hybrid": (*STEM, *VIT, *DETAILS),
    "swin": SWIN,
    "cnn": CNN,
    "conv_attention": CONV_ATTENTION,
    "flat_attention": FLAT_ATTENTION,
}


def base(family: str, model: ModelConfig) -> ModelConfig:
    """Where a family's controls begin: the recipe's model where it is of that family, else a small one."""
    if model.family == family:
        return model
    start = model if isinstance(model, ViTConfig) else VIT_DIGITS
    plain = replace(start, distilled=False, stem=())
    made: dict[str, ModelConfig] = {
        "vit": plain,
        "deit": replace(plain, distilled=True, readout="cls"),
        "hybrid": replace(
            plain,
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
    return made[family]


def starts(family: str, model: ModelConfig) -> dict[str, Any]:
    """Where every control of a family stands, by key."""
    config = base(family, model)
    return {field.key: field.start(config) for field in _FIELDS[family]}


def draw_model(recipe: ModelConfig) -> tuple[str, dict[str, Any]]:
    """Draws the family's choice and its controls; the family, and what they show."""
    family = widgets.select(
        Family.key("family"),
        "Model family",
        list(FAMILIES),
        recipe.family,
        format_func=lambda name: FAMILIES[name],
        help="A lens that has no meaning for a family says so where its picture would be.",
    )
    page.caption(_WORDS[family])
    config = base(family, recipe)
    if not isinstance(config, ViTConfig):
        return family, draw(_FIELDS[family], config)
    shown = draw(STEM, config) if family == "hybrid" else {}
    shown |= draw(VIT, config, lambda field: _why_not(family, field))
    with st.expander("Details, and the lecture's slips"):
        shown |= draw(DETAILS, config, lambda field: _why_not(family, field))
    return family, shown


def _why_not(family: str, field: Field) -> str | None:
    if family == "deit" and field.name == "readout":
        return "a DeiT reads its class token and its distillation token"
    if family == "hybrid" and field.name == "embed":
        return "the convolutions make the tokens"
    return None


def build(recipe: ModelConfig, family: str, shown: dict[str, Any], shape: dict[str, int]) -> ModelConfig:
    """The config that the controls describe.

    Args:
        recipe: the model that the controls began with.
        family, shown: as `draw_model` gave them.
        shape: image_size, in_chans and num_classes of the data.

    Raises:
        ValueError: if it cannot be.
    """
    values = meant(_FIELDS[family], shown)
    if family == "deit":
        values["readout"] = "cls"
    if family == "hybrid":
        values["embed"] = "conv"
        if not values["stem"]:
            raise ValueError("a hybrid needs at least one convolution before its tokens, received none")
    return replace(base(family, recipe), **(values | shape))


def draw_teacher(preparation: Preparation, dataset: str, train: TrainConfig) -> dict[str, Any]:
    """Draws who teaches a DeiT and how: the part of the training's config that says so.

    Only models that were trained on the same set and read its pictures the same way can teach.
    """
    found, models = teachers(preparation, dataset), selection.models()
    start = next((key for key, path in found.items() if path == train.distill_from), None)
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        key = widgets.select(
            Family.key("teacher"),
            "Teacher",
            list(found) or [""],
            start,
            format_func=lambda name: models[name].title if name else "none",
            help="A trained model that reads the same pictures."
            if found
            else "Disabled: no shipped model and no run of this visit was trained on these pictures.",
            disabled=not found,
        )
    with right:
        how = widgets.select(
            Family.key("distillation"),
            "The token learns",
            list(_DISTILLATIONS),
            train.distillation,
            format_func=lambda name: _DISTILLATIONS[name],
            disabled=not found,
            help="Hard: the teacher's class counts as the truth. Soft: its probabilities, at a temperature.",
        )
    return {"distill_from": found.get(key), "distillation": how} | _soft(train, bool(found) and how == "soft")


def _soft(train: TrainConfig, soft: bool) -> dict[str, float]:
    """Draws how much a soft lesson counts, and how soft it is."""
    why_not = None if soft else "Disabled: a hard lesson counts one half, and has no temperature."
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        weight = widgets.slider(
            Family.key("distillation_weight"),
            "Weight of the teacher, λ",
            0.0,
            1.0,
            float(train.distillation_weight),
            0.05,
            why_not=why_not,
            help="The labels have the rest, 1 - λ.",
        )
    with right:
        temperature = widgets.slider(
            Family.key("distillation_temperature"),
            "Temperature, τ",
            1.0,
            10.0,
            float(train.distillation_temperature),
            0.5,
            why_not=why_not,
            help="The logits are divided by it: the higher, the more even are the teacher's probabilities.",
        )
    return {"distillation_weight": weight, "distillation_temperature": temperature} if soft else {}


def teachers(preparation: Preparation, dataset: str) -> dict[str, str]:
    """Paths of the models that can teach on a set, by their key: shipped ones, then runs of this visit."""
    return {
        key: _path(choice)
        for key, choice in _trained().items()
        if choice.preparation == preparation
        and _taught_on(choice) == dataset
        and not getattr(choice.config, "softmax_output", False)
    }


def teacher_of(path: str) -> str | None:
    """The key of the model that lies at a path of `teachers`."""
    return next((key for key, choice in _trained().items() if _path(choice) == path), None)


def _trained() -> dict[str, ModelChoice]:
    return {
        key: choice
        for key, choice in selection.models().items()
        if key.startswith(("checkpoint:", "run:")) and choice.path is not None
    }


def _taught_on(choice: ModelChoice) -> str | None:
    run = runs.find(choice.key.removeprefix("run:")) if choice.key.startswith("run:") else None
    return choice.trained_on if run is None else run.config().train.dataset


def _path(choice: ModelChoice) -> str:
    """As a run's config names it: below the project where it lies there, so that it means the same elsewhere."""
    path = Path(str(choice.path)).resolve()
    return str(path.relative_to(PROJECT) if path.is_relative_to(PROJECT) else path)
