"""Put a small model with random weights in place of the shipped photo model."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from vitviz.checkpoints import Checkpoint, save_checkpoint
from vitviz.config import ViTConfig
from vitviz.models.file_download import weights_file
from vitviz.models.pretrained_list import PRETRAINED, find
from vitviz.models.published_weights import SHIPPED
from vitviz.models.zoo import create_model

PUT: list[
    str
] = []  # models that a test has put; `tests/pages/conftest.py` forgets what was computed with them


def put_photo_model(monkeypatch: pytest.MonkeyPatch, larger_px: tuple[int, ...] = ()) -> None:
    """Write the small model into the folder of published weights, which must be the test's own."""
    assert os.environ["VITVIZ_WEIGHTS"] != os.environ["HF_HOME"], "set VITVIZ_WEIGHTS to a folder of the test"
    config = ViTConfig(image_size=56, patch_size=14, num_classes=0, embed_dim=12, depth=3, num_heads=3)
    entry = replace(find(SHIPPED), config=config, opens_at_px=56, larger_px=larger_px)
    monkeypatch.setitem(PRETRAINED, SHIPPED, entry)
    PUT.append(SHIPPED)
    preparation = replace(entry.preparation, image_size=56)
    weights = {0: create_model(config, seed=5).state_dict()}
    save_checkpoint(
        weights_file(entry),
        Checkpoint(config, preparation, None, (), snapshots=weights, card={"title": "small"}),
    )
