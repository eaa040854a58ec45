"""What a prediction rests on: heads and patches left out, maps and their curves, the logit lens; against the model."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.random_models import random_model
from vitviz.analysis.logits import lens_of_readout, lens_of_token
from vitviz.config import ModelConfig, SwinConfig, ViTConfig
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.presets import GREY_32
from vitviz.probe.capture import capture
from vitviz.probe.explanation_maps import Recipe, method_maps_of, order_curve, predict_ablated
from vitviz.probe.logits import readout_weights, stream, stream_names

VIT = ViTConfig(image_size=32, patch_size=8, in_chans=1, embed_dim=24, depth=2, num_heads=2, num_classes=5)
SWIN = SwinConfig(in_chans=1, embed_dim=12, depths=(1, 1), num_heads=(2, 2), num_classes=5)
IMAGE = np.random.default_rng(0).normal(size=(1, 32, 32)).astype(np.float32)


def loaded(config: ModelConfig) -> LoadedModel:
    return random_model(config, GREY_32)


def test_without_nothing_is_the_answer_and_a_silenced_head_is_a_zero_in_its_mask() -> None:
    model = loaded(VIT)
    whole = model.probabilities(capture(model.model, IMAGE[None]).logits[0])
    np.testing.assert_allclose(predict_ablated(model, IMAGE, (), (), blanked=False), whole, rtol=1e-6)
    mask = torch.ones(2, 2)
    mask[1, 0] = 0
    masked = capture(model.model, IMAGE[None], head_mask=mask).logits[0]
    found = predict_ablated(model, IMAGE, [(1, 0)], (), blanked=False)
    np.testing.assert_allclose(found, model.probabilities(masked), rtol=1e-6)
    assert not np.allclose(found, whole)


def test_a_blanked_patch_is_zero_in_the_image_and_a_swin_hides_none() -> None:
    for config in (VIT, SWIN):
        model = loaded(config)
        side = config.patch_size
        blank = IMAGE.copy()
        blank[:, :side, :side] = 0
        expected = model.probabilities(capture(model.model, blank[None]).logits[0])
        np.testing.assert_allclose(predict_ablated(model, IMAGE, (), [0], blanked=True), expected, rtol=1e-5)
    with pytest.raises(ValueError, match="not in its attention"):
        predict_ablated(loaded(SWIN), IMAGE, (), [0], blanked=False)


def test_maps_are_those_that_the_model_allows() -> None:
    assert list(method_maps_of(loaded(VIT), IMAGE, Recipe(1, "mean", 0.0))) == [
        "raw",
        "rollout",
        "gradient",
        "legrad",
        "attnlrp",
        "input",
    ]
    assert list(method_maps_of(loaded(VIT), IMAGE, Recipe(None, "mean", 0.0))) == ["raw", "rollout"]
    assert list(method_maps_of(loaded(SWIN), IMAGE, Recipe(1, "mean", 0.0))) == ["input"]
    assert method_maps_of(loaded(SWIN), IMAGE, Recipe(None, "mean", 0.0)) == {}


def test_a_curve_runs_from_the_image_to_a_blank_one_and_back() -> None:
    model = loaded(VIT)
    ends = [
        model.probabilities(capture(model.model, image[None]).logits[0])[3]
        for image in (IMAGE, np.zeros_like(IMAGE))
    ]
    curve = order_curve(model, IMAGE, np.arange(16, dtype=np.float64), 3)
    np.testing.assert_allclose(curve.deletion[[0, -1]], ends, rtol=1e-5)
    np.testing.assert_allclose(curve.insertion[[0, -1]], ends[::-1], rtol=1e-5)
    assert curve.fraction[0] == 0 and curve.fraction[-1] == 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"distilled": True},
        {"readout": "mean"},
        {"final_norm": False},
        {"norm": "post", "readout": "first_patch"},
    ],
)
def test_the_lens_after_the_last_layer_is_the_models_answer(options: dict[str, object]) -> None:
    config = ViTConfig(
        image_size=32, patch_size=8, in_chans=1, embed_dim=24, depth=2, num_heads=2, num_classes=5, **options
    )  # type: ignore[arg-type]
    model = loaded(config)
    for parameter in model.model.parameters():
        parameter.detach().mul_(4)
    found = capture(model.model, IMAGE[None], record=stream_names(2))
    tokens = stream(found, 2)
    assert tokens.shape == (3, 16 + len(config.prefix_tokens), 24)
    weights = readout_weights(model.vit)
    chances = lens_of_readout(tokens, weights, config.readout, config.prefix_tokens)
    np.testing.assert_allclose(chances[-1], model.probabilities(found.logits[0]), rtol=1e-4)
    if config.readout == "cls" and not config.distilled:
        np.testing.assert_allclose(lens_of_token(tokens[:, 0], weights), chances, rtol=1e-5)


def test_without_a_head_there_is_no_lens() -> None:
    config = ViTConfig(
        image_size=32, patch_size=8, in_chans=1, embed_dim=24, depth=1, num_heads=2, num_classes=0
    )
    with pytest.raises(ValueError, match="must have a head"):
        readout_weights(loaded(config).vit)
