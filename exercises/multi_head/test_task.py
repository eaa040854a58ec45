"""Run `pytest` in this folder: a failing test names the mistake."""

import torch
from explain import call, check_tensor, check_values, expect
from task import MultiHead
from torch import nn

D, HEADS = 12, 3


def make_inputs():
    torch.manual_seed(1)
    model, x = call(MultiHead, D, HEADS), 3 * torch.randn(2, 7, D)
    for name in ("q", "k", "v"):
        maps = getattr(model, name, None)
        expect(
            maps is not None,
            f"MultiHead has no attribute {name}: expected an nn.ModuleList of {HEADS} linear maps",
        )
        expect(
            isinstance(maps, nn.ModuleList),
            f"{name} is a {type(maps).__name__}: only an nn.ModuleList is trained",
        )
        expect(len(maps) == HEADS, f"{name}: expected {HEADS} linear maps, received {len(maps)}")
        sizes = (maps[0].in_features, maps[0].out_features)
        width = D // HEADS
        expect(
            sizes == (width, width),
            f"heads not on slices: {name} maps {sizes[0]} to {sizes[1]}, expected {width}",
        )
    with torch.no_grad():
        for value in model.parameters():
            value.mul_(2)  # so that a wrong scale changes the output
    return model, x


def run(model, x):
    return check_tensor(call(model, x), tuple(x.shape), "MultiHead", "(B, N, d)")


def compute_output(model, x, scale, axis=-1, reverse=False):
    """Return the output with another scale, softmax axis or order of heads."""
    parts = []
    for h, part in enumerate(x.split(D // HEADS, dim=-1)):
        q, k, v = (maps[h](part) for maps in (model.q, model.k, model.v))
        parts.append((q @ k.mT * scale).softmax(dim=axis) @ v)
    return torch.cat(parts[::-1] if reverse else parts, dim=-1)


def test_heads_have_separate_maps():
    model, _ = make_inputs()
    for name in ("q", "k", "v"):
        maps = list(getattr(model, name))
        distinct = len({id(module) for module in maps}) == HEADS
        differ = all(not torch.equal(maps[0].weight, module.weight) for module in maps[1:])
        expect(distinct and differ, f"shared heads: all heads use the same linear map in {name}")


def test_heads_read_only_their_slice():
    model, x = make_inputs()
    changed = x.clone()
    changed[..., :4] += 1
    same = torch.allclose(run(model, x)[..., 4:], run(model, changed)[..., 4:], atol=1e-5)
    expect(same, "heads not on slices: head 2 depends on the channels of head 1")


def test_images_are_independent():
    model, x = make_inputs()
    changed = x.clone()
    changed[1] += 1
    same = torch.allclose(run(model, x)[0], run(model, changed)[0], atol=1e-5)
    expect(same, "one image changes the tokens of another: do not mix the batch axis with the tokens")


def test_output():
    model, x = make_inputs()
    width = D // HEADS
    mistakes = {
        "missing scale: divide the scores by √(d/n_heads)": compute_output(model, x, 1.0),
        "scale by the width d: use the head's width, √(d/n_heads)": compute_output(model, x, D**-0.5),
        "scale by d/n_heads: divide by its root": compute_output(model, x, 1 / width),
        "softmax over the wrong axis: rows must sum to 1": compute_output(model, x, width**-0.5, -2),
        "heads joined in reverse: head 1 writes the first channels": compute_output(
            model, x, width**-0.5, reverse=True
        ),
    }
    check_values(run(model, x), compute_output(model, x, width**-0.5), mistakes, "MultiHead")
