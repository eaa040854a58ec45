"""Put activations of one image into the run on another, and return the logits."""

from collections.abc import Callable

import numpy as np
import torch

from vitviz.models.loaded_model import LoadedModel
from vitviz.models.record import Replacement
from vitviz.models.token_layout import heads_by_layer
from vitviz.probe.capture import FloatArray, capture
from vitviz.probe.layers import list_layers

BATCH = 32  # images at once
Report = Callable[[float], object]  # is told the completed share


def patch_heads(
    model: LoadedModel, donor: FloatArray, receiver: FloatArray, report: Report = lambda share: None
) -> FloatArray:
    """Replace one head's output at a time in the run on `receiver` by the one of the run on `donor`.

    One forward pass of `donor`, and one of `receiver` for each head, batched layer by layer.

    Args:
        donor, receiver: (C, H, W), prepared.

    Returns:
        (layers, most heads, classes) logits; NaN where a Swin's layer has fewer heads.

    Raises:
        TypeError: if the model has no heads; `vitviz.models.abilities` says so beforehand (`attention`).
    """
    counts = heads_by_layer(model.config)
    names = [f"{layer.record}.heads" for layer in list_layers(model.config)[1:]]
    given = capture(model.model, donor[None], record=names)
    out = np.full((len(counts), max(counts), len(model.classes)), np.nan, np.float32)
    for layer, (name, heads) in enumerate(zip(names, counts, strict=True)):
        values = torch.from_numpy(given[name])
        owner = torch.arange(values.shape[-1]) // (values.shape[-1] // heads)  # of each channel
        for start in range(0, heads, BATCH):
            chosen = torch.arange(start, min(start + BATCH, heads))
            where = (owner == chosen[:, None]).view(len(chosen), *(1,) * (values.ndim - 2), -1)
            out[layer, chosen] = _run_replaced(model, receiver, name, Replacement(values, where))
        report((layer + 1) / len(counts))
    return out


def patch_tokens(
    model: LoadedModel,
    donor: FloatArray,
    receiver: FloatArray,
    layer: int,
    report: Report = lambda share: None,
) -> FloatArray:
    """Replace one token of a layer's output at a time in the run on `receiver` by the one of the run on `donor`.

    Args:
        donor, receiver: (C, H, W), prepared.
        layer: index of `vitviz.probe.layers.list_layers`; 0 is the embedding.

    Returns:
        (tokens, classes) logits; prefix tokens first, then the grid in reading order.
    """
    name = list_layers(model.config)[layer].record
    values = torch.from_numpy(capture(model.model, donor[None], record=(name,))[name])
    places = values.shape[1:-1]  # (T,), or a Swin's (rows, cols)
    count = int(np.prod(places))
    out = np.empty((count, len(model.classes)), np.float32)
    for start in range(0, count, BATCH):
        chosen = torch.arange(start, min(start + BATCH, count))
        where = (torch.arange(count) == chosen[:, None]).view(len(chosen), *places, 1)
        out[chosen] = _run_replaced(model, receiver, name, Replacement(values, where))
        report((int(chosen[-1]) + 1) / count)
    return out


def _run_replaced(model: LoadedModel, image: FloatArray, name: str, replacement: Replacement) -> FloatArray:
    """Return the logits (B, classes) of as many copies of an image as `replacement.where` has rows."""
    count = len(replacement.where)
    copies = np.broadcast_to(image, (count, *image.shape))
    return capture(model.model, copies, record=False, batch_size=count, replaced={name: replacement}).logits
