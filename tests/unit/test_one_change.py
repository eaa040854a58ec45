"""One change at a time: what is turned or wrong, what the numbers say, and stored numbers made again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from pages.studies.hyperparameter import describe_run
from tests.messages import read_race, unpack
from vitviz.analysis.norms import Norms, format_ratio, select_norms
from vitviz.analysis.one_change import (
    Variant,
    create_variant,
)
from vitviz.config import ViTConfig
from vitviz.experiments import bugs, gradients, hyperparameters
from vitviz.experiments.bugs import BUGS
from vitviz.experiments.experiment import Cell, TrainingSetup, train_cell
from vitviz.experiments.hyperparameters import BASES, HYPERPARAMETERS
from vitviz.experiments.result_file import Result, ResultError, Row, read_result
from vitviz.lessons import experiment_measures
from vitviz.lessons.question_kinds import StoredMeasure
from vitviz.models.vit import VisionTransformer
from vitviz.models.zoo import create_model
from vitviz.plots.race import pack_variants, scale
from vitviz.probe.gradients import measure_gradient_norms


def row(seed: int, test: float | None, **more: Any) -> Row:
    found: dict[str, Any] = {"seed": seed, "parameters": 1234, "made": 0, **more}
    if test is None:
        return {**found, "diverged": "nan", "curve": []}
    return {**found, "test": test, "training_core_s": 2.0, "curve": [[10, 1.0, test / 2], [20, 2.0, test]]}


def of(name: str, *tests: float | None) -> Variant:
    return create_variant(name, name, [row(seed, test) for seed, test in enumerate(tests)], 4.0, 2_000)


# ---------------------------------------------------------------- what the numbers say


def test_a_variant_is_its_seeds() -> None:
    one = of("a", 0.8, 0.9, None)
    assert one.mean == pytest.approx(0.85) and one.test == {0: 0.8, 1: 0.9} and one.diverged == 1
    np.testing.assert_allclose(one.curve, [[2, 4], [0.425, 0.85]])
    assert one.summary == "85.0\N{NO-BREAK SPACE}% · 1 diverged · 2.0\N{NO-BREAK SPACE}s · 1,234 parameters"
    assert of("b", None).summary == "1 diverged · 1,234 parameters" and of("b", None).curve.shape == (2, 0)


def test_the_message_holds_every_seed_and_a_scale_around_them() -> None:
    header, arrays = unpack(pack_variants([of("a", 0.91, 0.93), of("b", None)], 0.1, 4.0, "here"))
    lines, dots = read_race(header, arrays)
    assert {name: trace["x"] for name, trace in dots.items()} == {"a": pytest.approx([91, 93])}
    results = header["charts"][1]
    assert results["layout"]["xaxis"]["range"] == pytest.approx([85, 95]) and results["note"] == "here"
    assert {name: len(trace["x"]) for name, trace in lines.items()} == {"a": 2, "b": 0}
    assert scale([]) == (0.0, 1.0) and scale([0.0, 1.0]) == (0.0, 1.0) and scale([0.999]) == (0.95, 1.0)


def test_gradient_norms_are_geometric_means() -> None:
    rows = [
        {"variant": "pre", "norms": [[1.0, 4.0], [1.0, 1.0]]},
        {"variant": "pre", "norms": [[4.0, 4.0]]},
        {"variant": "post", "norms": [[0.01, 1.0]]},
    ]
    pre, post = select_norms(rows, 0, {"pre": "Before", "post": "After"})
    np.testing.assert_allclose(pre.mean, [2.0, 4.0])
    half = stats.t.ppf(0.975, df=1) * np.std(np.log([1.0, 4.0]), ddof=1) / np.sqrt(2)
    np.testing.assert_allclose([pre.low[0], pre.high[0]], [2 * np.exp(-half), 2 * np.exp(half)])
    assert (pre.low[1], pre.high[1], post.low[0], pre.seeds) == (4.0, 4.0, post.mean[0], 2)
    assert (format_ratio(post.share), format_ratio(pre.share)) == ("1/100", "0.5 (similar)")
    assert [one.name for one in select_norms(rows, 1, {"pre": "Before", "post": "After"})] == ["pre"]


def test_a_gradient_that_vanished_has_words() -> None:
    rows = [{"variant": name, "norms": [norms]} for name, norms in (("a", [0.0, 1.0]), ("b", [1.0, 2.0]))]
    shares = [format_ratio(one.share) for one in select_norms(rows, 0, {"a": "A", "b": "B"})]
    assert shares == ["below 1e-30", "0.5 (similar)"]
    values = np.array([0.0, 0.0])
    assert "undefined" in format_ratio(Norms("a", "A", values, values, values, 1).share)


# ---------------------------------------------------------------- what is turned, and what is wrong


def find_changes(*pairs: tuple[object, object]) -> set[str]:
    """Return the fields in which two configs of a pair differ."""
    return {
        field
        for now, before in pairs
        for field in vars(before)
        if getattr(now, field) != getattr(before, field)
    }


@pytest.mark.parametrize("dataset", BASES)
@pytest.mark.parametrize("name", HYPERPARAMETERS)
def test_a_hyperparameter_changes_one_field(name: str, dataset: str) -> None:
    hyperparameter, base = HYPERPARAMETERS[name], BASES[dataset]
    values = hyperparameter.offered(base)
    config = hyperparameters.build_run_config(dataset, name, values)
    assert len(config.members) == len(values) >= 2 and config.preset == f"one_knob:{name}"
    for member, value in zip(config.members, values, strict=True):
        changed = find_changes((member.model, base.model), (member.train, base.train))
        assert changed == (set() if value == hyperparameter.base(base) else {name})
        assert member.title == hyperparameter.label(value)


def test_what_a_user_asks_of_a_hyperparameter_is_checked() -> None:
    heads = HYPERPARAMETERS["num_heads"]
    assert heads.parse(" 1, 4,4,16 ") == (1, 4, 16)
    assert HYPERPARAMETERS["dropout"].parse("0, .25") == (0.0, 0.25)
    for text, why in (("2", "received 1"), ("1,2,3,4,5,6,7,8", "received 8"), ("1, two", "whole numbers")):
        with pytest.raises(ValueError, match=why):
            heads.parse(text)
    with pytest.raises(ValueError, match="num_heads 3 does not divide"):
        hyperparameters.build_run_config("digits", "num_heads", (1, 3))
    with pytest.raises(ValueError, match="received 'volume'"):
        hyperparameters.build_run_config("digits", "volume", (1, 2))
    config = hyperparameters.build_run_config("digits", "norm", ("pre", "post"), epochs=2.0)
    assert [member.train and member.train.seed for member in config.members] == [0, 0]
    assert config.train.epochs == 2.0


@pytest.mark.parametrize("dataset", bugs.SEEDS)
@pytest.mark.parametrize("name", BUGS)
def test_a_slip_is_alone_and_its_line_is_there(name: str, dataset: str) -> None:
    slip = BUGS[name]
    right, wrong = bugs.configure_fixed(dataset, slip.family), bugs.configure_with_bug(dataset, name)
    changed = find_changes(*zip(wrong, right, strict=True))
    assert changed == {*slip.model, *slip.train} and len(changed) == 1
    assert all(0 <= line < len(slip.lines) for line in slip.wrong)
    assert slip.right != slip.lines[slip.wrong[0]]
    config = bugs.build_run_config(dataset, name)
    assert [member.name for member in config.members][::3] == ["mended0", "slip0"]
    stored = BASES[dataset].train.epochs or 0
    lasts = {(member.train or config.train).epochs for member in config.members}
    assert lasts == {stored if slip.family == "vit" else round(0.4 * stored, 2)}


def test_unknown_slips_and_variants_are_refused() -> None:
    with pytest.raises(ValueError, match="bug must be one of"):
        bugs.configure_with_bug("digits", "typo")
    with pytest.raises(ValueError, match="one of digits, shapes, received 'mnist'"):
        bugs.configure_fixed("mnist")
    with pytest.raises(ValueError, match="variant must be one of"):
        gradients.deep("middle")


def test_the_gradient_of_a_block_is_what_backward_gives() -> None:
    config = ViTConfig(
        image_size=8, patch_size=4, in_chans=1, num_classes=2, embed_dim=16, depth=3, num_heads=2, dropout=0.5
    )
    model = create_model(config, seed=1).train()
    assert isinstance(model, VisionTransformer)
    inputs, labels = torch.randn(5, 1, 8, 8), torch.tensor([0, 1, 0, 1, 1])
    found = measure_gradient_norms(model, inputs, labels)
    assert model.training and all(parameter.grad is None for parameter in model.parameters())
    torch.nn.functional.cross_entropy(model.eval()(inputs), labels).backward()
    for index, norm in enumerate(found):
        parts = [p.grad.flatten() for p in model.block(index).parameters() if p.grad is not None]
        assert norm == pytest.approx(float(torch.cat(parts).norm()), rel=1e-5)


# ---------------------------------------------------------------- stored, and made again


def test_a_stored_gradient_at_the_start_is_made_again(tmp_path: Path) -> None:
    found = read_result(gradients.NAME)
    train = replace(gradients.TRAIN, train_fraction=0.2)  # the first images are the same ones
    cell = found.where(variant="post", seed=0)[0]
    made = gradients.measure(train, (0, 1), {"variant": "post", "seed": 0}, tmp_path)
    np.testing.assert_allclose(made["norms"][0], cell["norms"][0], rtol=0.02)


def test_a_cell_is_trained_with_its_seed_and_twice_the_same(tmp_path: Path) -> None:
    def configure(cell: Cell) -> TrainingSetup:
        model, train = bugs.configure_with_bug("digits", cell["slip"])
        model = replace(model, depth=1, embed_dim=16)  # type: ignore[call-overload]
        return TrainingSetup(model, train, BASES["digits"].preparation)

    measure = partial(train_cell, configure, epochs=0.2)
    cell = {"slip": "embedding", "seed": 1}
    made, again = (measure(cell, tmp_path) for _ in range(2))
    assert made["curve"][-1][0] == 5 and made["parameters"] == 3754
    assert (made["test"], made["validation"]) == (again["test"], again["validation"])
    assert made["test"] != measure(cell | {"seed": 2}, tmp_path)["test"]


def list_runs(name: str, tests: dict[Any, tuple[float, float]]) -> list[Row]:
    """Return two seeds of every value of a hyperparameter; the first one is the base."""
    base, *others = tests.items()
    rows = [row(seed, test, knob="base", value=None) for seed, test in enumerate(base[1])]
    return rows + [
        row(seed, test, knob=name, value=value) for value, both in others for seed, test in enumerate(both)
    ]


def answer(
    monkeypatch: pytest.MonkeyPatch, measure: StoredMeasure, rows: Sequence[Row], **settings: Any
) -> Any:
    """Return the answer to a question if its experiment found these rows."""
    file = Result("k", "K", "python", {"epochs": 4, "dataset": "digits", **settings}, (), tuple(rows))
    monkeypatch.setattr(experiment_measures, "read_result", lambda name: file)
    at: Any = None
    return measure.measure_answer(at)


@pytest.mark.parametrize(
    ("tests", "right", "words"),
    [
        (((0.5, 0.5), (0.91, 0.93), (0.93, 0.91)), (1, 2), "No difference between the best 2 is shown"),
        (((0.9, 0.9), (0.88, 0.91), (0.89, 0.9)), (3,), "the highest and the others is shown."),
        (((0.9, 0.9), (0.3, 0.3), (0.4, 0.4)), (0,), "Mean test accuracy: GELU: 90.0"),
    ],
)
def test_all_leaders_are_right_and_no_difference_is_an_answer(
    monkeypatch: pytest.MonkeyPatch, tests: Any, right: tuple[int, ...], words: str
) -> None:
    rows = list_runs("activation", dict(zip(("gelu", "relu", "silu"), tests, strict=True)))
    best = experiment_measures.BestHyperparameterValue("activation")
    found = answer(monkeypatch, best, rows)
    assert found.right == right and words in found.words
    with pytest.raises(ResultError, match="incomplete: SiLU"):
        answer(monkeypatch, best, rows[:-2])


@pytest.mark.parametrize(
    ("tests", "value", "words"),
    [((0.6, 0.6), 0, "lower, −30.0 points"), ((0.9, 0.3), 1, "no difference shown")],
)
def test_a_bug_s_cost_is_paired_by_seed(
    monkeypatch: pytest.MonkeyPatch, tests: tuple[float, float], value: int, words: str
) -> None:
    rows = [row(s, 0.9, slip="mended", family="vit") for s in (0, 1)]
    rows += [row(s, test, slip="softmax", family="vit") for s, test in enumerate(tests)]
    found = answer(monkeypatch, experiment_measures.BugCost("softmax"), rows)
    assert found.value == value and words in found.words


def test_measures_of_experiments_are_checked() -> None:
    with pytest.raises(ValueError, match="expected knob to be one of"):
        experiment_measures.BestHyperparameterValue("volume")
    with pytest.raises(ValueError, match="to be one of"):
        experiment_measures.BugCost("typo")


def test_a_run_on_a_part_of_the_images_says_so() -> None:
    """MNIST's models learn from a tenth of its images, and the form said '3 epochs each'."""
    for dataset, name, reported in (
        ("mnist", "num_heads", "3 epochs each of 10\N{NO-BREAK SPACE}% of the training images."),
        ("digits", "num_heads", "15 epochs each."),
        (
            "digits",
            "train_fraction",
            "each of 10\N{NO-BREAK SPACE}% to 100\N{NO-BREAK SPACE}% of the training images.",
        ),
    ):
        values = HYPERPARAMETERS[name].offered(BASES[dataset])
        assert describe_run(hyperparameters.build_run_config(dataset, name, values)).endswith(reported)
