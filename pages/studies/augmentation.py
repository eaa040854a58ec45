"""Study each model's gain from augmentation, beside augmented images."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from pages.frame import page
from pages.questions.prediction_gate import Prediction, ask_highest
from pages.stores import shared_cache
from pages.studies import data_size_results
from pages.studies.data_size_results import Grid
from pages.studies.study import Study, Table, View
from vitviz.analysis.data_size import Curve, compute_augmentation_gains, find_leads
from vitviz.config import TrainConfig
from vitviz.csv_table import Columns
from vitviz.data.datasets import data_title, default_pictures
from vitviz.experiments import data_size
from vitviz.plots.data_size import gain_figure
from vitviz.plots.theme import Mode
from vitviz.text import gained, plural

GUESS = "data.gain_guess"
SHOWN = 7
_PX = 96


def build(mode: Mode, dataset: str) -> View:
    gains = compute_augmentation_gains(data_size_results.load_grids()[dataset].rows, data_size.TITLES)
    return View(
        picture=gain_figure(gains, mode) if gains else None,
        caption=_describe_gains(gains)
        if gains
        else "Runs without augmentation are missing for this dataset.",
        prediction=_ask(dataset, gains),
        evidence=(data_size_results.create_evidence(Grid(dataset, True)),),
        notes=_describe_passes(data_size.GRIDS[dataset]),
        table=_create_table(gains),
        above=partial(_draw_augmented_images, dataset),
    )


def _ask(dataset: str, gains: Sequence[Curve]) -> Prediction | None:
    compared = find_leads(gains)
    if not compared:
        return None
    pictures = compared[0].pictures
    points = {
        gain.name: 100 * float(gain.mean[place])
        for gain in gains
        if (place := gain.find_size(pictures)) is not None
    }
    return ask_highest(
        GUESS,
        dataset,
        f"With {plural(pictures, 'image')}, which model gains most from augmentation?",
        points,
        lambda gain: f"{gained(gain)} points",
        {gain.name: gain.title for gain in gains},
    )


def _draw_augmented_images(dataset: str) -> None:
    """Draw one prepared image and its augmented versions in a few updates."""
    import torch

    from vitviz.training.augmentation import augment
    from vitviz.training.batches import prepare_images

    grid = data_size.GRIDS[dataset]
    name = default_pictures(dataset, grid.preparation.in_chans)
    image_source = shared_cache.load_dataset(name)
    # The samples 'a few' have no training images.
    images = image_source.train_images if len(image_source.train_images) else image_source.test_images
    original = prepare_images(images[:1], np.zeros(1, np.int64), slice(None), grid.preparation).images
    augmented = augment(
        original.repeat(SHOWN, 1, 1, 1),
        grid.train,
        torch.zeros(original.shape[1], dtype=torch.uint8),
        torch.Generator().manual_seed(0),
    )
    shown = [image.permute(1, 2, 0).numpy() for image in (original[0], *augmented)]
    page.images(shown, ["original", *(f"version {i + 1}" for i in range(SHOWN))], "The image, ", _PX)
    missing = "" if name == dataset else f" (training images of {data_title(dataset)} are missing here)"
    page.caption(
        f"{SHOWN} of {count_variants(grid.train):,} augmented versions of an image from '{data_title(name)}'{missing}."
    )


def count_variants(train: TrainConfig) -> int:
    """Return the number of augmented versions of an image: shifts by -s..s px in both directions, flipped or not."""
    return (2 * train.shift_px + 1) ** 2 * (1 + train.flip)


def _describe_passes(grid: data_size.Grid) -> str:
    fewest, most = (f"{grid.trained_on(size).epochs or 0:,.3g}" for size in (grid.sizes[0], grid.sizes[-1]))
    few, many = grid.sizes[0], grid.sizes[-1]
    return f"Epochs: {fewest} with {few:,} images, {most} with {many:,}."


def _describe_gains(gains: Sequence[Curve]) -> str:
    places = [(gain, place) for gain in gains for place in range(len(gain.mean))]
    if len(places) == 1:
        return f"Only one gain from augmentation was measured: {_format_gain(*places[0])}."
    best = max(places, key=lambda at: at[0].mean[at[1]])
    least = min(places, key=lambda at: at[0].mean[at[1]])
    seeds = sorted({int(count) for gain in gains for count in gain.seeds})
    pairs = "one seed each, other seeds may differ" if seeds == [1] else "mean over seeds"
    return (
        f"The gain from augmentation is largest for {_format_gain(*best)} and smallest for {_format_gain(*least)}."
        f" Gain: test accuracy with augmentation minus that without, paired by seed; {pairs}."
    )


def _format_gain(gain: Curve, place: int) -> str:
    return f"{gain.title} with {gain.pictures[place]:,} images ({gained(100 * gain.mean[place])} points)"


def _create_table(gains: Sequence[Curve]) -> Table:
    columns: Columns = {
        "model": [gain.title for gain in gains for _ in gain.pictures],
        "images": [int(size) for gain in gains for size in gain.pictures],
        "gain, points": [100 * float(points) for gain in gains for points in gain.mean],
        "seeds": [int(count) for gain in gains for count in gain.seeds],
    }
    return Table(columns, {"gain, points": gained}, "augmentation_gains.csv")


STUDY = Study(
    name="augmentation",
    title="Augmentation",
    question="Which model gains most from augmented images?",
    minutes=3,
    experiments=data_size_results.EXPERIMENTS,
    build=build,
    choices=data_size_results.CHOICES[:1],
    keys=(GUESS,),
    code=("vitviz.training.augmentation:augment",),
)
