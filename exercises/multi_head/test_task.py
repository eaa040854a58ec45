"""Run `pytest` in this folder: it says which slip was made."""

import torch
from task import MultiHead

D, HEADS = 12, 3


def given():
    torch.manual_seed(1)
    model, x = MultiHead(D, HEADS), 3 * torch.randn(2, 7, D)
    with torch.no_grad():
        for value in model.parameters():
            value.mul_(2)  # so that a scale is seen
    return model, x


def computed(model, x, scale, axis=-1):
    """What these maps give with another scale or axis."""
    parts = []
    for h, part in enumerate(x.split(D // HEADS, dim=-1)):
        q, k, v = (maps[h](part) for maps in (model.q, model.k, model.v))
        parts.append((q @ k.mT * scale).softmax(dim=axis) @ v)
    return torch.cat(parts, dim=-1)


def verdict(model, x, got):
    width = D // HEADS
    slips = {
        "missing scale: the scores are divided by √(d/n_heads)": computed(model, x, 1.0),
        "scale by the width d: it is the head's, √(d/n_heads)": computed(model, x, D**-0.5),
        "softmax over the wrong axis: rows must sum to 1": computed(model, x, width**-0.5, -2),
    }
    for name, value in slips.items():
        if got.shape == value.shape and torch.allclose(got, value, atol=1e-5):
            return name
    return "wrong, by no slip known here"


def test_every_head_has_maps_of_its_own():
    model, _ = given()
    for name in ("q", "k", "v"):
        maps = list(getattr(model, name))
        assert len(maps) == HEADS, f"{name} must hold {HEADS} maps, received {len(maps)}"
        own = len({id(one) for one in maps}) == HEADS
        differ = all(not torch.equal(maps[0].weight, one.weight) for one in maps[1:])
        assert own and differ, f"shared heads: all heads use one map in {name}, so they say the same"


def test_a_head_reads_its_slice_alone():
    model, x = given()
    changed = x.clone()
    changed[..., :4] += 1
    same = torch.allclose(model(x)[..., 4:], model(changed)[..., 4:], atol=1e-5)
    assert same, "heads not on slices: head 2 changes with the channels of head 1"


def test_pictures_do_not_meet():
    model, x = given()
    changed = x.clone()
    changed[1] += 1
    assert torch.allclose(model(x)[0], model(changed)[0], atol=1e-5), "one picture changes another's tokens"


def test_the_result():
    model, x = given()
    got, wanted = model(x), computed(model, x, (D // HEADS) ** -0.5)
    assert got.shape == x.shape, f"the result must be {tuple(x.shape)}, received {tuple(got.shape)}"
    assert torch.allclose(got, wanted, atol=1e-5), verdict(model, x, got)
