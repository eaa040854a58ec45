"""Run `pytest` in this folder: a failing test names the mistake."""

import torch
from task import attention


def make_inputs():
    torch.manual_seed(0)
    return tuple(2 * torch.randn(2, 5, 8) for _ in range(3))


def name_mistake(weights, q, k):
    scores = q @ k.mT
    mistakes = {
        "softmax over the wrong axis: rows, not columns, must sum to 1": (scores / 8**0.5).softmax(dim=-2),
        "softmax over the batch: use the last axis, the keys": (scores / 8**0.5).softmax(dim=0),
        "missing scale: divide the scores by √d": scores.softmax(dim=-1),
        "scale by d: divide by √d": (scores / 8).softmax(dim=-1),
        "queries and keys swapped: use q kᵀ": (scores.mT / 8**0.5).softmax(dim=-1),
        "no softmax: these are raw scores": scores / 8**0.5,
    }
    for name, value in mistakes.items():
        if weights.shape == value.shape and torch.allclose(weights, value, atol=1e-5):
            return name
    return "wrong result, unknown mistake"


def test_weights():
    q, k, v = make_inputs()
    _, weights = attention(q, k, v)
    expected = (q @ k.mT / 8**0.5).softmax(dim=-1)
    assert torch.allclose(weights, expected, atol=1e-5), name_mistake(weights, q, k)


def test_output_is_weighted_sum_of_values():
    q, k, v = make_inputs()
    out, weights = attention(q, k, v)
    transposed = out.shape == v.shape and torch.allclose(out, weights.mT @ v, atol=1e-5)
    reason = "value product transposed: use A v" if transposed else "the first return value must be A v"
    assert torch.allclose(out, weights @ v, atol=1e-5), reason
