"""The Swin lens in the browser: the stepper, travelling information, the bias, the hierarchy, attention in windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pages.views.register import register

_stepper = register(__file__, "swin_stepper")


def stepper(payload: bytes, *, key: str, on_change: Callable[[], None]) -> Any:
    """Mounts `plots.swin.stepper`; `.pin` is the point [x, y] in [0, 1] that was picked in this run."""
    return _stepper(payload, key=key, triggers=("pin",), on_change=on_change)


_reach = register(__file__, "swin_reach", "swin_panels")
_gradient = register(__file__, "swin_gradient", "swin_panels")


def reach(payload: bytes, *, key: str, on_change: Callable[[], None]) -> Any:
    """Mounts `plots.swin.reach`; `.pin` is the point [x, y] in [0, 1] that was picked in this run."""
    return _reach(payload, key=key, triggers=("pin",), on_change=on_change)


def gradient(payload: bytes, *, key: str) -> None:
    """Mounts `plots.swin.gradient`."""
    _gradient(payload, key=key)


_bias = register(__file__, "swin_bias")
_pyramid = register(__file__, "swin_pyramid")


def bias(payload: bytes, *, key: str) -> None:
    """Mounts `plots.swin.bias`."""
    _bias(payload, key=key)


def pyramid(payload: bytes, *, key: str, on_change: Callable[[], None]) -> Any:
    """Mounts `plots.swin.pyramid`; `.pin` is the point [x, y] in [0, 1] that was picked in this run."""
    return _pyramid(payload, key=key, triggers=("pin",), on_change=on_change)
