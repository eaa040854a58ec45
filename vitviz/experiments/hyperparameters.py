"""One hyperparameter at a time: which fields of model and recipe may be turned, and the run that turns one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vitviz.experiments.hyperparameter import BASES, Hyperparameter, Value, check_values
from vitviz.text import with_titles
from vitviz.training.races import CODES
from vitviz.training.run_config import MOST_MEMBERS, Member, RunConfig

PRESET = "one_knob"  # begins the name of the preset in a RunConfig; the hyperparameter follows a colon
SEEDS = (0, 1, 2)
_ON = {True: "on", False: "off"}
_POSITIONS = {**{name: title for name, title in CODES.items()}, "pixels": "A second map of the pixels"}
_EMBEDS = {"conv": "a convolution", "unfold": "unfold, then a map", "reshape": "reshape, a bug"}
_STEMS = {
    (): "none",
    (8, 16, 32): "8, 16, 32 channels",
    (16, 32, 64): "16, 32, 64 channels",
    (64, 64, 64): "64, 64, 64 channels",
}
_FROZEN = {(): "nothing", ("patch_embed",): "E", ("pos_embed",): "the positions", ("blocks",): "the blocks"}
_KNOBS = (
    Hyperparameter(
        "num_heads",
        "Heads",
        "model",
        (1, 2, 4, 8, 16),
        said="Vaswani et al. 2017, table 3 A: one head translates 0.9 BLEU worse than eight, and 32 are worse again.",
    ),
    Hyperparameter(
        "depth",
        "Blocks",
        "model",
        (1, 2, 3, 4, 6),
        said="Dosovitskiy et al. 2021, fig. 8: depth brings most, with diminishing returns beyond 16 layers.",
    ),
    Hyperparameter(
        "patch_size",
        "Patch, px",
        "model",
        (4, 7, 8, 14, 16, 32),
        said="Dosovitskiy et al. 2021, fig. 8: smaller patches, so more tokens, improve a ViT without more parameters.",
    ),
    Hyperparameter(
        "embed_dim",
        "Width D",
        "model",
        (16, 32, 64, 128),
        said="Dosovitskiy et al. 2021, fig. 8: width brings the least of depth, patch and width.",
    ),
    Hyperparameter(
        "mlp_ratio",
        "MLP ratio",
        "model",
        (0.5, 1.0, 2.0, 4.0),
        stored=False,
        said="Vaswani et al. 2017: 4; kept by the ViT paper, table 1.",
    ),
    Hyperparameter("embed", "Patches by", "model", tuple(_EMBEDS), _EMBEDS, stored=False),
    Hyperparameter("embed_bias", "Bias of E", "model", (True, False), _ON, stored=False),
    Hyperparameter(
        "stem",
        "Convolutions before the tokens",
        "model",
        tuple(_STEMS),
        _STEMS,
        stored=False,
        said="Xiao et al. 2021: a few convolutions in the place of the patches make a ViT's training more stable and"
        " its accuracy on ImageNet-1k 1 to 2 points better, for the same multiply-adds.",
    ),
    Hyperparameter(
        "readout",
        "Readout",
        "model",
        ("cls", "mean", "first_patch"),
        {"cls": "[CLS]", "mean": "mean of the patches", "first_patch": "first patch"},
        said="Dosovitskiy et al. 2021, fig. 9: [CLS] and the mean do equally well, each with its own learning rate.",
    ),
    Hyperparameter(
        "positions",
        "Positions",
        "model",
        tuple(_POSITIONS),
        _POSITIONS,
        shuffled=True,
        said="Dosovitskiy et al. 2021, table 8, ImageNet with five images a class: none 61.4 %, 1-D 64.2, 2-D 64.0,"
        " relative 64.0.",
    ),
    Hyperparameter("position_on_prefix", "[CLS] has a position", "model", (True, False), _ON, stored=False),
    Hyperparameter("num_registers", "Registers", "model", (0, 1, 2, 4), stored=False),
    Hyperparameter(
        "norm",
        "LayerNorm",
        "model",
        ("pre", "post"),
        {"pre": "before each part", "post": "after each sum"},
        said="Xiong et al. 2020: after the sum, gradients near the output are large at the start, so it needs a"
        " warm-up; before, it does not.",
    ),
    Hyperparameter("norm_eps", "ε of LayerNorm", "model", (1e-6, 1e-3, 0.1, 0.9), stored=False),
    Hyperparameter(
        "residual",
        "Residual connections",
        "model",
        (True, False),
        _ON,
        said="Dong et al. 2021: with neither shortcuts nor MLPs, attention makes all tokens equal, doubly exponentially"
        " with depth.",
    ),
    Hyperparameter(
        "layer_scale",
        "LayerScale, its start",
        "model",
        (None, 1e-4, 0.1, 1.0),
        stored=False,
        said="Touvron et al. 2021 (CaiT): begun small, it makes deep models converge more easily and become more"
        " accurate; two blocks are not deep.",
    ),
    Hyperparameter("final_norm", "Last LayerNorm", "model", (True, False), _ON, stored=False),
    Hyperparameter("output_projection", "Output projection", "model", (True, False), _ON, stored=False),
    Hyperparameter("qkv_bias", "Bias in q, k, v", "model", (True, False), _ON, stored=False),
    Hyperparameter(
        "head_input",
        "A head reads",
        "model",
        ("all", "slice"),
        {"all": "the whole token", "slice": "a slice of it"},
        stored=False,
    ),
    Hyperparameter(
        "dropout",
        "Dropout",
        "model",
        (0.0, 0.1, 0.2, 0.4),
        said="Steiner et al. 2022: prefer augmentation to regularisation such as dropout.",
    ),
    Hyperparameter("attention_dropout", "Dropout of attention", "model", (0.0, 0.1, 0.2, 0.4), stored=False),
    Hyperparameter(
        "drop_path",
        "Stochastic depth",
        "model",
        (0.0, 0.1, 0.3, 0.5),
        said="Touvron et al. 2021 (DeiT), table 8: without it, all else equal, 3.4 % of ImageNet in place of 81.8,"
        " possibly, they say, since the hyper-parameters were not adapted.",
    ),
    Hyperparameter(
        "activation",
        "Activation",
        "model",
        ("gelu", "relu", "silu"),
        {"gelu": "GELU", "relu": "ReLU", "silu": "SiLU"},
        said="Hendrycks and Gimpel 2016: a CNN errs on 7.89 % of CIFAR-10 with GELU, 8.16 with ReLU, median of three.",
    ),
    Hyperparameter(
        "attention_scale",
        "Scale of the scores",
        "model",
        ("head", "width", "none"),
        {"head": "1/√d, of a head", "width": "1/√D, of the width", "none": "none"},
        said="Vaswani et al. 2017, section 3.2.1: without 1/√d large products push softmax where gradients vanish.",
    ),
    Hyperparameter("softmax_output", "Softmax in the model", "model", (True, False), _ON, stored=False),
    Hyperparameter("epochs", "Epochs", "train", (1.0, 3.0, 5.0, 15.0), stored=False),
    Hyperparameter(
        "warmup_fraction",
        "Warm-up share",
        "train",
        (0.0, 0.05, 0.1, 0.3),
        said="Xiong et al. 2020: LayerNorm before the parts, as here, trains without a warm-up.",
    ),
    Hyperparameter(
        "learning_rate",
        "Learning rate",
        "train",
        (2e-4, 1e-3, 2e-3, 5e-3, 2e-2),
        said="Smith 2017: accuracy rises with the rate up to a point; beyond it it slows, turns ragged or falls.",
    ),
    Hyperparameter(
        "layer_decay", "Rate of a layer, of the next one's", "train", (0.5, 0.75, 0.9, 1.0), stored=False
    ),
    Hyperparameter("head_learning_rate", "Own rate of the head", "train", (None, 2e-4, 2e-2), stored=False),
    Hyperparameter(
        "batch_size",
        "Batch",
        "train",
        (16, 32, 64, 128, 256),
        said="Goyal et al. 2017: with a batch k times as large the learning rate should be k times as high.",
    ),
    Hyperparameter(
        "optimizer",
        "Optimiser",
        "train",
        ("adamw", "adam", "sgd", "muon"),
        {"adamw": "AdamW", "adam": "Adam (L2)", "sgd": "SGD", "muon": "Muon"},
        said="Zhang et al. 2020: attention's gradient noise is heavy-tailed, and SGD then slower than adaptive methods."
        " All four have AdamW's rate here, which is not SGD's best.",
    ),
    Hyperparameter(
        "schedule",
        "Schedule",
        "train",
        ("constant", "warmup_cosine", "one_cycle"),
        {"constant": "constant", "warmup_cosine": "warm-up, then cosine", "one_cycle": "one cycle"},
        stored=False,
    ),
    Hyperparameter("weight_decay", "Weight decay", "train", (0.0, 0.05, 0.2, 1.0), stored=False),
    Hyperparameter("gradient_clip", "Clip the gradient at", "train", (None, 0.1, 0.5, 2.0), stored=False),
    Hyperparameter(
        "ema_decay", "Average of the weights, its decay", "train", (None, 0.5, 0.9, 0.95), stored=False
    ),
    Hyperparameter("frozen", "Stays as it began", "train", tuple(_FROZEN), _FROZEN, stored=False),
    Hyperparameter(
        "precision",
        "Precision",
        "train",
        ("auto", "fp32"),
        {"auto": "bf16 where it is fast", "fp32": "fp32"},
        stored=False,
    ),
    Hyperparameter("label_smoothing", "Label smoothing", "train", (0.0, 0.1, 0.3), stored=False),
    Hyperparameter("flip", "Flip left and right", "train", (True, False), _ON, stored=False),
    Hyperparameter("shift_px", "Shift, up to px", "train", (0, 1, 2, 4), stored=False),
    Hyperparameter("erase_px", "Erase a square, px", "train", (0, 4, 8, 12), stored=False),
    Hyperparameter("mixup_alpha", "Mixup α", "train", (0.0, 0.2, 0.8), stored=False),
    Hyperparameter("cutmix_alpha", "CutMix α", "train", (0.0, 0.5, 1.0), stored=False),
    Hyperparameter(
        "train_fraction", "Share of the training set", "train", (0.1, 0.25, 0.5, 1.0), stored=False
    ),
)
HYPERPARAMETERS: dict[str, Hyperparameter] = {knob.name: knob for knob in _KNOBS}
SUBJECTS: dict[
    str, tuple[str, ...]
] = {  # what a hyperparameter is about, in the order in which an image meets it
    "Patches": ("patch_size", "embed", "embed_bias", "stem"),
    "Positions": ("positions", "position_on_prefix"),
    "Size": ("depth", "embed_dim", "mlp_ratio"),
    "Attention": ("num_heads", "attention_scale", "head_input", "qkv_bias", "output_projection"),
    "Block": ("norm", "norm_eps", "final_norm", "residual", "layer_scale", "activation"),
    "Readout": ("readout", "num_registers", "softmax_output"),
    "Left out": ("dropout", "attention_dropout", "drop_path"),
    "Pictures": (
        "train_fraction",
        "flip",
        "shift_px",
        "erase_px",
        "mixup_alpha",
        "cutmix_alpha",
        "label_smoothing",
    ),
    "Learning rate": (
        "learning_rate",
        "warmup_fraction",
        "schedule",
        "layer_decay",
        "head_learning_rate",
        "frozen",
    ),
    "Updates": (
        "epochs",
        "batch_size",
        "optimizer",
        "weight_decay",
        "gradient_clip",
        "ema_decay",
        "precision",
    ),
}
SUBJECT_OF = {name: subject for subject, names in SUBJECTS.items() for name in names}


def name_fields(refusal: str) -> str:
    """Return a config's refusal with the hyperparameters' titles for its fields: 'Heads' for num_heads."""
    return with_titles(refusal, {name: knob.title for name, knob in HYPERPARAMETERS.items()})


def build_run_config(
    dataset: str, name: str, values: Sequence[Value], seeds: int = 1, epochs: float | None = None
) -> RunConfig:
    """Return one run that trains the base once for every value and seed, in turn.

    Args:
        dataset: of `BASES`.
        name: of the hyperparameter.
        values: 2 to 6 of them.
        seeds: how many, from 0.
        epochs: None: the base's.

    Raises:
        ValueError: if there is no such base, hyperparameter or model, or it is too much for one run.
    """
    if dataset not in BASES or name not in HYPERPARAMETERS:
        raise ValueError(f"there is no hyperparameter {name!r} on {dataset!r}")
    knob, base = HYPERPARAMETERS[name], BASES[dataset]
    if epochs is not None:
        base = replace(base, train=replace(base.train, epochs=epochs))
    turned = [(value, *knob.with_value(base, value)) for value in check_values(values)]
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
    title = f"One hyperparameter: {knob.title}"
    return RunConfig(
        members[0].model, base.preparation, base.train, title, f"{PRESET}:{name}", members=members
    )
