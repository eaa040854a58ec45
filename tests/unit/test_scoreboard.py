"""The scoreboard's front by hand, its order, and what is reported of models too large to run; cited figures."""

from __future__ import annotations

import pytest

from vitviz.analysis.scoreboard import QUANTITIES, BoardEntry, Timing, by_formula, family_of, pareto
from vitviz.models import model_cost, published_results
from vitviz.models.presets import PRESETS
from vitviz.models.pretrained_list import PRETRAINED


def test_the_front_by_hand() -> None:
    """Cost down, accuracy up: b costs more than a and is worse, d is as good as c for more."""
    points = {"a": (1.0, 70.0), "b": (2.0, 60.0), "c": (3.0, 80.0), "d": (4.0, 80.0), "e": (5.0, 90.0)}
    found = pareto(list(points.values()), (False, True))
    assert [name for name, front in zip(points, found, strict=True) if front] == ["a", "c", "e"]
    assert pareto([(1.0, 1.0), (1.0, 1.0)], (False, True)) == [True, True]  # equals do not beat one another
    assert pareto([(1.0, 1.0), (2.0, 2.0)], (True, True)) == [False, True]
    assert pareto([], (False, True)) == []


def entry(name: str, accuracy: float | None = None, images: int = 0) -> BoardEntry:
    preset = PRESETS[name]
    side = preset.preparation.image_size
    return BoardEntry(
        name, name, "ViT", preset.config, side, "imagenet", accuracy, images, "somebody", "ImageNet-1k"
    )


def test_a_model_too_large_to_run_goes_at_the_pace_of_the_others() -> None:
    base, large = entry("vit_base_16"), entry("vit_large_16")
    assert large.too_large and not base.too_large
    assert by_formula(large, {}) is None
    timed = {base.shape: Timing(0.1, 0.09, 0.2, 5, 10**6, 1, True)}
    assert by_formula(base, timed) is None
    assert by_formula(large, timed) == pytest.approx(100 * large.multiply_adds / base.multiply_adds)
    assert QUANTITIES["ms"].value(base, timed) == pytest.approx(100)
    held = QUANTITIES["memory"].value(base, timed)
    assert held == pytest.approx(4 * 86.567656 + 1)


def test_the_error_of_a_measured_accuracy_is_the_binomial_s() -> None:
    assert entry("vit_tiny_16", 0.5, 10_000).error == pytest.approx(0.005)
    assert entry("vit_tiny_16", 0.5).error == 0  # cited


def test_families() -> None:
    names = {"hybrid_cifar10": "Hybrid", "cnn_cifar10": "CNN", "swin_tiny": "Swin", "deit_cifar10": "DeiT"}
    assert {name: family_of(PRESETS[name].config, "") for name in names} == names
    plain = PRESETS["vit_tiny_16"].config
    assert family_of(plain, "ImageNet-1k") == "ViT"
    assert family_of(plain, "ImageNet-1k, without labels") == "Self-supervised ViT"


def test_every_published_classifier_has_a_cited_accuracy_and_no_other() -> None:
    heads = {name for name, known in PRETRAINED.items() if known.config.num_classes}
    assert set(published_results.TOP1) == heads
    assert all(known.trained_on in published_results.TRAINING_IMAGES for known in PRETRAINED.values())


def test_torchvision_s_own_figures() -> None:
    from vitviz.torchvision_fix import import_torchvision

    import_torchvision()
    from torchvision import models

    names = [
        name
        for name in published_results.TOP1
        if published_results.cite_accuracy(name) == published_results.TORCHVISION
    ]
    assert len(names) == 6
    for name in names:
        meta = models.get_model_weights(name).DEFAULT.meta
        assert meta["_metrics"]["ImageNet-1K"]["acc@1"] == published_results.TOP1[name]
        assert meta["num_params"] == sum(model_cost.parameters(PRETRAINED[name].config).values())


def test_the_paper_s_table() -> None:
    """ViT paper, table 2."""
    huge = published_results.TRANSFERS[0]
    assert list(huge.accuracy.values()) == [88.55, 90.72, 99.50, 94.55, 97.56, 99.68, 77.63]
    assert [one.core_days for one in published_results.TRANSFERS] == [2500, 680, 230, 9900, 12300]
