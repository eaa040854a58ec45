"""Run `pytest` in this folder: a failing test names the mistake."""

import torch
from task import MultiHead

D, HEADS = 12, 3


def make_inputs():
    torch.manual_seed(1)
    model, x = MultiHead(D, HEADS), 3 * torch.randn(2, 7, D)
    with torch.no_grad():
        for value in model.parameters():
            value.mul_(2)  # so that a wrong scale changes the output
    return model, x


def compute_output(model, x, scale, axis=-1):
    """Return the output with another scale or softmax axis."""
    parts = []
    for h, part in enumerate(x.split(D // HEADS, dim=-1)):
        q, k, v = (maps[h](part) for maps in (model.q, model.k, model.v))
        parts.append((q @ k.mT * scale).softmax(dim=axis) @ v)
    return torch.cat(parts, dim=-1)


def name_mistake(model, x, output):
    width = D // HEADS
    mistakes = {
        "missing scale: divide the scores by √(d/n_heads)": compute_output(model, x, 1.0),
        "scale by the width d: use the head's width, √(d/n_heads)": compute_output(model, x, D**-0.5),
        "softmax over the wrong axis: rows must sum to 1": compute_output(model, x, width**-0.5, -2),
    }
    for name, value in mistakes.items():
        if output.shape == value.shape and torch.allclose(output, value, atol=1e-5):
            return name
    return "wrong result, unknown mistake"


def test_heads_have_separate_maps():
    model, _ = make_inputs()
    for name in ("q", "k", "v"):
        maps = list(getattr(model, name))
        assert len(maps) == HEADS, f"{name}: expected {HEADS} linear maps, received {len(maps)}"
        distinct = len({id(module) for module in maps}) == HEADS
        differ = all(not torch.equal(maps[0].weight, module.weight) for module in maps[1:])
        assert distinct and differ, f"shared heads: all heads use the same linear map in {name}"


def test_heads_read_only_their_slice():
    model, x = make_inputs()
    changed = x.clone()
    changed[..., :4] += 1
    same = torch.allclose(model(x)[..., 4:], model(changed)[..., 4:], atol=1e-5)
    assert same, "heads not on slices: head 2 depends on the channels of head 1"


def test_images_are_independent():
    model, x = make_inputs()
    changed = x.clone()
    changed[1] += 1
    assert torch.allclose(model(x)[0], model(changed)[0], atol=1e-5), (
        "one image changes the tokens of another"
    )


def test_output():
    model, x = make_inputs()
    output, expected = model(x), compute_output(model, x, (D // HEADS) ** -0.5)
    assert output.shape == x.shape, f"expected shape {tuple(x.shape)}, received {tuple(output.shape)}"
    assert torch.allclose(output, expected, atol=1e-5), name_mistake(model, x, output)
