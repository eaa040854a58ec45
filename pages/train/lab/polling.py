"""Handle runs that are deleted while a fragment polls them."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import streamlit as st

from vitviz.training.run_directory import Run, RunError


def rerun_if_deleted(draw: Callable[..., None]) -> Callable[..., None]:
    """Wrap a fragment so that it reruns the page, which reports missing runs, if one was deleted."""

    @wraps(draw)
    def draw_or_rerun(*args: Any) -> None:
        try:
            draw(*args)
        except (RunError, FileNotFoundError):
            if all(run.exists() for run in _list_runs(args)):
                raise
            st.rerun()

    return draw_or_rerun


def _list_runs(args: tuple[Any, ...]) -> list[Run]:
    flat = [entry for arg in args for entry in (arg if isinstance(arg, list) else [arg])]
    return [entry for entry in flat if isinstance(entry, Run)]
