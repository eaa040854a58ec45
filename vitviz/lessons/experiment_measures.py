"""Measure answers from stored experiments: hyperparameters, bugs, gradients, convolutions, and few images."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import isnan
from statistics import mean
from typing import Annotated

from vitviz.analysis.data_size import find_curve_leaders, find_leads, group_curves
from vitviz.analysis.image_changes import ROBUSTNESS, UNCHANGED
from vitviz.analysis.norms import find_smallest, format_share, select_norms
from vitviz.analysis.one_change import Variant, compare_variants, create_variant
from vitviz.analysis.transfer import describe_lead, group_method_curves
from vitviz.analysis.verdict import Verdict, find_leaders
from vitviz.experiments.bugs import BUGS, FIXED
from vitviz.experiments.conv_attention import NAME as CONV_ATTENTION
from vitviz.experiments.conv_attention import TITLES as CONV_TITLES
from vitviz.experiments.data_size import GRIDS, TITLES
from vitviz.experiments.gradients import NAME as GRADIENTS
from vitviz.experiments.gradients import VARIANTS
from vitviz.experiments.hyperparameters import BASES, HYPERPARAMETERS, Hyperparameter
from vitviz.experiments.result_file import TEST_IMAGES, Result, Row, read_result_if_any
from vitviz.experiments.transfer_plan import PLAN_OF
from vitviz.lessons.question_kinds import AnswerKind, Choose, MeasuredAnswer, QuestionSubject, StoredMeasure
from vitviz.text import percent, plural

NO_DIFFERENCE = "No difference shown"
COST_OPTIONS = ("lowers it", "no difference shown", "raises it")
OUTCOMES = ("lower", "no difference shown", "higher")  # in the order of `COST_OPTIONS`
EARLY_UPDATES = 10  # after which the gradients are compared
COMPARED_MODELS = ("written", "control", "cnn")
KIND = Choose((*(CONV_TITLES[name] for name in COMPARED_MODELS), NO_DIFFERENCE))
MODELS = tuple(TITLES)


def select_hyperparameter_rows(stored: Result, name: str) -> dict[Hashable, list[Row]]:
    """Return one hyperparameter's rows by value, with the base's among them; unmeasured values are missing."""
    knob = HYPERPARAMETERS[name]
    base = knob.base(BASES["digits"])
    rows_by_value: dict[Hashable, list[Row]] = {}
    for setting in knob.values:
        rows = [
            row
            for row in stored.rows
            if (row["knob"] == "base" if setting == base else row["knob"] == name and row["value"] == setting)
        ]
        if rows:
            rows_by_value[setting] = rows
    return rows_by_value


def list_hyperparameter_variants(stored: Result, knob: Hyperparameter) -> list[Variant]:
    """Return one hyperparameter's measured variants in the order of its values."""
    epochs = float(stored.settings["epochs"])
    rows = select_hyperparameter_rows(stored, knob.name)
    return [
        create_variant(f"{setting}", knob.label(setting), rows[setting], epochs, TEST_IMAGES["digits"])
        for setting in knob.values
        if setting in rows
    ]


def select_bug_rows(stored: Result, slip: str) -> list[Row]:
    """Return one bug's rows; for 'mended:FAMILY' those of the family's model without a bug."""
    kind, _, family = slip.partition(":")
    return [row for row in stored.rows if row["slip"] == kind and (not family or row["family"] == family)]


def compare_bug(stored: Result, slip: str) -> Verdict | None:
    """Return the change in accuracy with a bug, seed by seed; None if it was not measured."""
    epochs, images = float(stored.settings["epochs"]), TEST_IMAGES[stored.settings["dataset"]]
    with_bug, without = (
        create_variant(name, name, select_bug_rows(stored, name), epochs, images)
        for name in (slip, f"{FIXED}:{BUGS[slip].family}")
    )
    return compare_variants(with_bug, without)


@dataclass(frozen=True)
class BestHyperparameterValue(StoredMeasure):
    """The value of a hyperparameter with the highest mean test accuracy on Digits."""

    knob: Annotated[str, HYPERPARAMETERS]

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Choose((*(entry.title for entry in self._finished_variants()), NO_DIFFERENCE))

    def find_answer(self) -> MeasuredAnswer | None:
        finished = self._finished_variants()
        if len(finished) < 2:
            return None
        numbers = ", ".join(f"{entry.title}: {percent(entry.mean)}" for entry in finished)
        leaders = find_leaders(
            {entry.name: entry.test for entry in finished},
            images=TEST_IMAGES["digits"],
            right={entry.name: entry.right for entry in finished},
        )
        return answer_leaders([entry.name for entry in finished], leaders, f"Mean test accuracy: {numbers}.")

    def _finished_variants(self) -> list[Variant]:
        stored = read_result_if_any("one_knob_digits")
        if stored is None:
            return []
        variants = list_hyperparameter_variants(stored, HYPERPARAMETERS[self.knob])
        return [entry for entry in variants if entry.test]


def answer_leaders(names: Sequence[str], leaders: Sequence[str], numbers: str) -> MeasuredAnswer:
    """Return the answer of 'Which is most accurate?': every leader, or the last option where all of them lead.

    Args:
        names: of the options before 'No difference shown'.
        leaders: those that are not shown to be lower than the highest mean, see `find_leaders`.
        numbers: the sentence of the accuracies.
    """
    if len(leaders) > 1 and {*leaders} == {*names}:
        return MeasuredAnswer(
            len(names), f"{numbers} No difference between the highest and the others is shown."
        )
    first, *level = (names.index(name) for name in leaders)
    tied = f" No difference between {len(leaders)} of them is shown; each counts as correct." if level else ""
    return MeasuredAnswer(first, f"{numbers}{tied}", level=tuple(level))


@dataclass(frozen=True)
class BugCost(StoredMeasure):
    """The effect of a bug on test accuracy: lower, higher, or no difference shown."""

    kind = Choose(COST_OPTIONS)
    slip: Annotated[str, BUGS]
    dataset: str = "digits"

    def find_answer(self) -> MeasuredAnswer | None:
        stored = read_result_if_any(f"one_slip_{self.dataset}")
        change = None if stored is None else compare_bug(stored, self.slip)
        if change is None:
            return None
        option = None if change.outcome is None else OUTCOMES.index(change.outcome)
        return MeasuredAnswer(option, f"Test accuracy with the bug: {change.describe()}.")


@dataclass(frozen=True)
class WeakestGradient(StoredMeasure):
    """The deep model whose first block receives the smallest share of the last block's gradient."""

    kind = Choose(tuple(VARIANTS.values()))

    def find_answer(self) -> MeasuredAnswer | None:
        stored = read_result_if_any(GRADIENTS)
        if stored is None:
            return None
        norms = select_norms(stored.rows, list(stored.settings["marks"]).index(EARLY_UPDATES), VARIANTS)
        shares = {norm.name: norm.share for norm in norms if not isnan(norm.share)}
        if len(shares) < len(VARIANTS):
            return None
        weakest, *level = (list(VARIANTS).index(norm.name) for norm in find_smallest(norms))
        numbers = "; ".join(f"{VARIANTS[name]}: {format_share(share)}" for name, share in shares.items())
        return MeasuredAnswer(
            weakest,
            f"Gradient of the first block divided by that of the last after {plural(EARLY_UPDATES, 'update')}"
            f" (geometric mean over seeds): {numbers}.",
            level=tuple(level),
        )


@dataclass(frozen=True)
class AttentionOverConvolutions(StoredMeasure):
    """The most accurate of the lecture's attention over convolutions, its control without attention, and a CNN."""

    kind = KIND

    def find_answer(self) -> MeasuredAnswer | None:
        stored = load_stored_result()
        return None if stored is None else find_most_accurate(stored)


def find_most_accurate(stored: Result) -> MeasuredAnswer | None:
    """Return the index of the most accurate of `COMPARED_MODELS`; None if one was not measured."""
    tests = [list_accuracies(stored, name) for name in COMPARED_MODELS]
    if not all(tests):
        return None
    means = [mean(seeds) for seeds in tests]
    numbers = ", ".join(
        f"{CONV_TITLES[name]}: {percent(accuracy)}"
        for name, accuracy in zip(COMPARED_MODELS, means, strict=True)
    )
    counts = sorted({len(seeds) for seeds in tests})
    spread = plural(counts[0], "seed") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    condition = "one seed each" if counts == [1] else f"each the mean over {spread}"
    by_seed = {
        name: {int(row["seed"]): float(row["test"]) for row in stored.where(model=name) if "test" in row}
        for name in COMPARED_MODELS
    }
    leaders = find_leaders(by_seed, images=TEST_IMAGES["mnist"])
    return answer_leaders(COMPARED_MODELS, leaders, f"{numbers}, {condition}.")


def load_stored_result() -> Result | None:
    """Return the experiment's stored result; None if it is missing."""
    return read_result_if_any(CONV_ATTENTION)


def list_accuracies(stored: Result, model: str) -> list[float]:
    """Return a model's test accuracies, one per seed."""
    return [float(row["test"]) for row in stored.where(model=model) if "test" in row]


@dataclass(frozen=True)
class DataLeader(StoredMeasure):
    """The model with the highest mean test accuracy at the smallest dataset size of an experiment."""

    kind = Choose((*TITLES.values(), NO_DIFFERENCE))
    missing = "No results for this dataset are stored on this server."
    dataset: Annotated[str, GRIDS]
    augmented: bool = True

    def find_answer(self) -> MeasuredAnswer | None:
        stored = read_result_if_any(f"data_size_{self.dataset}")
        curves = group_curves(stored.rows, TITLES, self.augmented) if stored else []
        by_size = find_leads(curves)
        if not by_size:
            return None
        lead = by_size[0]
        first, second = lead.first, lead.second
        best, next_best = (float(curve.mean[curve.pictures == lead.pictures][0]) for curve in (first, second))
        return answer_leaders(
            MODELS,
            find_curve_leaders(curves, lead.pictures),
            f"With {plural(lead.pictures, 'training image')} {first.title} reaches {percent(best)} test accuracy,"
            f" {second.title} is next with {percent(next_best)}: {lead.certainty}.",
        )


@dataclass(frozen=True)
class TransferLeader(StoredMeasure):
    """The fine-tuning method with the highest mean test accuracy with the fewest images per class, or the most."""

    missing = "No results for this backbone are stored on this server."
    source: Annotated[str, PLAN_OF]
    fewest: bool = True

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Choose((*PLAN_OF[self.source].methods.values(), NO_DIFFERENCE))

    def find_answer(self) -> MeasuredAnswer | None:
        plan = PLAN_OF[self.source]
        stored = read_result_if_any(plan.name)
        curves = group_method_curves(stored.rows, self.source, plan.methods) if stored else []
        by_size = find_leads(curves)
        if not by_size:
            return None
        lead = by_size[0 if self.fewest else -1]
        leaders = find_curve_leaders(curves, lead.pictures)
        return answer_leaders([*plan.methods], leaders, describe_lead(lead))


@dataclass(frozen=True)
class ChangedImageAccuracy(StoredMeasure):
    """The stored accuracy of a model on test images that were changed, such as rotated by 90°."""

    model: str
    change: str
    at: float

    def find_answer(self) -> MeasuredAnswer | None:
        stored = read_result_if_any(ROBUSTNESS)
        rows = [] if stored is None else stored.where(model=self.model, change=self.change, value=self.at)
        plain = [] if stored is None else stored.where(model=self.model, change=UNCHANGED)
        if not rows or not plain:
            return None
        changed, unchanged = float(rows[0]["right"]), float(plain[0]["right"])
        return MeasuredAnswer(
            changed, f"Accuracy: {percent(unchanged)} unchanged, {percent(changed)} changed."
        )
