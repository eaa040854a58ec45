"""What a race's records say: both groups' curves and test accuracies."""

from __future__ import annotations

from functools import lru_cache

from pages.stores import runs
from vitviz.analysis.fine_tuning import Group
from vitviz.checkpoint_header import read_header
from vitviz.training.fine_tuning import SCRATCH, TITLES, TUNED, part_of
from vitviz.training.run_config import Member, RunConfig
from vitviz.training.run_directory import Run


def groups(run: Run) -> tuple[Group, Group]:
    """(fine-tuned, from scratch), over their seeds."""
    found: dict[str, list[Run]] = {name: [] for name in TITLES}
    for member in run.members():
        found[part_of(member.directory.name)[0]].append(member)
    tuned, scratch = (_group(name, found[name]) for name in (TUNED, SCRATCH))
    return tuned, scratch


def _group(name: str, members: list[Run]) -> Group:
    logs = [runs.log(member.id).read() for member in members]
    curves = tuple(log.validation()[[1, -1]] for log in logs)
    tests = [float(log.test["accuracy"]) for log in logs if log.test is not None]
    return Group(name, TITLES[name], curves, tuple(tests) if len(tests) == len(logs) else ())


def test_pictures(run: Run) -> int:
    """How many pictures the test accuracies were read on; 0 before the end."""
    test = runs.log(run.members()[0].id).read().test
    return 0 if test is None else int(test["images"])


def first(config: RunConfig, name: str) -> Member:
    """The member of a group's first seed."""
    return next(member for member in config.members if part_of(member.name)[0] == name)


def of_seed(run: Run, name: str, seed: int) -> Run:
    """One model of a race."""
    return next(member for member in run.members() if part_of(member.directory.name) == (name, seed))


def classes(member: Run) -> tuple[str, ...]:
    """Names of the answers, from its first snapshot; numbers before there is one."""
    steps = member.snapshots()
    if not steps:
        return tuple(map(str, range(member.config().model.num_classes)))
    return _classes(str(member.snapshot_path(steps[0])))


@lru_cache(maxsize=64)
def _classes(path: str) -> tuple[str, ...]:
    return tuple(read_header(path).classes)
