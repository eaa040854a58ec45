"""Measure what residual connections and norms do: the gradient's norm by block, at the start and through training."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitviz.config import TrainConfig, ViTConfig
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.hyperparameters import BASES

if TYPE_CHECKING:
    from vitviz.training.batches import TrainingData
    from vitviz.training.loop import Trainer

NAME = "gradient_norms"
DATASET = "digits"
SEEDS = tuple(range(10))
DEPTH = 12  # of a ViT-B; the digits need two
PICTURES = 128  # whose gradient is taken
MARKS = (0, 1, 3, 10, 30, 100, 200)  # updates made
VARIANTS: dict[str, str] = {
    "pre": "Pre-norm with residuals",
    "post": "Post-norm with residuals",
    "pre_none": "Pre-norm without residuals",
    "post_none": "Post-norm without residuals",
}
PREPARATION = BASES[DATASET].preparation
TRAIN = replace(BASES[DATASET].train, learning_rate=1e-3, schedule="constant", warmup_fraction=0.0)


def deep(variant: str, depth: int = DEPTH) -> ViTConfig:
    """Return the base's model, deeper, in one of `VARIANTS`.

    Raises:
        ValueError: if there is no such variant.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, received {variant!r}")
    changes: dict[str, Any] = {"norm": variant.partition("_")[0], "residual": not variant.endswith("_none")}
    return replace(BASES[DATASET].model, depth=depth, **changes)


def experiment() -> Experiment:
    """Deep ViTs, pre-norm or post-norm, with and without residual connections, ten seeds."""
    cells: list[Cell] = [{"variant": name, "seed": seed} for seed in SEEDS for name in VARIANTS]
    settings = {
        "dataset": DATASET,
        "depth": deep("pre").depth,
        "pictures": PICTURES,
        "updates": MARKS[-1],
        "batch_size": TRAIN.batch_size,
        "learning_rate": TRAIN.learning_rate,
        "marks": list(MARKS),
    }
    return Experiment(NAME, "The gradient's norm by block", cells, partial(measure, TRAIN, MARKS), settings)


def measure(train: TrainConfig, marks: tuple[int, ...], cell: Cell, folder: Path) -> dict[str, Any]:
    """Train one variant and record its gradient after some updates."""
    from vitviz.experiments.single_run import compute_test_logits, prepare_data, score_test
    from vitviz.training.loop import Diverged, Trainer

    splits = prepare_data(PREPARATION, train)
    train = replace(train, seed=cell["seed"], epochs=marks[-1] * train.batch_size / len(splits.train))
    trainer = Trainer(deep(cell["variant"]), train, splits)
    norms: list[list[float]] = []
    losses: list[float] = []
    try:
        for mark in marks:
            while trainer.step < mark:
                trainer.advance()
            norms.append(_measure_norms(trainer, splits))
            losses.append(round(trainer.evaluate("validation").loss, 4))
    except Diverged as error:
        return {"diverged": str(error), "norms": norms, "losses": losses}
    logits = compute_test_logits(trainer.model_config, trainer.weights.state(), splits)["logits"]
    return {"norms": norms, "losses": losses, **score_test(logits, splits.test)}


def _measure_norms(trainer: "Trainer", splits: "TrainingData") -> list[float]:
    """Return the gradient's norm by block, in fp32 on the first training images."""
    import torch

    from vitviz.models.abilities import as_vit
    from vitviz.models.vit import VisionTransformer
    from vitviz.probe.gradients import measure_gradient_norms
    from vitviz.training.batches import make_normaliser

    model = VisionTransformer(as_vit(trainer.model_config))
    model.load_state_dict(trainer.weights.state())
    normalise, _ = make_normaliser(splits.preparation, torch.float32, torch.device("cpu"))
    inputs, labels = normalise(splits.train.images[:PICTURES]), splits.train.labels[:PICTURES]
    return [float(f"{norm:.4g}") for norm in measure_gradient_norms(model, inputs, labels)]
