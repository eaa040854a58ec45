"""The one way in which this app changes Streamlit: what is there is looked at first, and left where it is otherwise."""

from __future__ import annotations

import inspect
import logging
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import streamlit as st

_said: set[str] = set()


@dataclass(frozen=True)
class Change:
    """A function or a property of Streamlit's, and what stands in its place.

    Args:
        owner: the class or the module that has it.
        takes: its parameters' names as they are written there, 'self client_state'; of a property ''. None for what is
            added.
        by: what stands in its place; None for what is only called, and must be there.
    """

    owner: type | ModuleType
    name: str
    takes: str | None
    by: Any = None

    def made(self) -> bool:
        """Whether it was made before."""
        return self.by is not None and vars(self.owner).get(self.name) is self.by

    def fits(self) -> bool:
        """Whether Streamlit has what is changed, with the same parameters."""
        found = getattr(self.owner, self.name, None)
        if self.takes is None or isinstance(found, property):
            return self.takes == (None if found is None else "")
        return callable(found) and " ".join(inspect.signature(found).parameters) == self.takes


def make(*changes: Change) -> bool:
    """Makes changes that only work together: all of them, or none where Streamlit has one otherwise, which is logged.

    Every run of the app asks for them; what was made is not looked at again.
    """
    if all(change.made() for change in changes if change.by is not None):
        return True
    unlike = [change for change in changes if not change.made() and not change.fits()]
    for change in unlike:
        name = f"{change.owner.__name__}.{change.name}({', '.join((change.takes or '').split())})"
        if name not in _said:
            _said.add(name)
            logging.getLogger(__name__).warning(
                "Streamlit %s has no %s: its own behaviour stays.", st.__version__, name
            )
    if unlike:
        return False
    for change in changes:
        if change.by is not None:
            setattr(change.owner, change.name, change.by)
    return True
