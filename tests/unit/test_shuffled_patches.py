"""Shuffled patches: nothing of an image is lost, and only places are; of what size the pieces of a run are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.unit.training_helpers import GREY, TINY
from vitviz.config import TrainConfig
from vitviz.training.batches import PreparedImages
from vitviz.training.run_config import Member, RunConfig
from vitviz.training.run_directory import Run
from vitviz.training.session_models import make_model_trainers
from vitviz.training.shuffled_patches import shuffle_patches


def test_a_patch_as_large_as_the_image_leaves_the_others_something_to_shuffle(tmp_path: Path) -> None:
    """Beside it every image was one piece, and all models seemed not to care where patches lie."""
    whole = replace(TINY, patch_size=TINY.image_size)
    assert GREY.image_size == TINY.image_size > TINY.patch_size
    train, asked = TrainConfig(epochs=2, batch_size=32, train_fraction=0.1), []
    for models in ((TINY, whole), (whole, whole)):
        members = tuple(Member(f"model{place}", "", model) for place, model in enumerate(models))
        run = Run.create(tmp_path, RunConfig(models[0], GREY, train, members=members))
        models, _ = make_model_trainers(run, torch.device("cpu"), None)
        asked.append(models[0]._shuffle)
    assert asked[0] is not None and asked[1] is None
    assert not torch.equal(asked[0]._mixed.images, asked[0]._validation.images)


def test_patches_are_moved_whole_and_none_is_lost() -> None:
    images = torch.arange(2 * 16, dtype=torch.uint8).view(2, 1, 4, 4)
    mixed = shuffle_patches(PreparedImages(images, torch.tensor([0, 1])), 2).images

    def patches(image: torch.Tensor) -> list[list[int]]:
        return [image[0, r : r + 2, c : c + 2].flatten().tolist() for r in (0, 2) for c in (0, 2)]

    for before, after in zip(images, mixed, strict=True):
        assert sorted(patches(before)) == sorted(patches(after))
    orders = [[patches(b).index(p) for p in patches(a)] for b, a in zip(images, mixed, strict=True)]
    assert orders[0] != orders[1]  # each image has its own order
    with pytest.raises(ValueError, match="patches of 3 px do not fit images of 4 x 4 px"):
        shuffle_patches(PreparedImages(images, torch.tensor([0, 1])), 3)
