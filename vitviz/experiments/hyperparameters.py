"""Define the hyperparameters that an experiment can vary, and the run that varies one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vitviz.experiments.hyperparameter import BASES, Hyperparameter, Value, check_values
from vitviz.text import with_titles
from vitviz.training.races import CODES
from vitviz.training.run_config import MOST_MEMBERS, Member, RunConfig

PRESET = "one_knob"  # prefix of RunConfig.preset, as in "one_knob:depth"; stored runs contain it
SEEDS = (0, 1, 2)
_ON = {True: "on", False: "off"}
_POSITIONS = {**{name: title for name, title in CODES.items()}, "pixels": "A second linear map of the pixels"}
_EMBEDS = {"conv": "convolution", "unfold": "unfold and linear map", "reshape": "reshape (a bug)"}
_STEMS = {
    (): "none",
    (8, 16, 32): "8, 16, 32 channels",
    (16, 32, 64): "16, 32, 64 channels",
    (64, 64, 64): "64, 64, 64 channels",
}
_FROZEN = {(): "nothing", ("patch_embed",): "E", ("pos_embed",): "position embeddings", ("blocks",): "blocks"}
_HYPERPARAMETERS = (
    Hyperparameter(
        "num_heads",
        "Heads",
        "model",
        (1, 2, 4, 8, 16),
    ),
    Hyperparameter(
        "depth",
        "Blocks",
        "model",
        (1, 2, 3, 4, 6),
    ),
    Hyperparameter(
        "patch_size",
        "Patch size, px",
        "model",
        (4, 7, 8, 14, 16, 32),
    ),
    Hyperparameter(
        "embed_dim",
        "Width D",
        "model",
        (16, 32, 64, 128),
    ),
    Hyperparameter(
        "mlp_ratio",
        "MLP ratio",
        "model",
        (0.5, 1.0, 2.0, 4.0),
        stored=False,
    ),
    Hyperparameter("embed", "Patch embedding", "model", tuple(_EMBEDS), _EMBEDS, stored=False),
    Hyperparameter("embed_bias", "Bias of E", "model", (True, False), _ON, stored=False),
    Hyperparameter(
        "stem",
        "Convolutional stem",
        "model",
        tuple(_STEMS),
        _STEMS,
        stored=False,
    ),
    Hyperparameter(
        "readout",
        "Readout",
        "model",
        ("cls", "mean", "first_patch"),
        {"cls": "[CLS]", "mean": "mean of patches", "first_patch": "first patch"},
    ),
    Hyperparameter(
        "positions",
        "Position embedding",
        "model",
        tuple(_POSITIONS),
        _POSITIONS,
        shuffled=True,
    ),
    Hyperparameter(
        "position_on_prefix", "Position embedding of [CLS]", "model", (True, False), _ON, stored=False
    ),
    Hyperparameter("num_registers", "Registers", "model", (0, 1, 2, 4), stored=False),
    Hyperparameter(
        "norm",
        "LayerNorm",
        "model",
        ("pre", "post"),
        {"pre": "pre-norm", "post": "post-norm"},
    ),
    Hyperparameter("norm_eps", "ε of LayerNorm", "model", (1e-6, 1e-3, 0.1, 0.9), stored=False),
    Hyperparameter(
        "residual",
        "Residual connections",
        "model",
        (True, False),
        _ON,
    ),
    Hyperparameter(
        "layer_scale",
        "Initial LayerScale",
        "model",
        (None, 1e-4, 0.1, 1.0),
        stored=False,
    ),
    Hyperparameter("final_norm", "Final LayerNorm", "model", (True, False), _ON, stored=False),
    Hyperparameter("output_projection", "Output projection", "model", (True, False), _ON, stored=False),
    Hyperparameter("qkv_bias", "Bias of q, k, v", "model", (True, False), _ON, stored=False),
    Hyperparameter(
        "head_input",
        "Input of a head",
        "model",
        ("all", "slice"),
        {"all": "whole token", "slice": "slice of the token"},
        stored=False,
    ),
    Hyperparameter(
        "dropout",
        "Dropout",
        "model",
        (0.0, 0.1, 0.2, 0.4),
    ),
    Hyperparameter("attention_dropout", "Attention dropout", "model", (0.0, 0.1, 0.2, 0.4), stored=False),
    Hyperparameter(
        "drop_path",
        "Stochastic depth",
        "model",
        (0.0, 0.1, 0.3, 0.5),
    ),
    Hyperparameter(
        "activation",
        "Activation",
        "model",
        ("gelu", "relu", "silu"),
        {"gelu": "GELU", "relu": "ReLU", "silu": "SiLU"},
    ),
    Hyperparameter(
        "attention_scale",
        "Scale of attention scores",
        "model",
        ("head", "width", "none"),
        {"head": "1/√d (head width)", "width": "1/√D (model width)", "none": "none"},
    ),
    Hyperparameter("softmax_output", "Softmax output", "model", (True, False), _ON, stored=False),
    Hyperparameter("epochs", "Epochs", "train", (1.0, 3.0, 5.0, 15.0), stored=False),
    Hyperparameter(
        "warmup_fraction",
        "Warm-up fraction",
        "train",
        (0.0, 0.05, 0.1, 0.3),
    ),
    Hyperparameter(
        "learning_rate",
        "Learning rate",
        "train",
        (2e-4, 1e-3, 2e-3, 5e-3, 2e-2),
    ),
    Hyperparameter(
        "layer_decay", "Layer-wise learning rate decay", "train", (0.5, 0.75, 0.9, 1.0), stored=False
    ),
    Hyperparameter(
        "head_learning_rate", "Learning rate of the head", "train", (None, 2e-4, 2e-2), stored=False
    ),
    Hyperparameter(
        "batch_size",
        "Batch size",
        "train",
        (16, 32, 64, 128, 256),
    ),
    Hyperparameter(
        "optimizer",
        "Optimiser",
        "train",
        ("adamw", "adam", "sgd", "muon"),
        {"adamw": "AdamW", "adam": "Adam (L2)", "sgd": "SGD", "muon": "Muon"},
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
    Hyperparameter("gradient_clip", "Gradient clipping norm", "train", (None, 0.1, 0.5, 2.0), stored=False),
    Hyperparameter("ema_decay", "EMA decay of the weights", "train", (None, 0.5, 0.9, 0.95), stored=False),
    Hyperparameter("frozen", "Frozen parameters", "train", tuple(_FROZEN), _FROZEN, stored=False),
    Hyperparameter(
        "precision",
        "Precision",
        "train",
        ("auto", "fp32"),
        {"auto": "bf16 if supported", "fp32": "fp32"},
        stored=False,
    ),
    Hyperparameter("label_smoothing", "Label smoothing", "train", (0.0, 0.1, 0.3), stored=False),
    Hyperparameter("flip", "Horizontal flip", "train", (True, False), _ON, stored=False),
    Hyperparameter("shift_px", "Maximum shift, px", "train", (0, 1, 2, 4), stored=False),
    Hyperparameter("erase_px", "Random erasing, px", "train", (0, 4, 8, 12), stored=False),
    Hyperparameter("mixup_alpha", "Mixup α", "train", (0.0, 0.2, 0.8), stored=False),
    Hyperparameter("cutmix_alpha", "CutMix α", "train", (0.0, 0.5, 1.0), stored=False),
    Hyperparameter(
        "train_fraction", "Fraction of training images", "train", (0.1, 0.25, 0.5, 1.0), stored=False
    ),
)
HYPERPARAMETERS: dict[str, Hyperparameter] = {
    hyperparameter.name: hyperparameter for hyperparameter in _HYPERPARAMETERS
}
SUBJECTS: dict[str, tuple[str, ...]] = {  # groups, in the order of the forward pass
    "Patches": ("patch_size", "embed", "embed_bias", "stem"),
    "Positions": ("positions", "position_on_prefix"),
    "Size": ("depth", "embed_dim", "mlp_ratio"),
    "Attention": ("num_heads", "attention_scale", "head_input", "qkv_bias", "output_projection"),
    "Block": ("norm", "norm_eps", "final_norm", "residual", "layer_scale", "activation"),
    "Readout": ("readout", "num_registers", "softmax_output"),
    "Dropout": ("dropout", "attention_dropout", "drop_path"),
    "Images": (
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
    """Return a config's error message with titles instead of field names: 'Heads' for num_heads."""
    return with_titles(
        refusal, {name: hyperparameter.title for name, hyperparameter in HYPERPARAMETERS.items()}
    )


def build_run_config(
    dataset: str, name: str, values: Sequence[Value], seeds: int = 1, epochs: float | None = None
) -> RunConfig:
    """Return a run that trains the base model once for every value and seed.

    Args:
        dataset: key of `BASES`.
        name: key of `HYPERPARAMETERS`.
        values: 2 to 6 values.
        seeds: number of seeds, from 0.
        epochs: None: those of the base.

    Raises:
        ValueError: if the base, hyperparameter or model does not exist, or the run is too large.
    """
    if dataset not in BASES or name not in HYPERPARAMETERS:
        raise ValueError(
            f"expected a hyperparameter of {', '.join(HYPERPARAMETERS)} and a dataset of {', '.join(BASES)},"
            f" received {name!r} and {dataset!r}"
        )
    hyperparameter, base = HYPERPARAMETERS[name], BASES[dataset]
    if epochs is not None:
        base = replace(base, train=replace(base.train, epochs=epochs))
    configs = [(value, *hyperparameter.with_value(base, value)) for value in check_values(values)]
    if len(configs) * seeds > MOST_MEMBERS:
        raise ValueError(
            f"{len(configs)} values with {seeds} seeds are {len(configs) * seeds} models; the limit is"
            f" {MOST_MEMBERS} per"
            " run: choose fewer values or seeds"
        )
    members = tuple(
        Member(f"v{place}s{seed}", hyperparameter.label(value), model, replace(train, seed=seed))
        for place, (value, model, train) in enumerate(configs)
        for seed in range(seeds)
    )
    title = f"One hyperparameter: {hyperparameter.title}"
    return RunConfig(
        members[0].model, base.preparation, base.train, title, f"{PRESET}:{name}", members=members
    )
