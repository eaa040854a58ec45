"""A file of this server that cannot be read: one sentence in the place of the page that needs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from vitviz.text import plain


@contextmanager
def said() -> Iterator[None]:
    """Says what is wrong with a model's weights, a run or a set of pictures; the sidebar stays, to choose another."""
    try:
        yield
    except Exception as error:
        from vitviz.checkpoint_header import CheckpointError
        from vitviz.data.dataset import DatasetError
        from vitviz.models.pretrained_list import PretrainedError
        from vitviz.training.run_directory import RunError

        if not isinstance(error, CheckpointError | DatasetError | PretrainedError | RunError):
            raise
        why = str(error).rstrip(".")
        st.error(
            f"This cannot be shown: {plain(why)}. Choose another model or picture in the sidebar.",
            icon=":material/broken_image:",
        )
