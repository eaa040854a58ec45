"""Draw the page's controls and make the run that they describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.selection import selection
from pages.stores import cached, own_weights, published, session, user_datasets
from pages.stores.model_choice import ModelChoice
from pages.train.fine_tuning import example_images
from vitviz.config import CNNConfig, ModelConfig, ViTConfig
from vitviz.data.dataset import DatasetError
from vitviz.data.datasets import DATASETS, available_datasets, validation_split
from vitviz.data.images import some_in_colour
from vitviz.data.own_datasets import is_own
from vitviz.models.abilities import abilities
from vitviz.models.transfer import fitted
from vitviz.text import plain, with_titles
from vitviz.training.batches import SPLIT_SEED
from vitviz.training.fine_tuning import Body, Method, Source, Task, recipes
from vitviz.training.limits import MAX_PARAMETERS, parameters

FIRST = "checkpoint:mnist_vit"  # the backbone that shows most on the digits that are always here
# For coloured images of one's own: a grey backbone would read them in grey.
FIRST_IN_COLOUR = "checkpoint:cifar10_vit"
SIZES = (2, 5, 10, 20, 50, 100)  # images a class
ALL = 0
PHOTOS = ("cifar10", "cifar100")  # sets of colour photos that a model can have learned from
A_FEW = 20
DRAWN = ("digits", "mnist")  # a backbone of digits centres them as it did before
NONE_HERE = "No trained model is available. Train one in the live lab first."
BODIES: dict[Body, str] = {"all": "Backbone and head", "head": "Head alone"}
SMALL_RATES = (3e-4, 1e-3)  # backbone and head of a small ViT that has seen few images
# Of others these: after 100 updates on MNIST, 20 a class, digits' CNN has 94 % and its Swin 89 at them, 79 and 76 at
# the ViT's; CIFAR-10's CNN goes from 93 to 98 on digits, its Swin from 79 to 95. Validation images, two seeds.
OTHER_RATES = (1e-3, 1e-2)
CNN_SCRATCH_RATE = 3e-3  # digits' on MNIST: 87 %, 69 at 1e-3; CIFAR-10's on digits: 99 at both
LESSON_RATES = (1e-5, 1e-3)  # the lesson's, for published weights
# Of a head alone the features stay. After 100 updates on digits, 20 a class, it gets 55 % right at 1e-3 and 98 % at
# this rate (MNIST's ViT); 24 and 78 % with CIFAR-10's ViT, 64 and 92 % with its CNN: means of three seeds.
ALONE_RATE = 0.03
SHIFT_PX = 2  # by which moved images are moved at most
FLIPPED = ("cifar", "fashion")  # sets begin with these whose classes are the same in a mirror
FIELDS = {  # of a recipe, as a refusal names them
    "layer_decay": "the share of the next layer's rate",
    "head_learning_rate": "the learning rate of the head",
    "learning_rate": "a learning rate",
}
WIDE = 128  # from this width on a small ViT learns better from scratch at half the rate (digits, 20 a class)


@dataclass(frozen=True)
class RaceControls(widgets.ControlValues, page="fine_tuning"):
    """With what it begins, on which images, how many of each class; and the run on the stage."""

    source: str  # a model's key
    dataset: str
    a_class: int  # images; 0: all
    run: str


@dataclass(frozen=True)
class MethodControls(widgets.ControlValues, page="fine_tuning"):
    """The options."""

    body: str
    larger: int  # times the resolution
    rate: float
    head_rate: float
    layer_decay: float
    scratch_rate: float
    updates: int
    batch: int
    seeds: int
    moved: bool  # images are moved and flipped while training


@dataclass(frozen=True)
class RaceSettings:
    """The settings of a race."""

    source: ModelChoice
    step: int
    in_colour: bool  # whether the images have colour
    task: Task
    held_out: int  # images that the curves are read on
    method: Method


def list_backbones() -> dict[str, ModelChoice]:
    """Trained models whose head can be replaced and that are small enough to be trained here, by key."""
    return {
        key: choice
        for key, choice in selection.list_models().items()
        if choice.trained_on is not None
        and abilities(choice.config).new_head
        and parameters(choice.config) <= MAX_PARAMETERS
    }


def draw() -> RaceSettings | str:
    """Draws the controls; what they describe, or why it cannot be."""
    if not list_backbones():
        return NONE_HERE
    with page.row():
        begin = st.container()
        dataset = _choose_dataset()
        with begin:
            source = _choose_backbone(dataset)
        try:
            counts, held_out = count_training_images(dataset)
        except DatasetError as error:
            return plain(str(error))
        a_class = _choose_class_size(counts)
        method = _choose_method(source, dataset)
        example_images.draw_upload(RaceControls.key("dataset"))
    task = _make_task(dataset, counts, a_class)
    now = selection.get_current()
    step = now.step if source.key == now.model else source.last_step
    if isinstance(method, str):
        return method
    return RaceSettings(source, step, has_colour(dataset), task, held_out, method)


def _make_task(dataset: str, counts: Sequence[int], a_class: int) -> Task:
    most = None if a_class == ALL else a_class
    count = sum(counts) if most is None else sum(min(most, one) for one in counts)
    return Task(dataset, len(counts), count, most, get_held_out_share(dataset), dataset in DRAWN)


def _choose_backbone(dataset: str) -> ModelChoice:
    found = list_backbones()
    own = selection.get_current().model
    own_colour = is_own(dataset) and has_colour(dataset)
    preferred = (choose_default_backbone(own_colour) if selection.is_default_model() else None) or own
    widgets.follow_default(RaceControls.key("source"), preferred)
    key = widgets.select(
        RaceControls.key("source"),
        "Start from",
        tuple(found),
        preferred,
        format_func=lambda key: found[key].title,
        help="A shipped model, a run, published or own weights: the last step, or the sidebar's of the model there.",
    )
    return found[key]


def choose_default_backbone(colour: bool) -> str | None:
    """With what the page begins, by key: for photos the ViT of photos, or the best model of them that is here."""
    found = list_backbones()
    first = FIRST_IN_COLOUR if colour else FIRST
    if first in found:
        return first
    photos = [choice for choice in found.values() if choice.trained_on in PHOTOS]
    best = max(photos, key=lambda choice: choice.accuracy or 0.0, default=None)
    return best.key if colour and best is not None else None


def has_colour(dataset: str) -> bool:
    """Return True if a set's images have colour: of a user's own, kept in three channels always, the first are seen."""
    try:
        data = cached.load_dataset(dataset)
    except DatasetError:
        return False  # it is gone: `draw` says so
    return some_in_colour(data.train_images) if is_own(dataset) else data.picture_shape[2] == 3


def _choose_dataset() -> str:
    mine = user_datasets.list_datasets(session.get_current())

    def title(name: str) -> str:
        return f"Yours: {mine[name].title}" if name in mine else DATASETS[name].title

    names = [*mine, *(name for name in available_datasets() if name != "cifar100")]
    first = names[0] if mine else "digits"
    widgets.follow_default(RaceControls.key("dataset"), first)
    return widgets.select(RaceControls.key("dataset"), "Learn", names, first, format_func=title)


def _choose_class_size(counts: Sequence[int]) -> int:
    sizes = [size for size in SIZES if size < max(counts)]
    default = A_FEW if A_FEW in sizes else ALL
    return widgets.select_slider(
        RaceControls.key("a_class"),
        "Images per class",
        (*sizes, ALL),
        default,
        format_func=lambda size: "all" if size == ALL else f"{size}",
        help="So many of each class, the first of a shuffled set; all of a class that has fewer.",
    )


def get_held_out_share(dataset: str) -> float:
    """Return which share of a training set the curves are read on: more of a small one, so that they say something."""
    return 0.2 if is_own(dataset) else 0.1 if not DATASETS[dataset].needs_file else 0.04


def count_training_images(dataset: str) -> tuple[tuple[int, ...], int]:
    """Return how many images of each class there are to learn from, and how many are held out of all.

    Raises:
        DatasetError: if the set is gone.
    """
    data = cached.load_dataset(dataset)
    kept, held_out = validation_split(data, get_held_out_share(dataset), SPLIT_SEED)
    counts = np.bincount(data.labels_of("train")[kept], minlength=len(data.classes))
    return tuple(counts.tolist()), len(held_out)


def _choose_method(source: ModelChoice, dataset: str) -> Method | str:
    lesson = source.key.startswith((published.KEY, own_weights.KEY))
    with page.options("fine_tuning"):
        body, larger = _choose_trained_part(source)
        small = SMALL_RATES if isinstance(source.config, ViTConfig) else OTHER_RATES
        rates = _choose_rates(source, LESSON_RATES if lesson else small, body)
        updates = widgets.number(MethodControls.key("updates"), "Updates of each model", 10, 1000, 100)
        batch = widgets.number(MethodControls.key("batch"), "Batch size", 4, 128, 16)
        seeds = widgets.segmented(
            MethodControls.key("seeds"),
            "Seeds",
            (1, 2, 3),
            3,
            help="Of the new head or of all weights, and of the order; the images stay.",
        )
        moved = widgets.toggle(
            MethodControls.key("moved"),
            "Shift images in training",
            help=f"By up to {SHIFT_PX} px, for both; those of CIFAR and Fashion-MNIST are also flipped left and right.",
        )
    try:
        return Method(
            body,
            larger * source.config.image_size,
            *rates,
            updates,
            batch,
            seeds,
            flip=moved and dataset.startswith(FLIPPED),
            shift_px=SHIFT_PX if moved else 0,
        )
    except ValueError as error:
        return f"This cannot be trained: {plain(str(error))}."


def _choose_trained_part(source: ModelChoice) -> tuple[Body, int]:
    body = widgets.segmented(
        MethodControls.key("body"),
        "Trained part",
        tuple(BODIES),
        format_func=BODIES.__getitem__,
        help="Head alone: the backbone is frozen and gives features, on which the new head is a logistic regression.",
    )
    only = abilities(source.config).larger_pictures.why_not or None
    larger = widgets.segmented(
        MethodControls.key("larger"),
        "Resolution",
        (1, 2),
        format_func=lambda times: f"× {times}",
        why_not=only,
    )
    return body, 1 if only else larger


def _choose_rates(
    source: ModelChoice, start: tuple[float, float], body: Body
) -> tuple[float, float, float, float]:
    """Learning rates of backbone and head, a layer's share of the next one's, and the rate from scratch."""
    frozen = "Disabled: the backbone is frozen." if body == "head" else None
    of_head = ALONE_RATE if body == "head" else start[1]
    scratch = _get_scratch_rate(source.config)
    drawn = []
    for name, label, default, step, why_not in (
        ("rate", "Learning rate of the backbone", start[0], 1e-5, frozen),
        ("head_rate", "Learning rate of the head", of_head, 1e-4, None),
        ("layer_decay", "Share of the next layer's rate", 1.0, 0.05, frozen),
        ("scratch_rate", "Learning rate from scratch", scratch, 1e-4, None),
    ):
        widgets.follow_default(MethodControls.key(name), default)
        drawn.append(widgets.real(MethodControls.key(name), label, default, step, why_not=why_not))
    return drawn[0], drawn[1], drawn[2], drawn[3]


def _get_scratch_rate(config: ModelConfig) -> float:
    """At which the same model learns from random weights."""
    if isinstance(config, CNNConfig):
        return CNN_SCRATCH_RATE
    return 5e-4 if getattr(config, "embed_dim", 0) >= WIDE else 1e-3


def explain_refusal(chosen: RaceSettings) -> str:
    """Why a race of these cannot be, in the page's words; empty where it can."""
    source = chosen.source
    try:
        model = fitted(source.config, chosen.task.classes, chosen.method.image_size)
        named = Source(source.title, "unread", source.config, source.preparation)
        recipes(named, model, chosen.task, chosen.method, seed=0)
    except ValueError as error:
        return with_titles(str(error), FIELDS)
    if chosen.task.pictures < 2 * chosen.task.classes:
        return "there are fewer than two images a class to learn from"
    return ""
