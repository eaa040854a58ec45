"""Study which line of a code listing has the bug, next to the curve of its training."""

from functools import partial

from pages.frame import page
from pages.questions.prediction_gate import ask_options
from pages.studies import bug as bug_study
from pages.studies.study import Choice, Evidence, Study, View
from vitviz.analysis.one_change import describe_bug
from vitviz.data.datasets import data_title
from vitviz.experiments.bugs import BUGS, SEEDS, Bug
from vitviz.experiments.result_file import Result, describe_recipe, read_result_if_any
from vitviz.lessons.experiment_measures import compare_bug
from vitviz.plots.theme import Mode

LINE = "experiments.line"  # taken for the bug, counted from 0


def build(_mode: Mode, puzzle: int) -> View:
    """Return a code listing, counted from 1, with its training's curves on the dataset that separates them most."""
    name, bug = [*BUGS.items()][puzzle - 1]
    measured = [
        stored
        for dataset in SEEDS
        if (stored := read_result_if_any(f"one_slip_{dataset}")) and compare_bug(stored, name)
    ]
    measured.sort(key=lambda stored: _rank_separation(stored, name), reverse=True)
    pairs = [(stored, *bug_study.load_pair(stored, name)) for stored in measured]
    costs = [
        f"On {data_title(stored.settings['dataset'])}: {describe_bug(sides[1], sides[0])}"
        for stored, sides, _ in pairs
    ]
    return View(
        bug_study.create_race(*pairs[0][:2]) if pairs else None,
        " ".join((_describe_solution(bug), *costs)),
        ask_options(
            key=LINE,
            about=name,
            prompt="One of these lines is wrong. Which?",
            options={str(place): f"{place + 1}" for place in range(len(bug.lines))},
            judge=lambda guess: describe_prediction(bug, int(guess)),
            right=lambda: bug.wrong,
        ),
        [Evidence(stored, rows, describe_recipe(stored, rows)) for stored, _, rows in pairs],
        conceals=False,
        above=partial(page.source, "\n".join(f"{place}  {line}" for place, line in enumerate(bug.lines, 1))),
    )


def _rank_separation(stored: Result, name: str) -> tuple[bool, float]:
    """Return a sort key: first whether a difference is shown, then its size in points."""
    verdict = compare_bug(stored, name)
    return (False, 0.0) if verdict is None else (verdict.shown, abs(verdict.estimate))


def describe_prediction(bug: Bug, line: int) -> str:
    verdict = "right" if line in bug.wrong else f"wrong. The bug is in line {bug.wrong[0] + 1}"
    return f"Your prediction: line {line + 1}: {verdict}."


def _describe_solution(bug: Bug) -> str:
    line = bug.wrong[0]
    code = bug.lines[line].strip(" ,")
    correction = f"should read `{bug.right.strip()}`" if bug.right else "should not be there"
    return f"Line {line + 1}, `{code}`, {correction}: {bug.why}"


STUDY = Study(
    "spot_the_bug",
    "Spot the bug",
    "Which line of this code is wrong?",
    minutes=3,
    experiments=("one_slip_digits", "one_slip_shapes"),
    build=build,
    choices=(
        Choice(
            "experiments.puzzle", "Code", lambda: {place: str(place) for place in range(1, len(BUGS) + 1)}
        ),
    ),
    keys=(LINE,),
)
