"""The encoder block against vit-pytorch's (pre-norm) and torch's own layer (post-norm, as recipe A uses it)."""

from __future__ import annotations

import parity_peers as peers
import pytest
import torch
from parity_compare import FORWARD, GRADIENT, shake, softmax_outputs
from torch import Tensor, nn

from vitviz.config import ViTConfig
from vitviz.models.layers import Block
from vitviz.models.record import IntermediateRecorder

VIT_PYTORCH = {
    "0.norm": "norm1",
    "0.to_qkv": "attn.qkv",
    "0.to_out.0": "attn.proj",
    "1.net.0": "norm2",
    "1.net.1": "mlp.fc1",
    "1.net.4": "mlp.fc2",
}
TORCH = {
    "self_attn.in_proj_": "attn.qkv.",
    "self_attn.out_proj": "attn.proj",
    "linear1": "mlp.fc1",
    "linear2": "mlp.fc2",
}


def renamed(state: dict[str, Tensor], names: dict[str, str]) -> dict[str, Tensor]:
    out = {}
    for key, tensor in state.items():
        for theirs, ours in names.items():
            if key.startswith(theirs):
                key = ours + key.removeprefix(theirs)
        out[key] = tensor
    return out


def run(block: Block, x: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    record = IntermediateRecorder(True)
    return block(x, record, "block"), record.tensors


@pytest.mark.parametrize(("heads", "width", "tokens", "seed"), [(1, 8, 5, 0), (2, 12, 17, 1), (4, 32, 50, 2)])
def test_block_equals_vit_pytorch(heads: int, width: int, tokens: int, seed: int) -> None:
    whole = shake(peers.VitPytorch(width, 1, heads, width // heads, 2 * width), seed)
    whole.norm = nn.Identity()
    layer = whole.layers[0]
    config = ViTConfig(
        embed_dim=width, num_heads=heads, depth=1, mlp_ratio=2.0, norm_eps=1e-5, qkv_bias=False
    )
    block = Block(config, 0.0).eval()
    state = renamed(layer.state_dict(), VIT_PYTORCH)
    if (
        "attn.proj.weight" not in state
    ):  # one head as wide as the token: vit-pytorch leaves the projection out
        state |= {"attn.proj.weight": torch.eye(width), "attn.proj.bias": torch.zeros(width)}
    block.load_state_dict(state)
    attention = softmax_outputs(whole, lambda _, module: isinstance(module, nn.Softmax))
    x = torch.randn(2, tokens, width)
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    y, record = run(block, ours)
    expected = whole(theirs)
    torch.testing.assert_close(y, expected, **FORWARD)
    torch.testing.assert_close(record["block.attn"], attention[0], **FORWARD)
    y.square().mean().backward()
    expected.square().mean().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, **GRADIENT)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_block_equals_torchs_encoder_layer(norm: str, activation: str) -> None:
    theirs = nn.TransformerEncoderLayer(
        16, 2, 32, dropout=0.0, activation=activation, batch_first=True, norm_first=norm == "pre"
    )
    shake(theirs, 3)
    config = ViTConfig(
        embed_dim=16, num_heads=2, depth=1, mlp_ratio=2.0, norm_eps=1e-5, norm=norm, activation=activation
    )
    block = Block(config, 0.0).eval()
    block.load_state_dict(renamed(theirs.state_dict(), TORCH))
    x = torch.randn(2, 9, 16)
    y, record = run(block, x)
    theirs.train()  # in evaluation mode torch takes a fused path; dropout is 0
    torch.testing.assert_close(y, theirs(x), **FORWARD)
    normed = theirs.norm1(x) if norm == "pre" else x
    attn = theirs.self_attn(normed, normed, normed, average_attn_weights=False)[1]
    torch.testing.assert_close(record["block.attn"], attn, **FORWARD)
