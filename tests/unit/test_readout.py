"""From the last block to the classes: the numbers shown are the model's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from vitviz.analysis.attention import softmax
from vitviz.analysis.logits import ReadoutWeights
from vitviz.analysis.readout import list_readout_steps, predict_from_stream
from vitviz.config import ViTConfig
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model
from vitviz.probe.logits import readout_weights

NAMES = ("vit_digits", "deit_digits", "recipe_a", "recipe_c", "recipe_d")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("readout", ["cls", "mean", "first_patch"])
def test_the_answer_is_the_model_s(name: str, readout: str) -> None:
    config = PRESETS[name].config
    assert isinstance(config, ViTConfig)
    if config.distilled and readout != "cls":
        pytest.skip("a DeiT reads its two tokens")
    config = replace(config, readout=readout)
    model = create_model(config, seed=3)
    image = torch.rand(1, config.in_chans, config.image_size, config.image_size)
    last = f"blocks.{config.depth - 1}"
    with torch.no_grad():
        logits, found = model.eval()(image, record=(last,))
    stream = found[last][0].numpy()
    answer = predict_from_stream(stream, readout_weights(model), config.readout, config.prefix_tokens)
    made = softmax(answer.logits) if config.softmax_output else answer.logits
    np.testing.assert_allclose(made, logits[0].numpy(), atol=2e-5)
    if answer.second is None:
        assert answer.products.sum() + answer.bias == pytest.approx(answer.logits.max(), abs=1e-5)


def test_by_hand() -> None:
    weights = ReadoutWeights(None, None, 0.0, np.array([[1.0, -4.0], [-1.0, 0.0]]), np.array([0.5, 0.0]))
    found = predict_from_stream(np.array([[3.0, 1.0], [9.0, 9.0]]), weights, "cls", ("cls",))
    assert found.logits.tolist() == [-0.5, -3.0] and found.products.tolist() == [3.0, -4.0]
    steps = list_readout_steps(found, "cls", ("cat", "dog"), normed=False)
    assert steps[1].title == "Logit of the predicted class: cat"
    assert steps[1].numbers == "Σ w y = −1.00, b = 0.50, l = −0.50; channel 1 contributes most, 3.00"
    assert "cat: −0.50, then dog: −3.00" in steps[2].numbers
    assert steps[3].values.sum() == pytest.approx(1.0)
