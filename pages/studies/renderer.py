"""Draw a study: controls, prediction, picture, caption, live runs, findings and drawers.

A study's own module may have: `read(values, numbers)`, which completes the numbers of its file; `ask(values, numbers)`;
`chart(values, numbers, mode)`, a picture or what draws it; `columns(values, numbers)`, another table; `draw_above`,
`draw_below` and `draw_live(values, numbers)`; `sketch()`, the lines of its card.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.controls import downloads, widgets
from pages.frame import page
from pages.questions.prediction_gate import Prediction
from pages.selection import selection
from pages.studies import placeholders, questions
from pages.studies.study import Study, StudyView, Values, load
from pages.views.figures import draw_chart, draw_race
from vitviz.analysis.study_numbers import Numbers, read_numbers
from vitviz.analysis.verdict import MAY_DIFFER
from vitviz.csv_table import Columns
from vitviz.experiments.result_file import Result, ResultError, Row, describe_provenance
from vitviz.plots import race, study_charts
from vitviz.plots.chart import Chart
from vitviz.plots.hidden_curves import conceal
from vitviz.plots.study_charts import RaceChart
from vitviz.plots.theme import Mode
from vitviz.text import percent, plain, plural, split_sentence

BARS = "Bars: 95 % intervals of the means, over seeds and images."
IMAGE_BARS = "Bars: 95 % intervals over the images."
BANDS = "Lines through the dots: 95 % intervals of the means, over seeds and images; bands: over seeds alone."
GAIN_BARS = "Bars: 95 % intervals of the differences, each alone; none for one seed."
SHARES = dict.fromkeys(
    ("Mean", "Lowest", "Highest", "Test accuracy", "Without the bug", "With the bug"), percent
)


@dataclass(frozen=True)
class Built:
    """The picture, sentences and numbers of a study for one selection."""

    view: StudyView
    numbers: Numbers | None
    figure: Chart | RaceChart | Callable[[], None] | None
    prediction: Prediction | None
    caption: str
    notes: str
    conditions: str


def build(study: Study, values: Values, mode: Mode = "light") -> Built:
    """Read the numbers of a selection and build what is shown; draws nothing.

    Raises:
        ResultError: if a result file is missing, damaged or incomplete.
    """
    view = study.find_view(values)
    numbers = _read(view, values)
    if read := study.hook("read"):
        numbers = read(values, numbers)
    words = list_words(study, values, numbers)
    figure = None
    if view.chart is not None and numbers is not None:
        figure = study_charts.KINDS[view.chart["kind"]](
            numbers, _fill_options(view.chart, numbers, words), mode
        )
    elif chart := study.hook("chart"):
        figure = chart(values, numbers, mode)
    if isinstance(figure, Chart) and numbers is not None:
        study_charts.add_sample(figure, numbers.sample)
    ask = study.hook("ask")
    prediction = ask(values, numbers) if ask else questions.build(study, view, values, numbers, words)
    sentences = view.caption, view.notes, view.conditions
    family = placeholders.judge(sentences, numbers)
    caption, notes, conditions = (
        placeholders.fill(sentence, numbers, words, family) for sentence in sentences
    )
    caption = caption[:1].upper() + caption[1:]  # it may begin with a verdict
    if view.chart is not None and numbers is not None and numbers.sample:
        bars = {"race": BANDS, "gains": GAIN_BARS}.get(view.chart["kind"], BARS)
        bars = IMAGE_BARS if numbers.as_trained else bars
        notes = " ".join(filter(None, (notes, bars, placeholders.describe_family(family))))
    if "no difference shown" in caption:
        notes = f"{notes} Where no difference is shown, {MAY_DIFFER}.".strip()
    texts = {"caption": caption, "notes": notes, "conditions": conditions}
    return Built(view, numbers, figure, prediction, **texts)


def _read(view: StudyView, values: Values) -> Numbers | None:
    if view.published is not None:
        return read_published(view.published)
    if not view.data:
        return None
    titles: Any = load(view.titles) if isinstance(view.titles, str) else pick(view.titles, values)
    if isinstance(titles, list):
        titles = dict(zip(titles, titles, strict=True))
    titles = {name: title if isinstance(title, str) else title.title for name, title in titles.items()}
    sources = [_select(source, values) for source in view.data]
    return read_numbers(sources, titles, **(view.fields or {}))


def _select(source: Mapping[str, Any], values: Values) -> dict[str, Any]:
    """Return a source whose file and rows are those of the selected options: '=dataset' stands for one."""
    where = {
        name: values[wanted[1:]] if isinstance(wanted, str) and wanted.startswith("=") else wanted
        for name, wanted in source.get("where", {}).items()
    }
    return {**source, "result": pick(source["result"], values).format_map(values), "where": where}


def pick(entry: Any, values: Values) -> Any:
    """Return the part of an entry that stands for the selected option of the choice that its 'by' names."""
    return entry[values[entry["by"]]] if isinstance(entry, Mapping) and "by" in entry else entry


def read_published(table: Mapping[str, Any]) -> Numbers:
    """Return cited numbers without seeds; an empty place was not published."""
    places, series = table["places"], {name: numbers for name, numbers in table.items() if name != "places"}
    values = {
        name: {place: {0: number / 100} for place, number in zip(places, numbers, strict=True) if number}
        for name, numbers in series.items()
    }
    return Numbers(dict(zip(series, series, strict=True)), values, {name: () for name in series})


def list_words(study: Study, values: Values, numbers: Numbers | None) -> dict[str, Any]:
    """Return what placeholders may name: titles of options, settings of the result files, and the numbers' extra."""
    words: dict[str, Any] = {}
    if numbers is not None:
        for stored, rows in numbers.evidence:
            words |= {f"rows.{key}": value for row in rows[:1] for key, value in row.items()}
            words |= {
                key: value for key, value in stored.settings.items() if isinstance(value, str | int | float)
            }
        words |= numbers.extra
    options = ((choice, choice.list_options(values)) for choice in study.choices)
    return words | {choice.name: titles[values[choice.name]] for choice, titles in options}


def _fill_options(options: Mapping[str, Any], numbers: Numbers, words: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: placeholders.fill(text, numbers, words) if name == "note" else text
        for name, text in options.items()
    }


def draw(study: Study) -> None:
    with page.row():
        values = study.choose()
    try:
        built = build(study, values, selection.get_theme())
    except ResultError as error:
        draw_missing_note(study.find_view(values), values, error)
        return
    view = built.view
    question_column, answered = _draw_question_and_chart(study, built, values)
    finding, details = split_sentence(built.caption)
    if caption := finding if answered else "Predict, or skip, to see the results.":
        with question_column:
            page.caption(caption)
    if answered:
        _draw_links(view.links, values)
        if below := study.hook("draw_below"):
            below(values, built.numbers)
    if live := study.hook("draw_live"):
        live(values, built.numbers)
    page.findings(placeholders.fill(view.findings, None, values) or study.name)
    evidence = () if built.numbers is None else built.numbers.evidence
    notes = [*([details, built.notes] if answered else [])]
    notes += [describe_evidence(*stored, built.conditions) for stored in evidence] or [built.conditions]
    if lines := [*filter(None, notes)]:
        page.provenance("  \n".join(lines))
    columns = build_columns(built.numbers, view) if answered and built.numbers is not None else {}
    if answered and (own := study.hook("columns")):
        columns = own(values, built.numbers)
    page.drawers(
        f"studies.{study.name}",
        math=study.math,
        code=study.load_code if study.code else (),
        numbers=partial(_draw_numbers, study.name, built, columns) if columns else None,
    )


def _draw_question_and_chart(study: Study, built: Built, values: Values) -> tuple[DeltaGenerator, bool]:
    """Draw the question beside the picture; return the question's place, and True if the answer may be shown."""
    above = study.hook("draw_above")
    if built.prediction is None and above is None:
        question_column = stage = st.container()
    else:
        with st.container(key="stacks-study"):  # on a narrow screen the question stands above the picture
            question_column, stage = st.columns([2, 3] if built.view.beside else [1, 3], gap="medium")
    with question_column:
        above_place = st.container()
        answered = built.prediction is None or built.prediction.is_answered()
    with stage:
        draw_picture(built, f"studies.{study.name}", answered)
    if above is not None:  # may load images, which must not delay the picture
        with above_place:
            above(values, built.numbers)
    return question_column, answered


def draw_missing_note(view: StudyView, values: Values, error: ResultError) -> None:
    """Draw why there is no result, and the commands that measure it."""
    names = dict.fromkeys(_select(source, values)["result"] for source in view.data)
    commands = "".join(f" Run `python -m vitviz.experiment {name}`." for name in names)
    reason = plain(str(error).partition(": run")[0])
    st.info(f"This study has no complete result: {reason}.{commands}", icon=":material/timer:")


def _draw_links(links: Sequence[Mapping[str, Any]], values: Values) -> None:
    with st.container(horizontal=True, gap="small"):
        for link in links:
            query = {
                name: widgets.encode_value(values[text[1:]]) if text.startswith("=") else text
                for name, text in link["query"].items()
            }
            selection.link_to(link["page"], link["label"], **query)


def draw_picture(built: Built, key: str, answered: bool) -> None:
    figure, conceals = built.figure, built.view.conceals
    if isinstance(figure, RaceChart):
        shape = figure.chance, figure.epochs
        if figure.racers and answered:
            message = race.payload(figure.racers, *shape)
        elif answered or not conceals:
            message = race.pack_variants(figure.variants, *shape, figure.note)
        else:
            variants = figure.list_known() if figure.known else figure.variants
            message = race.pack_variants(variants, *shape, figure.note, concealed=not figure.known)
        draw_race(message, key=f"{key}.race")
    elif callable(figure):
        figure()
    elif figure is not None:
        draw_chart(figure if answered or not conceals else conceal(figure), f"{key}.figure")


def describe_evidence(stored: Result, rows: Sequence[Row], conditions: str) -> str:
    """Describe how stored rows were measured, in Markdown, with the command that measures them again."""
    sessions = tuple(stored.made[place] for place in sorted({int(row["made"]) for row in rows}))
    seeds = sorted({int(row["seed"]) for row in rows if "seed" in row})
    counted = "" if not seeds else f"seed {seeds[0]}" if len(seeds) == 1 else plural(len(seeds), "seed")
    parts = ", ".join(filter(None, (conditions, counted)))
    return f"Stored experiment: {parts}; {plain(describe_provenance(sessions))}. `{stored.command}`"


def build_columns(numbers: Numbers, view: StudyView) -> Columns:
    """Return the table of a study: each series at each place, its differences, and the view's further columns."""
    if not numbers.values:
        return {}
    points = [(name, place) for name in numbers.titles for place in numbers.values[name]]
    seeds = [numbers.list_seeds(*point) for point in points]
    places = [place for _, place in points]
    columns: dict[str, list[Any]] = {"Series": [numbers.titles[name] for name, _ in points]}
    if view.column:
        columns[view.column] = places
    columns |= {
        "Mean": [sum(values) / len(values) for values in seeds],
        "Lowest": [min(values) for values in seeds],
        "Highest": [max(values) for values in seeds],
        "Seeds": [len(values) for values in seeds],
    }
    columns |= _build_differences(numbers, view, points)
    for title, field in (view.table or {}).items():
        columns[title] = [_average_field(numbers, field, name) for name, _ in points]
    return columns


def _build_differences(
    numbers: Numbers, view: StudyView, points: Sequence[tuple[str, Any]]
) -> dict[str, list[Any]]:
    """Return the differences from the base of each series, each with its own interval; none without a base."""
    base = numbers.extra.get("base series", (view.chart or {}).get("from"))
    if base is None:
        return {}
    verdicts = [numbers.compare(name, base.format(name), place) for name, place in points]
    return {
        "Difference, points": [verdict.estimate for verdict in verdicts],
        "95 % from": [verdict.low for verdict in verdicts],
        "95 % to": [verdict.high for verdict in verdicts],
    }


def _average_field(numbers: Numbers, field: str, series: str) -> float | None:
    """Return a number of a series: a setting of the result file by series, or the mean of a field of its rows."""
    setting = numbers.evidence[0][0].settings.get(field) if numbers.evidence else None
    if isinstance(setting, Mapping):
        return setting.get(series)
    found = [float(row[field]) for row in numbers.rows[series] if field in row]
    return sum(found) / len(found) if found else None


def _draw_numbers(name: str, built: Built, columns: Columns) -> None:
    assert built.numbers is not None
    formats = {
        title: st.column_config.NumberColumn(format="%.3g")
        for title, values in columns.items()
        if title not in SHARES and any(isinstance(value, float) for value in values)
    }
    formats |= {title: st.column_config.NumberColumn(format="localized") for title in built.view.table or {}}
    page.table(columns, SHARES, formats, f"studies.{name}.table")
    downloads.csv("These numbers (CSV)", columns, f"{name}.csv", f"studies.{name}.csv")
    results = {stored.name: stored for stored, _ in built.numbers.evidence}  # one file may serve two curves
    for stored in results.values():
        rows = [dict(row) for row in stored.rows]
        downloads.json("All runs (JSON)", rows, f"{stored.name}.json", f"studies.{name}.{stored.name}.json")
