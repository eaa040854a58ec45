"""Run `pytest` in this folder: it says which slip was made."""

import torch
from task import attention


def given():
    torch.manual_seed(0)
    return tuple(2 * torch.randn(2, 5, 8) for _ in range(3))


def verdict(weights, q, k):
    scores = q @ k.mT
    slips = {
        "softmax over the wrong axis: rows, not columns, must sum to 1": (scores / 8**0.5).softmax(dim=-2),
        "softmax over the batch: it runs along the keys, the last axis": (scores / 8**0.5).softmax(dim=0),
        "missing scale: the scores are divided by √d": scores.softmax(dim=-1),
        "scale by d: it is √d": (scores / 8).softmax(dim=-1),
        "keys ask and queries answer: it is q kᵀ": (scores.mT / 8**0.5).softmax(dim=-1),
        "no softmax: these are scores": scores / 8**0.5,
    }
    for name, value in slips.items():
        if weights.shape == value.shape and torch.allclose(weights, value, atol=1e-5):
            return name
    return "wrong, by no slip known here"


def test_weights():
    q, k, v = given()
    _, weights = attention(q, k, v)
    wanted = (q @ k.mT / 8**0.5).softmax(dim=-1)
    assert torch.allclose(weights, wanted, atol=1e-5), verdict(weights, q, k)


def test_the_values_are_mixed_by_the_rows():
    q, k, v = given()
    out, weights = attention(q, k, v)
    transposed = out.shape == v.shape and torch.allclose(out, weights.mT @ v, atol=1e-5)
    reason = "value product transposed: it is A v" if transposed else "the first result must be A v"
    assert torch.allclose(out, weights @ v, atol=1e-5), reason
