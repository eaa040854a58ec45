"""The models of the scoreboard: shipped checkpoints, published weights, and models of the ViT paper."""

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
TEST_SETS = ("cifar10", IMAGENET, "digits", "mnist", "shapes")
TITLES = {IMAGENET: "ImageNet-1k"}


def get_title(test_set: str) -> str:
    return TITLES.get(test_set) or catalogue.get_dataset_title(test_set)


def list_models() -> tuple[Entry, ...]:
    entries = map(_load_shipped, catalogue.list_checkpoints())
    return (*(entry for entry in entries if entry), *_list_published())


def _load_shipped(choice: ModelChoice) -> Entry | None:
    if choice.path is None or choice.trained_on is None:
        return None
    header = catalogue.read_header(choice.path)
    card = header.card
    dataset = get_title(choice.trained_on)
    seconds, images = card.get("seconds"), int(card.get("test_images", 0))
    return Entry(
        key=choice.key,
        title=choice.title,
        family=family_of(choice.config, dataset),
        config=choice.config,
        side_px=choice.preparation.image_size,
        test_set=choice.trained_on,
        accuracy=choice.accuracy,
        pictures=images,
        source=f"measured by this project on {images:,} test images",
        trained_on=dataset,
        training_pictures=count_training_images(header.history),
        training_s=float(seconds) if isinstance(seconds, int | float) else None,
        trained_with=str(card.get("machine", "")),
    )


def count_training_images(history: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the number of distinct training images: images seen per epoch, from the last record."""
    steps = [record for record in history if record.get("seen") and record.get("epoch")]
    if not steps:
        return None
    return int(
        float(f"{steps[-1]['seen'] / steps[-1]['epoch']:.4g}")
    )  # The epoch is stored with five digits.


@lru_cache(maxsize=1)
def _list_published() -> tuple[Entry, ...]:
    return (*map(_build_pretrained, PRETRAINED), *_list_paper_models())


def _build_pretrained(name: str) -> Entry:
    weights = PRETRAINED[name]
    top1 = published_results.TOP1.get(name)
    return Entry(
        key=f"pretrained:{name}",
        title=weights.title,
        family="DeiT" if name.startswith("deit") else family_of(weights.config, weights.trained_on),
        config=weights.config,
        side_px=weights.opens_at_px,
        test_set=IMAGENET,
        accuracy=None if top1 is None else top1 / 100,
        pictures=0,
        source="no classifier head" if top1 is None else published_results.cite_accuracy(name),
        trained_on=weights.trained_on,
        training_pictures=published_results.TRAINING_IMAGES.get(weights.trained_on),
    )


def _list_paper_models() -> list[Entry]:
    """Return the ViT paper's models, whose JFT-300M weights are unpublished, at their fine-tuning resolution."""
    return [
        Entry(
            key=f"paper:{transfer.preset}:{transfer.data}",
            title=f"{transfer.name}, {transfer.side_px} px, {transfer.data}",
            family=transfer.family,
            config=replace(PRESETS[transfer.preset].config, image_size=transfer.side_px),
            side_px=transfer.side_px,
            test_set=IMAGENET,
            accuracy=transfer.accuracy["ImageNet"] / 100,
            pictures=0,
            source=published_results.VIT_PAPER,
            trained_on=transfer.data,
            training_pictures=published_results.TRAINING_IMAGES.get(transfer.data),
            core_days=transfer.core_days,
        )
        for transfer in published_results.TRANSFERS
        if transfer.preset
    ]
