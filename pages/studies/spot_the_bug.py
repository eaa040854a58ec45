"""Draw a code listing with a bug, next to the curve of its training, and ask for the wrong line."""

from dataclasses import replace

from pages.controls import listing
from pages.questions.prediction_gate import Prediction, ask_options
from pages.studies.study import Values
from vitviz.analysis.study_numbers import ALL, Numbers
from vitviz.data.datasets import data_title
from vitviz.experiments.bugs import BUGS, SEEDS, Bug
from vitviz.lessons.experiment_measures import read_bug

LINE = "experiments.line"  # taken for the bug, counted from 0


def get_bug(values: Values) -> tuple[str, Bug]:
    name = [*BUGS][values["puzzle"] - 1]
    return name, BUGS[name]


def read(values: Values, numbers: None) -> Numbers:
    """Return the accuracies on the dataset on which the bug changes the mean most."""
    name, bug = get_bug(values)
    pairs = {dataset: read_bug(name, dataset) for dataset in SEEDS}
    dataset = max(pairs, key=lambda dataset: _measure_effect(pairs[dataset]))
    line = bug.wrong[0]
    correction = f"should read `{bug.right.strip()}`" if bug.right else "should not be there"
    solution = f"Line {line + 1}, `{bug.lines[line].strip(' ,')}`, {correction}: {bug.why}"
    return replace(pairs[dataset], extra={"dataset": data_title(dataset), "solution": solution})


def _measure_effect(numbers: Numbers) -> float:
    return abs(numbers.get_mean("with_bug", ALL) - numbers.get_mean("fixed", ALL))


def ask(values: Values, numbers: Numbers) -> Prediction:
    name, bug = get_bug(values)
    options = {str(place): f"{place + 1}" for place in range(len(bug.lines))}
    prompt = "One of these lines is wrong. Which?"
    return ask_options(
        LINE, name, prompt, options, lambda guess: judge_line(bug, int(guess)), lambda: bug.wrong
    )


def judge_line(bug: Bug, line: int) -> str:
    verdict = "right" if line in bug.wrong else f"wrong. The bug is in line {bug.wrong[0] + 1}"
    return f"Your prediction: line {line + 1}: {verdict}."


def draw_above(values: Values, numbers: Numbers) -> None:
    _, bug = get_bug(values)
    listing.source("\n".join(f"{place}  {line}" for place, line in enumerate(bug.lines, 1)))
