"""Fine-tune published weights: python -m vitviz.fine_tune vit_small_patch16_224 --out s.safetensors.

The weights are downloaded once. The written file opens in the app if it is in `checkpoints/`.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vitviz.checkpoint_header import CheckpointError
from vitviz.checkpoints import Checkpoint, save_checkpoint
from vitviz.config import Preparation, TrainConfig, ViTConfig
from vitviz.data.dataset import Dataset, DatasetError
from vitviz.data.datasets import DATASETS, load_dataset
from vitviz.models import model_cost
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.pretrained import load_pretrained
from vitviz.models.pretrained_list import PretrainedError
from vitviz.text import plural
from vitviz.training import lesson_recipe as lesson
from vitviz.training.provenance import processor
from vitviz.upload_limits import CHECKPOINT_BYTES


def main(arguments: Sequence[str] | None = None) -> int:
    """Replace the head, fine-tune, test and write the checkpoint; returns 1 on an error."""
    options = _options(arguments)
    try:
        loaded, dataset = load_pretrained(options.name), load_dataset(options.data)
        _check(loaded, dataset)
        made = _train(options, loaded, dataset)
        save_checkpoint(options.out, made, half=True)
    except (PretrainedError, DatasetError, CheckpointError, OSError, ValueError) as error:
        print(f"{options.name}: {error}", file=sys.stderr)
        return 1
    card = made.card
    print(f"{options.out}: {card['test_accuracy']:.2%} of {card['test_images']:,} test images")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m vitviz.fine_tune", description=main.__doc__)
    parser.add_argument("name", help="published ViT, from the list of `python -m vitviz.fetch`")
    parser.add_argument("--out", type=Path, required=True, help="path of the checkpoint")
    parser.add_argument("--data", choices=sorted(DATASETS), default="cifar10")
    parser.add_argument("--epochs", type=int, default=lesson.EPOCHS)
    parser.add_argument("--pictures", type=int, help="use only the first PICTURES training and test images")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


def _check(loaded: LoadedModel, dataset: Dataset) -> None:
    """Check that the recipe fits the model and the dataset."""
    if not isinstance(loaded.config, ViTConfig):
        raise ValueError(f"expected a ViT, received a {loaded.config.kind}")
    if isinstance(loaded.config.image_size, tuple):
        raise ValueError(f"expected a model of square images, received {loaded.config.image_size}")
    channels = dataset.test_images.shape[3]
    if channels != loaded.config.in_chans:
        raise ValueError(
            f"expected images with {loaded.config.in_chans} channels, received {dataset.name} with {channels}"
        )
    size = 2 * sum(model_cost.parameters(loaded.config).values())  # in fp16
    if size > CHECKPOINT_BYTES:
        raise ValueError(
            f"the checkpoint would have {size >> 20:,} MB, more than the limit of"
            f" {CHECKPOINT_BYTES >> 20} MB: choose a smaller model"
        )


def _train(options: argparse.Namespace, loaded: LoadedModel, dataset: Dataset) -> Checkpoint:
    """Return the fine-tuned model with a card, tested on all or the first test images."""
    config = replace(loaded.config, num_classes=len(dataset.classes))
    side = max(loaded.vit.config.image_shape)
    learned = _tensors(dataset.train_images, dataset.labels_of("train"), options.pictures)
    tested = _tensors(dataset.test_images, dataset.labels_of("test"), options.pictures)
    model = lesson.replace_head(loaded.model, loaded.vit.config, len(dataset.classes), options.seed)
    begun = time.monotonic()

    def print_epoch(epoch: int, loss: float) -> None:
        spent = time.monotonic() - begun
        print(f"epoch {epoch} of {options.epochs}: loss {loss:.4f}, {spent:,.0f} s", flush=True)

    lesson.fine_tune(model, *learned, options.epochs, side, options.seed, print_epoch)
    card = {
        "title": f"{loaded.title} on {DATASETS[options.data].title}",
        "summary": "Published weights, fine-tuned with a new head, two learning rates and a cosine schedule.",
        "dataset": options.data,
        "pictures": len(learned[0]),
        "seconds": round(time.monotonic() - begun, 1),
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{processor()}, {plural(torch.get_num_threads(), 'thread')}, fp32, torch {torch.__version__}",
        "seed": options.seed,
        "test_accuracy": lesson.accuracy(model, *tested, side),
        "test_images": len(tested[0]),
    }
    return Checkpoint(
        config,
        Preparation(side, lesson.MEAN, lesson.STD, interpolation="bilinear"),
        _recipe(options, loaded, len(learned[0]) / len(dataset.train_images)),
        dataset.classes,
        snapshots={options.epochs * -(-len(learned[0]) // lesson.BATCH): model.state_dict()},
        card=card,
    )


def _tensors(images: np.ndarray, labels: np.ndarray, most: int | None) -> tuple[Tensor, Tensor]:
    """Return (N, 3, H, W) uint8 and (N,) int64."""
    return (
        torch.from_numpy(images[:most].transpose(0, 3, 1, 2).copy()),
        torch.from_numpy(labels[:most].astype("int64")),
    )


def _recipe(options: argparse.Namespace, loaded: LoadedModel, fraction: float) -> TrainConfig:
    """Return the TrainConfig stored in the file; the lesson has no validation split and no warm-up."""
    return TrainConfig(
        dataset=options.data,
        train_fraction=fraction,
        epochs=options.epochs,
        batch_size=lesson.BATCH,
        learning_rate=lesson.BACKBONE_RATE,
        head_learning_rate=lesson.HEAD_RATE,
        weight_decay=lesson.DECAY,
        warmup_fraction=0.0,
        flip=True,
        shift_px=lesson.PADDING_PX,
        start_from=loaded.title,
        start_digest=loaded.digest,
        precision="fp32",
        seed=options.seed,
    )


if __name__ == "__main__":
    raise SystemExit(main())
