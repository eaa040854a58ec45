"""Measure the seconds and bytes of a call on this machine."""

import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from vitviz.analysis.scoreboard import Timing
from vitviz.config_fields import Size, as_shape

ENOUGH_S = 1.5  # of repeats; then those that were made are enough
FEWEST, MOST = 3, 21  # repeats
_profiling = threading.Lock()  # PyTorch has one profiler per process; a second session ends the process


def measure_seconds(call: Callable[[], object], repeats: int) -> list[float]:
    """Return the seconds of each repeat, after one warm-up."""
    call()
    taken = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return taken


def measure_held_bytes(call: Callable[[], Any]) -> int:
    """Return the peak bytes that a call allocates in PyTorch."""
    with _profiling:
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
        ) as trace:
            returned = call()
    held = peak = 0
    events = trace.profiler.kineto_results.events()
    for event in sorted((e for e in events if e.name() == "[memory]"), key=lambda e: e.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    del returned
    return int(peak)


@torch.inference_mode()
def time_model(model: nn.Module, in_chans: int, size_px: Size, *, random: bool) -> Timing:
    """Time a model on one image in fp32, with PyTorch's threads and 3 to 21 repeats.

    Args:
        model: frozen, in evaluation mode.
        size_px: of the image, whose numbers do not matter.
        random: whether the weights are, which is said beside the time.
    """
    image = torch.zeros(1, in_chans, *as_shape(size_px))
    first = measure_seconds(lambda: model(image), 1)[0]
    repeats = min(MOST, max(FEWEST, round(ENOUGH_S / max(first, 1e-6))))
    taken = measure_seconds(lambda: model(image), repeats)
    return Timing(
        median_s=statistics.median(taken),
        low_s=min(taken),
        high_s=max(taken),
        repeats=repeats,
        held_bytes=measure_held_bytes(lambda: model(image)),
        threads=torch.get_num_threads(),
        random=random,
    )
