"""Add the user's own races to the study of dataset sizes, and link to a race."""

from dataclasses import replace

from pages.controls import widgets
from pages.frame import page
from pages.selection import selection
from pages.stores import runs, session
from pages.studies.study import Values
from vitviz.analysis.study_numbers import Numbers
from vitviz.experiments import data_size
from vitviz.plots.data_size import Own
from vitviz.text import percent


def read(values: Values, numbers: Numbers) -> Numbers:
    """Add the test accuracies of the session's own races, which are stars among the points of equal updates."""
    points = list_own_points(values["dataset"], values["augmented"]) if values["equal"] == "updates" else []
    return replace(numbers, extra={"own_points": points})


def list_own_points(dataset: str, augmented: bool) -> list[Own]:
    """Return the test accuracies of the session's own races on a dataset."""
    grid, points = data_size.GRIDS[dataset], []
    for run in runs.list_runs(session.get_current()):
        config = run.config()
        shifted = bool(config.train.shift_px)
        if config.preset != data_size.PRESET or config.train.dataset != dataset or shifted != augmented:
            continue
        images = grid.size_of(config.train)
        if images is None:  # an earlier version selected other images
            continue
        for member in runs.list_models(run):
            test, name = runs.open_log(member.id).read().test, member.directory.name
            if test is not None and name in data_size.TITLES:
                points.append(Own(name, data_size.TITLES[name], images, float(test["accuracy"])))
    return points


def draw_below(values: Values, numbers: Numbers) -> None:
    """Describe the user's own races, and draw the link that trains four models live with the stored recipe."""
    for point in numbers.extra["own_points"]:
        stored = percent(numbers.get_mean(point.name, point.images))
        page.caption(
            f"Star: your {point.title}, {percent(point.accuracy)} with {point.images:,} images (stored {stored})."
        )
    if values["dataset"] == "digits":
        augmented = widgets.encode_value(values["augmented"])
        query = {"live_lab.train": "data", "live_lab.race_augmented": augmented}
        selection.link_to("live_lab", "Train four of these models live", **query)
