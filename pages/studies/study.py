"""Define a study: a question that many stored trainings answer, and what its page shows for one selection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from pages.frame.page import Formatters
from pages.questions.prediction_gate import Prediction
from vitviz.analysis.data_size import Curve
from vitviz.analysis.one_change import Variant
from vitviz.analysis.race import Racer
from vitviz.experiments.result import Result, Row
from vitviz.tables import Columns
from vitviz.text import percent

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from pages.controls.widgets import ControlValues
    from vitviz.plots.theme import Mode

Selected = TypeVar("Selected")


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
        unknown: dict[str, Any] = {"curve": np.empty((2, 0)), "test": {}, "seconds": (), "diverged": 0}
        return [one if one.name in self.known else replace(one, **unknown) for one in self.variants]


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
        picture: drawn as a grey range until the prediction is made.
        caption: one sentence, finding first; shown with the whole picture.
        prediction: asked before the picture is shown; None shows it at once.
        evidence: named under 'How this was measured'.
        notes: further conditions, in the same place, once the prediction was made.
        conceals: False if the picture does not reveal the answer and is drawn at once.
        findings: subject of the published findings in papers.toml; by default the study's name.
        above, below: draw what belongs to this study alone, such as examples above the picture or a link below it
            (only once the prediction was made).
        live: draws the form of a live run and the run, with and without the prediction.
    """

    picture: Figure | Race | None
    caption: str
    prediction: Prediction | None = None
    evidence: Sequence[Evidence] = ()
    notes: str = ""
    table: Table | None = None
    conceals: bool = True
    findings: str = ""
    above: Callable[[], None] | None = None
    below: Callable[[], None] | None = None
    live: Callable[[], None] | None = None


@dataclass(frozen=True)
class Study(Generic[Selected]):
    """A question, the controls that select among its results, and the view of a selection.

    Attributes:
        name: stands in the address; papers.toml may hold published findings under it.
        question: at most twelve words.
        minutes: a user needs about so many.
        experiments: result files, named where there are none.
        choose: draws the controls and returns what they select; None without results.
        build: returns the view of a selection; draws nothing.
        example: the selection of the gallery's card; None draws no picture there.
        code: functions and classes whose source is shown.
    """

    name: str
    title: str
    question: str
    minutes: int
    experiments: tuple[str, ...]
    choose: Callable[[], Selected | None]
    build: Callable[[Selected, Mode], View]
    example: Callable[[], Selected | None]
    controls: tuple[type[ControlValues], ...] = ()
    math: str | None = None
    code: Callable[[], Sequence[Callable[..., object]]] | Sequence[Callable[..., object]] = ()


def create_curve_table(curves: Sequence[Curve], size: str, file_name: str) -> Table:
    """Return the points of curves over numbers of images; `size` names that column."""
    columns: Columns = {
        "model": [curve.title for curve in curves for _ in curve.pictures],
        size: [int(count) for curve in curves for count in curve.pictures],
        "mean": [float(value) for curve in curves for value in curve.mean],
        "lowest": [float(value) for curve in curves for value in curve.low],
        "highest": [float(value) for curve in curves for value in curve.high],
        "seeds": [int(count) for curve in curves for count in curve.seeds],
    }
    return Table(columns, dict.fromkeys(("mean", "lowest", "highest"), percent), file_name)
