"""Run `pytest` in this folder: a failing test names the mistake."""

import torch
from explain import Mistake, call, check_tensor, check_values
from task import attention


def make_inputs():
    torch.manual_seed(0)
    return tuple(2 * torch.randn(2, 5, 8) for _ in range(3))


def run():
    """Return the two outputs of the solution, checked for their number, order and shapes."""
    output = call(attention, *make_inputs())
    if output is None:
        raise Mistake("missing return: attention returns None, expected (A v, A)")
    if not isinstance(output, tuple | list):
        raise Mistake("missing return value: attention returns one tensor, expected the pair (A v, A)")
    if len(output) != 2:
        raise Mistake(f"attention returns {len(output)} values, expected the pair (A v, A)")
    shapes = [tuple(part.shape) for part in output if isinstance(part, torch.Tensor)]
    if shapes == [(2, 5, 5), (2, 5, 8)]:
        raise Mistake("swapped return values: return (A v, A), the output first")
    values = check_tensor(output[0], (2, 5, 8), "the first return value of attention", "(B, N, d)")
    return values, check_tensor(output[1], (2, 5, 5), "the second return value of attention", "(B, N, N)")


def test_weights():
    q, k, _ = make_inputs()
    scores = q @ k.mT
    mistakes = {
        "softmax over the wrong axis: rows, not columns, must sum to 1": (scores / 8**0.5).softmax(dim=-2),
        "softmax over the batch: use the last axis, the keys": (scores / 8**0.5).softmax(dim=0),
        "missing scale: divide the scores by √d": scores.softmax(dim=-1),
        "scale by d: divide by √d": (scores / 8).softmax(dim=-1),
        "multiplied by √d: divide the scores by √d": (scores * 8**0.5).softmax(dim=-1),
        "queries and keys swapped: use q kᵀ": (scores.mT / 8**0.5).softmax(dim=-1),
        "no softmax: these are raw scores": scores / 8**0.5,
        "scale by √N: divide by √d, the width of a query": (scores / 5**0.5).softmax(dim=-1),
    }
    check_values(run()[1], (scores / 8**0.5).softmax(dim=-1), mistakes, "A")


def test_output_is_weighted_sum_of_values():
    q, k, v = make_inputs()
    output, weights = run()
    mistakes = {
        "value product transposed: use A v": weights.mT @ v,
        "keys instead of values: use A v": weights @ k,
        "queries instead of values: use A v": weights @ q,
        "no product: the first return value must be A v": v,
    }
    check_values(output, weights @ v, mistakes, "A v")
