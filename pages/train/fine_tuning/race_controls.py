"""What the page's controls say, and the run that they describe."""

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

FIRST = "checkpoint:mnist_vit"  # the body that shows most on the digits that are always here
# For coloured pictures of one's own: a grey body would read them in grey.
FIRST_IN_COLOUR = "checkpoint:cifar10_vit"
SIZES = (2, 5, 10, 20, 50, 100)  # pictures a class
ALL = 0
PHOTOS = ("cifar10", "cifar100")  # sets of colour photos that a model can have learned from
A_FEW = 20
DRAWN = ("digits", "mnist")  # a body of digits centres them as it did before
NONE_HERE = "No trained model is here to begin with: train one in the live lab first."
BODIES: dict[Body, str] = {"all": "Body and head", "head": "Head alone"}
SMALL_RATES = (3e-4, 1e-3)  # body and head of a small ViT that has seen few pictures
# Of others these: after 100 updates on MNIST, 20 a class, digits' CNN has 94 % and its Swin 89 at them, 79 and 76 at
# the ViT's; CIFAR-10's CNN goes from 93 to 98 on digits, its Swin from 79 to 95. Validation pictures, two seeds.
OTHER_RATES = (1e-3, 1e-2)
CNN_SCRATCH_RATE = 3e-3  # digits' on MNIST: 87 %, 69 at 1e-3; CIFAR-10's on digits: 99 at both
LESSON_RATES = (1e-5, 1e-3)  # the lesson's, for published weights
# Of a head alone the features stay. After 100 updates on digits, 20 a class, it gets 55 % right at 1e-3 and 98 % at
# this rate (MNIST's ViT); 24 and 78 % with CIFAR-10's ViT, 64 and 92 % with its CNN: means of three seeds.
ALONE_RATE = 0.03
SHIFT_PX = 2  # by which moved pictures are moved at most
FLIPPED = ("cifar", "fashion")  # sets begin with these whose classes are the same in a mirror
FIELDS = {  # of a recipe, as a refusal names them
    "layer_decay": "the share of the next layer's rate",
    "head_learning_rate": "the learning rate of the head",
    "learning_rate": "a learning rate",
}
WIDE = 128  # from this width on a small ViT learns better from scratch at half the rate (digits, 20 a class)


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="fine_tuning"):
    """With what it begins, on which pictures, how many of each class; and the run on the stage."""

    source: str  # a model's key
    dataset: str
    a_class: int  # pictures; 0: all
    run: str


@dataclass(frozen=True)
class How(widgets.Chosen, page="fine_tuning"):
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
    moved: bool  # pictures are moved and flipped while training


@dataclass(frozen=True)
class Chosen:
    """What a race would be made of."""

    source: ModelChoice
    step: int
    in_colour: bool  # whether the pictures have colour
    task: Task
    held_out: int  # pictures that the curves are read on
    method: Method


def sources() -> dict[str, ModelChoice]:
    """Trained models whose head can be replaced and that are small enough to be trained here, by key."""
    return {
        key: choice
        for key, choice in selection.models().items()
        if choice.trained_on is not None
        and abilities(choice.config).new_head
        and parameters(choice.config) <= MAX_PARAMETERS
    }


def draw() -> Chosen | str:
    """Draws the controls; what they describe, or why it cannot be."""
    if not sources():
        return NONE_HERE
    with page.row():
        begin = st.container()
        dataset = _dataset()
        with begin:
            source = _source(dataset)
        try:
            counts, held_out = training_pictures(dataset)
        except DatasetError as error:
            return plain(str(error))
        a_class = _a_class(counts)
        method = _method(source, dataset)
        example_images.draw_upload(Choice.key("dataset"))
    task = _task(dataset, counts, a_class)
    now = selection.current()
    step = now.step if source.key == now.model else source.last_step
    if isinstance(method, str):
        return method
    return Chosen(source, step, in_colour(dataset), task, held_out, method)


def _task(dataset: str, counts: Sequence[int], a_class: int) -> Task:
    most = None if a_class == ALL else a_class
    count = sum(counts) if most is None else sum(min(most, one) for one in counts)
    return Task(dataset, len(counts), count, most, held_out_share(dataset), dataset in DRAWN)


def _source(dataset: str) -> ModelChoice:
    found = sources()
    own = selection.current().model
    own_colour = is_own(dataset) and in_colour(dataset)
    preferred = (first_body(own_colour) if selection.nobody_chose() else None) or own
    widgets.follow_default(Choice.key("source"), preferred)
    key = widgets.select(
        Choice.key("source"),
        "Begin with",
        tuple(found),
        preferred,
        format_func=lambda key: found[key].title,
        help="A shipped model, a run, published or own weights: the last step, or the sidebar's of the model there.",
    )
    return found[key]


def first_body(colour: bool) -> str | None:
    """With what the page begins, by key: for photos the ViT of photos, or the best model of them that is here."""
    found = sources()
    first = FIRST_IN_COLOUR if colour else FIRST
    if first in found:
        return first
    photos = [choice for choice in found.values() if choice.trained_on in PHOTOS]
    best = max(photos, key=lambda choice: choice.accuracy or 0.0, default=None)
    return best.key if colour and best is not None else None


def in_colour(dataset: str) -> bool:
    """Whether a set's pictures have colour: of a visitor's own, kept in three channels always, the first are seen."""
    try:
        data = cached.dataset(dataset)
    except DatasetError:
        return False  # it is gone: `draw` says so
    return some_in_colour(data.train_images) if is_own(dataset) else data.picture_shape[2] == 3


def _dataset() -> str:
    mine = user_datasets.mine(session.current())

    def title(name: str) -> str:
        return f"Yours: {mine[name].title}" if name in mine else DATASETS[name].title

    names = [*mine, *(name for name in available_datasets() if name != "cifar100")]
    first = names[0] if mine else "digits"
    widgets.follow_default(Choice.key("dataset"), first)
    return widgets.select(Choice.key("dataset"), "Learn", names, first, format_func=title)


def _a_class(counts: Sequence[int]) -> int:
    sizes = [size for size in SIZES if size < max(counts)]
    default = A_FEW if A_FEW in sizes else ALL
    return widgets.select_slider(
        Choice.key("a_class"),
        "Pictures a class",
        (*sizes, ALL),
        default,
        format_func=lambda size: "all" if size == ALL else f"{size}",
        help="So many of each class, the first of a shuffled set; all of a class that has fewer.",
    )


def held_out_share(dataset: str) -> float:
    """Which share of a training set the curves are read on: more of a small one, so that they say something."""
    return 0.2 if is_own(dataset) else 0.1 if not DATASETS[dataset].needs_file else 0.04


def training_pictures(dataset: str) -> tuple[tuple[int, ...], int]:
    """How many pictures of each class there are to learn from, and how many are held out of all.

    Raises:
        DatasetError: if the set is gone.
    """
    data = cached.dataset(dataset)
    kept, held_out = validation_split(data, held_out_share(dataset), SPLIT_SEED)
    counts = np.bincount(data.labels_of("train")[kept], minlength=len(data.classes))
    return tuple(counts.tolist()), len(held_out)


def _method(source: ModelChoice, dataset: str) -> Method | str:
    lesson = source.key.startswith((published.KEY, own_weights.KEY))
    with page.options("fine_tuning"):
        body, larger = _body(source)
        small = SMALL_RATES if isinstance(source.config, ViTConfig) else OTHER_RATES
        rates = _rates(source, LESSON_RATES if lesson else small, body)
        updates = widgets.number(How.key("updates"), "Updates of each model", 10, 1000, 100)
        batch = widgets.number(How.key("batch"), "Pictures in an update", 4, 128, 16)
        seeds = widgets.segmented(
            How.key("seeds"),
            "Seeds",
            (1, 2, 3),
            3,
            help="Of the new head or of all weights, and of the order; the pictures stay.",
        )
        moved = widgets.toggle(
            How.key("moved"),
            "Move pictures while training",
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


def _body(source: ModelChoice) -> tuple[Body, int]:
    body = widgets.segmented(
        How.key("body"),
        "What learns",
        tuple(BODIES),
        format_func=BODIES.__getitem__,
        help="Head alone: the body is frozen and gives features, on which the new head is a logistic regression.",
    )
    only = abilities(source.config).larger_pictures.why_not or None
    larger = widgets.segmented(
        How.key("larger"), "Resolution", (1, 2), format_func=lambda times: f"× {times}", why_not=only
    )
    return body, 1 if only else larger


def _rates(source: ModelChoice, start: tuple[float, float], body: Body) -> tuple[float, float, float, float]:
    """Learning rates of body and head, a layer's share of the next one's, and the rate from scratch."""
    frozen = "Disabled: the body is frozen." if body == "head" else None
    of_head = ALONE_RATE if body == "head" else start[1]
    scratch = _scratch_rate(source.config)
    drawn = []
    for name, label, default, step, why_not in (
        ("rate", "Learning rate of the body", start[0], 1e-5, frozen),
        ("head_rate", "Learning rate of the head", of_head, 1e-4, None),
        ("layer_decay", "Share of the next layer's rate", 1.0, 0.05, frozen),
        ("scratch_rate", "Learning rate from scratch", scratch, 1e-4, None),
    ):
        widgets.follow_default(How.key(name), default)
        drawn.append(widgets.real(How.key(name), label, default, step, why_not=why_not))
    return drawn[0], drawn[1], drawn[2], drawn[3]


def _scratch_rate(config: ModelConfig) -> float:
    """At which the same model learns from random weights."""
    if isinstance(config, CNNConfig):
        return CNN_SCRATCH_RATE
    return 5e-4 if getattr(config, "embed_dim", 0) >= WIDE else 1e-3


def why_not(chosen: Chosen) -> str:
    """Why a race of these cannot be, in the page's words; empty where it can."""
    source = chosen.source
    try:
        model = fitted(source.config, chosen.task.classes, chosen.method.image_size)
        named = Source(source.title, "unread", source.config, source.preparation)
        recipes(named, model, chosen.task, chosen.method, seed=0)
    except ValueError as error:
        return with_titles(str(error), FIELDS)
    if chosen.task.pictures < 2 * chosen.task.classes:
        return "there are fewer than two pictures a class to learn from"
    return ""
