"""Measure attention whose queries, keys and values are convolutions (recipe G of the lecture)."""

from dataclasses import replace
from functools import partial

from vitviz.config import CNNConfig, ConvAttentionConfig, ModelConfig, TrainConfig, ViTConfig
from vitviz.experiments.experiment import Cell, Experiment, TrainingSetup, describe_recipe, train_cell
from vitviz.models import model_cost
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


def experiment() -> Experiment:
    """Return seven small models on one epoch of half of MNIST at 14 px, over seeds."""
    cells: list[Cell] = [{"model": model, "seed": seed} for seed in SEEDS for model in MODELS]
    counts = {name: model_cost.parameters(model) for name, model in MODELS.items()}
    adds = {name: model_cost.multiply_adds(model, SIDE_PX) for name, model in MODELS.items()}
    settings = {
        "side_px": SIDE_PX,
        "train_fraction": TRAIN.train_fraction,
        **describe_recipe(TRAIN),
        "parameters": {name: sum(parts.values()) for name, parts in counts.items()},
        "multiply_adds": {name: sum(parts.values()) for name, parts in adds.items()},
    }
    return Experiment(NAME, "Attention over convolutions", cells, partial(train_cell, configure), settings)


def configure(cell: Cell) -> TrainingSetup:
    """Return what a cell trains."""
    return TrainingSetup(MODELS[cell["model"]], TRAIN, PREPARATION)
