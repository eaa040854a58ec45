"""Choose round ticks of a logarithmic axis."""

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

FEWEST = 3  # ticks from which values can be read off
ROOM = 0.05  # of the span, beside the outermost values
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
POWERS = 2.5  # from so many powers of ten on each power is a tick


def log_ticks(low: float, high: float) -> list[float]:
    """Return round ticks between two values: powers of ten, 1, 2 and 5 of each, or even steps."""
    steps = (1, 2, 5) if high - low < POWERS else (1,)
    every = [step * 10.0**power for power in range(floor(low), ceil(high) + 1) for step in steps]
    ticks = [tick for tick in every if low <= log10(tick) <= high]
    return ticks if len(ticks) >= FEWEST else _round_ticks(10.0**low, 10.0**high)


def _round_ticks(low: float, high: float) -> list[float]:
    """Return about four multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / 4
    power = 10.0 ** floor(log10(rough))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= rough)
    return [round(step * i, 12) for i in range(ceil(low / step), floor(high / step) + 1)]


def short(number: float) -> str:
    """Format a number for a tick: '1.3 k', '20 M' or '5 G'."""
    for power, sign in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if number >= 10**power:
            return f"{number / 10**power:g}\N{NO-BREAK SPACE}{sign}"
    return f"{number:g}"


def log_axis(values: Sequence[float]) -> dict[str, Any]:
    """Return a logarithmic axis around positive values."""
    low, high = (log10(pick(values)) for pick in (min, max))
    if high - low >= POWERS:
        powers = range(floor(low), ceil(high) + 1)
        words = [f"10{str(power).translate(_RAISED)}" for power in powers]
        return {"type": "log", "tickvals": [10.0**power for power in powers], "ticktext": words}
    room = ROOM * max(high - low, 0.3)
    ticks = log_ticks(low - room, high + room)
    ends = [low - room, high + room]
    return {"type": "log", "range": ends, "tickvals": ticks, "ticktext": [short(tick) for tick in ticks]}
