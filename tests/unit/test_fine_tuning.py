"""What a race says, from its numbers alone, and how far weights have moved."""

from __future__ import annotations

import numpy as np
import pytest

from tests.messages import place_arrays, read_race, unpack
from vitviz.analysis.fine_tuning import (
    Group,
    compare_groups,
    describe_test_accuracies,
    describe_weight_changes,
    mean_curve,
    measure_weight_changes,
    name_part,
    sort_parts,
)
from vitviz.plots import fine_tuning as plots

CURVES = (np.array([[1.0, 2.0, 3.0], [0.2, 0.4, 0.6]]), np.array([[1.0, 2.0], [0.4, 0.8]]))


def group(name: str, *tests: float) -> Group:
    return Group(name, {"tuned": "Fine-tuned", "scratch": "From scratch"}[name], CURVES, tests)


def test_the_mean_is_of_the_epochs_that_all_have_reached() -> None:
    assert mean_curve(CURVES).tolist() == [[1.0, 2.0], [pytest.approx(0.3), pytest.approx(0.6)]]
    assert mean_curve((CURVES[0], np.empty((2, 0)))).shape == (2, 0)


@pytest.mark.parametrize(
    ("tuned", "scratch", "text"),
    [
        ((0.9, 0.9, 0.9), (0.5, 0.5, 0.5), "from scratch: higher, +40.0 points"),
        ((0.3, 0.3, 0.3), (0.8, 0.8, 0.8), "from scratch: lower, −50.0 points"),
        ((0.9, 0.5), (0.7, 0.4), "no difference shown, +15.0 points"),
        ((0.9,), (0.7,), "no verdict (one seed), +20.0 points"),
        ((), (), ""),
    ],
)
def test_a_race_has_a_verdict(tuned: tuple[float, ...], scratch: tuple[float, ...], text: str) -> None:
    groups = group("tuned", *tuned), group("scratch", *scratch)
    assert (compare_groups(*groups, images=60) is None) == (not text)
    described = describe_test_accuracies(*groups, images=60)
    assert text in described and bool(text) == bool(described)


def test_the_spread_of_the_seeds_is_reported() -> None:
    returned = describe_test_accuracies(group("tuned", 0.9, 0.8), group("scratch", 0.3, 0.2), 60)
    assert (
        "60 test images" in returned
        and "85.0\N{NO-BREAK SPACE}% (80.0\N{NO-BREAK SPACE}% to 90.0" in returned
    )


def test_weights_are_told_apart_by_their_part() -> None:
    names = (
        "patch_embed.proj.weight",
        "blocks.2.mlp.fc1.bias",
        "layers.1.blocks.0.attn.qkv.weight",
        "head_dist.bias",
    )
    assert [*map(name_part, names)] == ["E", "layer 3", "layer 2.1", "head"]
    assert sort_parts(["head", "layer 1", "positions", "E", "final LayerNorm"]) == [
        "E",
        "positions",
        "layer 1",
        "final LayerNorm",
        "head",
    ]


def test_how_far_a_part_moved_is_of_its_own_length() -> None:
    before = {
        "blocks.0.a": np.array([3.0, 0.0]),
        "blocks.0.b": np.array([4.0]),
        "cls_token": np.full(4, 1e-6),
    }
    after = {"blocks.0.a": np.array([3.0, 0.6]), "blocks.0.b": np.array([4.8]), "cls_token": np.ones(4)}
    assert measure_weight_changes(before, after) == {
        "layer 1": pytest.approx(1.0 / 5)
    }  # [CLS] began at nothing
    still = {"head.w": np.ones(2), "bn.running_mean": np.zeros(2)}
    assert measure_weight_changes(still, still | {"bn.running_mean": np.ones(2)}) == {"head": 0.0}


def test_what_moved_is_reported_from_the_numbers() -> None:
    rates = 3e-4, 1e-3
    parts = {"E": 0.1, "layer 1": 0.02, "head": 0.5}, {"E": 0.2, "layer 1": 0.1, "head": 0.1}
    returned = describe_weight_changes(*parts, rates)
    assert "0.001" in returned and "0.0003" in returned
    assert describe_weight_changes(*parts, (1e-3, 1e-3)).endswith("at the same learning rate.")
    assert (
        "E changes most, by 10.0" in returned
        and "layer 1 least, by 2.0" in returned
        and "3.5 times" in returned
    )
    little = describe_weight_changes({"E": 0.00034, "norm": 0.00002}, {"E": 0.1, "norm": 0.1}, rates)
    assert "by 0.03" in little and "by 0.002" in little  # not by 0.0 %
    assert "is unchanged" in describe_weight_changes({"E": 0.0, "head": 0.5}, {"E": 0.2, "head": 0.1}, rates)


def test_the_message_holds_every_seed_and_the_mean() -> None:
    groups = (group("tuned", 0.9, 0.8, 0.7), group("scratch"))
    header, arrays = unpack(plots.learning(groups, 0.5, 3.0, "wait", images=100))
    lines, dots = read_race(header, arrays)
    assert [trace["x"] for trace in dots.values()] == [pytest.approx([90, 80, 70])]
    half = (4.302653**2 * 0.01 / 3 + 1.984217**2 * 0.16 / 100) ** 0.5
    assert header["charts"][1]["data"][-1]["x"] == pytest.approx([100 * (0.8 - half), 100], abs=1e-4)
    seeds = [trace for trace in place_arrays(header["charts"][0]["data"], arrays) if trace["mode"] == "lines"]
    assert len(lines) == 2 and len(seeds) == 2 * len(CURVES)
    for line, curve in ((list(lines.values())[1], mean_curve(CURVES)), (seeds[0], CURVES[0])):
        np.testing.assert_allclose([line["x"], line["y"]], [curve[0], 100 * curve[1]], rtol=1e-6)


def test_the_plan_holds_cosines_as_bytes() -> None:
    parts = [plots.ModelPart("positions", 12, (1, 4, 3), (1, 1, 3), "resized")]
    header, arrays = unpack(plots.plan(parts, (np.ones((1, 1)), -np.ones((4, 4))), ((1, 1), (2, 2))))
    assert header["parts"][0]["before"] == "1 × 1 × 3" and header["grids"] == [[1, 1], [2, 2]]
    assert arrays["before"].tolist() == [[255]] and arrays["after"].max() == 0


def test_seeds_that_are_level_are_not_said_to_span() -> None:
    level = Group("tuned", "Fine-tuned", (), (1.0, 1.0, 1.0))
    apart = Group("scratch", "From scratch", (), (0.9, 1.0, 0.95))
    reported = describe_test_accuracies(level, apart, 60).replace("\N{NO-BREAK SPACE}", " ")
    assert "Fine-tuned 100 % (every seed); From scratch 95.0 % (90.0 % to 100 %)" in reported
