"""The Swin lens in the browser: the stepper, travelling information, the bias, the hierarchy, attention in windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pages.views.register import register

_STEPPER = """
.sw-bar { display: grid; grid-template-columns: repeat(auto-fit, minmax(96px, 1fr)); gap: 4px; }
.vv .sw-bar button { display: flex; flex-direction: column; align-items: flex-start; padding: 4px 8px;
  border-radius: 6px; text-align: left; min-width: 0; }
.vv .sw-bar button[aria-current] { border-color: var(--vv-query); box-shadow: inset 0 -3px 0 var(--vv-query); }
.sw-name { font-weight: 600; white-space: nowrap; }
.vv .sw-bar .vv-mono { font-size: 0.75rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis;
  max-width: 100%; }
.sw-drive { margin-top: 8px; }
.vv .sw-drive input[type="range"] { flex: 1; min-width: 96px; width: auto; }
.vv .sw-drive button { min-width: 40px; }
.sw-told { min-height: 40px; margin: 8px 0; max-width: 100ch; }
.sw-layout { display: flex; flex-direction: column; gap: 16px; }
.sw-layout.sw-wide { flex-direction: row; gap: 32px; }
.sw-left { flex: none; max-width: 100%; }
.sw-right { flex: 1; min-width: 0; }
.vv .sw-map { cursor: crosshair; touch-action: pan-y; }
.vv .sw-cross { cursor: crosshair; }
.sw-title { font-size: 1.125rem; font-weight: 600; }
.sw-pair { display: flex; gap: 16px; margin-top: 12px; }
.sw-pair > div { flex: 1; min-width: 0; max-width: 192px; }
.sw-head { font-weight: 600; margin-bottom: 4px; min-height: 20px; }
.sw-above { margin-top: 16px; }
.sw-note { font-size: 0.8125rem; color: var(--vv-muted); margin-top: 4px; min-height: 56px; }
.sw-lines { white-space: pre-line; }
.sw-matrix { display: flex; gap: 16px; margin-top: 8px; }
.sw-key { display: flex; flex-wrap: wrap; gap: 4px 16px; font-size: 0.8125rem; }
.sw-item { display: inline-flex; align-items: center; gap: 6px; white-space: nowrap; }
.sw-swatch { width: 14px; height: 14px; border-radius: 2px; border: 1px solid var(--vv-line); display: inline-block; }
.sw-query { background: color-mix(in srgb, var(--vv-query) 40%, transparent); }
.sw-leak { background: color-mix(in srgb, var(--st-primary-color) 55%, transparent); }
.sw-masked { background: color-mix(in srgb, var(--st-text-color) 72%, transparent); }
"""
_stepper = register(__file__, "swin_stepper", css=_STEPPER)


def stepper(payload: bytes, *, key: str, on_change: Callable[[], None]) -> Any:
    """Mounts `plots.swin.stepper`; `.pin` is the point [x, y] in [0, 1] that was picked in this run."""
    return _stepper(payload, key=key, triggers=("pin",), on_change=on_change)


_PANELS = """
.sw-panels { display: flex; flex-wrap: wrap; gap: 16px; margin-top: 12px; }
.sw-head { font-weight: 600; margin-bottom: 4px; min-height: 20px; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; }
.sw-above { margin-top: 16px; }
.sw-why { font-size: 0.8125rem; }
.sw-counted { min-width: 112px; }
.sw-foot { margin-top: 12px; }
.vv .sw-cross { cursor: crosshair; touch-action: pan-y; }
.vv input[type="range"] { flex: 1; min-width: 96px; width: auto; }
.vv .vv-row button { min-width: 40px; }
"""
_reach = register(__file__, "swin_reach", css=_PANELS)
_gradient = register(__file__, "swin_gradient", css=_PANELS)


def reach(payload: bytes, *, key: str, on_change: Callable[[], None]) -> Any:
    """Mounts `plots.swin.reach`; `.pin` is the point [x, y] in [0, 1] that was picked in this run."""
    return _reach(payload, key=key, triggers=("pin",), on_change=on_change)


def gradient(payload: bytes, *, key: str) -> None:
    """Mounts `plots.swin.gradient`."""
    _gradient(payload, key=key)


_BIAS = """
.sw-stage { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start; }
.sw-head { font-weight: 600; margin-bottom: 4px; min-height: 20px; }
.sw-above { margin-top: 16px; }
.sw-read { flex: 1; min-width: 176px; }
.sw-read div { min-height: 24px; margin-bottom: 4px; }
.sw-big { font-size: 1.25rem; font-weight: 600; }
.sw-foot { margin-top: 12px; }
.sw-time { margin-top: 8px; }
.vv .sw-time input[type="range"] { flex: 1; min-width: 96px; max-width: 480px; }
.vv .sw-cross { cursor: crosshair; touch-action: pan-y; }
"""
_PYRAMID = """
.sw-panels { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-end; }
.sw-head { font-weight: 600; margin-bottom: 4px; min-height: 20px; }
.sw-above { margin-top: 24px; }
.sw-why, .sw-small { font-size: 0.8125rem; white-space: pre-line; }
.sw-channels { height: 6px; margin: 4px 0; background: var(--vv-query); border-radius: 2px; }
.sw-strips { display: grid; grid-template-columns: auto auto 1fr; gap: 6px 12px; align-items: center;
  margin-bottom: 8px; }
.sw-strip { display: contents; }
.sw-label { font-size: 0.8125rem; }
.vv .sw-cross { cursor: crosshair; touch-action: pan-y; }
"""
_bias = register(__file__, "swin_bias", css=_BIAS)
_pyramid = register(__file__, "swin_pyramid", css=_PYRAMID)


def bias(payload: bytes, *, key: str) -> None:
    """Mounts `plots.swin.bias`."""
    _bias(payload, key=key)


def pyramid(payload: bytes, *, key: str, on_change: Callable[[], None]) -> Any:
    """Mounts `plots.swin.pyramid`; `.pin` is the point [x, y] in [0, 1] that was picked in this run."""
    return _pyramid(payload, key=key, triggers=("pin",), on_change=on_change)
