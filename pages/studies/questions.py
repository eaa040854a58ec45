"""Build the question that a study asks before its picture.

'measure' names a measure of lessons, which a teacher may ask the class; 'options' have a right one and the sentence
that explains it; 'first' and 'second' name two series, of which one may be higher. Otherwise the question is for the
series with the highest mean at a place, and those that are not shown to be lower count as right.
"""

from collections.abc import Collection, Hashable, Mapping
from functools import partial
from typing import Any

from pages.controls.widgets import encode_value
from pages.questions import prediction_gate
from pages.questions.prediction_gate import Prediction, ask_options
from pages.studies import placeholders
from pages.studies.placeholders import fill
from pages.studies.study import Study, StudyView, Values
from vitviz.analysis.study_numbers import Numbers
from vitviz.lessons.lesson import Question
from vitviz.lessons.measures import read_measure
from vitviz.text import percent

Words = Mapping[str, Any]
NONE = "none"  # the option of no difference
OUTCOMES = ("higher", "lower", "no difference shown")


def build(
    study: Study, view: StudyView, values: Values, numbers: Numbers | None, words: Words
) -> Prediction | None:
    """Return the question of a view; None if it asks none."""
    ask = view.ask
    if ask is None or (numbers is not None and numbers.extra.get("own_points")):  # which show the answer
        return None
    prompt = fill(ask["prompt"], numbers, words)
    about = tuple(values[name] for name in ask.get("about", values))
    if "measure" in ask:
        return _ask_measure(study, ask, values, prompt)
    if "options" in ask:
        return _ask_choice(ask, about, prompt, values, partial(fill, numbers=numbers, words=words))
    assert numbers is not None
    build_one = _ask_verdict if "first" in ask else _ask_highest
    return build_one(ask, about, prompt, numbers)


def _ask_highest(ask: Mapping[str, Any], about: Hashable, prompt: str, numbers: Numbers) -> Prediction:
    place = numbers.get_place(ask.get("at", ""))
    lowest = bool(ask.get("lowest"))
    best = numbers.rank(place)[-1 if lowest else 0]
    has_seeds = numbers.as_trained or len(numbers.list_seeds(best, place)) > 1  # one seed shows no difference
    leaders = numbers.find_leaders(place, lowest) if has_seeds else ()
    right = [index for index, name in enumerate(numbers.titles) if name in leaders]
    if tied := len(right) == len(numbers.titles):
        right = [len(numbers.titles)]

    def judge(guess: str) -> str:
        if guess == NONE:
            highest = f"{numbers.titles[best]}, {percent(numbers.get_mean(best, place))}"
            return f"Your prediction: no difference shown. Measured: {highest}."
        predicted = f"Your prediction: {numbers.titles[guess]}, {percent(numbers.get_mean(guess, place))}"
        if guess == best:
            mean = f"{predicted}, the {'lowest' if lowest else 'highest'} mean"
            return f"{mean}, but no difference between the models is shown." if tied else f"{mean}."
        measured = placeholders.describe(numbers, (guess, best, place), numbers.compare(guess, best, place))
        return f"{predicted}. Measured: {measured}."

    options = {**numbers.titles, NONE: "No difference shown"}
    return ask_options(ask["key"], about, prompt, options, judge, lambda: right)


def _ask_verdict(ask: Mapping[str, Any], about: Hashable, prompt: str, numbers: Numbers) -> Prediction:
    place = numbers.get_place(ask.get("at", ""))
    options = ask["outcomes"]  # first is higher, lower, no difference shown
    pair = ask["first"], ask["second"], place
    verdict = numbers.compare(*pair)
    right = [OUTCOMES.index(verdict.outcome)] if verdict.outcome else []
    measured = placeholders.describe(numbers, pair, verdict)

    def judge(guess: str) -> str:
        return f"Your prediction: {options[guess]}. Measured: {measured}."

    return ask_options(ask["key"], about, prompt, options, judge, lambda: right)


def _ask_choice(
    ask: Mapping[str, Any], about: Hashable, prompt: str, values: Values, write: Any
) -> Prediction:
    options, right = ask["options"], ask["right"]
    if isinstance(right, Mapping):
        right = right[values[ask["by"]]]
    rights: Collection[Any] = [place for place, name in enumerate(options) if name == right]

    def judge(guess: str) -> str:
        verdict = "right" if guess == right else "wrong"
        return f"Your prediction: {options[guess]}: {verdict}. {write(ask['answer'])}"

    return ask_options(ask["key"], about, prompt, options, judge, lambda: rights)


def _ask_measure(study: Study, ask: Mapping[str, Any], values: Values, prompt: str) -> Prediction | None:
    given = {name: values.get(value, value) for name, value in ask.get("with", {}).items()}
    measure = read_measure(ask["measure"], given, study.name)
    address = {choice.key: encode_value(values[choice.name]) for choice in study.choices}
    proof = {"studies.study": study.name, **address, ask["key"]: prediction_gate.SKIPPED}
    return prediction_gate.create_prediction(ask["key"], Question(prompt, measure, tuple(proof.items())))
