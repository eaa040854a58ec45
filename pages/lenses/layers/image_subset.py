"""The set of pictures that a section measures over, as its controls say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pages.controls import widgets
from pages.lenses.layers.model_pair import Side
from pages.stores import cached
from vitviz.data.dataset import Dataset
from vitviz.data.datasets import default_pictures, note_of, picture_sets
from vitviz.data.preparation import prepare_batch
from vitviz.models.loaded_model import LoadedModel

COUNTS = (32, 64, 128, 256, 512, 1000)
BATCH = 32
LARGE_TOKENS = 150  # a model of more takes long for each picture
FEW = 32  # pictures for such a one


@dataclass(frozen=True)
class Chosen(widgets.Chosen, page="layers"):
    """Which set, and how many of its test pictures from the first."""

    set: str
    count: int


@dataclass(frozen=True)
class Seen:
    """What is measured over."""

    source: str
    count: int

    def __str__(self) -> str:
        """In the key of a question: 'digits.256'."""
        return f"{self.source}.{self.count}"

    @property
    def title(self) -> str:
        """'256 test pictures of Digits'."""
        return f"{self.count:,} test pictures of {note_of(self.source).title}"

    @property
    def data(self) -> Dataset:
        """The set."""
        return cached.dataset(self.source)

    @property
    def raw(self) -> NDArray[np.uint8]:
        """(count, H, W, 1 or 3)."""
        return self.data.test_images[: self.count]

    def images(self, model: LoadedModel) -> NDArray[np.float32]:
        """(count, C, S, S) as a model reads them."""
        return prepare_batch(self.raw, model.preparation)


def count_of(source: str) -> int:
    """How many test pictures a set has."""
    return cached.examples(source)


def choose_set(one: Side, *, labelled: bool = False) -> str:
    """The control of the set; until somebody chooses, pictures like those that the model learned from.

    Args:
        labelled: only sets whose pictures have classes.
    """
    names = [name for name in picture_sets() if name != "photos" or not labelled]
    default = default_pictures(one.now.model.trained_on, one.now.model.preparation.in_chans)
    default = default if default in names else "cifar10-few"
    widgets.follow_default(Chosen.key("set"), default)
    return widgets.select(
        Chosen.key("set"), "Pictures", names, default, format_func=lambda name: note_of(name).title
    )


def choose(sides: tuple[Side, ...], most: int, usual: int, *, labelled: bool = False) -> Seen:
    """Both controls; few pictures where a model is large.

    Args:
        most: the largest count that is offered. usual: the count that a small model begins with.
    """
    source = choose_set(sides[0], labelled=labelled)
    counts = [count for count in COUNTS if count <= most]
    default = FEW if any(side.now.layout.num_tokens > LARGE_TOKENS for side in sides) else usual
    widgets.follow_default(Chosen.key("count"), default)
    count = widgets.select_slider(
        Chosen.key("count"), "How many", counts, default, help="The first pictures of the test set."
    )
    return Seen(source, min(count, count_of(source)))
