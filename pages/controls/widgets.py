"""Controls that are kept from page to page and written into the link; what a link says is checked when it is read.

Every widget is told its present value as its default too: one that a browser first shows in a later run (in a popover
that opens then) is not told what the session says, and would begin at 0 or at the first option.

A key is `page.control`. A value that is not among the options (an old link, a hostile one, another model) falls back
to the default, silently. A control that is impossible here is told `why_not`: it is disabled, with the sentence as its
help, and keeps its value for when it is possible again.

A page holds its controls as one frozen value, read once and handed on:

    @dataclass(frozen=True)
    class Choice(controls.Chosen, page="block"):
        layer: int
        head: int

    def read(config: ViTConfig) -> Choice:
        left, right = st.columns(2)
        with left:
            layer = controls.slider(Choice.key("layer"), "Block", 1, config.depth, 1)
        ...
        return Choice(layer, head)

    Choice.change(head=3)  # from a callback: a click in a view
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import streamlit as st

from pages.controls import popover, query_params, session_keys
from pages.controls.control_values import Chosen as Chosen
from pages.controls.control_values import set_value as set_value
from vitviz.number_text import parse_float, parse_int

T = TypeVar("T")
Shown = Literal["visible", "hidden", "collapsed"]
_NONE: Any = object()  # nothing stands in the session


def hold(*chosen: type[Chosen]) -> None:
    """Lets what the link says about controls wait, in the link too, until a section that draws them is shown.

    To be called before any of them is drawn.
    """
    query_params.hold(key for kind in chosen for key in kind.keys())


def encode(value: object) -> str:
    """A value as it stands in a link: 1 or 0 for a switch, parts of a tuple joined by commas."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list):
        return ",".join(encode(part) for part in value)
    return str(value)


def keep(key: str, value: Any) -> None:
    """Remembers a control's value for pages that do not draw it, and writes it into the link."""
    session_keys.kept()[key] = value
    query_params.put(key, encode(value))


def follow_default(key: str, default: object) -> None:
    """Lets a control that nobody has moved follow its default, where another model has another one.

    To be called before the control is drawn. What a link says, or a visitor has chosen, stays.
    """
    seen = session_keys.held(session_keys.DEFAULTS)
    now = st.session_state.get(key, session_keys.kept().get(key))
    if key in seen and seen[key] != default and now == seen[key]:
        set_value(key, default)
    seen[key] = default


def _prepare(key: str, default: T, parse: Callable[[str], T | None], valid: Callable[[Any], bool]) -> T:
    """What a widget must start from, put into the session where it is drawn: link, else widget, kept, default."""
    said = query_params.take(key)
    parsed = None if said is None else parse(said)
    before: Any = st.session_state.get(key, _NONE)
    kept = before if before is not _NONE else session_keys.kept().get(key, default)
    value = parsed if parsed is not None and valid(parsed) else kept
    start: T = value if valid(value) else default
    if popover.closed():
        # What no widget holds would come back, older, once a widget of this key has gone; what is kept counts.
        if before is not _NONE:
            del st.session_state[key]
    elif start is not before:
        st.session_state[key] = start
    return start


def _hold(key: str, limits: object) -> None:
    """Keeps a slider's value when its options or limits change.

    Streamlit then makes a new widget under the old key, which would start from its lowest value. What has not changed
    is left alone: a value that the server sets would pull the handle from under a visitor who drags it.
    """
    seen = session_keys.held(session_keys.LIMITS)
    if not popover.closed() and seen.get(key) != limits:
        seen[key] = limits
        st.session_state[key] = st.session_state[key]


def _renamed(key: str, chosen: object, name: str) -> None:
    """Says a list's option anew where it is called otherwise than before: a browser keeps the name that was chosen."""
    before, session_keys.held(session_keys.LIMITS)[key] = (
        session_keys.held(session_keys.LIMITS).get(key, ()),
        (chosen, name),
    )
    if not popover.closed() and before[:1] == (chosen,) and before[1] != name:
        st.session_state[key] = st.session_state[key]


def settle_choice(key: str, options: Sequence[T], default: T | None = None) -> T:
    """The option that a choice must start from, put into the session: link, else widget, else kept, else default."""
    if not options:
        raise ValueError(f"{key} needs at least one option, received none")
    start = options[0] if default is None or default not in options else default
    by_name = {encode(option): option for option in options}
    return _prepare(key, start, by_name.get, lambda value: any(_same(value, one) for one in options))


def _said(key: str, start: T, draw: Callable[[], T]) -> T:
    """What a control says, kept: its widget's value, or where it would start from behind a button that is closed."""
    value = start if popover.closed() else draw()
    keep(key, value)
    return value


def _place(now: object, options: Sequence[Any]) -> int:
    return next(i for i, option in enumerate(options) if _same(option, now))


def _same(a: object, b: object) -> bool:
    return type(a) is type(b) and a == b


def select(
    key: str,
    label: str,
    options: Sequence[T],
    default: T | None = None,
    *,
    format_func: Callable[[Any], str] = str,
    help: str | None = None,
    disabled: bool = False,
    why_not: str | None = None,
) -> T:
    """A list of options to choose one from; the default is the first."""
    start = settle_choice(key, options, default)
    _renamed(key, start, format_func(start))
    return _said(
        key,
        start,
        lambda: st.selectbox(
            label,
            options,
            index=_place(start, options),
            key=key,
            format_func=format_func,
            help=why_not or help,
            disabled=disabled or why_not is not None,
        ),
    )


def segmented(
    key: str,
    label: str,
    options: Sequence[T],
    default: T | None = None,
    *,
    format_func: Callable[[Any], str] = str,
    help: str | None = None,
    why_not: str | None = None,
    label_visibility: Shown = "visible",
    width: Literal["content", "stretch"] = "content",
) -> T:
    """Two to five options side by side, of which one is always chosen."""
    start = settle_choice(key, options, default)
    return _said(
        key,
        start,
        lambda: st.segmented_control(
            label,
            options,
            default=options[_place(start, options)],
            key=key,
            required=True,
            format_func=format_func,
            help=why_not or help,
            disabled=why_not is not None,
            label_visibility=label_visibility,
            width=width,
        ),
    )


def select_slider(
    key: str,
    label: str,
    options: Sequence[T],
    default: T | None = None,
    *,
    format_func: Callable[[Any], str] = str,
    help: str | None = None,
    disabled: bool = False,
    why_not: str | None = None,
    label_visibility: Shown = "visible",
) -> T:
    """A slider over ordered options that need not be evenly spaced, such as the steps of snapshots."""
    start = settle_choice(key, options, default)
    if len(options) == 1:  # a slider needs two ends
        keep(key, options[0])
        return options[0]
    _hold(key, tuple(options))
    return _said(
        key,
        start,
        lambda: st.select_slider(
            label,
            options,
            value=options[_place(start, options)],
            key=key,
            format_func=format_func,
            help=why_not or help,
            disabled=disabled or why_not is not None,
            label_visibility=label_visibility,
        ),
    )


def slider(
    key: str,
    label: str,
    low: float,
    high: float,
    default: float,
    step: float | None = None,
    *,
    format: str | None = None,
    help: str | None = None,
    disabled: bool = False,
    why_not: str | None = None,
) -> Any:
    """A number between low and high; whole if low, high and default are whole."""
    if low > high:
        raise ValueError(f"{key} needs low <= high, received {low} and {high}")
    kind = int if all(isinstance(number, int) for number in (low, high, default)) else float
    start = kind(min(max(default, low), high))
    if low == high:  # a slider needs two ends
        keep(key, start)
        return start
    start = _prepare(
        key, start, parse_int if kind is int else parse_float, lambda value: _within(value, kind, low, high)
    )
    _hold(key, (low, high))
    return _said(
        key,
        start,
        lambda: st.slider(
            label,
            kind(low),
            kind(high),
            value=start,
            step=None if step is None else kind(step),
            format=format,
            key=key,
            help=why_not or help,
            disabled=disabled or why_not is not None,
        ),
    )


def number(
    key: str,
    label: str,
    low: int,
    high: int,
    default: int,
    *,
    help: str | None = None,
    disabled: bool = False,
    why_not: str | None = None,
) -> int:
    """A whole number between low and high that can be typed."""
    start = _prepare(key, min(max(default, low), high), parse_int, lambda v: _within(v, int, low, high))
    return _said(
        key,
        start,
        lambda: int(
            st.number_input(
                label,
                low,
                high,
                value=start,
                key=key,
                step=1,
                help=why_not or help,
                disabled=disabled or why_not is not None,
            )
        ),
    )


def real(
    key: str,
    label: str,
    default: float,
    step: float,
    *,
    help: str | None = None,
    disabled: bool = False,
    why_not: str | None = None,
) -> float:
    """Any finite number that can be typed; what makes no sense is refused, with the reason, where it is used."""
    start = _prepare(key, float(default), parse_float, lambda v: type(v) is float and math.isfinite(v))
    return _said(
        key,
        start,
        lambda: float(
            st.number_input(
                label,
                value=start,
                key=key,
                step=step,
                format="%g",
                help=why_not or help,
                disabled=disabled or why_not is not None,
            )
        ),
    )


def text(
    key: str,
    label: str,
    default: str,
    longest: int,
    *,
    help: str | None = None,
    disabled: bool = False,
    why_not: str | None = None,
) -> str:
    """A short line that can be typed; what makes no sense is refused, with the reason, where it is used."""
    start = _prepare(key, default, str, lambda value: isinstance(value, str) and len(value) <= longest)
    return _said(
        key,
        start,
        lambda: st.text_input(
            label,
            start,
            key=key,
            max_chars=longest,
            help=why_not or help,
            disabled=disabled or why_not is not None,
        ),
    )


def toggle(
    key: str,
    label: str,
    default: bool = False,
    *,
    help: str | None = None,
    disabled: bool = False,
    why_not: str | None = None,
) -> bool:
    """A switch."""
    start = _prepare(key, default, {"1": True, "0": False}.get, lambda value: isinstance(value, bool))
    return _said(
        key,
        start,
        lambda: st.toggle(
            label,
            start,
            key=key,
            help=why_not or help,
            disabled=disabled or why_not is not None,
        ),
    )


def _within(value: Any, kind: type[int] | type[float], low: float, high: float) -> bool:
    return type(value) is kind and low <= value <= high
