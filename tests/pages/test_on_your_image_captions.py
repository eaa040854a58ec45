"""Test the captions on moved parts and on many faces with made-up predictions: ties, one model, one seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pages.lenses.on_your_image import parts
from pages.studies import faces
from vitviz.analysis.image_parts import Part
from vitviz.experiments.result_file import read_result_if_any
from vitviz.probe.robustness import Sweep


def test_one_seed_decides_nothing() -> None:
    assert faces.compare_seeds([0.9], [0.5]).startswith("One seed each")


def test_faces_that_were_not_counted_are_left_out() -> None:
    found = read_result_if_any(faces.NAME)
    assert found is not None
    one = {name: next(row for row in found.rows if row["model"] == name) for name in ("cnn", "vit")}
    lost = {key: value for key, value in one["vit"].items() if key != "faces"}
    said = faces.describe_faces(replace(found, rows=(one["cnn"], lost)))
    assert "(one seed)" in said and "seeds" not in said and "ViT" not in said


def test_models_that_lose_alike_are_named_together_and_one_is_not_many() -> None:
    def sweep(chance: float) -> Sweep:
        return Sweep(np.array([[1 - chance, chance]]), np.zeros((1, 2, 2)), "gradient")

    def told(name: str, whole: float, wrong: float) -> parts.PartPredictions:
        return parts.PartPredictions(name, "ViT", sweep(whole), sweep(wrong), sweep(wrong))

    class Of:
        truth, classes = 1, ("dog", "cat")

    moved = (Part(0, 0, 4, 4, 9, 9),)
    found = [told("A", 0.75, 0.25), told("B", 1.0, 0.5), told("C", 0.75, 0.5)]
    for guessed, verdict in ((0, "correct"), (1, "correct"), (2, "wrong")):
        said = parts.describe_outcome(Of, found, guessed, 1)  # type: ignore[arg-type]
        assert verdict in said and "**A and B** lose most confidence in cat, 50.0 points" in said
    said = parts.describe_outcome(Of, [told("A", 0.5, 0.5), told("B", 0.5, 0.75)], 0, 1)  # type: ignore[arg-type]
    assert "Your prediction, A, is wrong" in said and "no model loses confidence" in said
    assert "1 of 1 model keeps" in parts.describe_parts([told("A", 0.9, 0.8)], moved, 1, Of.classes)
