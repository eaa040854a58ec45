"""Test the captions on moved parts and on many faces with made-up predictions: ties, one model, one seed."""

from __future__ import annotations

import numpy as np

from pages.lenses.on_your_image import parts
from vitviz.analysis.image_parts import ImagePart
from vitviz.probe.robustness import Sweep


def test_models_that_lose_alike_are_named_together_and_one_is_not_many() -> None:
    def sweep(chance: float) -> Sweep:
        return Sweep(np.array([[1 - chance, chance]]), np.zeros((1, 2, 2)), "gradient")

    def told(name: str, whole: float, wrong: float) -> parts.PartPredictions:
        return parts.PartPredictions(name, "ViT", sweep(whole), sweep(wrong), sweep(wrong))

    class Of:
        truth, classes = 1, ("dog", "cat")

    moved = (ImagePart(0, 0, 4, 4, 9, 9),)
    found = [told("A", 0.75, 0.25), told("B", 1.0, 0.5), told("C", 0.75, 0.5)]
    for guessed, verdict in ((0, "correct"), (1, "correct"), (2, "wrong")):
        returned = parts.describe_outcome(Of, found, guessed, 1)  # type: ignore[arg-type]
        assert verdict in returned and "**A and B** lose most confidence in cat, 50.0 points" in returned
    returned = parts.describe_outcome(Of, [told("A", 0.5, 0.5), told("B", 0.5, 0.75)], 0, 1)  # type: ignore[arg-type]
    assert "Your prediction, A, is wrong" in returned and "no model loses confidence" in returned
    alone = parts.describe_parts([told("A", 0.9, 0.8)], moved, 1, Of.classes).replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert alone == (
        "On this image, 1 of 1 model keeps its prediction for the whole image. Probability of cat: A 90.0 % → 80.0 %."
    )
