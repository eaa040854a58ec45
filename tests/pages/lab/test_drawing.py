"""What a model in training says of an image, class by class."""

from __future__ import annotations

import numpy as np

from pages.train.lab import image_prediction
from tests.random_models import random_model
from vitviz.config import Preparation, ViTConfig
from vitviz.data.image_preprocessing import prepare
from vitviz.probe.capture import capture


def test_of_many_classes_the_most_probable_are_told_by_their_names() -> None:
    config = ViTConfig(image_size=16, patch_size=8, embed_dim=16, depth=1, num_heads=2, num_classes=100)
    preparation = Preparation(image_size=16, mean=(0.5,) * 3, std=(0.5,) * 3)
    classes = tuple(f"class {index}" for index in range(100))
    model = random_model(config, preparation, classes=classes)
    seen = prepare(np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8), preparation)
    arrays, answer = image_prediction._predict(model, seen)
    logits = capture(model.model, seen.input[None], record=("logits",)).logits[0]
    assert answer["classes"] == [
        f"class {index}" for index in np.argsort(-logits)[: image_prediction.MOST_CLASSES]
    ]
    assert len(arrays["probabilities"]) == 20 and (np.diff(arrays["probabilities"]) <= 0).all()
