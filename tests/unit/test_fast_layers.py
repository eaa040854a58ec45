"""The faster forms give what the plain ones give."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from vitviz.config import ModelConfig, SwinConfig, ViTConfig
from vitviz.models.fast_layers import dropout, linear, softmax
from vitviz.models.zoo import create_model


@pytest.mark.parametrize(
    ("rate", "dtype"), [(0.1, torch.bfloat16), (0.5, torch.float32), (0.9, torch.float32)]
)
def test_dropout_keeps_the_mean_and_the_rate(rate: float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.ones(501, 333, dtype=dtype)
    y = dropout(x, rate, training=True)
    assert (y == 0).float().mean() == pytest.approx(rate, abs=0.005)
    assert y.float().mean() == pytest.approx(1.0, abs=0.02)
    assert len(y.unique()) == 2
    assert dropout(x, rate, training=False) is x
    assert dropout(x, 0.0, training=True) is x


def test_dropouts_gradient_is_its_mask_and_the_seed_decides() -> None:
    x = torch.randn(40, 30, requires_grad=True)
    torch.manual_seed(3)
    y = dropout(x, 0.3, training=True)
    y.sum().backward()
    assert torch.equal(x.grad == 0, y == 0)
    torch.manual_seed(3)
    assert torch.equal(dropout(x, 0.3, training=True), y)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("gelu", [True, False])
def test_linear_without_gradients_equals_linear_with(bias: bool, gelu: bool) -> None:
    torch.manual_seed(0)
    layer = nn.Linear(24, 40, bias=bias)
    for x in (torch.randn(3, 7, 24), torch.randn(24, 5).mT, torch.randn(2, 3, 4, 24)):
        expected = linear(layer, x, gelu)
        with torch.inference_mode():
            torch.testing.assert_close(linear(layer, x, gelu), expected, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize(
    "config",
    [
        ViTConfig(image_size=16, embed_dim=48, depth=3, num_heads=3),
        SwinConfig(image_size=32, embed_dim=24, depths=(2, 2)),
    ],
)
def test_models_show_the_same_with_and_without_gradients(config: ModelConfig) -> None:
    model = create_model(config, seed=0).eval()
    x = torch.randn(2, 3, config.image_size, config.image_size)
    _, expected = model(x, record=True)
    with torch.inference_mode():
        _, record = model(x, record=True)
    for name, tensor in record.items():
        torch.testing.assert_close(tensor, expected[name], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("config", [ViTConfig(image_size=32), SwinConfig(image_size=32)])
def test_weights_alone_take_the_memory_of_the_scores_and_nothing_else_changes(config: ModelConfig) -> None:
    torch.manual_seed(0)
    model = create_model(config).eval()
    x = torch.randn(2, 3, 32, 32)
    with torch.inference_mode():
        logits, alone = model(x, record=["*.attn"])
        same_logits, with_scores = model(x, record=["*.attn", "*.scores"])
    assert alone and all(name.endswith(".attn") for name in alone)
    torch.testing.assert_close(logits, same_logits, rtol=0, atol=0)
    for name, attn in alone.items():
        torch.testing.assert_close(attn, with_scores[name], rtol=0, atol=0)
        scores = with_scores[name.removesuffix("attn") + "scores"]
        torch.testing.assert_close(scores.softmax(dim=-1), attn, rtol=0, atol=0)


def test_softmax_leaves_scores_alone_that_are_kept_or_learn() -> None:
    scores = torch.tensor([[0.0, 0.0]])
    assert softmax(scores, keep_scores=True).data_ptr() != scores.data_ptr()
    learning = scores.clone().requires_grad_()
    softmax(learning, keep_scores=False)[0, 0].backward()
    torch.testing.assert_close(learning.grad, torch.tensor([[0.25, -0.25]]))
    assert softmax(scores, keep_scores=False).data_ptr() == scores.data_ptr()
    torch.testing.assert_close(scores, torch.tensor([[0.5, 0.5]]))
