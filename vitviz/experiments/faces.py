"""Train networks on faces against backgrounds, and evaluate them on rearranged faces."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vitviz.config import CNNConfig, ModelConfig, Preparation, TrainConfig, ViTConfig
from vitviz.data.dataset import Dataset
from vitviz.data.faces import ARRANGEMENTS, CLASSES, SIDE_PX, arranged, faces_dataset
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.models import model_cost

if TYPE_CHECKING:
    from torch import nn

NAME = "faces"
SEEDS = (0, 1, 2, 3, 4)
TITLES = {"cnn": "CNN", "vit": "ViT", "vit_nopos": "ViT without positions"}
BACKGROUND = "background"  # beside the arrangements of `vitviz.data.faces`: what is no face at all
_VIT = ViTConfig(
    image_size=SIDE_PX,
    patch_size=4,
    in_chans=1,
    num_classes=2,
    embed_dim=48,
    depth=3,
    num_heads=4,
    mlp_ratio=2.0,
)
MODELS: dict[str, ModelConfig] = {
    "cnn": CNNConfig(
        image_size=SIDE_PX, in_chans=1, num_classes=2, widths=(8, 16, 32), blocks=(0, 1, 1), pooled=True
    ),
    "vit": _VIT,
    "vit_nopos": ViTConfig(**{**vars(_VIT), "positions": "none"}),
}
PREPARATION = Preparation(image_size=SIDE_PX, mean=(0.5,), std=(0.5,))
TRAIN = TrainConfig(
    dataset="faces",
    validation_fraction=0.1,
    epochs=60,  # 240 updates: seconds
    batch_size=32,
    learning_rate=2e-3,
    weight_decay=0.05,
    flip=True,
    shift_px=1,
    precision="fp32",
    threads=1,
)


def experiment(train: TrainConfig = TRAIN) -> Experiment:
    """Return three small nets, five seeds of weights and order; none of them ever sees a face put together wrong."""
    cells: list[Cell] = [{"model": model, "seed": seed} for seed in SEEDS for model in MODELS]
    settings = {
        **{name: getattr(train, name) for name in ("epochs", "batch_size", "learning_rate")},
        "parameters": {name: sum(model_cost.parameters(model).values()) for name, model in MODELS.items()},
    }
    title = "Is a face whose parts lie wrong still a face?"
    return Experiment(NAME, title, cells, partial(measure, train), settings)


def measure(train: TrainConfig, cell: Cell, folder: Path) -> dict[str, Any]:
    """'test': of whole faces and backgrounds; 'faces': how many are called a face, by arrangement; 'of'."""
    from vitviz.experiments.single_run import trained
    from vitviz.models.zoo import create_model
    from vitviz.training.batches import prepare_training_data

    config, dataset = MODELS[cell["model"]], faces_dataset()
    train = replace(train, seed=cell["seed"])
    classifier = trained(config, train, prepare_training_data(dataset, PREPARATION, train))
    model = create_model(config)
    model.load_state_dict(classifier.weights)
    return {**classifier.row, **called_faces(model.eval(), dataset)}


def called_faces(model: "nn.Module", dataset: Dataset) -> dict[str, Any]:
    """'faces': of the test faces in every arrangement, and of the backgrounds, how many are called a face; 'of': of
    how many.
    """
    labels = dataset.labels_of("test")
    faces, backgrounds = (dataset.test_images[labels == CLASSES.index(name)] for name in ("face", BACKGROUND))
    sets = {name: arranged(faces, name) for name in ARRANGEMENTS} | {BACKGROUND: backgrounds}
    return {"faces": {name: _count(model, images) for name, images in sets.items()}, "of": len(faces)}


def _count(model: "nn.Module", images: np.ndarray) -> int:
    import torch

    with torch.inference_mode():
        logits = model(torch.from_numpy(prepare_batch(images, PREPARATION)))
    return int((logits.argmax(dim=1) == CLASSES.index("face")).sum())
