"""Ask which model keeps its prediction longest, and compare the user's prediction with the measurement."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pages.questions import prediction_gate
from vitviz.analysis.image_changes import CHANGES, find_unchanged_range
from vitviz.plots.image_changes import strength_words
from vitviz.text import join_words, plain

GUESS = "on_picture.guess"  # the key of the predicted model; 'shown' for none, '' while the question is open


@dataclass(frozen=True)
class StableRange:
    """The strengths at which a model keeps its prediction for the unchanged image.

    Attributes:
        predicted: the index of that class.
        first: the lowest strength, by its position on the slider.
        last: the highest strength, likewise.
        wrong: True if the image is known to be of another class.
    """

    predicted: int
    first: int
    last: int
    wrong: bool = False

    @property
    def steps(self) -> int:
        """The number of strengths besides the neutral one."""
        return self.last - self.first


def find_stable_range(predictions: NDArray[np.int64], start: int, truth: int = -1) -> StableRange:
    """Return the range around the neutral strength `start`; predictions: (strengths,) of one model.

    Args:
        truth: the image's class; -1 if it is unknown.
    """
    predicted = int(predictions[start])
    return StableRange(predicted, *find_unchanged_range(predictions, start), truth not in (-1, predicted))


def describe_outcome(
    guess: str,
    keys: Sequence[str],
    names: Sequence[str],
    ranges: Sequence[StableRange],
    change: str,
    input_px: int,
) -> str:
    """Return the verdict on the prediction, the most stable models, and the range of each."""
    most, best = _find_longest(ranges)
    total = len(CHANGES[change].values) - 1
    by_model = "; ".join(
        f"{plain(name)}: {_format_range(stable, change, input_px)}{', but it is wrong' if stable.wrong else ''}"
        for name, stable in zip(names, ranges, strict=True)
    )
    verdict = ""
    if guess in keys:
        guessed = keys.index(guess)
        verdict = (
            f"Your prediction, {plain(names[guessed])}, is {'correct' if guessed in best else 'wrong'}. "
        )
    if not best:
        prediction_text = "a correct" if any(stable.wrong for stable in ranges) else "its"
        return f"{verdict}On this image **no model** keeps {prediction_text} prediction. {by_model}."
    winners = join_words([plain(names[i]) for i in best])
    return (
        f"{verdict}On this image **{winners}** {'keeps its' if len(best) == 1 else 'keep their'}"
        f"{' correct' if any(stable.wrong for stable in ranges) else ''} prediction"
        f"{f' longest, over {most} of {total} steps' if total > 1 else ''}. {by_model}."
    )


def write_prompt(change: str) -> str:
    """Return the question about a change."""
    return f"{CHANGES[change].title}: which model keeps its prediction for this image longest?"


def store_prediction(
    guess: str, keys: Sequence[str], names: Sequence[str], ranges: Sequence[StableRange], change: str
) -> None:
    """Store the prediction and the right models among the session's answers, if a model was predicted."""
    if guess in keys:
        best = [names[i] for i in _find_longest(ranges)[1]] or ["none of them"]
        prediction_gate.store_answer(change, write_prompt(change), names[keys.index(guess)], join_words(best))


def _find_longest(ranges: Sequence[StableRange]) -> tuple[int, list[int]]:
    """Return the most steps and the models that reach them, wrong predictions aside; no model for none."""
    steps = [0 if stable.wrong else stable.steps for stable in ranges]
    most = max(steps)
    return most, [i for i, count in enumerate(steps) if count == most > 0]


def _format_range(stable: StableRange, change: str, input_px: int) -> str:
    strengths = CHANGES[change].values
    if len(strengths) == 2:
        return "keeps it" if stable.steps else "changes it"
    if stable.steps == len(strengths) - 1:
        return "at all strengths"
    if not stable.steps:
        return "only without a change"
    ends = [strength_words(change, strengths[at], input_px) for at in (stable.first, stable.last)]
    start = CHANGES[change].start
    if stable.first == start or stable.last == start:
        return f"up to {ends[1] if stable.first == start else ends[0]}"
    return f"from {ends[0]} to {ends[1]}"
