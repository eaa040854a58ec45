"""Measure the shipped models over sets of images, and find what was stored by the identity of the weights."""

from collections.abc import Generator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from vitviz.analysis.image_means import ImageMeans
from vitviz.checkpoint_header import read_header
from vitviz.data import cifar10_few, samples
from vitviz.data.datasets import default_pictures, load_dataset
from vitviz.experiments.experiment import Cell, Experiment
from vitviz.experiments.result_file import CHECKPOINTS, ResultError, read_result
from vitviz.models.abilities import Abilities, abilities

NAME = "image_sets"
IMAGES, FEW = 200, 32  # few of models with large inputs
MOST_PX = 64  # of a small model's input
NEEDS = {  # abilities without which a measure has no meaning
    "effective_tokens": ("attention",),
    "maps": ("rollout",),
    "faithfulness": ("class_head", "attention"),
    "faithfulness_patch": ("class_head", "attention"),
    "faithfulness_blur": ("class_head", "attention"),
    "patching": ("class_head", "attention"),
    "matches": ("layers",),
}
PHOTOS = "photos"
COSTLY = (("dinov2_small_saliency", "matches"),)  # 11 runs of 16 photographs take more than ten core-minutes
FILLED = ("digits_vit", "cifar10_vit")  # stored with the other fills; the page measures others on request
MODELS = (
    *(
        "digits_vit",
        "digits_swin",
        "mnist_vit",
        "shapes_vit",
        "shapes_vit_nopos",
        "cifar10_vit_p8",
        "cifar10_hybrid",
    ),
    *("cifar10_vit", "cifar10_deit_soft", "cifar10_swin", "digits_cnn", "cifar10_cnn", "cifar10_cnn_wide"),
    "dinov2_small_saliency",
)


def is_meaningful(measure: str, able: Abilities) -> bool:
    """Return True if a model with these abilities can be measured."""
    return all(getattr(able, need) for need in NEEDS[measure])


def is_stored(model: str, measure: str) -> bool:
    """Return True if the results of a shipped model hold a measure that has a meaning for it."""
    return (model, measure) not in COSTLY and ("faithfulness_" not in measure or model in FILLED)


def choose_count(image_px: int) -> int:
    """Return how many images a model is measured on."""
    return IMAGES if image_px <= MOST_PX else FEW


def choose_source(trained_on: str | None, in_chans: int) -> str:
    """Return the dataset that a model is measured on: its own, or one of independent images that is always there."""
    name = default_pictures(trained_on, in_chans)
    return cifar10_few.NAME if name in (PHOTOS, "cifar10") else name


def measure(model: Any, name: str, source: str, count: int) -> Generator[float, None, ImageMeans]:
    """Return the work of one measure of a loaded model over the first test images; it yields the completed share."""
    from vitviz.data.image_preprocessing import prepare, prepare_batch
    from vitviz.probe.image_sets import MEASURES, ImageSet

    if source == PHOTOS:  # whole photographs: the dataset's crops overlap
        photos = [prepare(samples.load_sample(name), model.preparation).input for name in samples.SOURCES]
        images = ImageSet(source, np.stack(photos[:count]))
    else:
        dataset = load_dataset(source)
        labels = None if dataset.test_labels is None else dataset.test_labels[:count]
        images = ImageSet(source, prepare_batch(dataset.test_images[:count], model.preparation), labels)
    return MEASURES[name](model, images)


def experiment(checkpoints: Path = CHECKPOINTS, count: int = IMAGES) -> Experiment:
    """Return every measure of the last step of every shipped model, one cell each."""
    headers = {name: read_header(checkpoints / f"{name}.safetensors") for name in MODELS}
    cells = [
        {"model": name, "measure": measured}
        for name, header in headers.items()
        for measured in NEEDS
        if is_meaningful(measured, abilities(header.config)) and is_stored(name, measured)
    ]
    run = partial(measure_cell, checkpoints, count)
    return Experiment(NAME, "What lenses say of a model, over images", cells, run)


def measure_cell(checkpoints: Path, count: int, cell: Cell, folder: Path) -> dict[str, Any]:
    """Return the weights' identity and the means with their covariance."""
    from vitviz.checkpoints import open_model
    from vitviz.probe.capture import limit_pools

    path = checkpoints / f"{cell['model']}.safetensors"
    model = open_model(path, read_header(path).steps[-1])
    photos = model.trained_on not in ("digits", "mnist", "shapes", "cifar10")
    source = PHOTOS if photos else choose_source(model.trained_on, model.preparation.in_chans)
    work = measure(model, cell["measure"], source, count)
    try:
        with limit_pools(1):
            while True:
                next(work)
    except StopIteration as stop:
        return {"identity": model.digest, **pack_means(stop.value)}


def pack_means(means: ImageMeans) -> dict[str, Any]:
    """Return plain JSON values with three to five digits; of the covariance the upper triangle."""
    upper = means.covariance[np.triu_indices(len(means.names))]
    return {
        "source": means.source,
        "images": means.images,
        "names": list(means.names),
        "means": [_round(value, 5) for value in means.means],
        "covariance": [_round(value, 3) for value in upper],
        "draws": [[_round(value, 3) for value in row if np.isfinite(value)] for row in means.draws],
    }


def unpack_means(row: Mapping[str, Any]) -> ImageMeans:
    """Return what `pack_means` packed.

    Raises:
        ResultError: if the lengths differ.
    """
    names = tuple(row["names"])
    try:
        covariance = np.zeros((len(names), len(names)))
        covariance[np.triu_indices(len(names))] = row["covariance"]
        covariance += np.triu(covariance, 1).T
        draws = np.full((len(row["draws"]), len(names)), np.nan)
        for filled, values in zip(draws, row["draws"], strict=True):
            filled[: len(values)] = values
        means = np.array(row["means"], np.float64).reshape(len(names))
        return ImageMeans(row["source"], int(row["images"]), names, means, covariance, draws)
    except (ValueError, TypeError, KeyError) as error:
        raise ResultError(f"a row of {NAME} is damaged: {error}") from error


def find_stored(measured: str, identity: str) -> ImageMeans | None:
    """Return the stored measure of weights with this identity; None if there is none."""
    try:
        rows = read_result(NAME).where(measure=measured, identity=identity)
        return unpack_means(rows[0]) if rows else None
    except ResultError:
        return None


def _round(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")
