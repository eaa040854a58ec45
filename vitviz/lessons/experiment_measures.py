"""Measure answers from the results of stored experiments."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import isnan
from statistics import mean
from typing import ClassVar

from vitviz.analysis.data_size import find_leads, group_curves
from vitviz.analysis.gradients import select_norms
from vitviz.analysis.one_change import Gain, Variant, compute_gain, create_variant
from vitviz.analysis.transfer import describe_lead, group_method_curves
from vitviz.experiments import conv_attention
from vitviz.experiments.bugs import BUGS, FIXED
from vitviz.experiments.data_size import GRIDS, TITLES
from vitviz.experiments.gradients import NAME as GRADIENTS
from vitviz.experiments.gradients import VARIANTS
from vitviz.experiments.hyperparameter import BASES, Hyperparameter
from vitviz.experiments.hyperparameters import HYPERPARAMETERS
from vitviz.experiments.result import Result, Row, read_result_if_any
from vitviz.experiments.transfer_plan import PLAN_OF
from vitviz.lessons.question_kinds import AnswerKind, Choose, MeasuredAnswer, QuestionSubject
from vitviz.text import join_words, percent, plural

RESULTS_MISSING = "The experiment's results are not stored on this server."
MIN_EFFECT_POINTS = 2.0  # of accuracy
COST_OPTIONS = (
    "it lowers it by more than 2 points",
    "less than 2 points either way",
    "it raises it by more than 2 points",
)
EARLY_UPDATES = 10  # after which the gradients are compared
COMPARED_MODELS = ("written", "control", "cnn")  # of the attention over convolutions
COMPARED_KIND = Choose(tuple(conv_attention.TITLES[name] for name in COMPARED_MODELS))


def select_hyperparameter_rows(result: Result, name: str) -> dict[Hashable, list[Row]]:
    """Return one hyperparameter's rows by value, with the base's among them; unmeasured values are missing."""
    knob = HYPERPARAMETERS[name]
    base = knob.base(BASES["digits"])
    rows_by_value: dict[Hashable, list[Row]] = {}
    for value in knob.values:
        rows = [
            row
            for row in result.rows
            if (row["knob"] == "base" if value == base else row["knob"] == name and row["value"] == value)
        ]
        if rows:
            rows_by_value[value] = rows
    return rows_by_value


def list_hyperparameter_variants(result: Result, knob: Hyperparameter) -> list[Variant]:
    """Return one hyperparameter's measured variants in the order of its values."""
    epochs = float(result.settings["epochs"])
    rows = select_hyperparameter_rows(result, knob.name)
    return [
        create_variant(f"{value}", knob.label(value), rows[value], epochs)
        for value in knob.values
        if value in rows
    ]


def select_bug_rows(result: Result, slip: str) -> list[Row]:
    """Return one bug's rows; for 'mended:FAMILY' those of the family's model without a bug."""
    kind, _, family = slip.partition(":")
    return [row for row in result.rows if row["slip"] == kind and (not family or row["family"] == family)]


def measure_bug_gain(result: Result, slip: str) -> Gain | None:
    """Return the change in accuracy with a bug, seed by seed; None if it was not measured."""
    epochs = float(result.settings["epochs"])
    sides = [
        create_variant(name, name, select_bug_rows(result, name), epochs)
        for name in (slip, f"{FIXED}:{BUGS[slip].family}")
    ]
    return compute_gain(*sides)


class StoredMeasure:
    """A measure of a stored experiment, which has no answer where the results are missing."""

    missing: ClassVar[str] = RESULTS_MISSING

    def why_not(self, subject: QuestionSubject) -> str:
        return "" if self.find_answer() is not None else self.missing

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        answer = self.find_answer()
        if answer is None:
            raise ValueError(f"expected stored results of {self}, found none")
        return answer

    def find_answer(self) -> MeasuredAnswer | None:
        """Return the answer in the stored results; None if they are missing or incomplete."""
        raise NotImplementedError


@dataclass(frozen=True)
class BestHyperparameterValue(StoredMeasure):
    """The value of a hyperparameter with the highest mean test accuracy on Digits."""

    knob: str

    def __post_init__(self) -> None:
        if self.knob not in HYPERPARAMETERS:
            raise ValueError(
                f"expected knob to be one of {', '.join(HYPERPARAMETERS)}, received {self.knob!r}"
            )

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Choose(tuple(entry.title for entry in self._finished_variants()))

    def find_answer(self) -> MeasuredAnswer | None:
        finished = self._finished_variants()
        if len(finished) < 2:
            return None
        means = [entry.mean for entry in finished]
        best, *ties = (index for index, accuracy in enumerate(means) if accuracy == max(means))
        numbers = ", ".join(f"{entry.title}: {percent(entry.mean)}" for entry in finished)
        sentence = f"Mean test accuracy: {numbers}.{_describe_best(finished)}"
        return MeasuredAnswer(best, sentence, level=tuple(ties))

    def _finished_variants(self) -> list[Variant]:
        result = read_result_if_any("one_knob_digits")
        if result is None:
            return []
        variants = list_hyperparameter_variants(result, HYPERPARAMETERS[self.knob])
        return [entry for entry in variants if entry.test]


def _describe_best(finished: Sequence[Variant]) -> str:
    best, second, *_ = sorted(finished, key=lambda entry: -entry.mean)
    if best.mean == second.mean:
        ties = [entry.title for entry in finished if entry.mean == best.mean]
        return f" {join_words(ties)} are tied, and each counts as correct."
    lead = compute_gain(best, second)
    return "" if lead is None else f" {best.title} against {second.title}: {lead.summary}, {lead.certainty}."


@dataclass(frozen=True)
class BugCost(StoredMeasure):
    """The effect of a bug on test accuracy: more than two points lower, more than two higher, or neither."""

    slip: str
    dataset: str = "digits"

    def __post_init__(self) -> None:
        if self.slip not in BUGS:
            raise ValueError(f"expected slip to be one of {', '.join(BUGS)}, received {self.slip!r}")

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Choose(COST_OPTIONS)

    def find_answer(self) -> MeasuredAnswer | None:
        result = read_result_if_any(f"one_slip_{self.dataset}")
        change = None if result is None else measure_bug_gain(result, self.slip)
        if change is None:
            return None
        option = 0 if change.mean < -MIN_EFFECT_POINTS else 2 if change.mean > MIN_EFFECT_POINTS else 1
        return MeasuredAnswer(option, f"Mean change with the bug: {change.summary}, {change.certainty}.")


@dataclass(frozen=True)
class WeakestGradient(StoredMeasure):
    """The deep model whose first block receives the smallest share of the last block's gradient."""

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Choose(tuple(VARIANTS.values()))

    def find_answer(self) -> MeasuredAnswer | None:
        result = read_result_if_any(GRADIENTS)
        if result is None:
            return None
        norms = select_norms(result.rows, list(result.settings["marks"]).index(EARLY_UPDATES), VARIANTS)
        shares = {norm.name: norm.share for norm in norms if not isnan(norm.share)}
        if len(norms) < len(VARIANTS) or not shares:
            return None
        weakest = min(shares, key=shares.__getitem__)
        numbers = "; ".join(f"{VARIANTS[name]}: {share:.2g}" for name, share in shares.items())
        return MeasuredAnswer(
            list(VARIANTS).index(weakest),
            f"The first block's gradient over the last block's after {plural(EARLY_UPDATES, 'update')}, geometric"
            f" means over the seeds: {numbers}.",
        )


@dataclass(frozen=True)
class AttentionOverConvolutions(StoredMeasure):
    """The most accurate of the lecture's attention over convolutions, its control without attention, and a CNN."""

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return COMPARED_KIND

    def find_answer(self) -> MeasuredAnswer | None:
        result = load_stored_result()
        return None if result is None else find_most_accurate(result)


def find_most_accurate(result: Result) -> MeasuredAnswer | None:
    """Return the index of the most accurate of `COMPARED_MODELS`; None if one was not measured."""
    tests = [list_accuracies(result, name) for name in COMPARED_MODELS]
    if not all(tests):
        return None
    means = [mean(seeds) for seeds in tests]
    numbers = ", ".join(
        f"{conv_attention.TITLES[name]}: {percent(accuracy)}"
        for name, accuracy in zip(COMPARED_MODELS, means, strict=True)
    )
    counts = sorted({len(seeds) for seeds in tests})
    spread = plural(counts[0], "seed") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    condition = "one seed each" if counts == [1] else f"each the mean over {spread}"
    return MeasuredAnswer(means.index(max(means)), f"{numbers}, {condition}.")


def load_stored_result() -> Result | None:
    """Return the experiment's stored result; None if it is missing."""
    return read_result_if_any(conv_attention.NAME)


def list_accuracies(result: Result, model: str) -> list[float]:
    """Return a model's test accuracies, one per seed."""
    return [float(row["test"]) for row in result.where(model=model) if "test" in row]


@dataclass(frozen=True)
class DataLeader(StoredMeasure):
    """The model with the highest mean test accuracy at the smallest dataset size of an experiment."""

    dataset: str
    augmented: bool = True
    missing: ClassVar[str] = "No results for this dataset are stored on this server."

    def __post_init__(self) -> None:
        if self.dataset not in GRIDS:
            raise ValueError(f"expected dataset to be one of {', '.join(GRIDS)}, received {self.dataset!r}")

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Choose(tuple(TITLES.values()))

    def find_answer(self) -> MeasuredAnswer | None:
        result = read_result_if_any(f"data_size_{self.dataset}")
        if result is None or not (leads := find_leads(group_curves(result.rows, TITLES, self.augmented))):
            return None
        lead = leads[0]
        first, second = lead.first, lead.second
        best, next_best = (float(curve.mean[curve.pictures == lead.pictures][0]) for curve in (first, second))
        return MeasuredAnswer(
            list(TITLES).index(first.name),
            f"With {plural(lead.pictures, 'training image')} {first.title} reaches {percent(best)} test accuracy,"
            f" {second.title} is next with {percent(next_best)}: {lead.certainty}.",
        )


@dataclass(frozen=True)
class TransferLeader(StoredMeasure):
    """The fine-tuning method with the highest mean test accuracy with the fewest images per class, or the most."""

    source: str
    fewest: bool = True
    missing: ClassVar[str] = "No results for this backbone are stored on this server."

    def __post_init__(self) -> None:
        if self.source not in PLAN_OF:
            raise ValueError(f"expected source to be one of {', '.join(PLAN_OF)}, received {self.source!r}")

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Choose(tuple(PLAN_OF[self.source].methods.values()))

    def find_answer(self) -> MeasuredAnswer | None:
        plan = PLAN_OF[self.source]
        result = read_result_if_any(plan.name)
        leads = find_leads(group_method_curves(result.rows, self.source, plan.methods)) if result else []
        if not leads:
            return None
        lead = leads[0 if self.fewest else -1]
        return MeasuredAnswer(list(plan.methods).index(lead.first.name), describe_lead(lead))
