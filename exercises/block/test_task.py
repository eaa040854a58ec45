"""Run `pytest` in this folder: a failing test names the mistake."""

import torch
from explain import call, check_tensor, check_values, expect
from given_heads import MultiHead
from task import Block
from torch import nn


def make_inputs():
    torch.manual_seed(2)
    block, z = call(Block, 8, 2), 2 * torch.randn(2, 5, 8) + 1
    for name, kind in (
        ("attn", MultiHead),
        ("norm1", nn.LayerNorm),
        ("norm2", nn.LayerNorm),
        ("mlp", nn.Module),
    ):
        part = getattr(block, name, None)
        expect(
            isinstance(part, kind),
            f"Block needs the attribute {name}, expected {kind.__name__}, received {type(part).__name__}",
        )
    with torch.no_grad():
        for value in block.parameters():
            value.mul_(1.5).add_(0.1)
    return block, z


def test_parts():
    block, _ = make_inputs()
    kinds = [type(module) for module in block.mlp.modules()]
    expect(nn.GELU in kinds, "no GELU between the MLP's two linear maps")
    widths = [module.out_features for module in block.mlp.modules() if isinstance(module, nn.Linear)]
    expect(widths == [32, 8], f"MLP ratio 4: expected widths [32, 8] for d = 8, received {widths}")
    expect(block.norm1 is not block.norm2, "shared LayerNorm: each branch needs its own")


def test_order_of_operations():
    block, z = make_inputs()
    attn, mlp, norm1, norm2 = block.attn, block.mlp, block.norm1, block.norm2
    output = check_tensor(call(block, z), (2, 5, 8), "Block", "(B, N, d)")
    mid, post, normed = z + attn(norm1(z)), norm1(z + attn(z)), norm1(z) + attn(norm1(z))
    mistakes = {
        "post-norm: apply LayerNorm before the branch, not to the sum": norm2(post + mlp(post)),
        "no residual: add each branch to its input": mlp(norm2(attn(norm1(z)))),
        "the first residual addition is missing": (a := attn(norm1(z))) + mlp(norm2(a)),
        "the second residual addition is missing": mlp(norm2(mid)),
        "no LayerNorm before attention": (m := z + attn(z)) + mlp(norm2(m)),
        "no LayerNorm before the MLP": mid + mlp(mid),
        "residual of the normalised token: add the branch to z itself": normed + mlp(norm2(normed)),
        "no attention: the first branch is missing": z + mlp(norm2(z)),
        "no MLP: the second branch is missing": mid,
        "MLP before attention: attention comes first": (p := z + mlp(norm2(z))) + attn(norm1(p)),
        "parallel branches: the MLP reads the sum after attention": z + attn(norm1(z)) + mlp(norm2(z)),
    }
    check_values(output, mid + mlp(norm2(mid)), mistakes, "Block")
