"""Compute the classifier head step by step, from the last block's tokens to the class probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import softmax
from vitviz.analysis.block import BlockOperation, as_row
from vitviz.analysis.logits import ReadoutWeights, layer_norm, read_features
from vitviz.text import percent, plural, signed

READS = {  # by readout the name and formula of the head's input
    "cls": ("[CLS]", "y = LN(x) of [CLS]"),
    "mean": ("the mean of the patches", "y = mean of LN(x) over the patches"),
    "first_patch": ("the first patch", "y = LN(x) of the first patch"),
    "cls_mean": ("[CLS] and the mean of the patches", "y = [LN(x) of [CLS]; mean of LN(x) over the patches]"),
}


@dataclass(frozen=True, eq=False)
class ReadoutPrediction:
    """A ViT's prediction from its last tokens x (tokens, D): y = LN(x), l = W y + b, p = softmax(l) (ViT paper, eq.
    4).

    `features` (D,) is the head's input, `products` (D,) the terms w y of the predicted class, whose sum plus its
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
        """Classes sorted by logit, the predicted class first."""
        return np.argsort(-self.logits, kind="stable")


def predict_from_stream(
    stream: NDArray[Any], readout: ReadoutWeights, kind: str, prefix: tuple[str, ...]
) -> ReadoutPrediction:
    """Return the prediction of a model from the output of its last block (tokens, D)."""
    normed = stream
    if readout.gain is not None and readout.shift is not None:
        normed = layer_norm(stream, readout.gain, readout.shift, readout.eps)
    features = read_features(normed, readout, kind, prefix)
    first = readout.weight @ features + readout.bias
    second = None
    if readout.dist_weight is not None and readout.dist_bias is not None and "dist" in prefix:
        second = readout.dist_weight @ normed[prefix.index("dist")] + readout.dist_bias
    logits = first if second is None else (first + second) / 2
    predicted = int(logits.argmax())
    return ReadoutPrediction(
        normed=normed,
        features=features,
        logits=logits,
        first=first,
        second=second,
        products=readout.weight[predicted] * features,
        bias=float(readout.bias[predicted]),
    )


def list_readout_steps(
    prediction: ReadoutPrediction, kind: str, classes: Sequence[str], *, normed: bool
) -> list[BlockOperation]:
    """Return the operations from the last block to the classes, in the order of the model.

    Args:
        normed: True if a LayerNorm precedes the head.
    """
    tokens, (count, width) = prediction.normed.shape, (len(classes), len(prediction.features))
    first, second = (classes[i] for i in prediction.order[:2])
    reads, formula = READS[kind]
    size = f"|y| = {np.linalg.norm(prediction.features):.2f}, over {plural(width, 'channel')}"
    steps = [
        BlockOperation(
            "LayerNorm and head input" if normed else "Head input",
            formula if normed else formula.replace("LN(x)", "x"),
            size,
            tokens,
            as_row(prediction.features),
            stream=True,
            meaning=f"The head reads one vector of {tokens[0]} tokens: {reads}.",
        ),
        _predicted_step(prediction, first, (count, width)),
    ]
    if prediction.second is not None:
        steps.append(_second_step(prediction, classes))
    logits, chances = prediction.logits[prediction.order[:2]], prediction.probabilities[prediction.order[:2]]
    names = tuple(classes)
    return [
        *steps,
        BlockOperation(
            "Logits, one per class",
            "l = W y + b" if prediction.second is None else "l = (l of [CLS] + l of [DIST]) / 2",
            f"{first}: {signed(logits[0])}, then {second}: {signed(logits[1])}",
            (count,),
            as_row(prediction.logits),
            names=names,
        ),
        BlockOperation(
            "Softmax over the classes",
            "p = exp(l) / Σ exp(l)",
            f"{first}: {percent(chances[0])}, then {second}: {percent(chances[1])}, of a sum of 1",
            (count,),
            as_row(prediction.probabilities),
            names=names,
        ),
    ]


def _predicted_step(prediction: ReadoutPrediction, first: str, shape: tuple[int, int]) -> BlockOperation:
    most = int(prediction.products.argmax())
    logit = float(prediction.products.sum()) + prediction.bias
    return BlockOperation(
        f"Logit of the predicted class: {first}",
        "l_c = Σᵢ w_ci yᵢ + b_c",
        f"Σ w y = {signed(float(prediction.products.sum()))}, b = {signed(prediction.bias)}, l = {signed(logit)};"
        f" channel {most + 1} contributes most, {signed(float(prediction.products[most]))}",
        shape,
        as_row(prediction.products),
        meaning="The logit of a class is the dot product of y with the weights of that class, plus a bias.",
    )


def _second_step(prediction: ReadoutPrediction, classes: Sequence[str]) -> BlockOperation:
    assert prediction.second is not None
    best = int(prediction.second.argmax())
    return BlockOperation(
        "Logits of the [DIST] head",
        "l = W' y + b', y = LN(x) of [DIST]",
        f"[DIST] head: {classes[best]}, {signed(float(prediction.second[best]))}; [CLS] head:"
        f" {classes[int(prediction.first.argmax())]}, {signed(float(prediction.first.max()))}",
        (len(classes),),
        as_row(prediction.second),
        names=tuple(classes),
    )
