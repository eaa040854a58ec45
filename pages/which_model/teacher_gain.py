"""What a teacher is worth in the stored trainings: every pair of student and twin, and the lessons that are chosen."""

from __future__ import annotations

from vitviz.analysis import teacher_effect
from vitviz.analysis.teacher_effect import Duel
from vitviz.data.datasets import DATASETS
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result import ResultError, read_result


def pairs() -> dict[str, list[Duel]]:
    """Students of hard labels beside their twins on every grid that has some, by the set's title."""
    found = {}
    for name in GRIDS:
        try:
            found[DATASETS[name].title] = teacher_effect.duels(
                read_result(f"data_size_{name}").rows, augmented=True
            )
        except ResultError:
            continue
    return {title: duels for title, duels in found.items() if duels}


def chosen() -> list[Duel]:
    """Of every set and size at which ways of teaching were compared the one that the validation pictures choose."""
    found: list[Duel] = []
    for name in GRIDS:
        try:
            lessons = teacher_effect.lessons(read_result(f"teaching_{name}").rows)
        except ResultError:
            continue
        found += [duel for pair in teacher_effect.picked(lessons) if (duel := teacher_effect.duel_of(*pair))]
    return found
