"""Time models and attention on this machine, one measurement at a time, and share the results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from vitviz.locks import FairLock

if TYPE_CHECKING:
    from torch import nn

    from vitviz.analysis.scoreboard import Shape, Timing
    from vitviz.probe.swin import Measurement

T = TypeVar("T")
MEASURED_WINDOWS = (2, 4, 6, 8)  # windows per side; 56 x 56 tokens at M = 7
MAX_TOKENS = 64
_MAX_TIMINGS = 256  # cached timings
_turns = FairLock()  # simultaneous measurements would slow each other down
_guard = threading.Lock()
_models: dict[Shape, Timing] = {}
_attention: dict[tuple[int, int], list[Measurement]] = {}


def list_model_timings() -> Mapping[Shape, Timing]:
    with _guard:
        return dict(_models)


def time_model(shape: Shape, make: Callable[[], nn.Module], *, random: bool) -> Timing:
    """Time one image through a model of this shape, or return an earlier measurement.

    Args:
        shape: the config and the image's size in px.
        make: returns the model when the measurement starts.
        random: True if its weights are random.
    """

    def measure() -> Timing:
        from vitviz.probe import stopwatch

        config, size = shape
        return stopwatch.time_model(make(), config.in_chans, size, random=random)

    return _measure_once(_models, shape, measure)


def list_sides(window: int) -> tuple[int, ...]:
    """Return the token counts per side at which global and window attention are measured."""
    return tuple(count * window for count in MEASURED_WINDOWS if count * window <= MAX_TOKENS)


def time_attention(window: int, dim: int) -> list[Measurement]:
    """Time global and window attention at a few sizes."""

    def measure() -> list[Measurement]:
        from vitviz.probe import swin

        return swin.measure(list_sides(window), dim, window)

    return _measure_once(_attention, (window, dim), measure)


def _measure_once(cache: dict[Any, T], key: Hashable, measure: Callable[[], T]) -> T:
    with _turns:
        timing = cache.get(key)
        if timing is None:
            timing = measure()
            with _guard:
                while len(cache) >= _MAX_TIMINGS:
                    del cache[next(iter(cache))]
                cache[key] = timing
    return timing
