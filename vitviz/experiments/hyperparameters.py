"""Define the hyperparameters that an experiment can vary, and the run that varies one."""

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


def _describe(name: str) -> Hyperparameter:
    setting = SETTINGS[name]
    choices = tuple(setting.options) or (True, False)
    return Hyperparameter(setting, _VALUES.get(name, choices), name in STORED)


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
    configs = [(candidate, *hyperparameter.with_value(base, candidate)) for candidate in check_values(values)]
    if len(configs) * seeds > MOST_MEMBERS:
        raise ValueError(
            f"{len(configs)} values with {seeds} seeds are {len(configs) * seeds} models; the limit is"
            f" {MOST_MEMBERS} per"
            " run: choose fewer values or seeds"
        )
    members = tuple(
        Member(f"v{place}s{seed}", hyperparameter.label(candidate), model, replace(train, seed=seed))
        for place, (candidate, model, train) in enumerate(configs)
        for seed in range(seeds)
    )
    title = f"One hyperparameter: {hyperparameter.title}"
    return RunConfig(
        members[0].model, base.preparation, base.train, title, f"{PRESET}:{name}", members=members
    )
