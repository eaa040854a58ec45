"""Text and code of the lab's drawers."""

from collections.abc import Callable

from pages.frame import page
from pages.views import race
from vitviz.experiments import data_size
from vitviz.training.loop import Trainer, make_update
from vitviz.training.races import POSITIONS_RACE, positions_race
from vitviz.training.schedule import learning_rate_factor
from vitviz.training.shuffling import shuffle_patches


def choose_mathematics(preset: str | None = None) -> str:
    """Return the mathematics of training, preceded by an experiment's own."""
    return page.read_math(*[race.__file__] * (preset == POSITIONS_RACE), __file__)


def choose_code(preset: str | None = None) -> tuple[Callable[..., object], ...]:
    """Return the functions of one update and the schedule, or those that define an experiment."""
    if preset == POSITIONS_RACE:
        return positions_race, make_update, shuffle_patches
    if preset == data_size.PRESET:
        return data_size.race, make_update, shuffle_patches
    return Trainer.advance, learning_rate_factor
