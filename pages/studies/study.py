"""Define a study: a question that stored trainings answer, read from one file of data."""

import tomllib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.views.figures import RACE_MATH

CurvePoints = tuple[NDArray[np.float64], NDArray[np.float64]]  # x and y of a card's sketch
FOLDER = Path(__file__).parent
SELECT_PX = 360
Values = Mapping[str, Any]  # the selected option of each choice, by the choice's name


@dataclass(frozen=True)
class StudyControl:
    """A control of a study.

    Attributes:
        key: of the session and the link.
        name: stands for the selected option in the study's file; by default the end of the key.
        options: a list, titles by option, or 'module:name' of titles or of a function of the earlier values.
        by: an earlier choice; `options` and `default` then have an entry for each of its options.
        default: an option; the first if it is not given or not offered.
        widget: a function of `pages.controls.widgets`.
        when: the earlier values with which the control is drawn; otherwise the default is taken.
        why_not: why a toggle is disabled with other values.
    """

    key: str
    label: str
    options: Any
    name: str = ""
    by: str = ""
    default: Any = None
    widget: str = "segmented"
    help: str | None = None
    when: Mapping[str, Any] | None = None
    why_not: str = ""

    def list_options(self, values: Values) -> Mapping[Hashable, str]:
        """Return the titles by option."""
        options = self.options
        if isinstance(options, str):
            options = load(options)
        if isinstance(options, FunctionType):
            options = options(values)
        if self.by:
            options = options[values[self.by]]
        if isinstance(options, list):
            return {option: f"{option:,}" if type(option) is int else str(option) for option in options}
        return {name: title if isinstance(title, str) else title.title for name, title in options.items()}

    def find_default(self, values: Values) -> Any:
        """Return the option of an untouched control."""
        options = self.list_options(values)
        default = self.default.get(values[self.by]) if isinstance(self.default, Mapping) else self.default
        return default if default in options else next(iter(options))

    def draw(self, values: Values) -> Any:
        """Draw the control and return the selected option."""
        options, default = self.list_options(values), self.find_default(values)
        is_drawn = self.when is None or matches(values, self.when)
        if self.widget == "toggle":
            why_not = None if is_drawn else self.why_not
            is_on = widgets.toggle(self.key, self.label, bool(default), help=self.help, why_not=why_not)
            return is_on if is_drawn else default
        if not is_drawn:
            return default
        draw_widget = getattr(widgets, self.widget)
        with st.container(width=SELECT_PX if self.widget == "select" else "content"):
            return draw_widget(
                self.key, self.label, tuple(options), default, format_func=options.__getitem__, help=self.help
            )


@dataclass(frozen=True)
class StudyView:
    """Contents of a study for some of its options: the entries of its file's `[[view]]`, which `renderer` draws.

    Attributes:
        when: the values for which it is shown; the first view that fits is taken.
        data: result files, see `read_numbers`.
        titles: of the series, by name, or 'module:name' of them; with 'by', a choice, for each of its options.
        fields: the fields of a row that hold 'series', 'x' and 'y'.
        chart: 'kind', a name of `study_charts.KINDS`, and its options.
        ask: the question before the picture, see `questions`.
        caption: the finding, with placeholders, see `placeholders`.
        notes: further sentences under 'How this was measured'.
        conditions: of the measurement, with placeholders of the file's settings.
        findings: subject of the published findings; by default the study's name.
        column: title of the table's column of places.
        table: columns beside the numbers: by title the name of a setting with one number for each series.
        links: 'page', 'label' and 'query' of links below the picture; '=dataset' stands for a selected option.
        published: cited numbers in percent, by series, and their 'places', in place of `data`.
        conceals: False if the picture does not reveal the answer and is drawn at once.
        beside: True draws the question, and what the study's module draws above it, beside the picture.
    """

    when: Mapping[str, Any]
    data: Sequence[Mapping[str, Any]] = ()
    titles: Mapping[str, str] | Sequence[str] | str = ""
    fields: Mapping[str, Any] | None = None
    chart: Mapping[str, Any] | None = None
    ask: Mapping[str, Any] | None = None
    caption: str = ""
    notes: str = ""
    conditions: str = ""
    findings: str = ""
    column: str = ""
    table: Mapping[str, str] | None = None
    links: Sequence[Mapping[str, Any]] = ()
    published: Mapping[str, Sequence[float]] | None = None
    conceals: bool = True
    beside: bool = False


@dataclass(frozen=True)
class Study:
    """A question, the controls that select among its results, and the views of a selection.

    Attributes:
        name: of its file, and in the address; papers.toml may hold published findings under it.
        order: place in its group of the gallery.
        group: of the gallery, see `gallery.GROUPS`.
        question: at most twelve words.
        minutes: a user needs about so many.
        keys: of further controls.
        code: functions and classes whose source is shown, as 'module:name'.
        module: functions of this study alone, in a Python file of its name: see `renderer`.
    """

    name: str
    order: int
    title: str
    question: str
    minutes: int
    choices: Sequence[StudyControl]
    views: Sequence[StudyView]
    keys: Sequence[str] = ()
    math: str | None = None
    code: Sequence[str] = ()
    module: ModuleType | None = None
    group: str = "recipe"

    def choose(self, draw: bool = True) -> dict[str, Any]:
        """Return the selected options by the choices' names, or the default ones without drawing."""
        values: dict[str, Any] = {}
        for choice in self.choices:
            values[choice.name] = choice.draw(values) if draw else choice.find_default(values)
        return values

    def find_view(self, values: Values) -> StudyView:
        return next(view for view in self.views if matches(values, view.when))

    def list_keys(self) -> tuple[str, ...]:
        """Return the keys of all controls."""
        asked = {view.ask["key"] for view in self.views if view.ask is not None}
        return (*(choice.key for choice in self.choices), *asked, *self.keys)

    def load_code(self) -> list[Callable[..., object]]:
        return [load(name) for name in self.code]

    def hook(self, name: str) -> Callable[..., Any] | None:
        """Return a function of this study alone; None if it has none of this name."""
        return getattr(self.module, name, None)


def matches(values: Values, wanted: Mapping[str, Any]) -> bool:
    """Return True if each value is the wanted one, or in the wanted list."""
    return all(
        values[name] in option if isinstance(option, list) else values[name] == option
        for name, option in wanted.items()
    )


def load(name: str) -> Any:
    """Return what 'module:name' names."""
    module, _, place = name.partition(":")
    return attrgetter(place)(import_module(module))


def read_study(path: Path) -> Study:
    """Read a study from its file, with the Python file of its name beside it if there is one."""
    fields = tomllib.loads(path.read_text("utf-8"))
    choices = [
        StudyControl(**{"name": choice["key"].partition(".")[2], **choice})
        for choice in fields.pop("choice", [])
    ]
    shared = fields.pop("shared", {})  # by all views
    views = [StudyView(**{"when": {}, **shared, **view}) for view in fields.pop("view", [{}])]
    if fields.pop("race_math", False):
        fields["math"] = page.read_math(RACE_MATH) + "\n" + fields["math"]
    if any(" against " in view.caption for view in views):
        verdict = page.read_math(__file__, section="verdict")
        fields["math"] = "\n".join(filter(None, (fields.get("math"), verdict)))
    has_module = path.with_suffix(".py").is_file()
    module = import_module(f"pages.studies.{path.stem}") if has_module else None
    return Study(path.stem, **fields, choices=choices, views=views, module=module)


@cache
def list_studies() -> dict[str, Study]:
    """Return all studies by name, in the order of the gallery."""
    studies = sorted(map(read_study, FOLDER.glob("*.toml")), key=lambda study: (study.order, study.name))
    return {study.name: study for study in studies}
