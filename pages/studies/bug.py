"""Read the models with and without one bug of the lecture's code, and train them live."""

from functools import partial

from pages.frame import page
from pages.selection import selection
from pages.studies import live_runs
from pages.studies.study import Values
from vitviz.analysis.race import format_epochs
from vitviz.analysis.study_numbers import ALL, Numbers
from vitviz.csv_table import Columns
from vitviz.experiments import bugs
from vitviz.experiments.bugs import BUGS
from vitviz.lessons.experiment_measures import read_bug
from vitviz.models import model_cost
from vitviz.text import percent, plural
from vitviz.training.run_config import RunConfig


def read(values: Values, numbers: None) -> Numbers:
    return read_bug(values["bug"], values["dataset"])


def columns(values: Values, numbers: Numbers) -> Columns:
    """Return the table of all bugs on a dataset, each with its own interval."""
    pairs = {name: read_bug(name, values["dataset"]) for name in BUGS}
    verdicts = [pair.compare("with_bug", "fixed", ALL) for pair in pairs.values()]
    return {
        "Bug": [BUGS[name].title for name in pairs],
        "Without the bug": [pair.get_mean("fixed", ALL) for pair in pairs.values()],
        "With the bug": [pair.get_mean("with_bug", ALL) for pair in pairs.values()],
        "Difference, points": [verdict.estimate for verdict in verdicts],
        "95 % from": [verdict.low for verdict in verdicts],
        "95 % to": [verdict.high for verdict in verdicts],
        "Seeds": [verdict.seeds for verdict in verdicts],
    }


def draw_above(values: Values, numbers: Numbers) -> None:
    bug = BUGS[values["bug"]]
    page.markdown(f"**{bug.title}** ({bug.where}). {bug.why}")


def draw_live(values: Values, numbers: Numbers) -> None:
    """Draw the button that trains both models, and the newest run of them."""
    name, dataset = values["bug"], values["dataset"]
    label = f"Train both models, {plural(len(bugs.LIVE_SEEDS), 'seed')} each"
    live_runs.draw(bugs.build_run_config(dataset, name), "bug", label, partial(describe_run, name))
    selection.link_to("live_lab", "Open the lecture's recipes in the live lab", **{"live_lab.train": "one"})


def describe_run(name: str, config: RunConfig) -> str:
    """Describe the number of models, their epochs and their parameters."""
    sizes = [sum(model_cost.parameters(member.model).values()) for member in config.members]
    length = format_epochs(config.train.epochs or 0)
    share = bugs.LIVE_SHARE[BUGS[name].family]
    shorter = "" if share == 1 else f" ({percent(share, 0)} of the stored epochs)"
    return (
        f"{len(config.members)} models, {length} each{shorter}; {sizes[0]:,} parameters without the bug,"
        f" {sizes[-1]:,} with it."
    )
