"""The board's models: those that are shipped, those that are published, and the ViT paper's own two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from pages.stores import catalogue
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.scoreboard import Entry, family_of
from vitviz.models import published_results
from vitviz.models.presets import PRESETS
from vitviz.models.pretrained_list import PRETRAINED

IMAGENET = "imagenet"
SETS = ("cifar10", IMAGENET, "digits", "mnist", "shapes")  # the order of the control
TITLES = {IMAGENET: "ImageNet-1k"}


def title(test_set: str) -> str:
    """What a test set is called."""
    return TITLES.get(test_set) or catalogue.data_title(test_set)


def board() -> tuple[Entry, ...]:
    """Every model, shipped ones first."""
    return (*(found for choice in catalogue.shipped() if (found := _shipped(choice))), *_published())


def _shipped(choice: ModelChoice) -> Entry | None:
    """A checkpoint of this project, with what its own card says; None for one that says too little."""
    if choice.path is None or choice.trained_on is None:
        return None
    header = catalogue.header(choice.path)
    card = header.card
    data = title(choice.trained_on)
    seconds, images = card.get("seconds"), int(card.get("test_images", 0))
    return Entry(
        key=choice.key,
        title=choice.title,
        family=family_of(choice.config, data),
        config=choice.config,
        side_px=choice.preparation.image_size,
        test_set=choice.trained_on,
        accuracy=choice.accuracy,
        pictures=images,
        source=f"measured here on {images:,} test pictures, {card.get('date', 'undated')}",
        trained_on=data,
        training_pictures=training_pictures(header.history),
        training_s=float(seconds) if isinstance(seconds, int | float) else None,
        trained_with=str(card.get("machine", "")),
    )


def training_pictures(history: Sequence[Mapping[str, Any]]) -> int | None:
    """How many different pictures a training saw: pictures seen over epochs, of its last record."""
    steps = [record for record in history if record.get("seen") and record.get("epoch")]
    if not steps:
        return None
    return int(float(f"{steps[-1]['seen'] / steps[-1]['epoch']:.4g}"))  # the epoch is kept to five digits


@lru_cache(maxsize=1)
def _published() -> tuple[Entry, ...]:
    return (*_weights(), *_paper())


def _weights() -> list[Entry]:
    """All whose weights this app can read, with the accuracy that their publisher states."""
    found = []
    for entry in PRETRAINED.values():
        top1 = published_results.TOP1.get(entry.name)
        source = "no head for classes" if top1 is None else published_results.source(entry.name)
        found.append(
            Entry(
                key=f"pretrained:{entry.name}",
                title=entry.title,
                family=family_of(entry.config, entry.trained_on)
                if not entry.name.startswith("deit")
                else "DeiT",
                config=entry.config,
                side_px=entry.opens_at_px,
                test_set=IMAGENET,
                accuracy=None if top1 is None else top1 / 100,
                pictures=0,
                source=source,
                trained_on=entry.trained_on,
                training_pictures=published_results.TRAINING_PICTURES.get(entry.trained_on),
            )
        )
    return found


def _paper() -> list[Entry]:
    """The ViT paper's three, whose weights of JFT-300M were never published, at the size they were fine-tuned at."""
    return [
        Entry(
            key=f"paper:{one.preset}:{one.data}",
            title=f"{one.name}, {one.side_px} px, {one.data}",
            family=one.family,
            config=replace(PRESETS[one.preset].config, image_size=one.side_px),
            side_px=one.side_px,
            test_set=IMAGENET,
            accuracy=one.accuracy["ImageNet"] / 100,
            pictures=0,
            source=published_results.VIT_PAPER,
            trained_on=one.data,
            training_pictures=published_results.TRAINING_PICTURES.get(one.data),
            core_days=one.core_days,
        )
        for one in published_results.TRANSFERS
        if one.preset
    ]
