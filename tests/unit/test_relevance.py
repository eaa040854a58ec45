"""Gradient-weighted rollout and LeGrad by hand, one layer's attention at a time, and the rules of AttnLRP."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.record import IntermediateRecorder
from vitviz.models.zoo import create_model
from vitviz.probe.attention_lrp import _follow_rules, attention_relevance
from vitviz.probe.explanation_maps import (
    class_relevance,
    gradient_rollout,
    gradient_times_input,
    sum_by_patch,
)

CONFIG = ViTConfig(image_size=8, patch_size=4, in_chans=1, embed_dim=12, depth=2, num_heads=3, num_classes=4)


def _model() -> torch.nn.Module:
    model = create_model(CONFIG, seed=3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8)  # sharp enough attention for gradients that are not noise
    return model.eval().requires_grad_(False)


def _images(count: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(count, 1, 8, 8)).astype(np.float32)


def _from_attention(model: torch.nn.Module, x: torch.Tensor, given: list[torch.Tensor | None]) -> tuple:
    """The two-layer model written out, with a layer's attention replaced by a leaf where one is given."""
    z = model(x, record=("embedded",))[1]["embedded"]
    used = []
    for block, leaf in zip(model.blocks, given, strict=False):  # fewer: the layers so far
        y = block.norm1(z)
        B, T, D = y.shape
        q, k, v = block.attn.qkv(y).view(B, T, 3, 3, 4).permute(2, 0, 3, 1, 4)
        attn = torch.softmax(q @ k.transpose(-1, -2) / 4**0.5, dim=-1) if leaf is None else leaf
        used.append(attn)
        z = z + block.attn.proj((attn @ v).transpose(1, 2).reshape(B, T, D))
        z = z + block.mlp.fc2(torch.nn.functional.gelu(block.mlp.fc1(block.norm2(z))))
    return model.head(model.norm(z)[:, 0]), used


def _gradients(
    model: torch.nn.Module, x: torch.Tensor, target: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Each layer's attention and the gradient of the score; later layers follow the leaf."""
    _, attention = _from_attention(model, x, [None, None])
    for layer, attn in enumerate(attention):
        leaf = attn.clone().requires_grad_()
        given = [None, None]
        given[layer] = leaf
        logits, _ = _from_attention(model, x, given)
        yield attn, torch.autograd.grad(logits[0, target], leaf)[0]


@pytest.mark.parametrize("first", [0, 1])
def test_legrad_is_by_finite_differences_and_the_rollout_by_hand(first: int) -> None:
    """The score of layer l is what head and norm read from its output; only its own attention is changed."""
    model, images, step = _model().double(), _images(1), 1e-6
    x = torch.from_numpy(images).double()
    _, attention = _from_attention(model, x, [None, None])
    layers = []
    for layer in range(first, 2):
        slopes = np.zeros(attention[layer].shape[1:])
        for at in np.ndindex(*slopes.shape):
            scores = []
            for sign in (1, -1):
                changed = attention[layer].clone()
                changed[0, *at] += sign * step
                logits, _ = _from_attention(model, x, [None] * layer + [changed])
                scores.append(float(logits[0, 2]))
            slopes[at] = (scores[0] - scores[1]) / (2 * step)
        layers.append(slopes.clip(min=0).mean(axis=(0, 1)))
    expected = np.mean(layers, axis=0)
    found = class_relevance(_model(), images, np.array([2]), first)
    np.testing.assert_allclose(found.sensitivity[0], expected, rtol=1e-4, atol=1e-5)
    assert np.ptp(expected) > 0.01
    R = np.eye(5)
    for attn, gradient in list(_gradients(model, x, 2))[first:]:
        R = R + (gradient * attn).clamp(min=0)[0].mean(dim=0).numpy() @ R
    np.testing.assert_allclose(found.tokens[0], R, rtol=1e-4, atol=1e-6)
    assert np.abs(R - np.eye(5)).max() > 1e-3  # the test would see a map that is nothing but the identity


VARIANTS = {
    "two tokens": {"distilled": True},
    "gated, RMSNorm": {"gated_mlp": True, "norm_layer": "rms", "activation": "silu", "num_registers": 1},
    "pooled by attention": {"readout": "map", "activation": "quick_gelu"},
    "norms after the sums": {"norm": "post", "qk_norm": True},
}


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_the_rules_change_the_gradients_and_not_the_outputs(options: dict[str, object]) -> None:
    model = create_model(replace(CONFIG, **options), seed=3).eval()  # type: ignore[arg-type]
    x = torch.from_numpy(_images(2))
    follower = _follow_rules(model)  # type: ignore[arg-type]
    torch.testing.assert_close(follower(x), model(x), rtol=1e-4, atol=1e-5)
    assert follower.head.weight is model.head.weight
    found = attention_relevance(model, _images(2), np.array([0, 1]))  # type: ignore[arg-type]
    assert found.shape == (2, 4 + len(model.config.prefix_tokens)) and np.isfinite(found).all()


def test_a_gated_mlp_without_biases_keeps_the_relevance() -> None:
    model = create_model(replace(CONFIG, gated_mlp=True, activation="silu"), seed=3).eval()
    mlp, x = _follow_rules(model).blocks[0].mlp, torch.randn(2, 5, 12, requires_grad=True)  # type: ignore[arg-type]
    with torch.no_grad():
        for layer in (mlp.fc1, mlp.fc2):
            layer.bias.zero_()
    y = mlp(x, IntermediateRecorder(None), "")
    (gradient,) = torch.autograd.grad(y.sum(), [x])
    torch.testing.assert_close((gradient * x).sum(), y.sum())


def test_each_layer_meets_its_own_gradient() -> None:
    # The widely copied slip pairs the first layer's attention with the last layer's gradient.
    rng = torch.Generator().manual_seed(0)
    attention = [torch.rand(1, 2, 3, 3, generator=rng) for _ in range(2)]
    gradients = [torch.randn(1, 2, 3, 3, generator=rng) for _ in range(2)]
    right = gradient_rollout(attention, gradients)
    slip = gradient_rollout(attention, gradients[::-1])
    steps = [(g * a).clamp(min=0).mean(dim=1)[0] for a, g in zip(attention, gradients, strict=True)]
    eye = torch.eye(3)
    torch.testing.assert_close(right[0], (eye + steps[1]) @ (eye + steps[0]))
    assert not torch.allclose(right, slip)
    with pytest.raises(ValueError):
        gradient_rollout(attention, gradients[:1])


def test_a_batch_explains_each_image_by_itself() -> None:
    model, images, classes = _model(), _images(3), np.array([0, 3, 1])
    together = class_relevance(model, images, classes)
    for i in range(3):
        alone = class_relevance(model, images[[i]], classes[[i]])
        np.testing.assert_allclose(together.tokens[i], alone.tokens[0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(together.pixels[i], alone.pixels[0], rtol=1e-3, atol=1e-5)


def test_gradient_times_input_against_finite_differences() -> None:
    model, images = _model().double(), _images(1).astype(np.float64)
    x = torch.from_numpy(images)
    step = 1e-5
    by_hand = np.zeros((8, 8))
    for i in range(8):
        for j in range(8):
            nudge = torch.zeros_like(x)
            nudge[0, 0, i, j] = step
            with torch.no_grad():
                slope = (model(x + nudge) - model(x - nudge))[0, 1] / (2 * step)
            by_hand[i, j] = float(slope) * images[0, 0, i, j]
    found = class_relevance(_model(), images.astype(np.float32), np.array([1]))
    np.testing.assert_allclose(found.pixels[0, 0], by_hand, rtol=2e-2, atol=2e-4)


def test_gradient_times_input_alone_is_the_same_and_needs_no_blocks() -> None:
    model, images, classes = _model(), _images(2), np.array([3, 0])
    alone = gradient_times_input(model, images, classes)
    np.testing.assert_allclose(alone, class_relevance(model, images, classes).pixels, rtol=1e-5)
    swin = create_model(
        SwinConfig(image_size=8, in_chans=1, embed_dim=8, depths=(1,), num_heads=(2,)), seed=0
    ).eval()
    assert gradient_times_input(swin, images, classes).shape == images.shape
    with pytest.raises(ValueError, match="needs it"):
        class_relevance(swin, images, classes)


def test_the_class_matters_and_the_model_stays_frozen() -> None:
    model, images = _model(), _images(1)
    one, two = (class_relevance(model, images, np.array([c])).tokens for c in (0, 1))
    assert not np.allclose(one, two)
    assert all(p.grad is None and not p.requires_grad for p in model.parameters())


def test_values_are_summed_over_each_patch() -> None:
    pixels = np.arange(2 * 2 * 4 * 6, dtype=np.float32).reshape(2, 2, 4, 6)
    sums = sum_by_patch(pixels, 2)
    assert sums.shape == (2, 6)
    assert sums[1, 4] == pixels[1, :, 2:4, 2:4].sum()
