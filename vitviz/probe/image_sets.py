"""Measure what lenses say of a model over a set of images, with random weights as the control."""

from collections import defaultdict
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vitviz.analysis import faithfulness
from vitviz.analysis.attention import entropy_bits, rank_correlation
from vitviz.analysis.explanation_methods import METHODS, compute_top_share
from vitviz.analysis.image_changes import locate_cells
from vitviz.analysis.image_means import (
    AGREEMENT,
    COPY,
    GAP,
    MATCH,
    RANDOM,
    SHARE,
    ImageMeans,
    summarise_images,
)
from vitviz.analysis.token_colours import reduce_grid
from vitviz.analysis.token_similarity import cosines_between, find_mutual_neighbours, share_at_true_place
from vitviz.models.abilities import abilities
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.token_layout import heads_by_layer
from vitviz.models.zoo import create_model
from vitviz.probe.activation_patching import patch_heads
from vitviz.probe.capture import FloatArray, as_array, capture
from vitviz.probe.explanation_maps import Recipe, method_maps_of, order_curve
from vitviz.probe.layers import LayerOutput, stream_layer_outputs

RANDOM_DRAWS = 10  # of random weights that a trained model is compared with
UNTRAINED_SEED = 2**31 - 1  # never used for training, so that weights are not compared with themselves
BATCH = 16
COPY_KIND = "flip"  # its mirrored cells are known
Maps = dict[str, NDArray[np.float64]]
Work = Generator[float, None, ImageMeans]


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Prepared images (N, C, S, S) of a dataset, and their labels (N,) if it has some."""

    source: str
    inputs: FloatArray
    labels: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.inputs)


def draw_untrained(model: LoadedModel, draw: int) -> LoadedModel:
    """Return a model of the same architecture with one of `RANDOM_DRAWS` draws of random weights."""
    return replace(
        model,
        model=create_model(model.config, seed=UNTRAINED_SEED - draw),
        title=f"{model.title}, random weights",
        trained_on=None,
        step=0,
        digest=f"{model.digest}@random{draw}",
        began_with=None,
        notes=(),
    )


def measure_effective_tokens(model: LoadedModel, images: ImageSet) -> Work:
    """Measure 2^H of the rows of every head, the mean over an image's queries; named 'layer.head', from 1."""
    counts = heads_by_layer(model.config)
    values: dict[str, list[float]] = defaultdict(list)
    for start in range(0, len(images), BATCH):
        layers: list[FloatArray] = []

        def on_record(name: str, tensor: Tensor, layers: list[FloatArray] = layers) -> None:
            if name.endswith(".attn"):
                tokens = 2 ** entropy_bits(as_array(tensor))  # (b, windows of a Swin, heads, queries)
                layers.append(np.moveaxis(tokens, -2, 1).reshape(len(tokens), tokens.shape[-2], -1).mean(-1))

        with torch.inference_mode():
            model.model(torch.from_numpy(images.inputs[start : start + BATCH]), record=on_record)
        for layer, heads in enumerate(layers, start=1):
            for head in range(counts[layer - 1]):
                values[f"{layer}.{head + 1}"] += heads[:, head].tolist()
        yield min(1.0, (start + BATCH) / len(images))
    return summarise_images(images.source, dict(values))


def measure_maps(model: LoadedModel, images: ImageSet) -> Work:
    """Measure every method's share on five patches, and the rank correlation of every two methods."""
    values: dict[str, list[float]] = defaultdict(list)
    for done, image in enumerate(images.inputs, start=1):
        maps = _explain(model, image, _predict(model, image))
        for name, relevance in maps.items():
            values[f"{SHARE}{name}"].append(compute_top_share(relevance))
        for a, b in combinations(maps, 2):
            values[f"{AGREEMENT}{a} {b}"].append(rank_correlation(maps[a], maps[b]))
        yield done / len(images)
    return summarise_images(images.source, dict(values))


def measure_faithfulness(model: LoadedModel, images: ImageSet, fill: str = "colour") -> Work:
    """Measure insertion minus deletion of every method and of a random order, and the maps of random weights.

    The draws are the methods' rank correlations with the maps of random weights for the same class. They do not
    depend on the fill, so only that of one colour has them.
    """
    draws_count = RANDOM_DRAWS if fill == "colour" else 0
    values: dict[str, list[float]] = defaultdict(list)
    orders = faithfulness.random_orders(model.layout(*images.inputs.shape[-2:]).num_patches, len(images))
    explained: list[tuple[int, Maps]] = []
    total = len(images) * (1 + draws_count / 10)
    for done, (image, order) in enumerate(zip(images.inputs, orders, strict=True), start=1):
        target = _predict(model, image)
        assert target is not None  # the lens needs a classifier head
        explained.append((target, _explain(model, image, target)))
        for name, relevance in {**explained[-1][1], RANDOM: order}.items():
            curve = order_curve(model, image, np.asarray(relevance, np.float64), target, fill)
            insertion, deletion = (
                faithfulness.area(curve.fraction, side) for side in (curve.insertion, curve.deletion)
            )
            values[f"{GAP}{name}"].append(insertion - deletion)
        yield done / total
    methods, draws = [*explained[0][1]], []
    for draw in range(draws_count):
        untrained = draw_untrained(model, draw)
        correlations = [
            [rank_correlation(maps[name], drawn[name]) for name in methods]
            for image, (target, maps) in zip(images.inputs, explained, strict=True)
            if (drawn := _explain(untrained, image, target))
        ]
        draws.append([*np.mean(correlations, axis=0), np.nan])
        yield (len(images) * (1 + (draw + 1) / 10)) / total
    return summarise_images(images.source, dict(values), np.array(draws, np.float64) if draws else None)


def measure_patching(model: LoadedModel, images: ImageSet) -> Work:
    """Measure by how many points each head's output of one image moves another image towards the first's class.

    Every image receives from the next one of another predicted class; measures are named 'layer.head', from 1.
    """
    classes = capture(model.model, images.inputs, record=False).logits.argmax(axis=1)
    counts = heads_by_layer(model.config)
    names = [f"{layer}.{head + 1}" for layer, count in enumerate(counts, start=1) for head in range(count)]
    rows = []
    for receiver, image in enumerate(images.inputs):
        donor = find_next(classes, receiver, same=False)
        if donor is not None:
            before = model.probabilities(capture(model.model, image[None], record=False).logits)[0]
            logits = patch_heads(model, images.inputs[donor], image)
            after = model.probabilities(logits)[..., classes[donor]]
            rows.append(100 * (after[np.isfinite(after)] - before[classes[donor]]))
        yield (receiver + 1) / len(images)
    if not rows:
        raise ValueError("patching needs images of two predicted classes, received one")
    return summarise_images(images.source, dict(zip(names, np.array(rows).T, strict=True)))


def measure_matches(model: LoadedModel, images: ImageSet) -> Work:
    """Measure by layer which shares of the patches have a mutual neighbour and find their mirrored copy.

    Every image is matched with the next one of its class, or with the next one without labels. 'random match 3' is
    the mean over draws of random weights.
    """
    runs: list[dict[str, list[float]]] = []
    labels = np.zeros(len(images), np.int64) if images.labels is None else images.labels
    for run in range(RANDOM_DRAWS + 1):
        measured = model if run == 0 else draw_untrained(model, run - 1)
        values: dict[str, list[float]] = defaultdict(list)
        grids = [_collect_grids(measured, side) for side in (images.inputs, images.inputs[..., ::-1].copy())]
        for first in range(len(images)):
            second = find_next(labels, first, same=True)
            if second is None:  # the only one of its class
                continue
            for layer, (tokens, mirrored) in enumerate(zip(*grids, strict=True)):
                grid = (tokens.shape[1], tokens.shape[2])
                flat = tokens.reshape(len(tokens), -1, tokens.shape[-1])
                copies = mirrored[first].reshape(flat.shape[1:])
                cosines = cosines_between(flat[first], flat[second], without_mean=True)
                matched = find_mutual_neighbours(cosines).first
                values[f"{MATCH}{layer}"].append(len(matched) / len(cosines))
                cosines = cosines_between(flat[first], copies, without_mean=True)
                placed = share_at_true_place(cosines, locate_cells(COPY_KIND, grid), grid)
                values[f"{COPY}{layer}"].append(placed)
            yield (run + (first + 1) / len(images)) / (RANDOM_DRAWS + 1)
        runs.append(values)
    tables = np.array([[*values.values()] for values in runs])  # (runs, measures, images)
    controls = {f"{RANDOM} {name}": row for name, row in zip(runs[0], tables[1:].mean(axis=0), strict=True)}
    draws = tables[1:].mean(axis=2)
    return summarise_images(images.source, {**runs[0], **controls}, np.concatenate([draws, draws], axis=1))


MEASURES: dict[str, Callable[[LoadedModel, ImageSet], Work]] = {
    "effective_tokens": measure_effective_tokens,
    "maps": measure_maps,
    "faithfulness": measure_faithfulness,
    "faithfulness_patch": partial(measure_faithfulness, fill="patch"),
    "faithfulness_blur": partial(measure_faithfulness, fill="blur"),
    "patching": measure_patching,
    "matches": measure_matches,
}


def find_next(groups: NDArray[np.integer[Any]], index: int, *, same: bool) -> int | None:
    """Return the next index of the same or of another group, going on from the start; None if there is none."""
    order = np.roll(np.arange(len(groups)), -index - 1)[:-1]
    fitting = order[(groups[order] == groups[index]) == same]
    return int(fitting[0]) if len(fitting) else None


def _predict(model: LoadedModel, image: FloatArray) -> int | None:
    if not abilities(model.config).class_head:
        return None
    return int(capture(model.model, image[None], record=False).logits[0].argmax())


def _explain(model: LoadedModel, image: FloatArray, target: int | None) -> Maps:
    """Return the maps with the settings that the page opens with."""
    maps = method_maps_of(model, image, Recipe(target, "mean", 0.0))
    return {name: maps[name] for name in METHODS if name in maps}


def _collect_grids(model: LoadedModel, inputs: FloatArray) -> list[FloatArray]:
    """Return the tokens (N, rows, cols, D) of every layer, larger grids reduced as the page does."""

    def read(layer: LayerOutput) -> FloatArray:
        return np.stack([reduce_grid(tokens) for tokens in layer.places]).astype(np.float32)

    batches = [[read(layer) for layer in layers] for layers in stream_layer_outputs(model, inputs, BATCH)]
    return [np.concatenate(layer) for layer in zip(*batches, strict=True)]
