"""Schedule the learning rate and the moments of snapshots."""

from math import cos, pi

import numpy as np

FIRST_SNAPSHOT_SHARE = 1 / 500  # of a run bounded by seconds, whose number of steps is unknown
ONE_CYCLE_START = 1 / 25  # of the peak; Smith & Topin 2019 as PyTorch's OneCycleLR sets it
ONE_CYCLE_END = 1e-4
ONE_CYCLE_RISE = 0.3  # of the run, unless the config's warm-up is longer
WARMUP_COSINE_END = 0.01


def learning_rate_factor(schedule: str, progress: float, warmup_fraction: float) -> float:
    """Return the multiplier of the peak learning rate at a moment of the run.

    warmup_cosine: t/w for t < w, then a cosine from 1 to 0.01 (Loshchilov & Hutter 2017).
    one_cycle: cosine up from 1/25 over the first 30 %, cosine down to 1e-4 (Smith & Topin 2019).

    Args:
        schedule: 'constant', 'warmup_cosine' or 'one_cycle'.
        progress: t, the share of the run that is over, in [0, 1].
        warmup_fraction: w, the share of the run spent warming up.

    Raises:
        ValueError: if the schedule is none of these.
    """
    t = min(max(progress, 0.0), 1.0)
    if schedule == "constant":
        return 1.0
    if schedule == "warmup_cosine":
        if t < warmup_fraction:
            return t / warmup_fraction
        return _cosine(1.0, WARMUP_COSINE_END, (t - warmup_fraction) / (1.0 - warmup_fraction))
    if schedule == "one_cycle":
        rise = max(ONE_CYCLE_RISE, warmup_fraction)
        if t < rise:
            return _cosine(ONE_CYCLE_START, 1.0, t / rise)
        return _cosine(1.0, ONE_CYCLE_END, (t - rise) / (1.0 - rise))
    raise ValueError(f"schedule must be constant, warmup_cosine or one_cycle, received {schedule!r}")


def _cosine(start: float, end: float, part: float) -> float:
    return end + (start - end) * (1.0 + cos(pi * part)) / 2.0


def snapshot_marks(count: int, total_steps: int | None) -> list[float]:
    """Return at most `count` - 1 moments in (0, 1], dense at first; the initial snapshot is extra."""
    if total_steps is None:
        return [float(mark) for mark in np.geomspace(FIRST_SNAPSHOT_SHARE, 1.0, max(count - 1, 1))]
    steps = np.unique(np.geomspace(1, total_steps, max(count - 1, 1)).round().astype(int))
    return [int(step) / total_steps for step in steps]
