"""Test AttnLRP against what its authors' package computes of a random ViT of transformers."""

import json

import numpy as np
import pytest

from tests.parity.explanation_reference import CLASSES, PATH, create_peer, draw_images
from vitviz import load
from vitviz.probe.attention_lrp import attention_relevance


@pytest.mark.parametrize("layer", [0, 1])
def test_relevance_equals_lxt(layer: int) -> None:
    stored = np.array(json.loads(PATH.read_text("utf-8"))["relevance"])  # (images, layers, tokens)
    found = attention_relevance(load(create_peer()).vit, draw_images(), np.array(CLASSES), layer)
    np.testing.assert_allclose(found, stored[:, layer], atol=1e-5)
    assert np.abs(stored[:, layer]).max() > 0.1
