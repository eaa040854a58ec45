"""Describe a wrong solution in one sentence, for the tests of every exercise."""

import linecache
import re
from traceback import extract_tb

import torch
from torch import Tensor

HINTS = {  # error message of torch or Python -> advice
    r"cannot be multiplied|batch2": "the inner sizes of a matrix product differ: transpose one factor",
    r"must match the size of tensor": "two tensors of different shapes are added or multiplied: compare their shapes",
    r"is invalid for input of size": "a reshape must keep the number of values",
    r"must match except in dimension": "torch.cat joins along one axis: all other sizes must agree",
    r"Given normalized_shape": "LayerNorm needs the width d of the tokens as its last axis",
    r"already exists": "delete the attribute first (`del model.name`), then assign the parameter",
    r"cannot assign .* as (parameter|buffer)": "wrap the tensor in nn.Parameter",
    r"does not require grad": "the output is cut off from the parameters: remove detach and torch.no_grad",
    r"values to unpack": "compare the number of values that a function returns with the names on the left",
    r"has no attribute": "create the attribute in __init__ under the name that the task states",
    r"positional argument|keyword argument": "compare the arguments with the signature in the task",
    r"before Module.__init__": "call super().__init__() first",
    r"image budget is used up": "ask for at most `budget.left` images",
    r"is not defined": "import the name or correct its spelling",
    r"expected .* but (got|found)|dtype": "convert the tensor to the type of the other one",
}


class Mistake(AssertionError):
    """One sentence that names a mistake."""


def expect(condition, sentence):
    """Fail with a sentence unless a condition holds."""
    if not condition:
        raise Mistake(sentence)


def call(function, *inputs, **options):
    """Call a function or build a module of the solution; a raw error becomes one sentence."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        return function(*inputs, **options)
    except NotImplementedError:
        raise Mistake(f"{name} is not written yet: replace `raise NotImplementedError`") from None
    except Mistake:
        raise
    except Exception as error:
        hint = next((hint for said, hint in HINTS.items() if re.search(said, str(error))), None)
        first_line = (str(error).strip() or "no message").splitlines()[0]
        sentence = f"{name} stops{_place(error)} with {type(error).__name__}: {first_line}"
        raise Mistake(f"{hint}; {sentence}" if hint else sentence) from None


def _place(error):
    """Return the line of the solution that failed, or ''."""
    frames = [
        f for f in extract_tb(error.__traceback__) if re.search(r"task\.py|ipykernel|<ipython", f.filename)
    ]
    if not frames:
        return ""
    code = linecache.getline(frames[-1].filename, frames[-1].lineno or 0).strip()
    return f" in line {frames[-1].lineno}" + (f" (`{code}`)" if code else "")


def check_tensor(output, shape, name, axes=""):
    """Return the output if it is one tensor of a shape; `axes` says what the sizes are."""
    expect(output is not None, f"missing return: {name} returns None, expected a tensor of shape {shape}")
    if isinstance(output, tuple | list):
        raise Mistake(f"{name} returns {len(output)} values, expected one tensor of shape {shape}")
    expect(isinstance(output, Tensor), f"{name} returns a {type(output).__name__}, expected a torch tensor")
    received = tuple(output.shape)
    means = f" = {axes}" if axes else ""
    expect(received == shape, f"wrong shape: {name} returns {received}, expected {shape}{means}")
    return output


def check_values(output, expected, mistakes, name, atol=1e-5):
    """Compare an output with the correct one; of the named mistakes, report the one that gives the same values."""
    if torch.allclose(output.double(), expected.double(), atol=atol):
        return
    for mistake, values in mistakes.items():
        if output.shape == values.shape and torch.allclose(output.double(), values.double(), atol=atol):
            raise Mistake(mistake)
    difference = (output - expected).abs()
    if difference.isnan().any():
        raise Mistake(f"{name} returns NaN: a division by zero, or a softmax over masked values only")
    place = tuple(int(i) for i in torch.unravel_index(difference.argmax(), difference.shape))
    raise Mistake(
        f"wrong values, unknown mistake: {name} has {output[place]:.4g} at {place}, expected {expected[place]:.4g}"
    )
