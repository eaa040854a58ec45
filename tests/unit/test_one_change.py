"""One change at a time: what is turned or wrong, what the numbers say, and stored numbers made again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pages.studies.hyperparameter import describe_run
from tests.messages import unpack
from vitviz.analysis.norms import Norms, format_share, select_norms
from vitviz.analysis.one_change import (
    Variant,
    compare_variants,
    create_variant,
)
from vitviz.config import ViTConfig
from vitviz.data.datasets import load_dataset
from vitviz.experiments import bugs, gradients, hyperparameters, one_change
from vitviz.experiments.bugs import BUGS
from vitviz.experiments.hyperparameters import BASES, HYPERPARAMETERS
from vitviz.experiments.result_file import Result, Row, read_result
from vitviz.lessons import experiment_measures
from vitviz.lessons.question_kinds import MeasuredAnswer
from vitviz.models.vit import VisionTransformer
from vitviz.models.zoo import create_model
from vitviz.plots.race import pack_variants, scale
from vitviz.probe.gradients import measure_gradient_norms
from vitviz.training.batches import prepare_training_data
from vitviz.training.loop import Trainer

NEAR = 0.08  # of an accuracy on 143 pictures: another processor rounds otherwise


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


def test_differences_are_paired_by_seed() -> None:
    verdict = compare_variants(of("a", 0.90, 0.95), of("b", 0.92, 0.96, 0.5))
    assert verdict is not None and verdict.estimate == pytest.approx(-1.5) and verdict.seeds == 2
    assert verdict.outcome == "no difference shown", "two seeds of the same sign"
    assert compare_variants(of("a", None), of("b", 0.9)) is None
    alone = compare_variants(of("a", 0.95), of("b", 0.9))
    assert (
        alone is not None and alone.describe() == "no verdict (one seed), +5.0 points (1 seed, 2,000 images)"
    )


def test_the_message_holds_every_seed_and_a_scale_around_them() -> None:
    header, arrays = unpack(pack_variants([of("a", 0.91, 0.93), of("b", None)], 0.1, 4.0, "here"))
    assert [racer["dots"] for racer in header["racers"]] == [[0.91, 0.93], []]
    assert header["rows"]["range"] == [0.85, 0.95] and header["rows"]["note"] == "here"
    assert arrays["curve0"].shape == (2, 2) and arrays["curve1"].shape == (2, 0)
    assert scale([]) == (0.0, 1.0) and scale([0.0, 1.0]) == (0.0, 1.0) and scale([0.999]) == (0.95, 1.0)


def test_gradient_norms_are_geometric_means() -> None:
    rows = [
        {"variant": "pre", "norms": [[1.0, 4.0], [1.0, 1.0]]},
        {"variant": "pre", "norms": [[4.0, 4.0]]},
        {"variant": "post", "norms": [[0.01, 1.0]]},
    ]
    pre, post = select_norms(rows, 0, {"pre": "Before", "post": "After"})
    np.testing.assert_allclose(pre.mean, [2.0, 4.0])
    assert (pre.low[0], pre.high[0], pre.seeds) == (1.0, 4.0, 2)
    assert (format_share(post.share), format_share(pre.share)) == ("1/100", "0.5 (similar)")
    assert [one.name for one in select_norms(rows, 1, {"pre": "Before", "post": "After"})] == ["pre"]


def test_a_gradient_that_vanished_has_words() -> None:
    rows = [{"variant": name, "norms": [norms]} for name, norms in (("a", [0.0, 1.0]), ("b", [1.0, 2.0]))]
    shares = [format_share(one.share) for one in select_norms(rows, 0, {"a": "A", "b": "B"})]
    assert shares == ["below 1e-30", "0.5 (similar)"]
    values = np.array([0.0, 0.0])
    assert "undefined" in format_share(Norms("a", "A", values, values, values, 1).share)


# ---------------------------------------------------------------- what is turned, and what is wrong


@pytest.mark.parametrize("dataset", BASES)
@pytest.mark.parametrize("name", HYPERPARAMETERS)
def test_a_knob_changes_one_field(name: str, dataset: str) -> None:
    knob, base = HYPERPARAMETERS[name], BASES[dataset]
    values = knob.offered(base)
    config = hyperparameters.build_run_config(dataset, name, values)
    assert len(config.members) == len(values) >= 2 and config.preset == f"one_knob:{name}"
    for member, value in zip(config.members, values, strict=True):
        assert member.train is not None
        changed = {
            field
            for now, before in ((member.model, base.model), (member.train, base.train))
            for field in vars(before)
            if getattr(now, field) != getattr(before, field)
        }
        assert changed == (set() if value == knob.base(base) else {name})
        assert member.title == knob.label(value)


def test_what_a_visitor_asks_of_a_knob_is_checked() -> None:
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
    changed = {
        field
        for now, before in zip(wrong, right, strict=True)
        for field in vars(before)
        if getattr(now, field) != getattr(before, field)
    }
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


@pytest.mark.parametrize("name", ["one_knob_digits", "one_slip_digits"])
def test_the_first_point_of_a_stored_curve_is_made_again(name: str) -> None:
    found = read_result(name)
    (cell,) = [
        one
        for one in found.rows
        if one["seed"] == 0
        and (one.get("knob") == "base" or (one.get("slip"), one.get("family")) == ("mended", "vit"))
    ]
    model, train = (
        bugs.configure_fixed("digits")
        if name == "one_slip_digits"
        else (BASES["digits"].model, BASES["digits"].train)
    )
    assert found.settings["epochs"] == train.epochs and found.settings["learning_rate"] == train.learning_rate
    trainer = Trainer(
        model, train, prepare_training_data(load_dataset("digits"), BASES["digits"].preparation, train)
    )
    updates, _, reached = cell["curve"][0]
    for _ in range(int(updates)):
        trainer.advance()
    assert trainer.evaluate("validation").accuracy == pytest.approx(reached, abs=NEAR)
    assert cell["parameters"] == sum(parameter.numel() for parameter in create_model(model).parameters())


def test_a_stored_gradient_at_the_start_is_made_again(tmp_path: Path) -> None:
    found = read_result(gradients.NAME)
    train = replace(gradients.TRAIN, train_fraction=0.2)  # the first pictures are the same ones
    cell = found.where(variant="post", seed=0)[0]
    made = gradients.measure(train, (0, 1), {"variant": "post", "seed": 0}, tmp_path)
    np.testing.assert_allclose(made["norms"][0], cell["norms"][0], rtol=0.02)


def test_a_cell_of_each_experiment_is_measured(tmp_path: Path) -> None:
    def built(cell: dict[str, Any]) -> Any:
        model, train = bugs.configure_with_bug("digits", cell["slip"])
        return replace(model, depth=1, embed_dim=16), train  # type: ignore[call-overload]

    measure = partial(one_change.measure, "digits", built, epochs=0.2)
    cell = {"slip": "embedding", "seed": 1}
    made, again = (measure(cell, tmp_path) for _ in range(2))
    assert made["curve"][-1][0] == 5 and made["parameters"] == 3754
    assert (made["test"], made["validation"]) == (again["test"], again["validation"])
    assert made["test"] != measure(cell | {"seed": 2}, tmp_path)["test"]

    def turned(cell: dict[str, Any]) -> Any:
        model, train = HYPERPARAMETERS[cell["knob"]].with_value(BASES["digits"], cell["value"])
        return replace(model, embed_dim=16), train

    made = one_change.measure(
        "digits", turned, {"knob": "depth", "value": 2, "seed": 1}, tmp_path, epochs=0.2
    )
    assert made["parameters"] == 5978
    assert len(one_change.one_knob("digits").cells) == len(
        {str(cell) for cell in one_change.one_knob("digits").cells}
    )
    assert {cell["slip"] for cell in one_change.one_slip("shapes").cells} == {"mended", *BUGS}


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Result:
    """A small file of each experiment, of numbers that nobody could have fixed."""
    turned = [row(s, 0.9 + s / 100, knob="base", value=None) for s in (0, 1)]
    turned += [row(s, 0.95 + s / 100, knob="num_heads", value=8) for s in (0, 1)]
    wrong = [row(s, 0.9, slip="mended", family="vit") for s in (0, 1)]
    wrong += [row(s, 0.6, slip="softmax", family="vit") for s in (0, 1)]
    norms = [{"variant": name, "norms": [[1.0, 2.0 + i]]} for i, name in enumerate(gradients.VARIANTS)]
    files = {
        "one_knob_digits": Result("k", "K", "python", {"epochs": 4}, (), tuple(turned)),
        "one_slip_digits": Result("s", "S", "python", {"epochs": 4, "dataset": "digits"}, (), tuple(wrong)),
        gradients.NAME: Result("g", "G", "python", {"marks": [10]}, (), tuple(norms)),
    }
    monkeypatch.setattr(experiment_measures, "read_result_if_any", files.__getitem__)
    return files["one_knob_digits"]


def test_predictions_are_answered_from_the_files(kept: Result) -> None:
    at: Any = None
    best = experiment_measures.BestHyperparameterValue("num_heads")
    assert best.get_answer_kind(at).options == ("4", "8", "No difference shown")  # type: ignore[union-attr]
    assert best.measure_answer(at).value == 1
    assert experiment_measures.BugCost("softmax").measure_answer(at).value == 0
    assert "lower, −30.0 points" in experiment_measures.BugCost("softmax").measure_answer(at).words
    assert experiment_measures.WeakestGradient().measure_answer(at).value == len(gradients.VARIANTS) - 1
    assert set(experiment_measures.select_hyperparameter_rows(kept, "num_heads")) == {4, 8}
    with pytest.raises(ValueError, match="expected knob to be one of"):
        experiment_measures.BestHyperparameterValue("volume")
    with pytest.raises(ValueError, match="to be one of"):
        experiment_measures.BugCost("typo")


def test_all_leaders_are_right_and_no_difference_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    at: Any = None

    def measure(values: dict[str, tuple[float, float]]) -> MeasuredAnswer:
        base, *others = values.items()
        rows = [row(s, base[1][s], knob="base", value=None) for s in (0, 1)]
        rows += [row(s, tests[s], knob="activation", value=value) for value, tests in others for s in (0, 1)]
        file = Result("k", "K", "python", {"epochs": 4}, (), tuple(rows))
        monkeypatch.setattr(experiment_measures, "read_result_if_any", lambda name: file)
        return experiment_measures.BestHyperparameterValue("activation").measure_answer(at)

    level = measure({"gelu": (0.5, 0.5), "relu": (0.91, 0.93), "silu": (0.93, 0.91)})
    assert level.right == (1, 2) and "No difference between 2 of them is shown" in level.words
    unsure = measure({"gelu": (0.9, 0.9), "relu": (0.88, 0.91), "silu": (0.89, 0.9)})
    assert unsure.right == (3,) and unsure.words.endswith("the highest and the others is shown.")
    clear = measure({"gelu": (0.9, 0.9), "relu": (0.3, 0.3), "silu": (0.4, 0.4)})
    assert clear.right == (0,)
    rows = [row(s, 0.9, slip="mended", family="vit") for s in (0, 1)]
    rows += [row(s, test, slip="softmax", family="vit") for s, test in enumerate((0.9, 0.3))]
    file = Result("s", "S", "python", {"epochs": 4, "dataset": "digits"}, (), tuple(rows))
    monkeypatch.setattr(experiment_measures, "read_result_if_any", lambda name: file)
    bug = experiment_measures.BugCost("softmax").measure_answer(at)
    assert bug.value == 1 and "no difference shown" in bug.words


def test_a_run_on_a_part_of_the_pictures_says_so() -> None:
    """MNIST's models learn from a tenth of its pictures, and the form said '3 epochs each'."""
    for dataset, name, told in (
        ("mnist", "num_heads", "3 epochs each of 10\N{NO-BREAK SPACE}% of the training images."),
        ("digits", "num_heads", "15 epochs each."),
        (
            "digits",
            "train_fraction",
            "each of 10\N{NO-BREAK SPACE}% to 100\N{NO-BREAK SPACE}% of the training images.",
        ),
    ):
        values = HYPERPARAMETERS[name].offered(BASES[dataset])
        assert describe_run(hyperparameters.build_run_config(dataset, name, values)).endswith(told)
