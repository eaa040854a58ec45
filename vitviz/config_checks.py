"""Checks that the configs share: each states what was expected and what was received."""

from __future__ import annotations

from dataclasses import fields
from math import isfinite
from typing import Any, get_args


def is_integer(value: object) -> bool:
    """Return True if a value is an int; True and False are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def positive(config: object, *names: str) -> None:
    """Check that these fields are integers of at least 1."""
    for name in names:
        value = getattr(config, name)
        if not is_integer(value) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, received {value!r}")


def fraction(config: object, *names: str) -> None:
    """Check that these fields lie in [0, 1)."""
    for name in names:
        value = getattr(config, name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0.0 <= value < 1.0:
            raise ValueError(f"{name} must lie in [0, 1), received {value!r}")


def one_of(config: object, name: str, allowed: object) -> None:
    """Check that this field is one of a Literal's values."""
    options = get_args(allowed)
    if getattr(config, name) not in options:
        raise ValueError(f"{name} must be one of {', '.join(options)}, received {getattr(config, name)!r}")


def as_tuples(config: object, *names: str) -> None:
    """Make these fields of a frozen config tuples; a list is what JSON has."""
    for name in names:
        value = getattr(config, name)
        if not isinstance(value, list | tuple):
            raise ValueError(f"{name} must be a list, received {value!r}")
        object.__setattr__(config, name, tuple(value))


def typed(config: Any) -> None:
    """Every field declared as a bool, a number or a text holds one; numbers are finite."""
    for field in fields(config):
        value = getattr(config, field.name)
        declared = str(field.type).removesuffix(" | None")
        if value is None and declared != field.type:
            continue
        if declared == "bool" and not isinstance(value, bool):
            raise ValueError(f"{field.name} must be True or False, received {value!r}")
        if declared == "int" and not is_integer(value):
            raise ValueError(f"{field.name} must be an integer, received {value!r}")
        if declared == "float" and not _is_finite(value):
            raise ValueError(f"{field.name} must be a finite number, received {value!r}")
        if declared == "str" and not isinstance(value, str):
            raise ValueError(f"{field.name} must be a text, received {value!r}")


def check_finite_numbers(config: object, *names: str) -> None:
    """Check that these fields are tuples of finite numbers."""
    for name in names:
        if not all(_is_finite(value) for value in getattr(config, name)):
            raise ValueError(f"{name} must hold finite numbers, received {getattr(config, name)!r}")


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
