"""Draw controls whose values survive page changes and are part of the permalink; linked values are validated.

Every widget receives its current value as its default too: a browser that first shows a widget in a later run (in a
popover that opens then) would otherwise start at 0 or at the first option.

A key is `page.control`. An invalid value (an old link, a hostile one, another model) falls back to the default; one of
a link is named (`link_notice`). A control that is unavailable receives `why_not`: it is disabled, with that sentence as
its help, and keeps its value.

A page holds its controls as one frozen value, read once and passed on:

    @dataclass(frozen=True)
    class BlockControls(widgets.ControlValues, page="block"):
        layer: int
        head: int

    def read(config: ViTConfig) -> BlockControls:
        left, right = st.columns(2)
        with left:
            layer = widgets.slider(BlockControls.key("layer"), "Block", 1, config.depth, 1)
        ...
        return BlockControls(layer, head)

    BlockControls.change(head=3)  # from a callback: a click in a view
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Literal, ParamSpec, TypedDict, TypeVar, Unpack

import streamlit as st
from streamlit.cursor import RunningCursor
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

from pages.controls import link_notice, popover, query_params, session_keys
from pages.streamlit_fixes.optional import browser_messages
from vitviz.text import parse_float, parse_int

T = TypeVar("T")
P = ParamSpec("P")
Gap = Literal["xxsmall", "small"]
_MISSING: Any = object()  # the session has no value
_SEPARATOR = ","  # between several options in a link
_MOST_IN_ROW = 8  # controls beside the titles of sections
_row: ContextVar[tuple[str | None, DeltaGenerator] | None] = ContextVar(
    "row", default=None
)  # fragment and row


class Options(TypedDict, total=False):
    """Hold the options of any control: its help, and the reason why it is disabled."""

    help: str | None
    why_not: str | None


class ChoiceOptions(Options, total=False):
    """Hold the options of a control with choices."""

    format_func: Callable[[Any], str]
    on_change: Callable[[], None]
    label_visibility: Literal["visible", "hidden", "collapsed"]
    width: Literal["content", "stretch"]


class ControlValues:
    """The values of a page's controls in one run: a frozen dataclass, whose field 'layer' is 'block.layer'."""

    _page: ClassVar[str]

    def __init_subclass__(cls, page: str) -> None:
        cls._page = page

    @classmethod
    def key(cls, name: str) -> str:
        """Return a control's key in the session and in the link.

        Raises:
            KeyError: if the page has no such control.
        """
        if not is_dataclass(cls) or name not in {field.name for field in fields(cls)}:
            raise KeyError(f"{cls._page} has no control {name!r}")
        return f"{cls._page}.{name}"

    @classmethod
    def change(cls, **values: object) -> None:
        """Set controls before they are drawn in this run, or in a callback."""
        for name, setting in values.items():
            set_control(cls.key(name), setting)


def set_control(key: str, setting: Any) -> None:
    """Set a control before it is drawn in this run, or in a callback."""
    st.session_state[key] = setting
    session_keys.get_control_values()[key] = setting


def encode_value(setting: object) -> str:
    """Return a value's text in a link: 1 or 0 for a toggle, parts of a tuple joined by commas."""
    if isinstance(setting, bool):
        return str(int(setting))
    if isinstance(setting, float):
        return f"{setting:.6g}"
    if isinstance(setting, tuple | list):
        return ",".join(encode_value(part) for part in setting)
    return str(setting)


def store_value(key: str, setting: Any) -> None:
    """Store a control's value for pages that do not draw it, and write it into the link."""
    session_keys.get_control_values()[key] = setting
    query_params.set_value(key, encode_value(setting))


def follow_default(key: str, default: object) -> None:
    """Update an untouched control when its default changes with the model; call it before the control is drawn."""
    defaults = session_keys.get_dict(session_keys.DEFAULTS)
    setting = st.session_state.get(key, session_keys.get_control_values().get(key))
    if key in defaults and defaults[key] != default and setting == defaults[key]:
        set_control(key, default)
    defaults[key] = default


def _resolve_start(key: str, default: T, parse: Callable[[str], T | None], valid: Callable[[Any], bool]) -> T:
    """Return a widget's start value and put it into the session if it is drawn: link, widget, stored, default."""
    linked = query_params.take_value(key)
    parsed = None if linked is None else parse(linked)
    if linked is not None and not (parsed is not None and valid(parsed)):
        link_notice.add_value(key, linked)
    drawn: Any = st.session_state.get(key, _MISSING)
    stored = drawn if drawn is not _MISSING else session_keys.get_control_values().get(key, default)
    preferred = parsed if parsed is not None and valid(parsed) else stored
    start: T = preferred if valid(preferred) else default
    if popover.is_closed():
        # A session value without a widget would return, outdated, once a widget of this key has been removed.
        if drawn is not _MISSING:
            del st.session_state[key]
    elif start is not drawn:
        st.session_state[key] = start
    return start


def _preserve_value(key: str, limits: object) -> None:
    """Preserve a slider's value when its options or limits change.

    Streamlit then makes a new widget under the old key, which would start from its lowest value. Unchanged sliders
    keep theirs, because a value set by the server would move the handle while a user drags it.
    """
    drawn_limits = session_keys.get_dict(session_keys.LIMITS)
    if not popover.is_closed() and drawn_limits.get(key) != limits:
        drawn_limits[key] = limits
        st.session_state[key] = st.session_state[key]


def _refresh_renamed_option(key: str, option: object, label: str) -> None:
    """Resend a selected option whose label has changed; a browser keeps the label that was selected."""
    limits = session_keys.get_dict(session_keys.LIMITS)
    before, limits[key] = limits.get(key, ()), (option, label)
    if not popover.is_closed() and before[:1] == (option,) and before[1] != label:
        st.session_state[key] = st.session_state[key]


def resolve_option(key: str, options: Sequence[T], default: T | None = None) -> T:
    """Return the start option of a choice and put it into the session: link, widget, stored, default."""
    if not options:
        raise ValueError(f"{key} needs at least one option, received none")
    start = options[0] if default is None or default not in options else default
    by_name = {encode_value(option): option for option in options}
    return _resolve_start(
        key,
        start,
        by_name.get,
        lambda candidate: any(type(candidate) is type(option) and candidate == option for option in options),
    )


def resolve_text(key: str, is_valid: Callable[[str], bool]) -> str:
    """Return the start value of a control that holds a text, and put it into the session: link, stored, ''."""
    return _resolve_start(key, "", str, is_valid)


def _draw_control(
    widget: Callable[..., Any],
    key: str,
    start: T,
    *arguments: object,
    help: str | None = None,
    why_not: str | None = None,
    **options: object,
) -> T:
    """Draw a widget and store its value; in a closed popover, use its start value instead."""
    setting = start
    if not popover.is_closed():
        disabled = why_not is not None
        setting = widget(*arguments, key=key, help=why_not or help, disabled=disabled, **options)
    link_notice.add_label(key, str(arguments[0]), setting)
    store_value(key, setting)
    return setting


def _name_options(options: Sequence[T] | Mapping[T, str], more: ChoiceOptions) -> Sequence[T]:
    """Return the options; the names that a mapping gives them go into `more`."""
    if not isinstance(options, Mapping):
        return options
    more["format_func"] = options.__getitem__
    return tuple(options)


def select(
    key: str,
    label: str,
    options: Sequence[T] | Mapping[T, str],
    default: T | None = None,
    **more: Unpack[ChoiceOptions],
) -> T:
    """Draw a list of options, or of a mapping's keys under their names; the first is the default."""
    options = _name_options(options, more)
    start = resolve_option(key, options, default)
    _refresh_renamed_option(key, start, more.get("format_func", str)(start))
    return _draw_control(st.selectbox, key, start, label, options, index=options.index(start), **more)


def segmented(
    key: str,
    label: str,
    options: Sequence[T] | Mapping[T, str],
    default: T | None = None,
    **more: Unpack[ChoiceOptions],
) -> T:
    """Draw two to five options, or a mapping's keys under their names, side by side; one is always selected."""
    options = _name_options(options, more)
    start = resolve_option(key, options, default)
    return _draw_control(
        st.segmented_control, key, start, label, options, default=start, required=True, **more
    )


def select_slider(
    key: str, label: str, options: Sequence[T], default: T | None = None, **more: Unpack[ChoiceOptions]
) -> T:
    """Draw a slider over ordered options that need not be evenly spaced, such as snapshot steps."""
    start = resolve_option(key, options, default)
    if len(options) == 1:  # a slider needs two ends
        store_value(key, options[0])
        return options[0]
    _preserve_value(key, tuple(options))
    return _draw_control(st.select_slider, key, start, label, options, value=start, **more)


def slider(
    key: str,
    label: str,
    low: float,
    high: float,
    default: float,
    step: float | None = None,
    *,
    format: str | None = None,
    **more: Unpack[Options],
) -> Any:
    """Draw a slider from low to high; integer if low, high and default are integers."""
    if low > high:
        raise ValueError(f"{key} needs low <= high, received {low} and {high}")
    kind = int if all(isinstance(number, int) for number in (low, high, default)) else float
    start = kind(min(max(default, low), high))
    if low == high:  # a slider needs two ends
        store_value(key, start)
        return start
    start = _resolve_start(
        key,
        start,
        parse_int if kind is int else parse_float,
        lambda position: _is_within(position, kind, low, high),
    )
    _preserve_value(key, (low, high))
    return _draw_control(
        st.slider,
        key,
        start,
        label,
        kind(low),
        kind(high),
        value=start,
        step=None if step is None else kind(step),
        format=format,
        **more,
    )


def reset_row() -> None:
    _row.set(None)


def open_row() -> DeltaGenerator:
    """Return a row of controls that the next `continue_row` of the same script or fragment continues."""
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    _row.set((ThreadState.get().fragment_id, row))
    return row


def continue_row() -> DeltaGenerator:
    """Return the row of controls above a figure: the open one, once, or a new one; a fragment opens its own.

    The first one continues the row of the sections' titles. Controls are as wide as their content or their container,
    so that a narrow screen needs few rows.
    """
    fragment, row = _row.get() or ("", None)
    if row is None or fragment != ThreadState.get().fragment_id:
        row = open_row()
    _row.set(None)
    return row


def choose_section(
    key: str, sections: Mapping[str, tuple[str, Callable[P, None]]], *, gap: Gap = "small"
) -> Callable[P, None]:
    """Draw the sections' titles and return what draws the selected one; `sections` maps a name to both.

    Linked values of other sections stay in the address. Another section runs the whole page: it may need another model.
    """
    query_params.keep_page_pending(key.partition(".")[0])
    row = open_row()
    with row:
        name = segmented(
            key,
            "Section",
            tuple(sections),
            format_func=lambda name: sections[name][0],
            label_visibility="collapsed",
            on_change=st.rerun,
        )
    _clear_other_section(row, key, name)
    return place_section(name, sections, gap)


def place_section(
    selected: str, sections: Mapping[str, tuple[str, Callable[P, None]]], gap: Gap = "small"
) -> Callable[P, None]:
    """Return what draws the selected section in its own place, so that no element of another section moves to it."""

    def draw(*args: P.args, **options: P.kwargs) -> None:
        places = {name: st.container(gap=gap) if name == selected else st.empty() for name in sections}
        with places[selected]:
            sections[selected][1](*args, **options)

    return draw


def _clear_other_section(row: DeltaGenerator, key: str, name: str) -> None:
    """Clear the controls of the section shown before, after the titles: Streamlit keeps them until the run ends."""
    shown = session_keys.get_dict(session_keys.SECTIONS)
    if shown.get(key, name) != name:
        browser_messages.hold_drawing()
        cursor = getattr(row, "_cursor", None)  # private: without it they stay until the run ends
        if isinstance(cursor, RunningCursor):
            first = cursor.index
            for _ in range(_MOST_IN_ROW):
                row.empty()
            cursor._index = first  # the section's own controls follow the titles
    shown[key] = name


def pills(
    key: str,
    label: str,
    options: Sequence[str],
    default: Sequence[str],
    *,
    least: int,
    most: int,
    format_func: Callable[[str], str] = str,
) -> tuple[str, ...]:
    """Draw options of which several are selected, and return them in order; undo a click beyond `least` or `most`.

    Options contain no comma. Unknown options of a link are left out and named.
    """
    linked = query_params.take_value(key)
    if linked is not None:
        names = linked.split(_SEPARATOR)
        st.session_state[key] = names
        if missing := [name for name in names if name not in options]:
            link_notice.add_value(key, _SEPARATOR.join(missing))
    elif key not in st.session_state:
        st.session_state[key] = list(session_keys.get_control_values().get(key, default))
    selected = _filter_options(st.session_state[key], options)
    if not least <= len(selected) <= most:
        before = _filter_options(session_keys.get_control_values().get(key, default), options)
        selected = before if least <= len(before) <= most else _filter_options(default, options)
    st.session_state[key] = list(selected)
    if not popover.is_closed():
        st.pills(
            label, options, selection_mode="multi", default=list(selected), key=key, format_func=format_func
        )
    link_notice.add_label(key, label, selected)
    store_value(key, selected)
    return selected


def _filter_options(selected: Sequence[str], options: Sequence[str]) -> tuple[str, ...]:
    return tuple(option for option in options if option in selected)


def segmented_groups(
    key: str, groups: Mapping[str, Sequence[str]], *, format_func: Callable[[str], str]
) -> str:
    """Draw named groups of options in a row, one of which is selected; the default is the first of the first group."""
    resolve_option(key, [option for options in groups.values() for option in options])
    selected: str = st.session_state[key]
    row = open_row()
    with row:
        for number, (label, options) in enumerate(groups.items()):
            group = f"{key}._{number}"
            st.session_state[group] = selected if selected in options else None
            with st.container(width="content"):
                st.segmented_control(
                    label,
                    options,
                    key=group,
                    format_func=format_func,
                    on_change=_store_clicked,
                    args=(key, group),
                    label_visibility="collapsed",
                )
    _clear_other_section(row, key, selected)
    link_notice.add_label(key, "View", selected)
    store_value(key, selected)
    return selected


def _store_clicked(key: str, row: str) -> None:
    option = st.session_state[row]
    if option is not None:  # a click on the selected option deselects nothing
        set_control(key, option)


def button(label: str, *, why_not: str = "", help: str | None = None, **options: Any) -> bool:
    """Draw a button; a reason such as 'predict first' disables it and is its help."""
    why_not = f"Disabled: {why_not}." if why_not else ""
    return st.button(label, disabled=bool(why_not), help=why_not or help, **options)


def number(key: str, label: str, low: int, high: int, default: int, **more: Unpack[Options]) -> int:
    start = _resolve_start(
        key, min(max(default, low), high), parse_int, lambda v: _is_within(v, int, low, high)
    )
    return _draw_control(st.number_input, key, start, label, low, high, value=start, step=1, **more)


def real(key: str, label: str, default: float, step: float, **more: Unpack[Options]) -> float:
    """Draw an input for any finite number; its user validates it."""
    start = _resolve_start(key, float(default), parse_float, lambda v: type(v) is float and math.isfinite(v))
    return _draw_control(st.number_input, key, start, label, value=start, step=step, format="%g", **more)


def text(key: str, label: str, default: str, max_length: int, **more: Unpack[Options]) -> str:
    """Draw a text input of limited length; its user validates it."""
    start = _resolve_start(
        key, default, str, lambda candidate: isinstance(candidate, str) and len(candidate) <= max_length
    )
    return _draw_control(st.text_input, key, start, label, start, max_chars=max_length, **more)


def toggle(key: str, label: str, default: bool = False, **more: Unpack[Options]) -> bool:
    start = _resolve_start(key, default, {"1": True, "0": False}.get, lambda state: isinstance(state, bool))
    return _draw_control(st.toggle, key, start, label, start, **more)


def _is_within(position: Any, kind: type[int] | type[float], low: float, high: float) -> bool:
    return type(position) is kind and low <= position <= high
