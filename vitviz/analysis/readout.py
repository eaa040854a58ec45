"""From the last block to the classes: what the head reads, and the dot products that make the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.block import Step
from vitviz.analysis.logit_lens import ReadoutWeights, layer_norm, softmax
from vitviz.text import percent, plural, signed

READS = {  # how each readout makes the vector that the head reads: what it is called, and its formula
    "cls": ("[CLS]", "y = LN(x) of [CLS]"),
    "mean": ("the mean of the patches", "y = mean of LN(x) over the patches"),
    "first_patch": ("the first patch", "y = LN(x) of the first patch"),
}


@dataclass(frozen=True, eq=False)
class Answer:
    """A ViT's prediction from its last tokens x (tokens, D): y = LN(x), l = W y + b, p = softmax(l) (ViT paper, eq.
    4).

    `features` (D,) is what the head reads, `products` (D,) the terms w y of the winning class, whose sum with its
    bias is its logit; a DeiT's `logits` are the mean of both heads', and `second` (classes,) are its second head's.
    """

    normed: NDArray[Any]
    features: NDArray[Any]
    logits: NDArray[Any]
    first: NDArray[Any]
    second: NDArray[Any] | None
    products: NDArray[Any]
    bias: float

    @property
    def probabilities(self) -> NDArray[Any]:
        """(classes,)."""
        return softmax(self.logits)

    @property
    def order(self) -> NDArray[Any]:
        """Classes by their logits, the winner first."""
        return np.argsort(-self.logits, kind="stable")


def answer_of(stream: NDArray[Any], readout: ReadoutWeights, kind: str, prefix: tuple[str, ...]) -> Answer:
    """Return the answer of a model whose last block leaves `stream` (tokens, D).

    Args:
        kind: the config's readout: 'cls', 'mean' or 'first_patch'.
        prefix: names of the prefix tokens.
    """
    normed = stream
    if readout.gain is not None and readout.shift is not None:
        normed = layer_norm(stream, readout.gain, readout.shift, readout.eps)
    patches = normed[len(prefix) :]
    features = {"mean": lambda: patches.mean(axis=0), "first_patch": lambda: patches[0]}.get(
        kind, lambda: normed[prefix.index("cls")]
    )()
    first = readout.weight @ features + readout.bias
    second = None
    if readout.dist_weight is not None and readout.dist_bias is not None and "dist" in prefix:
        second = readout.dist_weight @ normed[prefix.index("dist")] + readout.dist_bias
    logits = first if second is None else (first + second) / 2
    winner = int(logits.argmax())
    return Answer(
        normed=normed,
        features=features,
        logits=logits,
        first=first,
        second=second,
        products=readout.weight[winner] * features,
        bias=float(readout.bias[winner]),
    )


def steps_of_answer(found: Answer, kind: str, classes: Sequence[str], *, normed: bool) -> list[Step]:
    """Return the operations from the last block to the classes, in the order of the model.

    Args:
        classes: their names.
        normed: whether a LayerNorm stands before the head.
    """
    tokens, (count, width) = found.normed.shape, (len(classes), len(found.features))
    winner, runner = (classes[i] for i in found.order[:2])
    reads, formula = READS[kind]
    size = f"|y| = {np.linalg.norm(found.features):.2f}, over {plural(width, 'channel')}"
    steps = [
        Step(
            "LayerNorm, and what the head reads" if normed else "What the head reads",
            formula if normed else formula.replace("LN(x)", "x"),
            size,
            tokens,
            _row(found.features),
            stream=True,
            meaning=f"Of {tokens[0]} tokens the head reads one vector: {reads}.",
        ),
        _winner_step(found, winner, (count, width)),
    ]
    if found.second is not None:
        steps.append(_second_step(found, classes))
    logits, chances = found.logits[found.order[:2]], found.probabilities[found.order[:2]]
    names = tuple(classes)
    return [
        *steps,
        Step(
            "Logits, one a class",
            "l = W y + b" if found.second is None else "l = (l of [CLS] + l of [DIST]) / 2",
            f"{winner}: {signed(logits[0])}, then {runner}: {signed(logits[1])}",
            (count,),
            _row(found.logits),
            names=names,
        ),
        Step(
            "Softmax over the classes",
            "p = exp(l) / Σ exp(l)",
            f"{winner}: {percent(chances[0])}, then {runner}: {percent(chances[1])}, of a sum of 1",
            (count,),
            _row(found.probabilities),
            names=names,
        ),
    ]


def _winner_step(found: Answer, winner: str, shape: tuple[int, int]) -> Step:
    most = int(found.products.argmax())
    own = float(found.products.sum()) + found.bias
    return Step(
        f"The head's row of the winning class: {winner}",
        "l_c = Σᵢ w_ci yᵢ + b_c",
        f"Σ w y = {signed(float(found.products.sum()))}, b = {signed(found.bias)}, l = {signed(own)};"
        f" channel {most + 1} gives most, {signed(float(found.products[most]))}",
        shape,
        _row(found.products),
        meaning="Every class has a row of weights; its logit is a dot product, how far y points that row's way.",
    )


def _second_step(found: Answer, classes: Sequence[str]) -> Step:
    assert found.second is not None
    best = int(found.second.argmax())
    return Step(
        "The second head reads [DIST]",
        "l = W' y + b', y = LN(x) of [DIST]",
        f"it names {classes[best]}, {signed(float(found.second[best]))}; the first head names"
        f" {classes[int(found.first.argmax())]}, {signed(float(found.first.max()))}",
        (len(classes),),
        _row(found.second),
        names=tuple(classes),
    )


def _row(values: NDArray[Any]) -> NDArray[np.float32]:
    return np.atleast_2d(values).astype(np.float32)
