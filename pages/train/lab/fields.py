"""The lab's single controls: what each sets, how it is asked for, and when it has no meaning."""

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
_PRECISIONS = {"auto": "bf16 where it is fast", "fp32": "fp32"}
_OFF_AT_ZERO = (
    "gradient_clip",
    "ema_decay",
    "layer_scale",
    "stop_accuracy",
    "patience",
)  # None in the config
_LONGEST_LIST = 40


@dataclass(frozen=True)
class Only:
    """A control that has a meaning only where another one stands at one of some values."""

    field: str
    values: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Field:
    """One control: where its value goes, and how it is asked for."""

    name: str
    label: str
    kind: str  # whole real switch choice list
    help: str
    options: dict[str, str] | None = None
    step: float = 1.0
    top: int = 1000
    only: Only | None = None
    family: str = ""  # parts keys of one name but of different models

    @property
    def key(self) -> str:
        """The control's key, in the session and in the link."""
        return f"{PREFIX}{self.family}_{self.name}" if self.family else PREFIX + self.name

    def start(self, config: ModelConfig | TrainConfig) -> Any:
        """Where the control stands for a config."""
        value = getattr(config, self.name)
        if self.kind == "list":
            return ", ".join(map(str, value))
        if self.kind == "real":
            return float(value or 0.0)
        return int(value) if self.kind == "whole" else value

    def value(self, shown: Any) -> Any:
        """What a control's value means in a config.

        Raises:
            ValueError: if a list holds something else than whole numbers.
        """
        if self.kind == "list":
            return _numbers(self.label, shown)
        return None if self.name in _OFF_AT_ZERO and shown == 0 else shown


def _numbers(label: str, text: str) -> tuple[int, ...]:
    numbers = [parse_int(part.strip()) for part in text.split(",") if part.strip()]
    whole = tuple(number for number in numbers if number is not None and number >= 0)
    if len(whole) < len(numbers):
        raise ValueError(f"{label.lower()} must be whole numbers with commas between them, received {text!r}")
    return whole


def draw(
    fields: Sequence[Field],
    config: ModelConfig | TrainConfig,
    why_not: Callable[[Field], str | None] = lambda _: None,
) -> dict[str, Any]:
    """Draws fields two by two; what each shows, by name. `why_not` says why one is disabled, or None."""
    if popover.closed():
        return {field.name: _control(field, config, None) for field in fields}
    values: dict[str, Any] = {}
    for first in range(0, len(fields), 2):  # row by row, so that neighbours stand on one line
        pair = fields[first : first + 2]
        for column, field in zip(st.columns(2, vertical_alignment="bottom"), pair, strict=False):
            with column:
                values[field.name] = _control(field, config, why_not(field) or _idle(field, config))
    return values


def meant(fields: Sequence[Field], shown: dict[str, Any]) -> dict[str, Any]:
    """Drawn values as a config takes them; ValueError where one cannot be read."""
    return {field.name: field.value(shown[field.name]) for field in fields}


def _idle(field: Field, config: ModelConfig | TrainConfig) -> str | None:
    if field.only is None:
        return None
    value = st.session_state.get(PREFIX + field.only.field, getattr(config, field.only.field))
    return None if value in field.only.values else field.only.reason


def _control(field: Field, config: ModelConfig | TrainConfig, why_not: str | None) -> Any:
    key, start, off = field.key, field.start(config), why_not is not None
    words = f"Disabled: {why_not}" if off else field.help
    if field.kind == "whole":
        return widgets.number(key, field.label, 0, field.top, start, help=words, disabled=off)
    if field.kind == "switch":
        return widgets.toggle(key, field.label, start, help=words, disabled=off)
    if field.kind == "list":
        return widgets.text(key, field.label, start, _LONGEST_LIST, help=words, disabled=off)
    if field.options is not None:
        named = field.options.__getitem__
        options = list(field.options)
        return widgets.select(key, field.label, options, start, format_func=named, help=words, disabled=off)
    return widgets.real(key, field.label, start, field.step, help=words, disabled=off)


OPTIMISER = (
    Field("learning_rate", "Learning rate", "real", "Its peak; the schedule does the rest.", step=5e-4),
    Field("schedule", "Schedule", "choice", "How the learning rate moves over the run.", _SCHEDULES),
    Field(
        "warmup_fraction",
        "Warm-up share",
        "real",
        "Share of the run spent rising to the peak; one cycle rises for at least 0.3 of it.",
        step=0.05,
        only=Only("schedule", ("warmup_cosine", "one_cycle"), "a constant learning rate does not warm up"),
    ),
    Field(
        "optimizer",
        "Optimiser",
        "choice",
        "AdamW decays weights apart from the gradient; Muon turns each hidden matrix as far in every direction.",
        OPTIMIZERS,
    ),
    Field("weight_decay", "Weight decay", "real", "Pull of the weights towards zero.", step=0.01),
    Field(
        "momentum",
        "Momentum",
        "real",
        "Share of the last update that goes into the next.",
        step=0.05,
        only=Only("optimizer", ("sgd",), "only SGD reads it; the others keep their own"),
    ),
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
    Field("precision", "Precision", "choice", "Of the training; pictures are always in fp32.", _PRECISIONS),
    Field(
        "stays_in_eval",
        "Stays in eval mode",
        "switch",
        "A slip: after the first validation nothing is dropped any more.",
    ),
)
_ELSEWHERE = {  # drawn as other controls, or following from the data
    "num_heads": "Heads",
    "embed_dim": "Width D",
    "patch_size": "Patch",
    "depth": "Blocks",
    "depths": "Blocks per stage",
    "widths and blocks": "Channels and Blocks per stage",
    "stem widths": "Channels of the convolutions",
    "image_size": "the picture's side",
    "in_chans": "the picture's channels",
    "num_classes": "the number of classes",
    "dataset": "data set",
    "distill_from": "teacher",
    "start_from": "begins with",
    "a_class": "pictures a class",
    "start_digest": "digest of the weights it begins with",
    "head_learning_rate": "learning rate of the head",
    "layer_decay": "learning rate of a layer, of the next one's",
    "clock": "Seconds counted",
    "distillation_weight": "Weight of the teacher",
    "distillation_temperature": "Temperature",
    "attention_scale": "Scale of scores",
    "head_input": "A head reads",
    "sincos_on_prefix": "[CLS] has a place",
    "num_registers": "Registers",
    "mlp_ratio": "MLP ratio",
    "layer_scale": "LayerScale",
    "drop_path": "Drop path",
    "window_size": "Window",
    "sincos_1d": "sinusoidal 1-D positions",
    "sincos_2d_sum": "summed 2-D positions",
    "sincos_2d_concat": "concatenated 2-D positions",
}


def label(name: str) -> str:
    """What a config's field is called in the form, without its unit: 'Heads' for num_heads."""
    drawn = {field.name: field.label.partition(",")[0] for field in (*OPTIMISER, *PICTURES, *DATA)}
    return (drawn | _ELSEWHERE).get(name, name.replace("_", " "))


def said(sentence: str) -> str:
    """A config's refusal in the words of the form."""
    return re.sub(
        r"\b(?:[a-z]+(?:_[a-z0-9]+)+|depths?|widths and blocks|stem widths)\b",
        lambda found: label(found[0]),
        sentence,
    )


PICTURES = (
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
BATCH = Field("batch_size", "Batch", "whole", "Pictures per step.", top=4096)
STOPS = (
    Field(
        "stop_accuracy",
        "Stop at accuracy",
        "real",
        "Ends as soon as so much of the held-out pictures is right, such as 0.97; 0: never. The schedule is laid out"
        " for the whole length.",
        step=0.01,
    ),
    Field(
        "patience",
        "Patience, epochs",
        "real",
        "Ends after so many epochs without a better accuracy on the held-out pictures; 0: never.",
    ),
)
DATA = (
    *STOPS,
    Field("train_fraction", "Share of the set", "real", "How much of the training set is used.", step=0.1),
    Field(
        "validation_fraction",
        "Held out",
        "real",
        "Share of the training set that the curves are read on; never trained on.",
        step=0.05,
    ),
    BATCH,
    Field("seed", "Seed", "whole", "Same seed, same threads, same machine: same numbers.", top=1_000_000),
    Field(
        "threads",
        "Threads",
        "whole",
        "They share each batch; 0: one a core if no other run trains at its start; one with batch norms.",
        top=64,
    ),
    Field("snapshots", "Snapshots", "whole", "Moments kept for the timeline; dense at first.", top=120),
)
