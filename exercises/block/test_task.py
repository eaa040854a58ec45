"""Run `pytest` in this folder: it says which slip was made."""

import torch
from given_heads import MultiHead
from task import Block
from torch import nn


def given():
    torch.manual_seed(2)
    block, z = Block(8, 2), 2 * torch.randn(2, 5, 8) + 1
    with torch.no_grad():
        for value in block.parameters():
            value.mul_(1.5).add_(0.1)
    return block, z


def verdict(block, z, got):
    attn, mlp, norm1, norm2 = block.attn, block.mlp, block.norm1, block.norm2
    mid, post = z + attn(norm1(z)), norm1(z + attn(z))
    normed = norm1(z) + attn(norm1(z))
    slips = {
        "post-norm: LayerNorm stands before the branch, the sum is left alone": norm2(post + mlp(post)),
        "no residual: each branch is added to what it read from": mlp(norm2(attn(norm1(z)))),
        "the second sum is missing": mlp(norm2(mid)),
        "no LayerNorm before attention": (m := z + attn(z)) + mlp(norm2(m)),
        "no LayerNorm before the MLP": mid + mlp(mid),
        "the normalised token is added, not the token": normed + mlp(norm2(normed)),
    }
    named = [name for name, value in slips.items() if torch.allclose(got, value, atol=1e-5)]
    return named[0] if named else "wrong, by no slip known here"


def test_parts():
    block, _ = given()
    assert isinstance(block.attn, MultiHead) and isinstance(block.norm1, nn.LayerNorm)
    kinds = [type(one) for one in block.mlp.modules()]
    assert nn.GELU in kinds, "no GELU between the MLP's two maps"
    widths = [one.out_features for one in block.mlp.modules() if isinstance(one, nn.Linear)]
    assert widths == [32, 8], f"MLP ratio 4: the maps of d = 8 give 32, then 8, received {widths}"
    assert block.norm1 is not block.norm2, "one LayerNorm for both branches: each has its own"


def test_the_order_of_the_block():
    block, z = given()
    got, mid = block(z), z + block.attn(block.norm1(z))
    assert torch.allclose(got, mid + block.mlp(block.norm2(mid)), atol=1e-5), verdict(block, z, got)
