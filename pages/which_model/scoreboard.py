"""The scoreboard: every model over two numbers of one's choice, one of them looked at, all of them in a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction
from pages.selection import selection
from pages.stores import timings
from pages.which_model import models, timing
from vitviz.analysis.scoreboard import (
    QUANTITIES,
    Entry,
    Quantity,
    Timings,
    on_one_machine,
    ordered,
    pareto,
)
from vitviz.lessons.cost_measures import MoreMultiplyAdds
from vitviz.lessons.lesson import Question
from vitviz.models import parameter_count
from vitviz.models.abilities import abilities
from vitviz.plots import scoreboard as plots
from vitviz.tables import Columns
from vitviz.text import percent, plain, plural

FIRST = Question(
    "Swin-T has 28.3 million parameters, ViT-S/16 has 22.1 million. Which needs more multiply-adds for one picture"
    " of 224 px?",
    MoreMultiplyAdds("vit_small_16", "swin_tiny"),
)
SORTS = ("title", *QUANTITIES)
NAMED = 4  # models of the front that a caption names


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="which_model"):
    """The test set, the two axes, the model that is looked at, and how the table is sorted."""

    set: str
    x: str
    y: str
    model: str
    sort: str
    down: bool


def draw() -> None:
    """The question behind one closed line, the controls, the plot with its inspector, and the table."""
    _predict_first()
    everything = models.board()
    _draw_board(everything)


@st.fragment
def _predict_first() -> None:
    drawer = st.expander(
        "Predict first", icon=":material/experiment:", key="which_model.predict", on_change="rerun"
    )
    if drawer.open:
        with drawer:
            prediction.ask(FIRST, "which_model.first")


@st.fragment
def _draw_board(everything: Sequence[Entry]) -> None:
    present = {entry.test_set for entry in everything}
    sets = [name for name in models.SETS if name in present]
    with page.row():
        test_set = widgets.segmented(Choice.key("set"), "Test set", sets, format_func=models.title)
        with page.options("which_model.board"):
            x = _axis("x", "Across", "adds")
            y = _axis("y", "Up", "accuracy")
    shown = [entry for entry in everything if entry.test_set == test_set]
    known = timings.models()
    with st.container(key="stacks-board"):  # names need the figure's width
        stage, beside = st.columns([2, 1], gap="medium")
    with beside:
        model = widgets.select(
            Choice.key("model"),
            "Look at",
            [entry.key for entry in shown],
            format_func=lambda key: next(e.title for e in shown if e.key == key),
        )
        looked_at = next(entry for entry in shown if entry.key == model)
        inspect(looked_at, known)
    with stage:
        _draw_points(shown, looked_at, (QUANTITIES[x], QUANTITIES[y]), known)
        timing.offer(shown, known)
    _draw_table(shown, known)


def _axis(name: str, label: str, default: str) -> str:
    with st.container(width=248):
        return widgets.select(
            Choice.key(name),
            label,
            list(QUANTITIES),
            default,
            format_func=lambda q: QUANTITIES[q].title.capitalize(),
        )


def points_of(
    shown: Sequence[Entry], looked_at: Entry, x: Quantity, y: Quantity, known: Timings
) -> list[plots.Point]:
    """The models that have both numbers, with the front marked."""
    found = [
        (entry, across, up)
        for entry in shown
        if (across := x.value(entry, known)) is not None and (up := y.value(entry, known)) is not None
    ]
    fronts = pareto([(across, up) for _, across, up in found], (x.more_is_better, y.more_is_better))
    return [
        plots.Point(
            name_of(entry),
            entry.family,
            across,
            up,
            hollow=not entry.measured_here,
            front=front,
            chosen=entry is looked_at,
            **_spread(entry, x, y, known),
            note=entry.source,
        )
        for (entry, across, up), front in zip(found, fronts, strict=True)
    ]


def name_of(entry: Entry) -> str:
    """Its title without the set's name, which the control says."""
    return entry.title.removeprefix(f"{models.title(entry.test_set)} ")


def _spread(entry: Entry, x: Quantity, y: Quantity, known: Timings) -> dict[str, float]:
    timed = known.get(entry.shape)
    bars = {"y_error": 200 * entry.error} if y.name == "accuracy" else {}  # two standard errors
    if x.name == "ms" and timed is not None:
        bars |= {"x_low": 1000 * timed.low_s, "x_high": 1000 * timed.high_s}
    return bars


def _draw_points(
    shown: Sequence[Entry], looked_at: Entry, axes: tuple[Quantity, Quantity], known: Timings
) -> None:
    x, y = axes
    points = points_of(shown, looked_at, x, y, known)
    if not points:
        lacking = next((q for q in axes if all(q.value(e, known) is None for e in shown)), x)
        said = (
            "Nothing here has been timed yet"
            if lacking.name in ("ms", "memory")
            else "Nobody has stated this"
        )
        st.info(f"{said}: {lacking.title}.", icon=":material/timer:")
        return
    across, up = (plots.Axis(q.title, q.unit, q.log) for q in axes)
    figure = plots.board_figure(points, across, up, selection.mode())
    page.figure(figure, "which_model.board")
    page.caption(describe(points, len(shown), axes))
    if "training" in {q.name for q in axes} and not on_one_machine(shown):
        page.caption("Their seconds of training were counted on different machines and do not compare.")


def describe(points: Sequence[plots.Point], count: int, axes: tuple[Quantity, Quantity]) -> str:
    """Who is on the front, where the numbers come from, and who has none."""
    x, y = axes
    front = sorted((p for p in points if p.front), key=lambda p: p.x)
    names = ", ".join(f"**{plain(p.name)}**" for p in front[:NAMED])
    more = f" and {len(front) - NAMED} more" if len(front) > NAMED else ""
    wish = [f"{'more' if q.more_is_better else 'fewer'} {q.title}" for q in axes]
    cited = sum(p.hollow for p in points)
    said = (
        f"Along the dots: {names}{more}, which no other model here beats in both at once ({wish[0]},"
        f" {wish[1]}; the Pareto front)."
    )
    if QUANTITIES["accuracy"] in axes:
        said += f" {origin(len(points) - cited, cited)}"
    if any(p.y_error for p in points):
        said += " The bars are two standard errors from the number of test pictures; another seed would add to them."
    if missing := count - len(points):
        said += f" {plural(missing, 'model')} of this set {'has' if missing == 1 else 'have'} no such number."
    return said


def origin(measured: int, cited: int) -> str:
    """How many accuracies were measured here, and how many are cited."""
    if measured and cited:
        were, are = ("was" if measured == 1 else "were"), ("is" if cited == 1 else "are")
        return f"{_accuracies(measured)} {were} measured here, {cited} {are} cited (hollow)."
    every = f"All {_accuracies(measured + cited)}" if measured + cited > 1 else "Its accuracy"
    be = ("were" if measured > 1 else "was") if measured else ("are" if cited > 1 else "is")
    return f"{every} {be} {'measured by this project' if measured else 'cited (hollow)'}."


def _accuracies(count: int) -> str:
    return "1 accuracy" if count == 1 else f"{count} accuracies"


def inspect(entry: Entry, known: Timings) -> None:
    """One model's numbers, each with where it comes from, and what part of it holds and costs how much."""
    weights, adds = (
        parameter_count.parameters(entry.config),
        parameter_count.multiply_adds(entry.config, entry.side_px),
    )
    length = parameter_count.tokens(entry.config, entry.side_px)
    said = [
        f"**{entry.parameters:,}** parameters, {4 * entry.parameters / 1e6:,.1f} MB in fp32",
        f"**{entry.multiply_adds / 1e6:,.1f} million** multiply-adds at {entry.side_px} px"
        + ("" if length is None else f", {plural(length, 'token')}"),
        timing.said(entry, known),
        "no accuracy: it has no head for classes"
        if entry.accuracy is None
        else f"**{percent(entry.accuracy, 2)}** on {models.title(entry.test_set)}, {entry.source}",
        f"trained on {plain(entry.trained_on)}"
        + (f", {entry.training_pictures:,} pictures" if entry.training_pictures else ""),
    ]
    if entry.training_s is not None:
        said.append(f"{entry.training_s:,.0f} s of training, {plain(entry.trained_with)}")
    if entry.core_days is not None:
        said.append(f"{entry.core_days:,.0f} TPUv3-core-days of pre-training ({entry.source})")
    st.markdown("\n".join(f"- {line}" for line in said if line))
    figure = plots.parts_figure({"parameters": weights, "multiply-adds": adds}, selection.mode())
    page.figure(figure, "which_model.parts")
    page.caption(largest(weights, adds, windows=bool(abilities(entry.config).windows)))


def largest(weights: parameter_count.Counts, adds: parameter_count.Counts, *, windows: bool) -> str:
    """Which part holds most parameters, and how the cost of attention grows: in windows, or over all tokens."""
    part = max(weights, key=lambda name: weights[name])
    share, products = weights[part] / sum(weights.values()), adds.get(parameter_count.ATTENTION, 0)
    said = f"The {part} hold{'' if part.endswith('s') else 's'} {percent(share)} of the parameters."
    if not products:
        return f"{said} It has no attention, so its cost grows with the number of pixels."
    grows = (
        "with the number of tokens, as windows stay as large" if windows else "with the square of the tokens"
    )
    return (
        f"{said} The products with attention, which grow {grows}, are {percent(products / sum(adds.values()))} of the"
        " multiply-adds."
    )


def _draw_table(shown: Sequence[Entry], known: Timings) -> None:
    with page.row():
        with st.container(width=248):
            sort = widgets.select(
                Choice.key("sort"),
                "Sorted by",
                SORTS,
                "accuracy",
                format_func=lambda q: "Name" if q == "title" else QUANTITIES[q].title.capitalize(),
            )
        down = widgets.toggle(Choice.key("down"), "Largest first", True)
    rows = ordered(shown, sort, down, known)
    columns = columns_of(rows, known)
    page.table(columns, {"Accuracy": partial(percent, digits=2)}, _FORMATS, "which_model.table")
    page.csv("All numbers (CSV)", columns, "models.csv", "which_model.csv")


_FORMATS = {
    "Parameters": st.column_config.NumberColumn(format="localized"),
    "Multiply-adds": st.column_config.NumberColumn(format="localized"),
    "ms here": st.column_config.NumberColumn(format="%.1f"),
    "ms, low to high": st.column_config.TextColumn(help="The fastest and the slowest of the repeats."),
    "MB held": st.column_config.NumberColumn(
        format="%.1f", help="Weights and the most that one picture takes."
    ),
    "Training pictures": st.column_config.NumberColumn(format="localized"),
    "Training, s": st.column_config.NumberColumn(
        format="%.0f", help="On one core, by this project; without a teacher's."
    ),
    "Core-days": st.column_config.NumberColumn(format="localized", help="TPUv3, of pre-training, as cited."),
}


def columns_of(rows: Sequence[Entry], known: Timings) -> Columns:
    """The table: one model a row, None where a number is not known."""
    timed = [known.get(entry.shape) for entry in rows]
    value = {name: [QUANTITIES[name].value(entry, known) for entry in rows] for name in ("ms", "memory")}
    columns: dict[str, Sequence[object]] = {
        "Model": [entry.title for entry in rows],
        "Kind": [entry.family for entry in rows],
        "Accuracy": [entry.accuracy for entry in rows],
        "Parameters": [entry.parameters for entry in rows],
        "Multiply-adds": [entry.multiply_adds for entry in rows],
        "ms here": value["ms"],
        "ms, low to high": [timing.spread(entry, found) for entry, found in zip(rows, timed, strict=True)],
        "MB held": value["memory"],
        "px": [entry.side_px for entry in rows],
        "Trained on": [entry.trained_on for entry in rows],
        "Training pictures": [entry.training_pictures for entry in rows],
        "Training, s": [entry.training_s for entry in rows],
        "Core-days": [entry.core_days for entry in rows],
        "Accuracy from": [entry.source for entry in rows],
    }
    for part in (
        parameter_count.EMBEDDING,
        parameter_count.POSITIONS,
        parameter_count.LAYERS,
        parameter_count.HEAD,
    ):
        columns[f"Parameters: {part}"] = [
            parameter_count.parameters(entry.config).get(part, 0) for entry in rows
        ]
    return columns
