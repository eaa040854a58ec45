"""Define the hyperparameters that an experiment can vary, and the run that varies one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vitviz.config import SETTINGS
from vitviz.experiments.hyperparameter import BASES, Hyperparameter, Value, check_values
from vitviz.training.run_config import MOST_MEMBERS, Member, RunConfig

PRESET = "one_knob"  # prefix of RunConfig.preset, as in "one_knob:depth"; stored runs contain it
SEEDS = (0, 1, 2)
STORED = (  # varied in the stored experiment
    "num_heads depth patch_size embed_dim readout positions norm residual dropout drop_path activation"
    " attention_scale warmup_fraction learning_rate batch_size optimizer"
).split()
_SUBJECTS = {  # groups, in the order of the forward pass
    "Patches": "patch_size embed embed_bias stem",
    "Positions": "positions position_on_prefix",
    "Size": "depth embed_dim mlp_ratio",
    "Attention": "num_heads attention_scale head_input qkv_bias output_projection",
    "Block": "norm norm_eps final_norm residual layer_scale activation",
    "Readout": "readout num_registers softmax_output",
    "Dropout": "dropout attention_dropout drop_path",
    "Images": "train_fraction flip shift_px erase_px mixup_alpha cutmix_alpha label_smoothing",
    "Learning rate": "learning_rate warmup_fraction schedule layer_decay head_learning_rate frozen",
    "Updates": "epochs batch_size optimizer weight_decay gradient_clip ema_decay precision",
}
SUBJECT_OF = {name: subject for subject, names in _SUBJECTS.items() for name in names.split()}
_VALUES: dict[str, tuple[Value, ...]] = {  # of settings that are neither a choice nor a switch
    "num_heads": (1, 2, 4, 8, 16),
    "depth": (1, 2, 3, 4, 6),
    "patch_size": (4, 7, 8, 14, 16, 32),
    "embed_dim": (16, 32, 64, 128),
    "mlp_ratio": (0.5, 1.0, 2.0, 4.0),
    "stem": ((), (8, 16, 32), (16, 32, 64), (64, 64, 64)),
    "num_registers": (0, 1, 2, 4),
    "norm_eps": (1e-06, 0.001, 0.1, 0.9),
    "layer_scale": (None, 0.0001, 0.1, 1.0),
    "dropout": (0.0, 0.1, 0.2, 0.4),
    "attention_dropout": (0.0, 0.1, 0.2, 0.4),
    "drop_path": (0.0, 0.1, 0.3, 0.5),
    "epochs": (1.0, 3.0, 5.0, 15.0),
    "warmup_fraction": (0.0, 0.05, 0.1, 0.3),
    "learning_rate": (0.0002, 0.001, 0.002, 0.005, 0.02),
    "layer_decay": (0.5, 0.75, 0.9, 1.0),
    "head_learning_rate": (None, 0.0002, 0.02),
    "batch_size": (16, 32, 64, 128, 256),
    "weight_decay": (0.0, 0.05, 0.2, 1.0),
    "gradient_clip": (None, 0.1, 0.5, 2.0),
    "ema_decay": (None, 0.5, 0.9, 0.95),
    "frozen": ((), ("patch_embed",), ("pos_embed",), ("blocks",)),
    "label_smoothing": (0.0, 0.1, 0.3),
    "shift_px": (0, 1, 2, 4),
    "erase_px": (0, 4, 8, 12),
    "mixup_alpha": (0.0, 0.2, 0.8),
    "cutmix_alpha": (0.0, 0.5, 1.0),
    "train_fraction": (0.1, 0.25, 0.5, 1.0),
}
_LITERATURE = {
    "num_heads": "Vaswani et al. 2017, table 3 A: one head translates 0.9 BLEU worse than eight, and 32 are worse"
    " again.",
    "depth": "Dosovitskiy et al. 2021, fig. 8: depth brings most, with diminishing returns beyond 16 layers.",
    "patch_size": "Dosovitskiy et al. 2021, fig. 8: smaller patches, so more tokens, improve a ViT without more"
    " parameters.",
    "embed_dim": "Dosovitskiy et al. 2021, fig. 8: width brings the least of depth, patch and width.",
    "mlp_ratio": "Vaswani et al. 2017: 4; kept by the ViT paper, table 1.",
    "stem": "Xiao et al. 2021: a convolutional stem instead of patches makes training more stable and"
    " ImageNet-1k accuracy 1 to 2 points higher, at equal multiply-adds.",
    "readout": "Dosovitskiy et al. 2021, fig. 9: [CLS] and the mean do equally well, each with its own learning"
    " rate.",
    "positions": "Dosovitskiy et al. 2021, table 8, ImageNet with five images a class: none 61.4 %, 1-D 64.2, 2-D"
    " 64.0, relative 64.0.",
    "norm": "Xiong et al. 2020: post-norm has large gradients near the output at the start, so it needs a"
    " warm-up; pre-norm does not.",
    "residual": "Dong et al. 2021: without residual connections and MLPs, tokens become equal doubly exponentially"
    " with depth.",
    "layer_scale": "Touvron et al. 2021 (CaiT): a small initial value helps deep models converge and improves"
    " accuracy; two blocks are not deep.",
    "dropout": "Steiner et al. 2022: prefer augmentation to regularisation such as dropout.",
    "drop_path": "Touvron et al. 2021 (DeiT), table 8: without it, 3.4 % on ImageNet instead of 81.8 %; the authors"
    " suspect that the other hyperparameters were not adapted.",
    "activation": "Hendrycks and Gimpel 2016: median CIFAR-10 error of a CNN over three runs: 7.89 % with GELU, 8.16"
    " % with ReLU.",
    "attention_scale": "Vaswani et al. 2017, section 3.2.1: without 1/√d, large scores saturate the softmax and its"
    " gradient vanishes.",
    "warmup_fraction": "Xiong et al. 2020: pre-norm, as used here, trains without a warm-up.",
    "learning_rate": "Smith 2017: accuracy rises with the learning rate up to a point, then slows, becomes noisy or"
    " falls.",
    "batch_size": "Goyal et al. 2017: if the batch is k times larger, the learning rate should be k times higher.",
    "optimizer": "Zhang et al. 2020: attention has heavy-tailed gradient noise, on which SGD is slower than"
    " adaptive methods. All four use the learning rate of AdamW, which is not optimal for SGD.",
}


def _describe(name: str) -> Hyperparameter:
    setting = SETTINGS[name]
    choices = tuple(setting.options) or (True, False)
    return Hyperparameter(setting, _VALUES.get(name, choices), name in STORED, _LITERATURE.get(name, ""))


HYPERPARAMETERS = {name: _describe(name) for name in SUBJECT_OF}


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
