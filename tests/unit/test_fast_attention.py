"""Training's faster attention gives what the plain one gives."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from vitviz.config import ModelConfig, SwinConfig, ViTConfig
from vitviz.models.zoo import create_model
from vitviz.training.fast_attention import attend
from vitviz.training.weights import Weights


def plain(qkv: Tensor, num_heads: int, scale: float) -> Tensor:
    B, N, _ = qkv.shape
    q, k, v = qkv.view(B, N, 3, num_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
    return (((q * scale) @ k.mT).softmax(-1) @ v).transpose(1, 2).reshape(B, N, -1)


@pytest.mark.parametrize(
    ("heads", "tokens", "spread"), [(1, 1, 1.0), (2, 7, 1.0), (4, 50, 3.0), (2, 9, 40.0)]
)
def test_attend_is_softmax_attention_and_so_is_its_gradient(heads: int, tokens: int, spread: float) -> None:
    """In double precision, so that only the mathematics is compared; a spread of 40 needs the row maximum."""
    torch.manual_seed(heads)
    qkv = (spread * torch.randn(3, tokens, 24 * heads, dtype=torch.float64)).requires_grad_()
    scale = 8**-0.5
    y, expected = attend(qkv, heads, scale), plain(qkv, heads, scale)
    torch.testing.assert_close(y, expected)
    noise = torch.randn_like(y)
    gradients = [torch.autograd.grad((out * noise).sum(), qkv)[0] for out in (y, expected)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("images", [1, 3])
@pytest.mark.parametrize("spread", [1.0, 40.0])
def test_attend_in_windows_adds_their_bias_and_learns_it(images: int, spread: float) -> None:
    """Two windows of four tokens with different masks; a spread of 40 needs the row maximum."""
    torch.manual_seed(images)
    windows, heads, tokens, scale = 2, 3, 4, 8**-0.5
    shape = (images * windows, tokens, 24 * heads)
    qkv = (spread * torch.randn(shape, dtype=torch.float64)).requires_grad_()
    table = torch.randn(1, heads, tokens, tokens, dtype=torch.float64, requires_grad=True)
    mask = torch.zeros(windows, 1, tokens, tokens, dtype=torch.float64)
    mask[1, :, :2, 2:] = mask[1, :, 2:, :2] = -100.0
    for bias in (table, table + mask):
        q, k, v = qkv.view(-1, len(bias), tokens, 3, heads, 8).permute(3, 0, 1, 4, 2, 5).unbind(0)
        attn = ((q * scale) @ k.mT + bias).softmax(-1)
        expected = (attn @ v).transpose(2, 3).reshape(images * windows, tokens, -1)
        y = attend(qkv, heads, scale, bias)
        torch.testing.assert_close(y, expected)
        noise = torch.randn_like(y)
        one, other = (
            torch.autograd.grad((out * noise).sum(), (qkv, table), retain_graph=True) for out in (y, expected)
        )
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("score", [-75.0, 45.0, 49.0, 51.0, 75.0])
@pytest.mark.parametrize("in_windows", [False, True])
def test_a_small_gradient_reaches_rows_of_large_scores(score: float, in_windows: bool) -> None:
    """In bf16, whose smallest ordinary number is 1e-38; all scores of a row lie around `score`."""
    torch.manual_seed(0)
    exact = torch.randn(2, 65, 3 * 32, dtype=torch.float64)
    exact[..., 0], exact[..., 32] = score, 1.0
    bias = torch.randn(2, 1, 65, 65, dtype=torch.float64) if in_windows else None
    gradients = []
    for dtype in (torch.bfloat16, torch.float64):
        qkv = exact.to(torch.bfloat16).to(dtype).requires_grad_()
        added = None if bias is None else bias.to(torch.bfloat16).to(dtype)
        if dtype == torch.bfloat16:
            y = attend(qkv, 1, 1.0, added)
        else:
            q, k, v = qkv.split(32, dim=-1)
            y = (q @ k.mT + (0 if added is None else added[:, 0])).softmax(-1) @ v
        y.backward(1e-7 * torch.ones_like(y) * torch.sign(torch.arange(65) - 30.5)[:, None])
        assert qkv.grad is not None
        gradients.append(qkv.grad.double())
    fast, plain = gradients
    assert ((fast - plain).norm() / plain.norm()).item() < 0.2


@pytest.mark.parametrize("score", [500.0, -500.0])
def test_scores_that_would_overflow_do_not(score: float) -> None:
    qkv = torch.ones(1, 4, 24, dtype=torch.bfloat16)
    qkv[..., :8] *= score / 8
    qkv.requires_grad_()
    y = attend(qkv, 1, 1.0)
    y.sum().backward()
    assert torch.isfinite(y).all() and torch.isfinite(qkv.grad).all()
    torch.testing.assert_close(y, torch.ones_like(y))


@pytest.mark.parametrize(
    "config",
    [
        ViTConfig(image_size=16, embed_dim=32, depth=2, num_heads=2),
        SwinConfig(image_size=32, embed_dim=16, depths=(2,), num_heads=(2,), window_size=4),
    ],
    ids=["vit", "swin"],
)
def test_training_in_bf16_takes_the_fast_form_and_recording_attention_the_plain_one(
    config: ModelConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    calls: list[int] = []

    def counted(*arguments: object) -> Tensor:
        calls.append(1)
        return attend(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("vitviz.training.fast_attention.attend", counted)
    model = create_model(config)
    Weights(model, (), torch.bfloat16, None)
    model.eval()
    x = torch.randn(4, 3, config.image_size, config.image_size, dtype=torch.bfloat16)
    fast, _ = model(x, record=["logits", "*.mid"])  # asks for nothing of the attention's inside
    assert len(calls) == 2
    explicit, record = model(x, record=["*.attn"])
    assert len(calls) == 2 and len(record) == 2
    torch.testing.assert_close(fast, explicit, atol=0.03, rtol=0.03)
    exact = model.float()(x.float())
    assert (fast - exact).abs().mean() < 2 * (explicit - exact).abs().mean() + 1e-3
