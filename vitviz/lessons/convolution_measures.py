"""Measure the lecture's open question from its stored experiment: does attention over convolutions help?"""

from dataclasses import dataclass
from statistics import mean

from vitviz.experiments.conv_attention import NAME, TITLES
from vitviz.experiments.result_file import Result, read_result_if_any
from vitviz.lessons.question_kinds import Choose, MeasuredAnswer, StoredMeasure
from vitviz.text import percent, plural

COMPARED_MODELS = ("written", "control", "cnn")
KIND = Choose(tuple(TITLES[name] for name in COMPARED_MODELS))


@dataclass(frozen=True)
class AttentionOverConvolutions(StoredMeasure):
    """The most accurate of the lecture's attention over convolutions, its control without attention, and a CNN."""

    kind = KIND

    def find_answer(self) -> MeasuredAnswer | None:
        stored = load_stored_result()
        return None if stored is None else find_most_accurate(stored)


def find_most_accurate(stored: Result) -> MeasuredAnswer | None:
    """Return the index of the most accurate of `COMPARED_MODELS`; None if one was not measured."""
    tests = [list_accuracies(stored, name) for name in COMPARED_MODELS]
    if not all(tests):
        return None
    means = [mean(seeds) for seeds in tests]
    numbers = ", ".join(
        f"{TITLES[name]}: {percent(accuracy)}" for name, accuracy in zip(COMPARED_MODELS, means, strict=True)
    )
    counts = sorted({len(seeds) for seeds in tests})
    spread = plural(counts[0], "seed") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    condition = "one seed each" if counts == [1] else f"each the mean over {spread}"
    return MeasuredAnswer(means.index(max(means)), f"{numbers}, {condition}.")


def load_stored_result() -> Result | None:
    """Return the experiment's stored result; None if it is missing."""
    return read_result_if_any(NAME)


def list_accuracies(stored: Result, model: str) -> list[float]:
    """Return a model's test accuracies, one per seed."""
    return [float(row["test"]) for row in stored.where(model=model) if "test" in row]
