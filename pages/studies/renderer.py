"""Draw the gallery, and a study: controls, prediction, picture, caption, live runs, findings and drawers."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from pages.frame import page
from pages.selection import selection
from pages.stores import shared_cache
from pages.studies.study import Evidence, Race, Study, Table, View
from pages.views.figures import draw_chart, draw_race
from vitviz.experiments.result_file import describe_provenance
from vitviz.plots import race
from vitviz.plots.hidden_curves import conceal, draw_sketch, list_lines
from vitviz.text import plain, plural, split_sentence

CARDS = 3  # in a row of the gallery


def draw(study: Study) -> None:
    with page.row():
        values = study.choose()
    view = None if values is None else study.build(selection.get_theme(), *values)
    if view is None:
        draw_missing_note(study.experiments)
        return
    if view.above is not None and not view.conceals:  # a question about what is drawn beside the picture
        question_column, stage = st.columns([2, 3], gap="medium")
    else:
        stage, question_column = st.container(), st.container()
    with question_column:
        above = None if view.above is None else st.container()
        answered = view.prediction is None or view.prediction.is_answered()
    with stage:
        draw_picture(view, f"studies.{study.name}", answered)
    if above is not None and view.above is not None:  # may load images, which must not delay the picture
        with above:
            view.above()
    finding, details = split_sentence(view.caption)
    if caption := finding if answered else "Predict, or skip, to see the answer.":
        page.caption(caption)
    if view.below is not None and answered:
        view.below()
    if view.live is not None:
        view.live()
    page.findings(view.findings or study.name)
    notes = [view.conditions, *([details, view.notes] if answered else [])]
    if lines := [*filter(None, (*notes, *map(describe_evidence, view.evidence)))]:
        page.provenance("  \n".join(lines))
    page.drawers(
        f"studies.{study.name}",
        math=study.math,
        code=study.load_code if study.code else (),
        numbers=partial(_draw_numbers, study.name, view) if answered and view.table else None,
    )


def draw_missing_note(experiments: tuple[str, ...]) -> None:
    commands = " and ".join(f"`python -m vitviz.experiment {name}`" for name in experiments)
    text = (
        f"No results are stored here. Run {commands}."
        if commands
        else "This study needs the shipped CIFAR-10 checkpoints, which are missing here."
    )
    st.info(text, icon=":material/timer:")


def draw_picture(view: View, key: str, answered: bool) -> None:
    picture = view.picture
    if isinstance(picture, Race):
        shape = picture.chance, picture.epochs
        if picture.racers and answered:
            message = race.payload(picture.racers, *shape)
        elif answered or not view.conceals:
            message = race.pack_variants(picture.variants, *shape, picture.note)
        else:
            variants = picture.list_known() if picture.known else picture.variants
            message = race.pack_variants(variants, *shape, picture.note, concealed=not picture.known)
        draw_race(message, key=f"{key}.race")
    elif callable(picture):
        picture()
    elif picture is not None:
        figure = picture if answered or not view.conceals else conceal(picture)
        draw_chart(figure, f"{key}.figure")


def describe_evidence(evidence: Evidence) -> str:
    """Describe how stored rows were measured, in Markdown, with the command that measures them again."""
    stored = evidence.stored
    sessions = tuple(stored.made[place] for place in sorted({int(row["made"]) for row in evidence.rows}))
    seeds = sorted({int(row["seed"]) for row in evidence.rows if "seed" in row})
    counted = "" if not seeds else f"seed {seeds[0]}" if len(seeds) == 1 else plural(len(seeds), "seed")
    total = plural(stored.missing + len(stored.rows), "run")
    missing = f" Missing: {stored.missing:,} of {total}." if stored.missing else ""
    conditions = ", ".join(filter(None, (evidence.conditions, counted)))
    return f"Stored experiment: {conditions}; {plain(describe_provenance(sessions))}. `{stored.command}`{missing}"


def _draw_numbers(name: str, view: View) -> None:
    table = view.table
    assert isinstance(table, Table)
    page.table(table.columns, table.formatters, dict(table.formats), f"studies.{name}.table")
    page.csv("These numbers (CSV)", table.columns, table.file_name, f"studies.{name}.csv")
    for evidence in view.evidence:
        stored = evidence.stored
        rows = [dict(row) for row in stored.rows]
        page.json("All runs (JSON)", rows, f"{stored.name}.json", f"studies.{name}.{stored.name}.json")


def draw_gallery(studies: Sequence[Study]) -> None:
    for start in range(0, len(studies), CARDS):
        for place, study in zip(st.columns(CARDS), studies[start : start + CARDS], strict=False):
            key = f"study-card-{study.name}"
            with place, st.container(border=True, height="stretch", gap="xxsmall", key=key):
                _draw_card(study)


def _draw_card(study: Study) -> None:
    if sketch := _sketch(study.name, study):
        st.image(sketch, alt=f"Sketch of the curves: {study.title}", width="stretch")
    label = f"{study.question} :gray[{study.minutes}\N{NO-BREAK SPACE}min]"
    selection.link_to("studies", label, icon=":material/arrow_forward:", **{"studies.study": study.name})


@shared_cache.shared(max_entries=64)
def _sketch(name: str, _study: Study) -> str:
    return draw_card_sketch(_study)


def draw_card_sketch(study: Study) -> str:
    """Return an SVG of the curves of a study's example, which does not say which is whose; '' without results."""
    if study.sketch is not None:
        return draw_sketch(list(study.sketch()))
    view = study.build_example()
    if view is None or view.picture is None or callable(view.picture):
        return ""
    if isinstance(view.picture, Race):
        return draw_sketch([(variant.curve[0], variant.curve[1]) for variant in view.picture.variants])
    return draw_sketch(list_lines(view.picture))
