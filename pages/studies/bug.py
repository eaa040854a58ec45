"""Study the cost of each bug of the lecture's code against the corrected model."""

from collections.abc import Sequence
from functools import partial

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.studies import live_runs
from pages.studies.study import Choice, Evidence, Race, Study, Table, View
from vitviz.analysis.one_change import Variant, create_variant, describe_bug
from vitviz.analysis.race import format_epochs
from vitviz.data.datasets import available_titles, data_title
from vitviz.experiments import bugs
from vitviz.experiments.bugs import BUGS, FIXED
from vitviz.experiments.result_file import TEST_IMAGES, Result, Row, describe_recipe, read_result_if_any
from vitviz.lessons.experiment_measures import BugCost, compare_bug, select_bug_rows
from vitviz.lessons.lesson import Question
from vitviz.models import parameter_count
from vitviz.plots.theme import Mode
from vitviz.text import gained, percent, plural

GUESS, RUN = "experiments.slip_guess", "experiments.slip_run"
CHANCE = {"digits": 0.1, "shapes": 0.25}


def build(_mode: Mode, name: str, dataset: str) -> View:
    bug = BUGS[name]
    above = partial(page.markdown, f"**{bug.title}** ({bug.where}). {bug.why}")
    live = partial(_draw_live, name, dataset)
    stored = read_result_if_any(f"one_slip_{dataset}")
    sides, rows = ([], []) if stored is None else load_pair(stored, name)
    if stored is None or len(sides) < 2:
        missing = f"This bug was not measured. Run `python -m vitviz.experiment one_slip_{dataset}`, or train it here."
        return View(None, missing, above=above, live=live)
    return View(
        create_race(stored, sides),
        describe_bug(sides[1], sides[0]),
        prediction_gate.create_prediction(GUESS, write_question(name, dataset)),
        (Evidence(stored, rows, describe_recipe(stored, rows)),),
        table=Table(build_columns(stored), _WRITTEN, f"one_slip_{dataset}.csv"),
        above=above,
        live=live,
    )


def load_pair(stored: Result, name: str) -> tuple[list[Variant], list[Row]]:
    """Load the variants without and with a bug and their rows; fewer if one was not measured."""
    epochs, sides, rows = float(stored.settings["epochs"]), [], []
    images = TEST_IMAGES[stored.settings["dataset"]]
    for key, title in ((f"{FIXED}:{BUGS[name].family}", "Without the bug"), (name, "With the bug")):
        if side_rows := select_bug_rows(stored, key):
            sides.append(create_variant(key, title, side_rows, epochs, images))
            rows += side_rows
    return sides, rows


def create_race(stored: Result, sides: Sequence[Variant]) -> Race:
    dataset = stored.settings["dataset"]
    note = f"test images of {data_title(dataset)}, evaluated once at the end"
    return Race(sides, CHANCE[dataset], float(stored.settings["epochs"]), note, known=[sides[0].name])


def write_question(name: str, dataset: str) -> Question:
    return Question(
        f"{BUGS[name].title}: how does it change the test accuracy on {data_title(dataset)}?",
        BugCost(name, dataset),
        (
            ("studies.study", "bug"),
            ("experiments.slip", name),
            ("experiments.slip_set", dataset),
            (GUESS, prediction_gate.SKIPPED),
        ),
    )


DIFFERENCES = ("Difference, points", "From", "To")  # its 95 % interval
_WRITTEN = dict.fromkeys(("Without the bug", "With the bug"), percent) | dict.fromkeys(DIFFERENCES, gained)


def build_columns(stored: Result) -> dict[str, list[object]]:
    """Return the table's columns: every measured bug's cost."""
    rows = []
    for name, bug in BUGS.items():
        sides, _ = load_pair(stored, name)
        cost = compare_bug(stored, name)
        if len(sides) == 2 and cost is not None:
            ends = (sides[0].mean, sides[1].mean)
            outcome = cost.outcome or cost.reason
            rows.append((bug.title, *ends, cost.estimate, cost.low, cost.high, cost.seeds, outcome))
    heads = (
        "Bug",
        "Without the bug",
        "With the bug",
        *DIFFERENCES,
        "Seeds",
        "Verdict",
    )
    return {head: [row[place] for row in rows] for place, head in enumerate(heads)}


def _draw_live(name: str, dataset: str) -> None:
    config = bugs.build_run_config(dataset, name)
    with page.row():
        label = f"Train both models, {plural(len(bugs.LIVE_SEEDS), 'seed')} each"
        live_runs.draw_start_button(config, "studies.bug", label, RUN)
        sizes = [sum(parameter_count.parameters(member.model).values()) for member in config.members]
        length = format_epochs(config.train.epochs or 0)
        share = bugs.LIVE_SHARE[BUGS[name].family]
        shorter = "" if share == 1 else f" ({percent(share, 0)} of the stored epochs)"
        page.caption(
            f"{len(config.members)} models, {length} each{shorter}; {sizes[0]:,} parameters without the bug,"
            f" {sizes[-1]:,} with it."
        )
    run = live_runs.find_shown_run(RUN, f"{bugs.PRESET}:{name}", dataset)
    if run is not None:
        live_runs.draw(run, partial(live_runs.build_seed_panels, _describe_run))
    selection.link_to("live_lab", "Open the lecture's recipes in the live lab", **{"live_lab.train": "one"})


def _describe_run(variants: Sequence[Variant]) -> str:
    tested = len(variants) == 2 and all(variant.test for variant in variants)
    return describe_bug(variants[1], variants[0]) if tested else ""


STUDY = Study(
    "bug",
    "One bug",
    "What does a bug of the lecture's code cost?",
    minutes=4,
    experiments=("one_slip_digits", "one_slip_shapes"),
    build=build,
    choices=(
        Choice(
            "experiments.slip",
            "Bug",
            lambda: {name: bug.title for name, bug in BUGS.items()},
            "softmax",
            widgets.select,
        ),
        Choice("experiments.slip_set", "Dataset", lambda name: available_titles(bugs.SEEDS)),
    ),
    keys=(GUESS, RUN),
    math=page.read_math(__file__),
    code=(bugs.configure_fixed, bugs.configure_with_bug, bugs.build_run_config),
)
