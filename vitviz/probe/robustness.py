"""Run models on an image while it changes, with their attention or activation maps."""

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from vitviz.analysis.attention import fuse_heads, readout_row
from vitviz.data.image_preprocessing import normalise
from vitviz.models.abilities import abilities, as_vit
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.capture import FloatArray, as_array, capture, one_thread

CELL_PX = 2  # a gradient's map is summed over squares of so many pixels: single ones are noise to an eye
BATCH = 32
FEW = 8  # images: threads that share so little wait for each other, most where others keep the cores busy


@dataclass(frozen=True, eq=False)
class Sweep:
    """A model's predictions for a series of images, with its attention or relevance maps.

    probabilities: (images, classes). views: (images, rows, cols), not negative: attention's row of the readout in
    the last layer, the mean of its heads, or gradient x input of the class that is answered. by: which of the two,
    'attention' or 'gradient'.
    """

    probabilities: FloatArray
    views: FloatArray
    by: str

    @property
    def answers(self) -> NDArray[np.int64]:
        """Predicted classes, (images,)."""
        answers: NDArray[np.int64] = self.probabilities.argmax(axis=1)
        return answers


def inputs_of(model: LoadedModel, images: NDArray[np.uint8]) -> FloatArray:
    """Prepare images (N, S, S, 3) of the model's size as its input (N, C, S, S)."""
    return normalise(images[..., : model.preparation.in_chans], model.preparation)


def sweep(model: LoadedModel, pictures: NDArray[np.uint8]) -> Sweep:
    """One pass over images (N, S, S, 3) of the model's own size; a model without rows over all tokens is asked for
    its gradient too.
    """
    images = inputs_of(model, pictures)
    with one_thread() if len(pictures) <= FEW else nullcontext():
        if abilities(model.config).heads_over_all:
            return _attended(model, images)
        logits, pixels = _explained(model, images)
    return Sweep(model.probabilities(logits), summed(pixels, CELL_PX), "gradient")


def chances(model: LoadedModel, images: NDArray[np.uint8]) -> FloatArray:
    """Return the class probabilities (N, classes) of images (N, S, S, 3) of the model's size."""
    class_probabilities: FloatArray = model.probabilities(_logits(model, inputs_of(model, images)))
    return class_probabilities


def answers(model: LoadedModel, images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the predicted classes (N,) of images (N, S, S, 3) of the model's size."""
    predictions = [
        _logits(model, inputs_of(model, images[at : at + BATCH])).argmax(axis=1)
        for at in range(0, len(images), BATCH)
    ]
    return np.concatenate(predictions)


def summed(pixels: FloatArray, cell_px: int) -> FloatArray:
    """Sum positive relevance over channels and cells: (N, C, H, W) -> (N, H / cell, W / cell)."""
    N, C, H, W = pixels.shape
    cut = pixels.reshape(N, C, H // cell_px, cell_px, W // cell_px, cell_px).sum(axis=(1, 3, 5))
    return np.asarray(cut.clip(min=0), dtype=np.float32)


def _attended(model: LoadedModel, images: FloatArray) -> Sweep:
    last = as_vit(model.config).depth - 1
    records = capture(model.model, images, record=(f"blocks.{last}.attn",), batch_size=BATCH)
    layout = model.layout(*images.shape[-2:])
    rows = readout_row(
        fuse_heads(records[f"blocks.{last}.attn"]), layout.prefix, as_vit(model.config).readout
    )
    views = rows.reshape(len(images), *layout.grid).astype(np.float32)
    return Sweep(model.probabilities(records.logits), views, "attention")


def _explained(model: LoadedModel, images: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the logits, and x dy_c/dx of each image's most probable class c (Shrikumar et al. 2016), in one pass."""
    with torch.enable_grad():
        x = torch.tensor(images).requires_grad_()
        logits = model.model(x)
        (gradient,) = torch.autograd.grad(logits.max(dim=1).values.sum(), [x])
    return as_array(logits), as_array(gradient * x.detach())


def _logits(model: LoadedModel, images: FloatArray) -> FloatArray:
    with torch.inference_mode():
        return np.asarray(as_array(model.model(torch.tensor(images))), dtype=np.float32)
