"""Study wrong position tables: which one gives the 68 % that the lecture printed for a poor table?"""

from collections.abc import Sequence
from statistics import mean

from pages.questions.prediction_gate import ask_highest
from pages.studies.study import SHARES, Choice, Evidence, Study, Table, View, create_seed_columns
from vitviz.experiments.position_errors import ERRORS, MODELS, NAME, POOR
from vitviz.experiments.result_file import Row, read_result, read_result_if_any
from vitviz.plots.hybrids import seeds_figure
from vitviz.plots.theme import Mode
from vitviz.text import percent, plural

GUESS = "studies.table_guess"
NEAR = 0.02  # of an accuracy that reproduces the printed one


def list_models() -> dict[str, str]:
    stored = read_result_if_any(NAME)
    return {name: model.title for name, model in MODELS.items() if stored and stored.where(model=name)}


def build(mode: Mode, model: str) -> View:
    """Return the test accuracy of every seed with every table."""
    stored = read_result(NAME)
    rows = [row for row in stored.where(model=model) if "test" in row]
    tests = {
        name: [float(row["test"]) for row in rows if row["positions"] == name]
        for name in ERRORS
        if any(row["positions"] == name for row in rows)
    }
    titles = {name: ERRORS[name].title for name in tests}
    epochs = {float(row["epochs"]) for row in rows}
    means = {name: mean(values) for name, values in tests.items()}
    return View(
        seeds_figure([*titles.values()], [*tests.values()], [*tests].index("none"), mode, [POOR]),
        describe_closest(means, max(epochs)),
        ask_highest(
            GUESS,
            model,
            "Which position table gives the lowest test accuracy?",
            {name: -accuracy for name, accuracy in means.items()},
            lambda accuracy: percent(-accuracy),
            titles,
        ),
        (
            Evidence(
                stored, rows, f"MNIST, {plural(int(max(epochs)), 'epoch')}, fp32, tables that are not trained"
            ),
        ),
        f"The lecture printed {percent(POOR, 0)} after ten epochs and does not name the table. {describe_start(rows)}"
        " The numbers of a table with standard deviation 1 are as large as those of a sinusoidal table.",
        Table(
            {
                "Positions": [*titles.values()],
                "Bug": ["yes" if ERRORS[name].wrong else "no" for name in tests],
                **create_seed_columns([*tests.values()]),
            },
            SHARES,
            f"{NAME}.csv",
        ),
    )


def describe_closest(means: dict[str, float], epochs: float) -> str:
    name = min(means, key=lambda table: abs(means[table] - POOR))
    title, reached = ERRORS[name].title, f"{percent(means[name])} after {epochs:g} epochs"
    if abs(means[name] - POOR) <= NEAR:
        return (
            f"'{title}' gives {reached}, within {100 * NEAR:.0f} points of the lecture's {percent(POOR, 0)}."
        )
    return (
        f"None of the {plural(len(means), 'position table')} gives the lecture's {percent(POOR, 0)} with this model;"
        f" the closest is '{title}' with {reached}."
    )


def describe_start(rows: Sequence[Row]) -> str:
    """Describe the lowest accuracy at the first point of the curves: can too few updates explain the printed one?"""
    updates, _, accuracy = min((row["curve"][0] for row in rows), key=lambda point: point[2])
    measured = (
        f"At the first evaluation, after {updates:,} updates, the lowest validation accuracy of all tables is"
        f" {percent(accuracy)}"
    )
    return f"{measured}{', so too few updates do not explain it either' if accuracy > POOR + NEAR else ''}."


STUDY = Study(
    NAME,
    "A poor position table",
    "Which position table explains the lecture's test accuracy of 68\N{NO-BREAK SPACE}%?",
    3,
    (NAME,),
    build=build,
    choices=(Choice("studies.table_model", "Model", list_models),),
    keys=(GUESS,),
)
