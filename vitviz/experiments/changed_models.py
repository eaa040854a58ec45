"""Measure trained CIFAR-10 models whose weights, windows or tokens are changed and not trained again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from vitviz.checkpoint_header import read_header
from vitviz.checkpoints import open_model
from vitviz.config import SwinConfig
from vitviz.data.datasets import load_dataset
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.result_file import CHECKPOINTS, pack_correct
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.zoo import create_model
from vitviz.probe.changed_tokens import exchange_tokens

IMAGES, BATCH = 2000, 100  # the first of the test set
MODELS = {  # by family
    "CNN": "cifar10_cnn",
    "Hybrid": "cifar10_hybrid",
    "ViT": "cifar10_vit",
    "Swin": "cifar10_swin",
    "DeiT": "cifar10_deit_soft",
}
BITS = (32, 8, 4, 3, 2)
SIZES = (32, 40, 48, 64)
LAYERS = 6  # of cifar10_vit
ModelChange = Callable[[LoadedModel, Cell, NDArray[np.uint8]], Tensor]  # -> logits


def weight_bits(images: int = IMAGES) -> Experiment:
    """Return the accuracy of five models with rounded weights."""
    cells = [{"model": model, "bits": bits} for bits in BITS for model in MODELS]
    return _define("weight_bits", "Weights of few bits", cells, _classify_rounded, images)


def swin_sizes(images: int = IMAGES) -> Experiment:
    """Return the accuracy of the Swin on larger images, with windows kept and with windows grown."""
    cells = [
        {"model": "Swin", "windows": windows, "size": size} for size in SIZES for windows in ("kept", "grown")
    ]
    return _define("swin_sizes", "The Swin at other image sizes", cells, _classify_larger, images)


def exchanged_tokens(images: int = IMAGES) -> Experiment:
    """Return the accuracy of the ViT if tokens of the previous test image take the place of an image's own."""
    cells = [
        {"model": "ViT", "tokens": tokens, "layer": layer}
        for layer in range(1, LAYERS + 1)
        for tokens in ("none", "cls", "patches")
    ]
    return _define("exchanged_tokens", "Tokens of another image", cells, _classify_exchanged, images)


def _define(name: str, title: str, cells: Sequence[Cell], classify: ModelChange, images: int) -> Experiment:
    files = [CHECKPOINTS / f"{MODELS[family]}.safetensors" for family in {cell["model"]: 0 for cell in cells}]
    settings = {
        "data": "cifar10",
        "test_pictures": images,
        "digests": {path.stem: read_header(path).identity for path in files},
    }
    return Experiment(name, title, cells, partial(_measure, classify, images), settings)


@torch.no_grad()
def _measure(classify: ModelChange, images: int, cell: Cell, folder: Path) -> dict[str, Any]:
    loaded = open_model(CHECKPOINTS / f"{MODELS[cell['model']]}.safetensors")
    dataset = load_dataset("cifar10")
    logits = classify(loaded, cell, dataset.test_images[:images])
    right = logits.argmax(dim=1).numpy() == dataset.labels_of("test")[:images]
    return {"test": round(float(right.mean()), 4), "right": pack_correct(right)}


def compute_logits(model: nn.Module, inputs: Tensor) -> Tensor:
    """Return the class scores of all images."""
    return torch.cat([model(batch) for batch in torch.split(inputs, BATCH)])


def _prepare(loaded: LoadedModel, images: NDArray[np.uint8]) -> Tensor:
    return torch.from_numpy(prepare_batch(images, loaded.preparation))


def round_weights(weight: Tensor, bits: int) -> Tensor:
    """Return weights rounded to `bits` bits with one symmetric scale per output row."""
    largest = 2 ** (bits - 1) - 1
    scale = weight.flatten(1).abs().amax(dim=1).clamp_min(1e-12).view(-1, *[1] * (weight.dim() - 1)) / largest
    rounded: Tensor = (weight / scale).round() * scale
    return rounded


def _classify_rounded(loaded: LoadedModel, cell: Cell, images: NDArray[np.uint8]) -> Tensor:
    for module in loaded.model.modules():
        if isinstance(module, nn.Linear | nn.Conv2d) and cell["bits"] < 32:
            module.weight.copy_(round_weights(module.weight, cell["bits"]))
    return compute_logits(loaded.model, _prepare(loaded, images))


def grow_windows(model: nn.Module, config: SwinConfig, size: int) -> nn.Module:
    """Return the Swin for images of `size` px: its windows grown, bias tables resized bicubically."""
    window = config.window_size * size // config.image_size
    grown = create_model(replace(config, image_size=size, window_size=window))
    state = {}
    for name, tensor in model.state_dict().items():
        if name.endswith("relative_position_bias_table"):
            side = 2 * config.window_size - 1
            table = tensor.T.reshape(1, -1, side, side)
            larger = F.interpolate(table, size=(2 * window - 1,) * 2, mode="bicubic", align_corners=False)
            tensor = larger.flatten(2)[0].T.contiguous()
        state[name] = tensor
    grown.load_state_dict(state)
    return grown.eval()


def _classify_larger(loaded: LoadedModel, cell: Cell, images: NDArray[np.uint8]) -> Tensor:
    preparation = replace(loaded.preparation, image_size=cell["size"])
    model = loaded.model
    if cell["windows"] == "grown":
        model = grow_windows(model, loaded.swin.config, cell["size"])
    return compute_logits(model, torch.from_numpy(prepare_batch(images, preparation)))


def _classify_exchanged(loaded: LoadedModel, cell: Cell, images: NDArray[np.uint8]) -> Tensor:
    return exchange_tokens(loaded.vit, _prepare(loaded, images), cell["layer"], cell["tokens"], BATCH)
