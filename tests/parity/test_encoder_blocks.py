"""The encoder block against torch's own layer, pre-norm and post-norm, as recipe A uses it."""

from __future__ import annotations

import pytest
import torch
from parity_compare import FORWARD, shake
from torch import nn

from vitviz.config import ViTConfig
from vitviz.models.layers import Block
from vitviz.models.record import IntermediateRecorder

NAMES = {
    "self_attn.in_proj_": "attn.qkv.",
    "self_attn.out_proj": "attn.proj",
    "linear1": "mlp.fc1",
    "linear2": "mlp.fc2",
}


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_block_equals_torchs_encoder_layer(norm: str, activation: str) -> None:
    theirs = nn.TransformerEncoderLayer(
        16, 2, 32, dropout=0.0, activation=activation, batch_first=True, norm_first=norm == "pre"
    )
    state = shake(theirs, 3).state_dict()
    for old, new in NAMES.items():
        state = {name.replace(old, new): tensor for name, tensor in state.items()}
    config = ViTConfig(
        embed_dim=16, num_heads=2, depth=1, mlp_ratio=2.0, norm_eps=1e-5, norm=norm, activation=activation
    )
    block = Block(config, 0.0).eval()
    block.load_state_dict(state)
    x, record = torch.randn(2, 9, 16), IntermediateRecorder(True)
    y = block(x, record, "block")
    theirs.train()  # in evaluation mode torch takes a fused path; dropout is 0
    torch.testing.assert_close(y, theirs(x), **FORWARD)
    normed = theirs.norm1(x) if norm == "pre" else x
    attn = theirs.self_attn(normed, normed, normed, average_attn_weights=False)[1]
    torch.testing.assert_close(record.tensors["block.attn"], attn, **FORWARD)
