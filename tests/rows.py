"""Rows of a parametrised test: one of each kind always, the others with --slow, and so in .ci/run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def rows(values: Iterable[Any], always: Callable[[Any], object]) -> list[Any]:
    """What `parametrize` takes: a tuple is a row of several values; those of which `always` is true are not slow."""
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            marks=() if always(value) else pytest.mark.slow,
        )
        for value in values
    ]
