"""Run `pytest` in this folder: a failing test names the mistake."""

import torch
from given_heads import MultiHead
from task import Block
from torch import nn


def make_inputs():
    torch.manual_seed(2)
    block, z = Block(8, 2), 2 * torch.randn(2, 5, 8) + 1
    with torch.no_grad():
        for value in block.parameters():
            value.mul_(1.5).add_(0.1)
    return block, z


def name_mistake(block, z, output):
    attn, mlp, norm1, norm2 = block.attn, block.mlp, block.norm1, block.norm2
    mid, post = z + attn(norm1(z)), norm1(z + attn(z))
    normed = norm1(z) + attn(norm1(z))
    mistakes = {
        "post-norm: apply LayerNorm before the branch, not to the sum": norm2(post + mlp(post)),
        "no residual: add each branch to its input": mlp(norm2(attn(norm1(z)))),
        "the second residual addition is missing": mlp(norm2(mid)),
        "no LayerNorm before attention": (m := z + attn(z)) + mlp(norm2(m)),
        "no LayerNorm before the MLP": mid + mlp(mid),
        "residual of the normalised token: add the branch to z itself": normed + mlp(norm2(normed)),
    }
    named = [name for name, value in mistakes.items() if torch.allclose(output, value, atol=1e-5)]
    return named[0] if named else "wrong result, unknown mistake"


def test_parts():
    block, _ = make_inputs()
    assert isinstance(block.attn, MultiHead) and isinstance(block.norm1, nn.LayerNorm)
    kinds = [type(module) for module in block.mlp.modules()]
    assert nn.GELU in kinds, "no GELU between the MLP's two linear maps"
    widths = [module.out_features for module in block.mlp.modules() if isinstance(module, nn.Linear)]
    assert widths == [32, 8], f"MLP ratio 4: expected widths [32, 8] for d = 8, received {widths}"
    assert block.norm1 is not block.norm2, "shared LayerNorm: each branch needs its own"


def test_order_of_operations():
    block, z = make_inputs()
    output, mid = block(z), z + block.attn(block.norm1(z))
    assert torch.allclose(output, mid + block.mlp(block.norm2(mid)), atol=1e-5), name_mistake(
        block, z, output
    )
