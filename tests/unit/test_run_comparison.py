"""Confusion, milestones and the comparison of runs, on numbers small enough to check by hand."""

from __future__ import annotations

import numpy as np
import torch

from vitviz.analysis.mistakes import confusion_counts, confusion_shares, most_confused, most_wrong
from vitviz.analysis.run_comparison import find_varying_names, parameters_by_part, time_to_accuracy
from vitviz.config import ViTConfig
from vitviz.models.zoo import create_model


def test_confusion_counts_true_rows_and_guessed_columns() -> None:
    counts = confusion_counts(np.array([0, 0, 1, 2, 2, 2]), np.array([0, 1, 1, 0, 0, 2]), 4)
    assert counts.tolist() == [[1, 1, 0, 0], [0, 1, 0, 0], [2, 0, 1, 0], [0, 0, 0, 0]]
    assert most_confused(counts) == (2, 0, 2)
    np.testing.assert_allclose(confusion_shares(counts)[2], [2 / 3, 0, 1 / 3, 0])
    assert confusion_shares(counts)[3].tolist() == [0, 0, 0, 0]
    assert most_confused(np.diag([3, 4])) is None


def test_most_wrong_is_the_least_probable_truth() -> None:
    given = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    assert most_wrong(given, np.array([0, 0, 1]), 2).tolist() == [1, 2]


def test_time_to_a_level_is_the_first_time() -> None:
    accuracy, seconds = np.array([0.5, 0.91, 0.89, 0.96]), np.array([1.0, 2.0, 3.0, 4.0])
    times = [time_to_accuracy(seconds, accuracy, level) for level in (0.9, 0.95, 0.98)]
    assert times == [2.0, 4.0, None]
    assert time_to_accuracy(np.zeros(0), np.zeros(0), 0.9) is None


def test_a_hybrids_convolutions_are_a_stem_and_no_patch_embedding() -> None:
    shapes = {
        "patch_embed.stem.0.weight": (16, 3, 3, 3),
        "patch_embed.proj.weight": (32, 16, 1, 1),
        "pos_proj.weight": (2, 3),
    }
    assert parameters_by_part(shapes) == {"Convolutional stem": 432, "Patch embedding E": 512, "Positions": 6}


def test_parameters_by_part_add_up_to_the_model() -> None:
    config = ViTConfig(image_size=28, patch_size=7, in_chans=1, embed_dim=16, depth=2, num_heads=2)
    model = create_model(config)
    parts = parameters_by_part({name: tuple(p.shape) for name, p in model.named_parameters()})
    assert sum(parts.values()) == sum(torch.numel(p) for p in model.parameters())
    assert parts["Patch embedding E"] == 49 * 16 + 16
    assert parts["Positions"] == 17 * 16
    assert parts["Prefix tokens"] == 16
    assert parts["Attention"] == 2 * (4 * 16 * 16 + 4 * 16)
    assert parts["Classifier head"] == 16 * 10 + 10
    assert "Everything else" not in parts


def test_only_what_differs_is_named() -> None:
    rows = [{"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 1, "b": 2, "c": 0}]
    assert find_varying_names(rows) == ["b"], "what only one of them has says nothing but that"
    assert find_varying_names([*rows, {"c": [1]}]) == ["b", "c"]
    assert find_varying_names(rows[:1]) == find_varying_names([]) == []
