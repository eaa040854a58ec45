"""Define a study: a question that many stored trainings answer, and what its page shows for one selection."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from operator import attrgetter
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame.page import Formatters
from pages.questions.prediction_gate import Prediction
from vitviz.analysis.data_size import Curve
from vitviz.analysis.one_change import Variant, compare_variants
from vitviz.analysis.race import Racer
from vitviz.csv_table import Columns
from vitviz.experiments.result_file import Result, Row
from vitviz.plots.chart import Chart
from vitviz.plots.theme import Mode
from vitviz.text import percent

Options = Mapping[Any, str]
Line = tuple[NDArray[np.float64], NDArray[np.float64]]  # x and y


@dataclass(frozen=True)
class Choice:
    """A control of a study.

    Attributes:
        key: of the session and the link.
        options: (values of the earlier choices) -> titles of the measured options; none if there are no results.
        default: an option, or (values of the earlier choices) -> one; the first if it was not measured.
        widget: `segmented`, `select`, `select_slider` or `toggle` of `widgets`.
        help: of the control, for the values of the earlier choices.
        why_not: why a toggle with a single option is disabled.
        is_drawn: (values of the earlier choices) -> False takes the default without a control.
    """

    key: str
    label: str
    options: Callable[..., Options]
    default: Hashable | Callable[..., Hashable] = None
    widget: Callable[..., Any] = widgets.segmented
    help: Callable[..., str] | None = None
    why_not: str = ""
    is_drawn: Callable[..., bool] = lambda *earlier: True

    def find_default(self, *earlier: Any) -> Any:
        """Return the option of an untouched control; None if nothing was measured."""
        options = self.options(*earlier)
        default = self.default(*earlier) if callable(self.default) else self.default
        return default if default in options else next(iter(options), None)

    def draw(self, *earlier: Any) -> Any:
        """Draw the control and return the selected option; None if nothing was measured."""
        options, default = self.options(*earlier), self.find_default(*earlier)
        if not options or not self.is_drawn(*earlier):
            return default
        help_text = None if self.help is None else self.help(*earlier)
        if self.widget is widgets.toggle:
            why_not = self.why_not if len(options) == 1 else None
            is_on = widgets.toggle(self.key, self.label, bool(default), help=help_text, why_not=why_not)
            return default if why_not else is_on
        return self.widget(
            self.key, self.label, tuple(options), default, format_func=options.__getitem__, help=help_text
        )


@dataclass(frozen=True)
class Race:
    """Learning curves of variants, and a dot for each seed's test accuracy.

    Attributes:
        chance: accuracy of guessing, in [0, 1].
        epochs: length of a training.
        note: the images on which the dots were measured.
        racers: the variants with their accuracy on shuffled patches, which is drawn in place of the dots.
        known: names of the variants drawn before the prediction, where the range of all would reveal the answer.
    """

    variants: Sequence[Variant]
    chance: float
    epochs: float
    note: str = ""
    racers: Sequence[Racer] = ()
    known: Sequence[str] = ()

    def list_known(self) -> list[Variant]:
        """Return all variants; those that are not known have neither curve nor results."""
        bare: dict[str, Any] = {"curve": np.empty((2, 0)), "test": {}, "seconds": (), "diverged": 0}
        return [replace(variant, **({} if variant.name in self.known else bare)) for variant in self.variants]


@dataclass(frozen=True)
class Table:
    """The numbers of a figure: columns, what formats them, and the name of the CSV file."""

    columns: Columns
    formatters: Formatters
    file_name: str
    formats: Mapping[str, Any] = field(default_factory=dict)  # Streamlit's column configuration


@dataclass(frozen=True)
class Evidence:
    """The stored rows behind a figure, and the conditions that they share."""

    stored: Result
    rows: Sequence[Row]
    conditions: str = ""


@dataclass(frozen=True)
class View:
    """The picture, sentences and numbers of a study for one selection.

    Attributes:
        picture: drawn as a grey range until the prediction is made, or what draws it in both cases.
        caption: the finding in its first sentence, which is shown with the whole picture; further sentences stand
            under 'How this was measured'.
        prediction: asked before the picture is shown; None shows it at once.
        evidence: named under 'How this was measured'.
        notes: further conditions, in the same place, once the prediction was made.
        conditions: those that are named there before it, too.
        conceals: False if the picture does not reveal the answer and is drawn at once.
        findings: subject of the published findings in papers.toml; by default the study's name.
        above, below: draw what belongs to this study alone, such as examples above the picture or a link below it
            (only once the prediction was made).
        live: draws the form of a live run and the run, with and without the prediction.
    """

    picture: Chart | Race | Callable[[], None] | None
    caption: str
    prediction: Prediction | None = None
    evidence: Sequence[Evidence] = ()
    notes: str = ""
    table: Table | None = None
    conceals: bool = True
    findings: str = ""
    conditions: str = ""
    above: Callable[[], None] | None = None
    below: Callable[[], None] | None = None
    live: Callable[[], None] | None = None


@dataclass(frozen=True)
class Study:
    """A question, the controls that select among its results, and the view of a selection.

    Attributes:
        name: stands in the address; papers.toml may hold published findings under it.
        question: at most twelve words.
        minutes: a user needs about so many.
        experiments: result files, named where there are none.
        build: (theme, values of the choices) -> the view; None without results. Draws nothing.
        choices: in the order in which they depend on each other.
        keys: of further controls, such as the prediction.
        sketch: lines of the gallery's card; by default those of the picture of the default options.
        code: functions and classes whose source is shown; those that need torch by name, 'module:name'.
    """

    name: str
    title: str
    question: str
    minutes: int
    experiments: tuple[str, ...]
    build: Callable[..., View | None]
    choices: tuple[Choice, ...] = ()
    keys: tuple[str, ...] = ()
    sketch: Callable[[], Sequence[Line]] | None = None
    math: str | None = None
    code: Sequence[Callable[..., object] | str] = ()

    def choose(self, draw: bool = True) -> list[Any] | None:
        """Return the selected options, or the default ones without drawing; None if an option was not measured."""
        values: list[Any] = []
        for choice in self.choices:
            values.append(choice.draw(*values) if draw else choice.find_default(*values))
            if values[-1] is None:
                return None
        return values

    def load_code(self) -> list[Callable[..., object]]:
        return [_load(entry) if isinstance(entry, str) else entry for entry in self.code]

    def build_example(self, mode: Mode = "light") -> View | None:
        values = self.choose(draw=False)
        return None if values is None else self.build(mode, *values)


def _load(name: str) -> Callable[..., object]:
    module, _, place = name.partition(":")
    loaded: Callable[..., object] = attrgetter(place)(import_module(module))
    return loaded


SHARES = dict.fromkeys(("Mean", "Lowest", "Highest"), percent)
DIFFERENCE = "Difference from base, points"


def create_seed_columns(tests: Sequence[Sequence[float]]) -> Columns:
    """Return the columns of `SHARES` and the number of seeds; one row for the accuracies of each model's seeds."""
    ends: dict[str, Callable[[Sequence[float]], float]] = {"Mean": fmean, "Lowest": min, "Highest": max}
    columns: Columns = {
        name: [end(values) if values else None for values in tests] for name, end in ends.items()
    }
    return {**columns, "Seeds": [len(values) for values in tests]}


def create_variant_columns(variants: Sequence[Variant], base: str) -> Columns:
    """Return accuracies, difference to the base (by name), seeds and training time of each variant."""
    base_variant = next((variant for variant in variants if variant.name == base), None)
    verdicts = [
        None if base_variant is None else compare_variants(variant, base_variant) for variant in variants
    ]
    return {
        **create_seed_columns([[*variant.test.values()] for variant in variants]),
        DIFFERENCE: [None if verdict is None else verdict.estimate for verdict in verdicts],
        "Training, s on one core": [
            fmean(variant.seconds) if variant.seconds else None for variant in variants
        ],
    }


def create_curve_table(curves: Sequence[Curve], size: str, file_name: str) -> Table:
    """Return the points of curves over numbers of images; `size` names that column."""
    columns: Columns = {
        "model": [curve.title for curve in curves for _ in curve.pictures],
        size: [int(count) for curve in curves for count in curve.pictures],
        "mean": [float(accuracy) for curve in curves for accuracy in curve.mean],
        "lowest": [float(accuracy) for curve in curves for accuracy in curve.low],
        "highest": [float(accuracy) for curve in curves for accuracy in curve.high],
        "seeds": [int(count) for curve in curves for count in curve.seeds],
    }
    return Table(columns, dict.fromkeys(("mean", "lowest", "highest"), percent), file_name)
