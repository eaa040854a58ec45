"""One knob at a time: which fields of model and recipe may be turned, over which values, and from where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from vitviz.config import ModelConfig, Preparation, TrainConfig, ViTConfig
from vitviz.training.races import CODES, RACES
from vitviz.training.run_config import MOST_MEMBERS, Member, RunConfig
from vitviz.words import with_titles

PRESET = "one_knob"  # begins the name of the preset in a RunConfig; the knob follows a colon
SEEDS = (0, 1, 2)
MOST_VALUES = 6
Value = bool | int | float | str | None


@dataclass(frozen=True)
class Base:
    """What stays as it is while one knob turns."""

    model: ViTConfig
    preparation: Preparation
    train: TrainConfig


_TRAIN = TrainConfig(learning_rate=2e-3, batch_size=64, weight_decay=0.05, snapshots=4)
BASES: dict[str, Base] = {
    "digits": Base(RACES["digits"].model, RACES["digits"].preparation, replace(_TRAIN, epochs=15)),
    "shapes": Base(
        RACES["shapes"].model,
        RACES["shapes"].preparation,
        replace(_TRAIN, dataset="shapes", epochs=3, learning_rate=1e-3, validation_fraction=0.04),
    ),
}


@dataclass(frozen=True)
class Knob:
    """One field of the model's or the recipe's config.

    Attributes:
        name: of the field.
        title: what it is called on a page.
        part: whose field it is.
        values: that the stored experiment measures, or that are offered; the base's own among them.
        words: of values that are names; empty where they are numbers.
        stored: whether the stored experiment turns it.
        said: what the literature says of it, with its source.
    """

    name: str
    title: str
    part: Literal["model", "train"]
    values: tuple[Value, ...]
    words: Mapping[Any, str] = field(default_factory=dict)
    stored: bool = True
    said: str = ""

    @property
    def numeric(self) -> bool:
        """Whether any number may be asked for."""
        return not self.words

    def label(self, value: Value) -> str:
        """A value as it stands on an axis."""
        if self.words:
            return self.words[value]
        return f"{value:g}" if isinstance(value, int | float) else "none"

    def base(self, base: Base) -> Value:
        """Where the knob stands on the base."""
        value: Value = getattr(base.model if self.part == "model" else base.train, self.name)
        return value

    def turned(self, base: Base, value: Value) -> tuple[ModelConfig, TrainConfig]:
        """The base's model and recipe with this one field at a value.

        Raises:
            ValueError: if there is no such model or recipe.
        """
        change: dict[str, Any] = {self.name: value}
        if self.part == "model":
            return replace(base.model, **change), base.train
        return base.model, replace(base.train, **change)

    def parse(self, text: str) -> tuple[Value, ...]:
        """Numbers with commas between them, as values of this knob.

        Raises:
            ValueError: if it holds something else, too few values or too many.
        """
        kind = int if all(isinstance(value, int) for value in self.values) else float
        parts = [part.strip() for part in text.split(",") if part.strip()]
        try:
            found = tuple(dict.fromkeys(kind(part) for part in parts))
        except ValueError as error:
            what = "whole numbers" if kind is int else "numbers"
            raise ValueError(
                f"{self.title.lower()} must be {what} with commas between them, received {text!r}"
            ) from error
        return checked(found)


def checked(values: Sequence[Value]) -> tuple[Value, ...]:
    """The values, if they are as many as one run compares.

    Raises:
        ValueError: if they are not.
    """
    if not 2 <= len(values) <= MOST_VALUES:
        raise ValueError(f"a knob is turned over 2 to {MOST_VALUES} values, received {len(values)}")
    return tuple(values)


_ON = {True: "on", False: "off"}
_POSITIONS = {**{name: title for name, title in CODES.items()}, "pixels": "A second map of the pixels"}
_KNOBS = (
    Knob(
        "num_heads",
        "Heads",
        "model",
        (1, 2, 4, 8, 16),
        said="Vaswani et al. 2017, table 3 A: one head translates 0.9 BLEU worse than eight, and 32 are worse again.",
    ),
    Knob(
        "depth",
        "Blocks",
        "model",
        (1, 2, 3, 4, 6),
        said="Dosovitskiy et al. 2021, fig. 8: depth brings most, with diminishing returns beyond 16 layers.",
    ),
    Knob(
        "patch_size",
        "Patch, px",
        "model",
        (4, 8, 16, 32),
        said="Dosovitskiy et al. 2021, fig. 8: smaller patches, so more tokens, improve a ViT without more parameters.",
    ),
    Knob(
        "embed_dim",
        "Width D",
        "model",
        (16, 32, 64, 128),
        said="Dosovitskiy et al. 2021, fig. 8: width brings the least of depth, patch and width.",
    ),
    Knob(
        "mlp_ratio",
        "MLP ratio",
        "model",
        (0.5, 1.0, 2.0, 4.0),
        stored=False,
        said="Vaswani et al. 2017: 4; kept by the ViT paper, table 1.",
    ),
    Knob(
        "readout",
        "Readout",
        "model",
        ("cls", "mean", "first_patch"),
        {"cls": "[CLS]", "mean": "mean of the patches", "first_patch": "first patch"},
        said="Dosovitskiy et al. 2021, fig. 9: [CLS] and the mean do equally well, each with its own learning rate.",
    ),
    Knob(
        "positions",
        "Positions",
        "model",
        tuple(_POSITIONS),
        _POSITIONS,
        said="Dosovitskiy et al. 2021, table 8, ImageNet with five pictures a class: none 61.4 %, 1-D 64.2, 2-D 64.0,"
        " relative 64.0.",
    ),
    Knob(
        "norm",
        "LayerNorm",
        "model",
        ("pre", "post"),
        {"pre": "before each part", "post": "after each sum"},
        said="Xiong et al. 2020: after the sum, gradients near the output are large at the start, so it needs a"
        " warm-up; before, it does not.",
    ),
    Knob(
        "residual",
        "Residual connections",
        "model",
        (True, False),
        _ON,
        said="Dong et al. 2021: with neither shortcuts nor MLPs, attention makes all tokens equal, doubly exponentially"
        " with depth.",
    ),
    Knob("final_norm", "Last LayerNorm", "model", (True, False), _ON, stored=False),
    Knob("output_projection", "Output projection", "model", (True, False), _ON, stored=False),
    Knob(
        "dropout",
        "Dropout",
        "model",
        (0.0, 0.1, 0.2, 0.4),
        said="Steiner et al. 2022: prefer augmentation to regularisation such as dropout.",
    ),
    Knob(
        "drop_path",
        "Stochastic depth",
        "model",
        (0.0, 0.1, 0.3, 0.5),
        said="Touvron et al. 2021 (DeiT), table 8: without it, all else equal, 3.4 % of ImageNet in place of 81.8,"
        " possibly, they say, since the hyper-parameters were not adapted.",
    ),
    Knob(
        "activation",
        "Activation",
        "model",
        ("gelu", "relu", "silu"),
        {"gelu": "GELU", "relu": "ReLU", "silu": "SiLU"},
        said="Hendrycks and Gimpel 2016: a CNN errs on 7.89 % of CIFAR-10 with GELU, 8.16 with ReLU, median of three.",
    ),
    Knob(
        "attention_scale",
        "Scale of the scores",
        "model",
        ("head", "width", "none"),
        {"head": "1/√d, of a head", "width": "1/√D, of the width", "none": "none"},
        said="Vaswani et al. 2017, section 3.2.1: without 1/√d large products push softmax where gradients vanish.",
    ),
    Knob(
        "warmup_fraction",
        "Warm-up share",
        "train",
        (0.0, 0.05, 0.1, 0.3),
        said="Xiong et al. 2020: LayerNorm before the parts, as here, trains without a warm-up.",
    ),
    Knob(
        "learning_rate",
        "Learning rate",
        "train",
        (2e-4, 1e-3, 2e-3, 5e-3, 2e-2),
        said="Smith 2017: accuracy rises with the rate up to a point; beyond it it slows, turns ragged or falls.",
    ),
    Knob(
        "batch_size",
        "Batch",
        "train",
        (16, 32, 64, 128, 256),
        said="Goyal et al. 2017: with a batch k times as large the learning rate should be k times as high.",
    ),
    Knob(
        "optimizer",
        "Optimiser",
        "train",
        ("adamw", "adam", "sgd", "muon"),
        {"adamw": "AdamW", "adam": "Adam (L2)", "sgd": "SGD", "muon": "Muon"},
        said="Zhang et al. 2020: attention's gradient noise is heavy-tailed, and SGD then slower than adaptive methods."
        " All four have AdamW's rate here, which is not SGD's best.",
    ),
    Knob(
        "schedule",
        "Schedule",
        "train",
        ("constant", "warmup_cosine", "one_cycle"),
        {"constant": "constant", "warmup_cosine": "warm-up, then cosine", "one_cycle": "one cycle"},
        stored=False,
    ),
    Knob("attention_dropout", "Dropout of attention", "model", (0.0, 0.1, 0.2, 0.4), stored=False),
    Knob("qkv_bias", "Bias in q, k, v", "model", (True, False), _ON, stored=False),
    Knob(
        "head_input",
        "A head reads",
        "model",
        ("all", "slice"),
        {"all": "the whole token", "slice": "a slice of it"},
        stored=False,
    ),
    Knob("num_registers", "Registers", "model", (0, 1, 2, 4), stored=False),
    Knob("erase_px", "Erase a square, px", "train", (0, 4, 8, 12), stored=False),
    Knob("mixup_alpha", "Mixup α", "train", (0.0, 0.2, 0.8), stored=False),
    Knob("cutmix_alpha", "CutMix α", "train", (0.0, 0.5, 1.0), stored=False),
    Knob("weight_decay", "Weight decay", "train", (0.0, 0.05, 0.2, 1.0), stored=False),
    Knob("label_smoothing", "Label smoothing", "train", (0.0, 0.1, 0.3), stored=False),
    Knob("shift_px", "Shift, up to px", "train", (0, 1, 2, 4), stored=False),
    Knob("train_fraction", "Share of the training set", "train", (0.1, 0.25, 0.5, 1.0), stored=False),
)
KNOBS: dict[str, Knob] = {knob.name: knob for knob in _KNOBS}


def in_words(refusal: str) -> str:
    """A config's refusal with the knobs' titles for its fields: 'Heads' for num_heads."""
    return with_titles(refusal, {name: knob.title for name, knob in KNOBS.items()})


def run_config(
    dataset: str, name: str, values: Sequence[Value], seeds: int = 1, epochs: float | None = None
) -> RunConfig:
    """One run that trains the base once for every value and seed, in turn.

    Args:
        dataset: of `BASES`.
        name: of the knob.
        values: 2 to 6 of them.
        seeds: how many, from 0.
        epochs: None: the base's.

    Raises:
        ValueError: if there is no such base, knob or model, or it is too much for one run.
    """
    if dataset not in BASES or name not in KNOBS:
        raise ValueError(f"there is no knob {name!r} on {dataset!r}")
    knob, base = KNOBS[name], BASES[dataset]
    if epochs is not None:
        base = replace(base, train=replace(base.train, epochs=epochs))
    turned = [(value, *knob.turned(base, value)) for value in checked(values)]
    if len(turned) * seeds > MOST_MEMBERS:
        raise ValueError(
            f"{len(turned)} values of {seeds} seeds are {len(turned) * seeds} models; up to {MOST_MEMBERS} train in one"
            " run"
        )
    members = tuple(
        Member(f"v{place}s{seed}", knob.label(value), model, replace(train, seed=seed))
        for place, (value, model, train) in enumerate(turned)
        for seed in range(seeds)
    )
    title = f"One knob: {knob.title}"
    return RunConfig(
        members[0].model, base.preparation, base.train, title, f"{PRESET}:{name}", members=members
    )
