"""Measures of made-up rows: ties, missing rows, no shift, too few components."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pages.stores import lessons, registry
from vitviz.checkpoint_header import read_header
from vitviz.experiments.result_file import Made, Result
from vitviz.lessons import experiment_measures, model_measures, weight_measures
from vitviz.lessons.formula_measures import (
    BlocksToReach,
    PatchCount,
    PatchesReached,
    ReadableInCorner,
    WindowCost,
)
from vitviz.lessons.question_kinds import Drag
from vitviz.models.abilities import abilities
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model

AT: Any = None


def result(*rows: dict[str, Any], **settings: Any) -> Result:
    return Result("made_up", "", "", settings, (Made("0", "2026-01-01", "none"),), rows)


def test_without_a_shift_nothing_is_mixed() -> None:
    answer = ReadableInCorner(8, 4, 0).measure_answer(AT)
    assert answer.value == 16 and " 16 patches" in answer.words and "mask" not in answer.words
    assert "mask leaves 4 patches" in ReadableInCorner(8, 4, 2).measure_answer(AT).words


def test_components_are_held_against_what_is_exactly_even() -> None:
    from tests.unit.training_helpers import TINY

    at: Any = SimpleNamespace(model=SimpleNamespace(model=create_model(TINY, seed=0), config=TINY))
    sentence = weight_measures.ExplainedVariance(64).measure_answer(at).words
    count = min(TINY.embed_dim - 1, TINY.in_chans * TINY.patch_size**2)  # centring removes one dimension
    assert sentence.startswith(f"The first {count} of {count} ")  # and not 'the first 64'
    assert sentence.count("100\N{NO-BREAK SPACE}%") + sentence.count("100.0\N{NO-BREAK SPACE}%") == 2


@pytest.mark.parametrize("preset", ["hybrid_cifar10", "recipe_d", "vit_digits"])
def test_what_cls_does_is_asked_where_there_is_one(preset: str) -> None:
    """A hybrid reads the mean, recipe D the first patch: what block 4 adds 'to [CLS]' is no question of theirs."""
    config = PRESETS[preset].config
    at: Any = SimpleNamespace(model=SimpleNamespace(config=config))
    has = abilities(config).cls_readout
    assert bool(has) == (preset == "vit_digits")
    for measure in (
        model_measures.LongerBranch(),
        model_measures.MostAttendedPatch(),
        model_measures.MostAttendedPatch(row=2),
    ):
        assert measure.why_not(at) == has.why_not
    assert not model_measures.MostAttendedPatch(row=2, col=3).why_not(at)


def test_a_race_that_lacks_a_set_or_a_code_is_not_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "race.json"
    monkeypatch.setattr(weight_measures, "RACE_FILE", file)
    ask = weight_measures.RaceAccuracy("digits", "none")
    assert ask.why_not(AT)
    runs = [
        {"positions": name, "measured": {"accuracy": share}}
        for name, share in (("none", 0.5), ("learned", 1.0))
    ]
    race = {"train": {"epochs": 2}, "measured": "2026-01-01", "runs": runs}
    file.write_text(json.dumps({"races": {"digits": race}}))
    assert not ask.why_not(AT) and "best of the 2 encodings: 100" in ask.measure_answer(AT).words
    assert weight_measures.RaceAccuracy("mnist", "none").why_not(AT)
    assert weight_measures.RaceAccuracy("digits", "sincos_1d").why_not(AT)


def test_the_gradient_s_question_has_the_numbers_of_its_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    norms = {"pre": (1.0, 1.0), "post": (0.01, 1.0), "pre_none": (1e-3, 1.0), "post_none": (0.0, 0.0)}
    rows = [{"variant": name, "seed": 0, "norms": [list(ends)]} for name, ends in norms.items()]
    rows += [{"variant": "post", "seed": 1, "norms": [[1.0, 1.0]]}]
    monkeypatch.setattr(
        experiment_measures,
        "read_result",
        lambda _: result(*rows, marks=[experiment_measures.EARLY_UPDATES]),
    )
    ask = experiment_measures.WeakestGradient()
    assert "Post-norm with residuals: 1/10;" in ask.measure_answer(AT).words  # geometric: of 0.01 and 1
    assert ask.measure_answer(AT).value == list(experiment_measures.VARIANTS).index("pre_none")


def test_without_a_shift_news_stays_in_its_window() -> None:
    alone = PatchesReached(8, 4, 0).measure_answer(AT)
    assert alone.value == 16 and alone.words.endswith("16 patches of 64 after 16 blocks and no more.")
    for blocks, reached in (
        (1, 16),
        (2, 36),
        (3, 64),
    ):  # a window, then half a window further on two sides, then all
        assert PatchesReached(8, 4, 2, blocks).measure_answer(AT).value == reached
        assert "no more" not in PatchesReached(8, 4, 2, blocks).measure_answer(AT).words
    assert (
        PatchesReached(8, 4, 2).measure_answer(AT).value == 64
        and BlocksToReach(8, 4, 2).measure_answer(AT).value == 3
    )


def test_a_scale_s_end_does_not_tell_the_answer() -> None:
    assert {PatchCount(32, px).get_answer_kind(AT).high for px in (2, 8)} == {1_000_000}  # typed, not dragged
    for measure in (WindowCost(56, 7), WindowCost(14, 7)):
        kind = measure.get_answer_kind(AT)
        assert isinstance(kind, Drag) and kind.high in (10, 100, 1000)
        assert kind.format_answer((kind.low + kind.high) / 2) != kind.format_answer(
            measure.measure_answer(AT).value
        )


def test_a_shipped_model_s_accuracy_is_read_off_its_file(tmp_path: Path) -> None:
    at: Any = SimpleNamespace(choice=SimpleNamespace(title="The one at hand", accuracy=0.5))
    assert weight_measures.Accuracy().measure_answer(at).value == 0.5
    card = read_header(weight_measures.SHIPPED / "mnist_vit.safetensors").card
    found = weight_measures.Accuracy("mnist_vit").measure_answer(at)
    assert found.value == card["test_accuracy"] and found.words.startswith(card["title"])
    assert weight_measures.Accuracy("no_such_model").why_not(at)
    with pytest.raises(ValueError, match="the name of a shipped checkpoint"):
        weight_measures.Accuracy("../runs/x")


def test_the_image_that_proves_a_count_of_blocks_stands_at_it() -> None:
    stops = [stop for found in lessons.list_shipped(registry.BY_SLUG).values() for stop in found.stops]
    asked = [
        (stop.question.measure, dict(stop.question.proof))
        for stop in stops
        if stop.question is not None and isinstance(stop.question.measure, BlocksToReach)
    ]
    assert asked
    for measure, proof in asked:
        assert proof["swin.blocks"] == f"{measure.measure_answer(AT).value:g}"
