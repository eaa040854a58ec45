"""Read both groups' curves and test accuracies from a race's records."""

import numpy as np

from pages.stores import runs
from vitviz.analysis.fine_tuning import Group
from vitviz.experiments.result_file import Result
from vitviz.training.fine_tuning_race import SCRATCH, TITLES, TUNED, part_of
from vitviz.training.run_config import Member, RunConfig
from vitviz.training.run_directory import Run


def load_groups(run: Run) -> tuple[Group, Group]:
    """Load the curves and test accuracies of (fine-tuned, from scratch) over their seeds."""
    groups: dict[str, list[Run]] = {name: [] for name in TITLES}
    for member in run.members():
        groups[part_of(member.directory.name)[0]].append(member)
    tuned, scratch = (_make_group(name, groups[name]) for name in (TUNED, SCRATCH))
    return tuned, scratch


def load_recorded(stored: Result, epochs: float) -> tuple[Group, Group]:
    """Return (fine-tuned, from scratch) of the stored MNIST ViT with 20 images per class, over so many epochs."""

    def read_group(name: str) -> Group:
        rows = stored.where(source="mnist_vit", a_class=20, method=name)
        curves = [np.array([[step, accuracy] for step, _, accuracy in row["curve"]]).T for row in rows]
        scale = np.array([[epochs / stored.settings["updates"]], [1.0]])
        return Group(
            name, TITLES[name], tuple(curve * scale for curve in curves), tuple(row["test"] for row in rows)
        )

    return read_group(TUNED), read_group(SCRATCH)


def _make_group(name: str, members: list[Run]) -> Group:
    logs = [runs.open_log(member.id).read() for member in members]
    curves = tuple(log.validation()[[1, -1]] for log in logs)
    tests = [float(log.test["accuracy"]) for log in logs if log.test is not None]
    return Group(name, TITLES[name], curves, tuple(tests) if len(tests) == len(logs) else ())


def count_test_images(run: Run) -> int:
    """Return the number of test images; 0 before the race has ended."""
    test = runs.open_log(run.members()[0].id).read().test
    return 0 if test is None else int(test["images"])


def find_first_seed(config: RunConfig, name: str) -> Member:
    return next(member for member in config.members if part_of(member.name)[0] == name)


def find_member(run: Run, name: str, seed: int) -> Run:
    return next(member for member in run.members() if part_of(member.directory.name) == (name, seed))
