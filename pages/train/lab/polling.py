"""A part of the page that polls by itself holds runs that may be removed meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import streamlit as st

from vitviz.training.run_directory import Run, RunError


def part(draw: Callable[..., None]) -> Callable[..., None]:
    """Runs the page anew, which says what has gone, where a part finds the folder of one of its runs removed."""

    @wraps(draw)
    def drawn(*given: Any) -> None:
        try:
            draw(*given)
        except (RunError, FileNotFoundError):
            if all(run.exists() for run in _runs(given)):
                raise
            st.rerun()

    return drawn


def _runs(given: tuple[Any, ...]) -> list[Run]:
    flat = [one for value in given for one in (value if isinstance(value, list) else [value])]
    return [one for one in flat if isinstance(one, Run)]
