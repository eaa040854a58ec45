"""Replace functions of Streamlit only where they have the signature that a fix expects."""

import inspect
import logging
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import streamlit as st

_logged: set[str] = set()


@dataclass(frozen=True)
class Replacement:
    """One function or property of Streamlit and its replacement.

    Args:
        owner: class or module that holds it.
        parameters: expected parameter names, e.g. 'self client_state'; '' for a property, None for a new attribute.
        by: the replacement; None for a function that a fix calls and does not replace.
    """

    owner: type | ModuleType
    name: str
    parameters: str | None
    by: Any = None

    def is_applied(self) -> bool:
        return self.by is not None and vars(self.owner).get(self.name) is self.by

    def fits(self) -> bool:
        current = getattr(self.owner, self.name, None)
        if self.parameters is None or isinstance(current, property):
            return self.parameters == (None if current is None else "")
        return callable(current) and " ".join(inspect.signature(current).parameters) == self.parameters


def apply(*replacements: Replacement) -> bool:
    """Apply replacements that depend on each other: all of them, or none if one does not fit.

    A replacement that does not fit is logged once. Repeated calls do nothing.
    """
    if all(change.is_applied() for change in replacements if change.by is not None):
        return True
    misfits = [change for change in replacements if not change.is_applied() and not change.fits()]
    for change in misfits:
        name = f"{change.owner.__name__}.{change.name}({', '.join((change.parameters or '').split())})"
        if name not in _logged:
            _logged.add(name)
            logging.getLogger(__name__).warning(
                "Streamlit %s has no %s: its own behaviour stays.", st.__version__, name
            )
    if misfits:
        return False
    for change in replacements:
        if change.by is not None:
            setattr(change.owner, change.name, change.by)
    return True
