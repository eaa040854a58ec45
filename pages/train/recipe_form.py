"""The lab's controls: a recipe, and every part of it that can be changed; gives a RunConfig or the reason why not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from pages._shared import cached, controls, link, state
from vitviz.config import ModelConfig, Preparation, TrainConfig, ViTConfig
from vitviz.data.datasets import DATASETS, available_datasets
from vitviz.models.presets import GREY_28, GREY_32, RGB_32
from vitviz.training.presets import TRAINING_PRESETS, TrainingPreset
from vitviz.training.runs import RunConfig

PREFIX = "live_lab."
FIRST = "digits_live"
LOADED = "live_lab._loaded"  # the recipe whose values the controls were last set to
_PREPARATIONS = {"digits": GREY_32, "mnist": GREY_28, "fashion-mnist": GREY_28}
_CLASSES = {"shapes": 4, "cifar100": 100}
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
_SCHEDULES = {"constant": "constant", "warmup_cosine": "warm-up, then cosine", "one_cycle": "one cycle"}
_OPTIMIZERS = {"adamw": "AdamW", "adam": "Adam (L2)", "sgd": "SGD"}


@dataclass(frozen=True)
class Field:
    """One control: where its value goes, and how it is asked for."""

    name: str
    label: str
    kind: str  # whole real switch choice
    help: str
    options: dict[str, str] | tuple[int, ...] | None = None
    step: float = 1.0
    top: int = 1000


MODEL_FIELDS = (
    Field("patch_size", "Patch, px", "whole", "Side of a patch; it must divide the picture's side.", top=64),
    Field("embed_dim", "Width D", "whole", "Length of every token's vector.", top=512),
    Field("depth", "Blocks", "whole", "How many transformer blocks stand on one another.", top=16),
    Field("num_heads", "Heads", "whole", "Attention heads per block; they share the width.", top=32),
    Field("mlp_ratio", "MLP ratio", "real", "Hidden width of the MLP over D.", step=0.5),
    Field("positions", "Positions", "choice", "What tells a token where its patch lies.", _POSITIONS),
    Field("readout", "Readout", "choice", "Which token the classifier head reads.", _READOUTS),
    Field(
        "activation",
        "Activation",
        "choice",
        "Non-linearity of the MLP.",
        {"gelu": "GELU", "relu": "ReLU", "silu": "SiLU"},
    ),
    Field(
        "norm",
        "Norm",
        "choice",
        "LayerNorm before each part (ViT) or after it (the first Transformer).",
        {"pre": "before", "post": "after"},
    ),
    Field(
        "attention_scale",
        "Scale of scores",
        "choice",
        "What q·k is multiplied by; the lecture's D uses the width.",
        _SCALES,
    ),
    Field("num_registers", "Registers", "whole", "Extra tokens without a patch (Darcet et al. 2024).", top=8),
    Field("dropout", "Dropout", "real", "Share of activations set to zero while training.", step=0.05),
    Field("qkv_bias", "Bias in q, k, v", "switch", "A constant added to queries, keys and values."),
    Field("output_projection", "Output projection", "switch", "The linear map after the heads are joined."),
    Field(
        "softmax_output", "Softmax in the model", "switch", "A lecture slip: the loss applies it once more."
    ),
)
OPTIMISER_FIELDS = (
    Field("learning_rate", "Learning rate", "real", "Its peak; the schedule does the rest.", step=5e-4),
    Field("schedule", "Schedule", "choice", "How the learning rate moves over the run.", _SCHEDULES),
    Field(
        "warmup_fraction", "Warm-up share", "real", "Share of the run spent rising to the peak.", step=0.05
    ),
    Field("optimizer", "Optimiser", "choice", "AdamW decays weights apart from the gradient.", _OPTIMIZERS),
    Field("weight_decay", "Weight decay", "real", "Pull of the weights towards zero.", step=0.01),
    Field(
        "label_smoothing",
        "Label smoothing",
        "real",
        "Share of the target spread over all classes.",
        step=0.05,
    ),
    Field(
        "gradient_clip", "Clip gradient at", "real", "Largest L2 norm of the gradient; 0 for none.", step=0.5
    ),
    Field(
        "ema_decay", "Weight average", "real", "Decay of an average of the weights; 0 for none.", step=0.01
    ),
)
PICTURE_FIELDS = (
    Field("shift_px", "Shift, up to px", "whole", "Moves each picture at random.", top=16),
    Field(
        "erase_px",
        "Erase a square, px",
        "whole",
        "Cuts a hole (DeVries and Taylor 2017); 0 for none.",
        top=28,
    ),
    Field("mixup_alpha", "Mixup α", "real", "Blends two pictures (Zhang et al. 2018); 0 for none.", step=0.1),
    Field("cutmix_alpha", "CutMix α", "real", "Pastes a piece of another picture; 0 for none.", step=0.1),
    Field("flip", "Flip left and right", "switch", "Half of the pictures; wrong for digits."),
)
DATA_FIELDS = (
    Field("train_fraction", "Share of the set", "real", "How much of the training set is used.", step=0.1),
    Field("batch_size", "Batch", "whole", "Pictures per step.", top=4096),
    Field("seed", "Seed", "whole", "Same seed, same machine: same numbers.", top=1_000_000),
    Field("threads", "Threads", "whole", "Processor cores that this run may use.", top=64),
    Field("snapshots", "Snapshots", "whole", "Moments kept for the timeline; dense at first.", top=120),
)
_OFF_AT_ZERO = ("gradient_clip", "ema_decay")


def draw() -> RunConfig | ValueError:
    """Draws the controls; the run that they describe, or why it cannot be."""
    _complete_link()
    columns = st.columns([3.2, 2.2, 6.3], vertical_alignment="bottom")
    with columns[0]:
        preset = _recipe()
    with columns[1]:
        dataset = controls.select(
            PREFIX + "dataset",
            "Data set",
            list(DATASETS),
            preset.train.dataset,
            format_func=lambda name: (
                DATASETS[name].title + ("" if name in available_datasets() else " (downloads)")
            ),
        )
    values: dict[str, Any] = {"dataset": dataset}
    with columns[2], st.container(horizontal=True, gap="small"):
        with st.popover("Data", icon=":material/database:", width="stretch"):
            st.caption(DATASETS[dataset].summary)
            values |= _length(preset) | _group(DATA_FIELDS, preset.train)
        with st.popover("Model", icon=":material/account_tree:", width="stretch"):
            model_values = _model_group(preset)
        with st.popover("Optimiser", icon=":material/trending_down:", width="stretch"):
            values |= _group(OPTIMISER_FIELDS, preset.train)
        with st.popover("Pictures", icon=":material/auto_fix:", width="stretch"):
            st.caption("Changes to each picture every time it is seen, so that it is never quite the same.")
            values |= _group(PICTURE_FIELDS, preset.train)
    _shorten_link(preset)
    try:
        return _config(preset, values, model_values)
    except ValueError as error:
        return error


def _recipe() -> TrainingPreset:
    name = controls.select(
        PREFIX + "recipe",
        "Recipe",
        list(TRAINING_PRESETS),
        FIRST,
        format_func=lambda key: TRAINING_PRESETS[key].title,
        help="A whole training in one click: model, data and optimiser. Everything can be changed beside it.",
    )
    preset = TRAINING_PRESETS[name]
    if st.session_state.get(LOADED, name) != name:
        fill(preset.model, preset.train)
    st.session_state[LOADED] = name
    return preset


def fill(model: ModelConfig, train: TrainConfig, recipe: str | None = None) -> None:
    """Sets every control to these configs; call it before they are drawn, or in a callback."""
    if recipe in TRAINING_PRESETS:
        controls.set_value(PREFIX + "recipe", recipe)
        st.session_state[LOADED] = recipe
    for key, value in _starts(model, train).items():
        controls.set_value(key, value)


def _starts(model: ModelConfig, train: TrainConfig) -> dict[str, Any]:
    """Where every control but the recipe's stands for these configs, by its key."""
    found: dict[str, Any] = {
        "dataset": train.dataset,
        "unit": "seconds" if train.epochs is None else "epochs",
        "length": float(train.epochs or train.seconds or 1.0),
    }
    for field in (*DATA_FIELDS, *OPTIMISER_FIELDS, *PICTURE_FIELDS):
        found[field.name] = _start(field, train)
    if isinstance(model, ViTConfig):
        found |= {field.name: _start(field, model) for field in MODEL_FIELDS}
    return {PREFIX + name: value for name, value in found.items()}


def _complete_link() -> None:
    """A link says only what sets it apart from its recipe: what a new one leaves out is the recipe's."""
    said = st.query_params.to_dict()
    preset = TRAINING_PRESETS.get(said.get(PREFIX + "recipe", ""))
    ours = [st.session_state.get(state.WRITTEN, {})]
    ours += [before for _, before in st.session_state.get(state.SUPERSEDED, [])]
    if preset is None or said in ours:
        return
    incoming = st.session_state.setdefault(state.INCOMING, {})
    for key, value in _starts(preset.model, preset.train).items():
        incoming.setdefault(key, said.get(key, controls.encode(value)))


def _shorten_link(preset: TrainingPreset) -> None:
    """Leaves out of the link what is as the recipe has it."""
    for key, value in _starts(preset.model, preset.train).items():
        if controls.encode(st.session_state.get(key)) == controls.encode(value):
            link.drop(key)


def _start(field: Field, config: ModelConfig | TrainConfig) -> Any:
    value = getattr(config, field.name)
    if field.kind == "real":
        return float(value or 0.0)
    return int(value) if field.kind == "whole" else value


def _length(preset: TrainingPreset) -> dict[str, float | None]:
    train = preset.train
    beside, unit = st.columns([1, 1], vertical_alignment="bottom")
    with unit:
        chosen = controls.segmented(
            PREFIX + "unit",
            "Counted in",
            ("epochs", "seconds"),
            "seconds" if train.epochs is None else "epochs",
            help="Seconds end a run on the clock, wherever it stands.",
        )
    with beside:
        amount = controls.real(
            PREFIX + "length",
            "Train for",
            train.epochs or train.seconds or 1.0,
            1.0,
            help="An epoch sees every training picture once.",
        )
    return {"epochs": amount, "seconds": None} if chosen == "epochs" else {"epochs": None, "seconds": amount}


def _model_group(preset: TrainingPreset) -> dict[str, Any]:
    if isinstance(preset.model, ViTConfig):
        return _group(MODEL_FIELDS, preset.model)
    st.markdown(f"**{preset.title}**: {preset.summary} Its structure is the recipe's own.")
    return {}


def _group(fields: tuple[Field, ...], config: ModelConfig | TrainConfig) -> dict[str, Any]:
    values = {}
    for first in range(0, len(fields), 2):  # row by row, so that neighbours stand on one line
        pair = fields[first : first + 2]
        for column, field in zip(st.columns(2, vertical_alignment="bottom"), pair, strict=False):
            with column:
                values[field.name] = _control(field, config)
    return values


def _control(field: Field, config: ModelConfig | TrainConfig) -> Any:
    key, start = PREFIX + field.name, _start(field, config)
    if field.kind == "whole":
        return controls.number(key, field.label, 0, field.top, start, help=field.help)
    if field.kind == "switch":
        return controls.toggle(key, field.label, start, help=field.help)
    if field.kind == "choice" and isinstance(field.options, dict):
        return controls.select(
            key, field.label, list(field.options), start, format_func=field.options.get, help=field.help
        )
    value = controls.real(key, field.label, start, field.step, help=field.help)
    return None if field.name in _OFF_AT_ZERO and value == 0 else value


def _config(preset: TrainingPreset, values: dict[str, Any], model_values: dict[str, Any]) -> RunConfig:
    train = replace(preset.train, **values)
    same = train.dataset == preset.train.dataset
    preparation = preset.preparation if same else _PREPARATIONS.get(train.dataset, RGB_32)
    shape = _shape(train.dataset, preparation)
    model = replace(preset.model, **model_values, **shape)
    if train.dataset in available_datasets():
        _check_batch(train)
    return RunConfig(model, preparation, train, preset.title, preset.name)


def _shape(dataset: str, preparation: Preparation) -> dict[str, int]:
    return {
        "image_size": preparation.image_size,
        "in_chans": preparation.in_chans,
        "num_classes": _CLASSES.get(dataset, 10),
    }


def _check_batch(train: TrainConfig) -> None:
    count = len(cached.dataset(train.dataset).train_labels)
    left = round(round(count * (1 - train.validation_fraction)) * train.train_fraction)
    if train.batch_size > left:
        raise ValueError(f"batch_size {train.batch_size} is larger than the {left} training pictures")


def model_words(config: ModelConfig) -> str:
    """A model in a few words."""
    if isinstance(config, ViTConfig):
        rows, cols = config.grid
        return (
            f"ViT: {rows} × {cols} patches of {config.patch_size} px, width {config.embed_dim},"
            f" {config.depth} blocks of {config.num_heads} heads"
        )
    return {"swin": "Swin", "cnn": "Convolutional network"}.get(config.kind, "Lecture network")
