"""Single controls of the lab's form: field of the config, label, help, and when it is disabled."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.controls import popover, widgets
from vitviz.config import ModelConfig, TrainConfig
from vitviz.number_text import parse_int

PREFIX = "live_lab."
_SCHEDULES = {"constant": "constant", "warmup_cosine": "warm-up, then cosine", "one_cycle": "one cycle"}
OPTIMIZERS = {"adamw": "AdamW", "adam": "Adam (L2)", "sgd": "SGD", "muon": "Muon"}
_PRECISIONS = {"auto": "bf16 if supported", "fp32": "fp32"}
_OFF_AT_ZERO = ("gradient_clip", "ema_decay", "layer_scale", "stop_accuracy", "patience")  # 0 means None
_LONGEST_LIST = 40


@dataclass(frozen=True)
class Dependency:
    """A condition that enables a control: another control has one of some values."""

    field: str
    values: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Field:
    """One control of the form, bound to one field of a config."""

    name: str
    label: str
    kind: str  # integer real switch choice list
    help: str
    options: dict[str, str] | None = None
    step: float = 1.0
    top: int = 1000
    only: Dependency | None = None
    family: str = ""  # separates keys of fields that several model families share

    @property
    def key(self) -> str:
        """Return the control's key in the session and in links."""
        return f"{PREFIX}{self.family}_{self.name}" if self.family else PREFIX + self.name

    def read(self, config: ModelConfig | TrainConfig) -> Any:
        """Return the control's initial value for a config."""
        value = getattr(config, self.name)
        if self.kind == "list":
            return ", ".join(map(str, value))
        if self.kind == "real":
            return float(value or 0.0)
        return int(value) if self.kind == "integer" else value

    def parse(self, shown: Any) -> Any:
        """Convert the control's value to that of the config.

        Raises:
            ValueError: if a list contains anything but integers.
        """
        if self.kind == "list":
            return _parse_integers(self.label, shown)
        return None if self.name in _OFF_AT_ZERO and shown == 0 else shown


def _parse_integers(label: str, text: str) -> tuple[int, ...]:
    numbers = [parse_int(part.strip()) for part in text.split(",") if part.strip()]
    integers = tuple(number for number in numbers if number is not None and number >= 0)
    if len(integers) < len(numbers):
        raise ValueError(f"{label.lower()} must be integers separated by commas, received {text!r}")
    return integers


def draw_fields(
    fields: Sequence[Field],
    config: ModelConfig | TrainConfig,
    explain_disabled: Callable[[Field], str | None] = lambda _: None,
) -> dict[str, Any]:
    """Draw fields in rows of two; return their values by name. `explain_disabled` returns a reason or None."""
    if popover.is_closed():
        return {field.name: _draw_control(field, config, None) for field in fields}
    values: dict[str, Any] = {}
    for first in range(0, len(fields), 2):  # row by row keeps neighbours aligned
        pair = fields[first : first + 2]
        for column, field in zip(st.columns(2, vertical_alignment="bottom"), pair, strict=False):
            with column:
                values[field.name] = _draw_control(
                    field, config, explain_disabled(field) or _explain_unused(field, config)
                )
    return values


def parse_fields(fields: Sequence[Field], shown: dict[str, Any]) -> dict[str, Any]:
    """Convert drawn values to those of the config; raise ValueError if one cannot be parsed."""
    return {field.name: field.parse(shown[field.name]) for field in fields}


def _explain_unused(field: Field, config: ModelConfig | TrainConfig) -> str | None:
    if field.only is None:
        return None
    current_option = st.session_state.get(PREFIX + field.only.field, getattr(config, field.only.field))
    return None if current_option in field.only.values else field.only.reason


def _draw_control(field: Field, config: ModelConfig | TrainConfig, disabled_reason: str | None) -> Any:
    key, start, disabled = field.key, field.read(config), disabled_reason is not None
    help_text = f"Disabled: {disabled_reason}" if disabled else field.help
    if field.kind == "integer":
        return widgets.number(key, field.label, 0, field.top, start, help=help_text, disabled=disabled)
    if field.kind == "switch":
        return widgets.toggle(key, field.label, start, help=help_text, disabled=disabled)
    if field.kind == "list":
        return widgets.text(key, field.label, start, _LONGEST_LIST, help=help_text, disabled=disabled)
    if field.options is not None:
        format_option = field.options.__getitem__
        options = list(field.options)
        return widgets.select(
            key, field.label, options, start, format_func=format_option, help=help_text, disabled=disabled
        )
    return widgets.real(key, field.label, start, field.step, help=help_text, disabled=disabled)


OPTIMIZER = (
    Field("learning_rate", "Learning rate", "real", "Peak value of the schedule.", step=5e-4),
    Field("schedule", "Schedule", "choice", "Learning rate over the course of training.", _SCHEDULES),
    Field(
        "warmup_fraction",
        "Warm-up fraction",
        "real",
        "Fraction of training spent on warm-up; at least 0.3 with one cycle.",
        step=0.05,
        only=Dependency(
            "schedule", ("warmup_cosine", "one_cycle"), "a constant learning rate does not warm up"
        ),
    ),
    Field(
        "optimizer",
        "Optimizer",
        "choice",
        "AdamW decouples weight decay from the gradient; Muon orthogonalizes updates of hidden matrices.",
        OPTIMIZERS,
    ),
    Field("weight_decay", "Weight decay", "real", "Rate at which weights decay towards zero.", step=0.01),
    Field(
        "momentum",
        "Momentum",
        "real",
        "Fraction of the previous update added to the next.",
        step=0.05,
        only=Dependency("optimizer", ("sgd",), "only SGD uses this setting"),
    ),
    Field(
        "label_smoothing",
        "Label smoothing",
        "real",
        "Fraction of the target spread evenly over all classes.",
        step=0.05,
    ),
    Field("gradient_clip", "Clip gradient at", "real", "Largest L2 norm; 0 turns clipping off.", step=0.5),
    Field("ema_decay", "Weight average", "real", "Decay of the weights' moving average; 0: off.", step=0.01),
    Field("precision", "Precision", "choice", "For training; images always use fp32.", _PRECISIONS),
    Field(
        "stays_in_eval",
        "Stays in eval mode",
        "switch",
        "A common bug: dropout stays off after the first validation.",
    ),
)
_OTHER_LABELS = {  # labels of fields without a control of their own here
    "num_heads": "Heads",
    "embed_dim": "Width D",
    "patch_size": "Patch",
    "depth": "Blocks",
    "depths": "Blocks per stage",
    "widths and blocks": "Channels and Blocks per stage",
    "stem widths": "Channels of the convolutions",
    "image_size": "the image size",
    "in_chans": "the number of image channels",
    "num_classes": "the number of classes",
    "dataset": "dataset",
    "distill_from": "teacher",
    "start_from": "initial weights",
    "a_class": "images per class",
    "start_digest": "digest of the initial weights",
    "head_learning_rate": "learning rate of the head",
    "layer_decay": "layer-wise learning-rate decay",
    "clock": "Clock",
    "distillation_weight": "Distillation weight",
    "distillation_temperature": "Temperature",
    "attention_scale": "Attention scale",
    "head_input": "Head input",
    "sincos_on_prefix": "Position of [CLS]",
    "num_registers": "Registers",
    "mlp_ratio": "MLP ratio",
    "layer_scale": "LayerScale",
    "drop_path": "Drop path",
    "window_size": "Window",
    "sincos_1d": "sinusoidal 1-D positions",
    "sincos_2d_sum": "summed 2-D positions",
    "sincos_2d_concat": "concatenated 2-D positions",
}


def get_label(name: str) -> str:
    """Return the form's label for a field of a config, without its unit: 'Heads' for num_heads."""
    drawn = {field.name: field.label.partition(",")[0] for field in (*OPTIMIZER, *AUGMENTATION, *DATA)}
    return (drawn | _OTHER_LABELS).get(name, name.replace("_", " "))


def translate_field_names(sentence: str) -> str:
    """Replace field names in an error message by the form's labels."""
    return re.sub(
        r"\b(?:[a-z]+(?:_[a-z0-9]+)+|depths?|widths and blocks|stem widths)\b",
        lambda match: get_label(match[0]),
        sentence,
    )


AUGMENTATION = (
    Field("shift_px", "Shift, up to px", "integer", "Random shift of each image.", top=16),
    Field(
        "erase_px",
        "Cutout, px",
        "integer",
        "Side of an erased square (DeVries and Taylor 2017); 0: off.",
        top=28,
    ),
    Field("mixup_alpha", "Mixup α", "real", "Blends two images (Zhang et al. 2018); 0: off.", step=0.1),
    Field(
        "cutmix_alpha",
        "CutMix α",
        "real",
        "Pastes part of another image (Yun et al. 2019); 0: off.",
        step=0.1,
    ),
    Field("flip", "Horizontal flip", "switch", "Flips half of the images; unsuitable for digits."),
)
BATCH = Field("batch_size", "Batch size", "integer", "Images per step.", top=4096)
STOPS = (
    Field(
        "stop_accuracy",
        "Stop at accuracy",
        "real",
        "Validation accuracy that ends training; 0: off. The schedule keeps its length.",
        step=0.01,
    ),
    Field("patience", "Patience, epochs", "real", "Stop after so many epochs without improvement; 0: off."),
)
DATA = (
    *STOPS,
    Field("train_fraction", "Training fraction", "real", "Fraction of training images used.", step=0.1),
    Field(
        "validation_fraction",
        "Validation fraction",
        "real",
        "Fraction of training images held out.",
        step=0.05,
    ),
    BATCH,
    Field("seed", "Seed", "integer", "Fixed seed, threads and machine: identical results.", top=1_000_000),
    Field(
        "threads",
        "Threads",
        "integer",
        "CPU threads per batch; 0 uses all free cores, or one thread with batch norm.",
        top=64,
    ),
    Field("snapshots", "Snapshots", "integer", "Snapshots on the timeline, denser at the start.", top=120),
)
