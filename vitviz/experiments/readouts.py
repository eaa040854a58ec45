"""Train one ViT with each readout, and give the head of the one with [CLS] other tokens to read."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vitviz.config import TrainConfig, ViTConfig
from vitviz.config_models import Readout
from vitviz.experiments.experiment import Cell, Experiment, describe_recipe
from vitviz.experiments.hyperparameters import BASES, SEEDS
from vitviz.experiments.single_run import Trained, compute_test_logits, prepare_data, score_test, trained
from vitviz.models.zoo import create_model
from vitviz.training.batches import TrainingData, make_normaliser

DATASET, PATCH_PX = "digits", 4
READOUTS: dict[str, Readout] = {"cls": "cls", "mean": "mean", "first_patch": "first_patch"}
SWAPPED = ("cls_then_mean", "cls_then_first_patch")  # trained with [CLS], read elsewhere
MAP_IMAGE, MAP_SEED = 18, 0  # the test image, and the training, whose attention is stored


def experiment() -> Experiment:
    """Return every readout over seeds; the rows of the swapped heads follow those of their training."""
    names = ("cls", *SWAPPED, "mean", "first_patch")
    cells = [{"readout": name, "seed": seed} for seed in SEEDS for name in names]
    settings = {**describe_recipe(BASES[DATASET].train), "patch_px": PATCH_PX, "map_image": MAP_IMAGE}
    return Experiment("readouts_digits", "Three readouts", cells, measure, settings)


def measure(cell: Cell, folder: Path, epochs: float | None = None) -> dict[str, Any]:
    """Train one cell, or take the training with [CLS] and classify from the other tokens.

    Args:
        epochs: None: the recipe's; a test's are fewer.
    """
    trained_with, _, swapped = str(cell["readout"]).partition("_then_")
    config = replace(BASES[DATASET].model, patch_size=PATCH_PX, readout=READOUTS[trained_with])
    train = replace(BASES[DATASET].train, seed=cell["seed"])
    train = train if epochs is None else replace(train, epochs=epochs)
    splits = prepare_data(BASES[DATASET].preparation, replace(train, batch_size=1, seed=0))
    outcome = _train(config, train)
    if swapped:
        other = replace(config, readout=READOUTS[swapped], unread_cls=True)
        return score_test(compute_test_logits(other, outcome.weights, splits)["logits"], splits.test)
    is_stored = cell["seed"] == MAP_SEED
    attention = {"map": compute_map(config, outcome, splits).tolist()} if is_stored else {}
    return {name: outcome.row[name] for name in ("test", "right", "validation")} | attention


@lru_cache(maxsize=1)
def _train(config: ViTConfig, train: TrainConfig) -> Trained:
    splits = prepare_data(BASES[DATASET].preparation, replace(train, batch_size=1, seed=0))
    return trained(config, train, splits)


@torch.inference_mode()
def compute_map(config: ViTConfig, outcome: Trained, splits: TrainingData) -> NDArray[np.float64]:
    """Return the attention (patches,) of what the head reads: last layer, mean over heads and over the tokens read."""
    model = create_model(config)
    model.load_state_dict(outcome.weights)
    normalise, _ = make_normaliser(splits.preparation, torch.float32, torch.device("cpu"))
    name = f"blocks.{config.depth - 1}.attn"
    _, record = model.eval()(normalise(splits.test.images[MAP_IMAGE : MAP_IMAGE + 1]), record=(name,))
    attention = record[name][0].double().mean(dim=0).numpy()  # (tokens, tokens)
    prefix = len(config.prefix_tokens)
    queries = attention[prefix:] if config.readout == "mean" else attention[:1]
    weights: NDArray[np.float64] = np.round(queries.mean(axis=0)[prefix:], 5)
    return weights
