"""Measure answers from stored experiments: hyperparameters, bugs, gradients, convolutions, and few images."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

from vitviz.analysis.image_changes import ROBUSTNESS, UNCHANGED
from vitviz.analysis.norms import find_smallest, format_ratio, select_norms
from vitviz.analysis.study_numbers import ALL, Numbers, create_numbers, read_numbers
from vitviz.experiments.bugs import BUGS, FIXED
from vitviz.experiments.conv_attention import NAME as CONV_ATTENTION
from vitviz.experiments.conv_attention import TITLES as CONV_TITLES
from vitviz.experiments.data_size import GRIDS, TITLES
from vitviz.experiments.gradients import NAME as GRADIENTS
from vitviz.experiments.gradients import VARIANTS
from vitviz.experiments.hyperparameters import BASES, HYPERPARAMETERS
from vitviz.experiments.result_file import ResultError, read_result
from vitviz.experiments.transfer_plan import PLAN_OF
from vitviz.lessons.question_kinds import AnswerKind, Choose, MeasuredAnswer, QuestionSubject, StoredMeasure
from vitviz.text import percent, plural

NO_DIFFERENCE = "No difference shown"
COST_OPTIONS = ("lowers it", "no difference shown", "raises it")
OUTCOMES = ("lower", "no difference shown", "higher")  # in the order of `COST_OPTIONS`
EARLY_UPDATES = 10  # after which the gradients are compared
COMPARED_MODELS = {name: CONV_TITLES[name] for name in ("written", "control", "cnn")}


def read_hyperparameter(name: str) -> Numbers:
    """Return the accuracies of every stored value of a hyperparameter, in the order of the values.

    Raises:
        ResultError: if the results are missing, damaged or incomplete, or are not of this hyperparameter.
    """
    stored, knob = read_result("one_knob_digits"), HYPERPARAMETERS[name]
    base = knob.base(BASES["digits"])
    values = knob.offered(BASES["digits"])
    rows = {
        f"{value}": stored.where(knob="base") if value == base else stored.where(knob=name, value=value)
        for value in values
    }
    titles = {f"{value}": knob.label(value) for value in values}
    numbers = create_numbers(titles, rows, [(stored, [row for part in rows.values() for row in part])])
    return replace(numbers, extra={"base series": f"{base}", "title": knob.title})


def read_bug(name: str, dataset: str) -> Numbers:
    """Return the accuracies without and with a bug.

    Raises:
        ResultError: if the results are missing, damaged or incomplete.
    """
    stored = read_result(f"one_slip_{dataset}")
    rows = {"fixed": stored.where(slip=FIXED, family=BUGS[name].family), "with_bug": stored.where(slip=name)}
    titles = {"fixed": "Without the bug", "with_bug": "With the bug"}
    return create_numbers(titles, rows, [(stored, [row for part in rows.values() for row in part])])


def answer_leaders(numbers: Numbers, place: Any, words: str) -> MeasuredAnswer:
    """Return the answer of 'Which is most accurate?': every leader, or the last option where all of them lead.

    Args:
        words: the sentence of the accuracies.
    """
    names = [*numbers.titles]
    leaders = numbers.find_leaders(place)
    if len(leaders) == len(names):
        return MeasuredAnswer(
            len(names), f"{words} No difference between the highest and the others is shown."
        )
    first, *level = (names.index(name) for name in leaders)
    tied = (
        f" No difference between the best {len(leaders)} is shown; each counts as correct." if level else ""
    )
    return MeasuredAnswer(first, f"{words}{tied}", level=tuple(level))


def list_means(numbers: Numbers) -> str:
    return ", ".join(
        f"{title}: {percent(numbers.get_mean(name, ALL))}" for name, title in numbers.titles.items()
    )


def answer_first(numbers: Numbers, place: Any, size: str) -> MeasuredAnswer:
    """Return the leaders at a place with the two highest means.

    Args:
        size: what the place is, such as '50 training images'.
    """
    best, second = numbers.rank(place)[:2]
    is_level = second in numbers.find_leaders(place)  # judged among all; the sentence after it says so
    certainty = "" if is_level else f" ({numbers.compare(best, second, place).certainty})"
    return answer_leaders(
        numbers,
        place,
        f"With {size} {numbers.titles[best]} reaches {percent(numbers.get_mean(best, place))} test accuracy,"
        f" {numbers.titles[second]} is next with {percent(numbers.get_mean(second, place))}{certainty}.",
    )


@dataclass(frozen=True)
class BestHyperparameterValue(StoredMeasure):
    """The value of a hyperparameter with the highest mean test accuracy on Digits."""

    knob: Annotated[str, HYPERPARAMETERS]

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        knob = HYPERPARAMETERS[self.knob]
        return Choose((*map(knob.label, knob.offered(BASES["digits"])), NO_DIFFERENCE))

    def find_answer(self) -> MeasuredAnswer:
        numbers = read_hyperparameter(self.knob)
        return answer_leaders(numbers, ALL, f"Mean test accuracy: {list_means(numbers)}.")


@dataclass(frozen=True)
class BugCost(StoredMeasure):
    """The effect of a bug on test accuracy: lower, higher, or no difference shown."""

    kind = Choose(COST_OPTIONS)
    slip: Annotated[str, BUGS]
    dataset: str = "digits"

    def find_answer(self) -> MeasuredAnswer:
        change = read_bug(self.slip, self.dataset).compare("with_bug", "fixed", ALL)
        option = None if change.outcome is None else OUTCOMES.index(change.outcome)
        return MeasuredAnswer(option, f"Test accuracy with the bug: {change.describe()}.")


@dataclass(frozen=True)
class WeakestGradient(StoredMeasure):
    """The deep model whose first block receives the smallest share of the last block's gradient."""

    kind = Choose(tuple(VARIANTS.values()))

    def find_answer(self) -> MeasuredAnswer:
        stored = read_result(GRADIENTS)
        norms = select_norms(stored.rows, list(stored.settings["marks"]).index(EARLY_UPDATES), VARIANTS)
        weakest, *level = (list(VARIANTS).index(norm.name) for norm in find_smallest(norms))
        numbers = "; ".join(f"{norm.title}: {format_ratio(norm.share)}" for norm in norms)
        return MeasuredAnswer(
            weakest,
            f"Gradient of the first block divided by that of the last after {plural(EARLY_UPDATES, 'update')}"
            f" (geometric mean over seeds): {numbers}.",
            level=tuple(level),
        )


@dataclass(frozen=True)
class AttentionOverConvolutions(StoredMeasure):
    """The most accurate of the lecture's attention over convolutions, its control without attention, and a CNN."""

    kind = Choose((*COMPARED_MODELS.values(), NO_DIFFERENCE))

    def find_answer(self) -> MeasuredAnswer:
        numbers = read_numbers([{"result": CONV_ATTENTION}], COMPARED_MODELS, series="model")
        seeds = plural(len(numbers.list_seeds("cnn")), "seed")
        return answer_leaders(numbers, ALL, f"{list_means(numbers)}, each the mean over {seeds}.")


@dataclass(frozen=True)
class DataLeader(StoredMeasure):
    """The model with the highest mean test accuracy at the smallest dataset size of an experiment."""

    kind = Choose((*TITLES.values(), NO_DIFFERENCE))
    missing = "No results for this dataset are stored on this server."
    dataset: Annotated[str, GRIDS]
    augmented: bool = True

    def find_answer(self) -> MeasuredAnswer:
        source = {"result": f"data_size_{self.dataset}", "where": {"augmented": self.augmented}}
        numbers = read_numbers([source], TITLES, series="model", x="pictures")
        return answer_first(numbers, numbers.places[0], plural(numbers.places[0], "training image"))


@dataclass(frozen=True)
class TransferLeader(StoredMeasure):
    """The fine-tuning method with the highest mean test accuracy with the fewest images per class, or the most."""

    missing = "No results for this backbone are stored on this server."
    source: Annotated[str, PLAN_OF]
    fewest: bool = True

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Choose((*PLAN_OF[self.source].methods.values(), NO_DIFFERENCE))

    def find_answer(self) -> MeasuredAnswer:
        plan = PLAN_OF[self.source]
        source = {"result": plan.name, "where": {"source": self.source}}
        numbers = read_numbers([source], plan.methods, series="method", x="a_class")
        place = numbers.places[0 if self.fewest else -1]
        return answer_first(numbers, place, f"{plural(place, 'image')} per class")


@dataclass(frozen=True)
class ChangedImageAccuracy(StoredMeasure):
    """The stored accuracy of a model on test images that were changed, such as rotated by 90°."""

    model: str
    change: str
    at: float

    def find_answer(self) -> MeasuredAnswer:
        stored = read_result(ROBUSTNESS)
        rows = stored.where(model=self.model, change=self.change, value=self.at)
        if not rows:
            raise ResultError(f"{self.change} of {self.at:g} was not measured for {self.model}")
        (plain,) = stored.where(model=self.model, change=UNCHANGED)
        changed, unchanged = float(rows[0]["right"]), float(plain["right"])
        return MeasuredAnswer(
            changed, f"Accuracy: {percent(unchanged)} unchanged, {percent(changed)} changed."
        )
