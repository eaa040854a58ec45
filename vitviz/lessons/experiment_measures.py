"""Measure answers from stored experiments on one hyperparameter, one bug and the gradients of deep models."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Annotated

from vitviz.analysis.gradients import format_share, select_norms
from vitviz.analysis.one_change import Gain, Variant, compute_gain, create_variant
from vitviz.experiments.bugs import BUGS, FIXED
from vitviz.experiments.gradients import NAME as GRADIENTS
from vitviz.experiments.gradients import VARIANTS
from vitviz.experiments.hyperparameter import BASES, Hyperparameter
from vitviz.experiments.hyperparameters import HYPERPARAMETERS
from vitviz.experiments.result_file import Result, Row, read_result_if_any
from vitviz.lessons.question_kinds import AnswerKind, Choose, MeasuredAnswer, QuestionSubject, StoredMeasure
from vitviz.text import join_words, percent, plural

MIN_EFFECT_POINTS = 2.0  # of accuracy
COST_OPTIONS = (
    "lowers it by more than 2 points",
    "changes it by at most 2 points",
    "raises it by more than 2 points",
)
EARLY_UPDATES = 10  # after which the gradients are compared


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
        create_variant(f"{setting}", knob.label(setting), rows[setting], epochs)
        for setting in knob.values
        if setting in rows
    ]


def select_bug_rows(stored: Result, slip: str) -> list[Row]:
    """Return one bug's rows; for 'mended:FAMILY' those of the family's model without a bug."""
    kind, _, family = slip.partition(":")
    return [row for row in stored.rows if row["slip"] == kind and (not family or row["family"] == family)]


def measure_bug_gain(stored: Result, slip: str) -> Gain | None:
    """Return the change in accuracy with a bug, seed by seed; None if it was not measured."""
    epochs = float(stored.settings["epochs"])
    sides = [
        create_variant(name, name, select_bug_rows(stored, name), epochs)
        for name in (slip, f"{FIXED}:{BUGS[slip].family}")
    ]
    return compute_gain(*sides)


@dataclass(frozen=True)
class BestHyperparameterValue(StoredMeasure):
    """The value of a hyperparameter with the highest mean test accuracy on Digits."""

    knob: Annotated[str, HYPERPARAMETERS]

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Choose(tuple(entry.title for entry in self._finished_variants()))

    def find_answer(self) -> MeasuredAnswer | None:
        finished = self._finished_variants()
        if len(finished) < 2:
            return None
        means = [entry.mean for entry in finished]
        best, *ties = (index for index, accuracy in enumerate(means) if accuracy == max(means))
        numbers = ", ".join(f"{entry.title}: {percent(entry.mean)}" for entry in finished)
        sentence = f"Mean test accuracy: {numbers}.{_describe_lead(finished)}"
        return MeasuredAnswer(best, sentence, level=tuple(ties))

    def _finished_variants(self) -> list[Variant]:
        stored = read_result_if_any("one_knob_digits")
        if stored is None:
            return []
        variants = list_hyperparameter_variants(stored, HYPERPARAMETERS[self.knob])
        return [entry for entry in variants if entry.test]


def _describe_lead(finished: Sequence[Variant]) -> str:
    best, second, *_ = sorted(finished, key=lambda entry: -entry.mean)
    if best.mean == second.mean:
        ties = [entry.title for entry in finished if entry.mean == best.mean]
        return f" {join_words(ties)} are tied, and each counts as correct."
    lead = compute_gain(best, second)
    text = f"{best.title} compared with {second.title}"
    return "" if lead is None else f" {text}: {lead.summary}, {lead.certainty}."


@dataclass(frozen=True)
class BugCost(StoredMeasure):
    """The effect of a bug on test accuracy: more than two points lower, more than two higher, or neither."""

    kind = Choose(COST_OPTIONS)
    slip: Annotated[str, BUGS]
    dataset: str = "digits"

    def find_answer(self) -> MeasuredAnswer | None:
        stored = read_result_if_any(f"one_slip_{self.dataset}")
        change = None if stored is None else measure_bug_gain(stored, self.slip)
        if change is None:
            return None
        option = 0 if change.mean < -MIN_EFFECT_POINTS else 2 if change.mean > MIN_EFFECT_POINTS else 1
        return MeasuredAnswer(option, f"Mean change with the bug: {change.summary}, {change.certainty}.")


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
        weakest = min(shares, key=shares.__getitem__)
        numbers = "; ".join(f"{VARIANTS[name]}: {format_share(share)}" for name, share in shares.items())
        return MeasuredAnswer(
            list(VARIANTS).index(weakest),
            f"Gradient of the first block divided by that of the last after {plural(EARLY_UPDATES, 'update')}"
            f" (geometric mean over seeds): {numbers}.",
        )
