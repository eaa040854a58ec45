"""Measure attention whose queries, keys and values are convolutions (recipe G of the lecture)."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from vitviz.config import CNNConfig, ConvAttentionConfig, ModelConfig, TrainConfig, ViTConfig
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.models import parameter_count
from vitviz.models.presets import GREY_28

NAME = "conv_attention"
SIDE_PX = 14  # 196 pixels: all 784 of a whole digit cost sixteen times as much
SEEDS = (0, 1, 2)
TITLES = {
    "written": "As written in the lecture",
    "scaled": "With 1/√d",
    "upright": "A V, not Aᵀ V",
    "corrected": "Both corrected",
    "control": "No attention, y = V",
    "vit": "ViT of the same size",
    "cnn": "CNN of the same size",
}
_G = ConvAttentionConfig(image_size=SIDE_PX)
MODELS: dict[str, ModelConfig] = {
    "written": replace(_G, scaled=False, transposed_values=True),
    "scaled": replace(_G, transposed_values=True),
    "upright": replace(_G, scaled=False),
    "corrected": _G,
    "control": replace(_G, attends=False),
    "vit": ViTConfig(
        image_size=SIDE_PX, patch_size=2, in_chans=1, embed_dim=16, depth=3, num_heads=2, mlp_ratio=2.0
    ),
    "cnn": CNNConfig(image_size=SIDE_PX, in_chans=1, widths=(8, 16, 16), blocks=(0, 1, 1), pooled=True),
}
PREPARATION = replace(GREY_28, image_size=SIDE_PX)
TRAIN = TrainConfig(
    dataset="mnist",
    validation_fraction=0.04,
    train_fraction=0.5,  # 450 updates: the seven nets and three seeds in ten minutes of one core
    epochs=1,
    batch_size=64,
    learning_rate=2e-3,
    weight_decay=0.05,
    precision="fp32",
    threads=1,
)
RECIPE = ("dataset", "train_fraction", "epochs", "batch_size", "learning_rate")  # told with the result


def experiment() -> Experiment:
    """Seven small nets on one epoch of half of MNIST at 14 px, three seeds of weights and order."""
    cells: list[Cell] = [{"model": model, "seed": seed} for seed in SEEDS for model in MODELS]
    settings = {
        "side_px": SIDE_PX,
        **{name: getattr(TRAIN, name) for name in RECIPE},
        "parameters": {
            name: sum(parameter_count.parameters(model).values()) for name, model in MODELS.items()
        },
        "multiply_adds": {
            name: sum(parameter_count.multiply_adds(model, SIDE_PX).values())
            for name, model in MODELS.items()
        },
        "seeds": "of weights and order; the pictures are the same ones",
        "curve": "[updates, core-seconds, accuracy on the validation pictures]",
    }
    return Experiment(NAME, "Attention over convolutions", cells, partial(measure, TRAIN), settings)


def measure(train: TrainConfig, cell: Cell, folder: Path) -> dict[str, Any]:
    """Train one of `MODELS` with the experiment's recipe, or a test's on a smaller set."""
    from vitviz.experiments.single_run import prepare_data, trained

    splits = prepare_data(PREPARATION, train)
    return trained(MODELS[cell["model"]], replace(train, seed=cell["seed"]), splits).row
