"""What was timed on this machine: by whoever asked first, for everybody; one measurement at a time, in turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from vitviz.fair_lock import Turns

if TYPE_CHECKING:
    from torch import nn

    from vitviz.analysis.scoreboard import Shape, Timing
    from vitviz.probe.window_cost import Measurement

T = TypeVar("T")
MEASURED_WINDOWS = (2, 4, 6, 8)  # windows per side; 56 x 56 tokens at M = 7
MOST_TOKENS = 64
_MOST = 256  # results that are kept
_turns = Turns()  # or measurements measure each other
_guard = threading.Lock()
_models: dict[Shape, Timing] = {}
_attention: dict[tuple[int, int], list[Measurement]] = {}


def models() -> Mapping[Shape, Timing]:
    """Every shape of a model that has been timed here."""
    with _guard:
        return dict(_models)


def time_model(shape: Shape, make: Callable[[], nn.Module], *, random: bool) -> Timing:
    """One picture through a model of this shape; at once where somebody has timed one.

    Args:
        shape: the config, and the picture's side in px.
        make: gives the model, in this measurement's turn.
        random: whether its weights are random.
    """

    def measure() -> Timing:
        from vitviz.probe import stopwatch

        config, side = shape
        return stopwatch.time_model(make(), config.in_chans, side, random=random)

    return _once(_models, shape, measure)


def sides_of(window: int) -> tuple[int, ...]:
    """Tokens per side at which global and windowed attention are measured."""
    return tuple(count * window for count in MEASURED_WINDOWS if count * window <= MOST_TOKENS)


def attention(window: int, dim: int) -> list[Measurement]:
    """Global and windowed attention at a few sizes."""

    def measure() -> list[Measurement]:
        from vitviz.probe import window_cost

        return window_cost.measure(sides_of(window), dim, window)

    return _once(_attention, (window, dim), measure)


def forget() -> None:
    """As if nothing had been timed."""
    with _guard:
        _models.clear()
        _attention.clear()


def _once(kept: dict[Any, T], key: Hashable, measure: Callable[[], T]) -> T:
    with _turns:
        found = kept.get(key)
        if found is None:
            found = measure()
            with _guard:
                while len(kept) >= _MOST:
                    del kept[next(iter(kept))]
                kept[key] = found
    return found
