"""One's own lesson: its stops named, worded, ordered, looked at, and taken away as a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from pages.frame import page, registry
from pages.lessons import cards, open_lesson
from pages.stores import lessons, session
from vitviz.lessons import task_checks
from vitviz.lessons.lesson import (
    LONGEST_ABOUT,
    LONGEST_PROMPT,
    LONGEST_TASK,
    LONGEST_TITLE,
    LONGEST_WORDS,
    MOST_WORDS,
    Lesson,
    Question,
    Stop,
)
from vitviz.lessons.lesson_file import write_lesson
from vitviz.lessons.measures import MEASURES
from vitviz.lessons.task_checks import Check
from vitviz.text import plain

_TURN, _ERROR = "lessons._edited", "lessons._refused"
EMPTY = (
    "You have no stop yet. Go to a page, set it up as you want to show it, and press 'Add to my lesson' at the end of"
    " the sidebar."
)
ASKS = {  # the measures that need no parameter of an author's
    "": "nothing",
    "answer": "which class the model gives",
    "looks_at": "which patch [CLS] looks at most in the last layer",
    "longer_branch": "what moves [CLS] further in the last block",
    "settling_layer": "after which layer the answer stands",
    "shuffled": "whether shuffled patches change the answer",
    "truest_map": "which map is truest",
    "nearest_layer": "which layer looks least far",
    "mass_on_self": "how much [CLS] looks at itself",
    "tokens_share": "how much [CLS] and [DIST] share",
    "variance_held": "how much five components of E hold",
    "share_of_e": "how large E is",
    "neighbours_alike": "how alike neighbouring positions are",
    "accuracy": "how accurate the model is",
}
AS_IT_IS = "as in the file"


def changed() -> None:
    """Stops have come, gone or moved: every form begins anew with what they hold."""
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1


def draw() -> None:
    """The lesson's title, one form a stop, and the file."""
    mine = lessons.shelf(session.current()).own.get(lessons.MINE)
    if mine is None:
        st.markdown(f":gray[{EMPTY}]")
        return
    turn = st.session_state.setdefault(_TURN, 0)
    if error := st.session_state.pop(_ERROR, None):
        st.warning(f"Not kept: {plain(error)}.", icon=":material/info:")
    _head(mine, turn)
    for number, stop in enumerate(mine.stops, start=1):
        with st.expander(f"{number}. {plain(stop.title)} · {registry.BY_SLUG[stop.link.slug].title}"):
            _stop(mine, number, stop, f"lessons.edit.{turn}.{number}")
    cards.card(lessons.MINE, mine)
    page.download("Download my lesson", lambda: write_lesson(mine), "my_lesson.toml", "lessons.download")


def _head(mine: Lesson, turn: int) -> None:
    key = f"lessons.edit.{turn}"
    with st.form(f"{key}.head", border=False):
        title, about = st.columns([1, 2])
        title.text_input("Title", mine.title, max_chars=LONGEST_TITLE, key=f"{key}.title")
        about.text_input("What it is about", mine.about, max_chars=LONGEST_ABOUT, key=f"{key}.about")
        st.form_submit_button("Keep the title", on_click=_keep_head, args=(key,))


def _keep_head(key: str) -> None:
    said = st.session_state
    _change(lambda mine: replace(mine, title=_line(said[f"{key}.title"]), about=_line(said[f"{key}.about"])))


def _stop(mine: Lesson, number: int, stop: Stop, key: str) -> None:
    with st.form(f"{key}.form", border=False):
        st.text_input("Title", stop.title, max_chars=LONGEST_TITLE, key=f"{key}.title")
        st.text_area(f"Words, at most {MOST_WORDS}", stop.words, max_chars=LONGEST_WORDS, key=f"{key}.words")
        st.text_input("What to do", stop.task, max_chars=LONGEST_TASK, key=f"{key}.task")
        _check(stop, key)
        _question(stop, key)
        st.form_submit_button("Keep this stop", on_click=_keep_stop, args=(number, key))
    with st.container(horizontal=True):
        open_lesson.link_to(lessons.MINE, mine, number, "Look at it", "visibility")
        for label, icon, to in (
            ("Earlier", "arrow_upward", number - 1),
            ("Later", "arrow_downward", number + 1),
        ):
            fits = 1 <= to <= len(mine.stops)
            st.button(
                label,
                key=f"{key}.{icon}",
                icon=f":material/{icon}:",
                type="tertiary",
                disabled=not fits,
                on_click=_move,
                args=(number, to),
            )
        st.button(
            "Remove",
            key=f"{key}.remove",
            icon=":material/delete:",
            type="tertiary",
            on_click=_remove,
            args=(number,),
        )


def ways_to_see(stop: Stop) -> dict[str, Check]:
    """In words, how the app can see that a stop's one thing was done."""
    slug = stop.link.slug
    ways: dict[str, Check] = {
        "the page is open": task_checks.Page(slug),
        "another token is pinned": task_checks.Pinned(),
        "another picture is chosen": task_checks.Picture(),
        "another model is chosen": task_checks.Model(),
        "the step is dragged to 0": task_checks.Step(at_most=0),
        "the question is answered": task_checks.GuessMade(),
    }
    ways |= {f"{key} is changed": task_checks.Control(key) for key in stop.link.values if "." in key}
    return ways if stop.check in ways.values() else {AS_IT_IS: stop.check, **ways}


def _check(stop: Stop, key: str) -> None:
    ways = ways_to_see(stop)
    now = next(label for label, check in ways.items() if check == stop.check)
    st.selectbox(
        "It is done when", list(ways), index=list(ways).index(now), key=f"{key}.check", format_func=plain
    )


def _question(stop: Stop, key: str) -> None:
    own = stop.question
    same = [name for name in ASKS if own is not None and name and own.measure == MEASURES[name]()]
    now = same[0] if same else AS_IT_IS if own is not None else ""
    options = [*ASKS] if now != AS_IT_IS else [AS_IT_IS, *ASKS]
    left, right = st.columns([2, 3])
    left.selectbox(
        "Ask for",
        options,
        index=options.index(now),
        key=f"{key}.measure",
        format_func=lambda name: ASKS.get(name, name),
    )
    right.text_input("The question", own.prompt if own else "", max_chars=LONGEST_PROMPT, key=f"{key}.prompt")


def _asked(stop: Stop, key: str) -> Question | None:
    said = st.session_state
    name, prompt = said[f"{key}.measure"], _line(said[f"{key}.prompt"])
    if not name:
        return None
    if name == AS_IT_IS and stop.question is not None:
        return replace(stop.question, prompt=prompt)
    proof = (
        ()
        if stop.question is None or type(stop.question.measure) is not MEASURES[name]
        else stop.question.proof
    )
    return Question(prompt, MEASURES[name](), proof)


def _keep_stop(number: int, key: str) -> None:
    def kept(mine: Lesson) -> Lesson:
        said, stop = st.session_state, mine.stops[number - 1]
        new = replace(
            stop,
            title=_line(said[f"{key}.title"]),
            words=_line(said[f"{key}.words"]),
            task=_line(said[f"{key}.task"]),
            check=ways_to_see(stop)[said[f"{key}.check"]],
            question=_asked(stop, key),
        )
        return replace(mine, stops=(*mine.stops[: number - 1], new, *mine.stops[number:]))

    _change(kept)


def _move(number: int, to: int) -> None:
    def moved(mine: Lesson) -> Lesson:
        stops = [*mine.stops]
        stops.insert(to - 1, stops.pop(number - 1))
        return replace(mine, stops=tuple(stops))

    _change(moved)


def _remove(number: int) -> None:
    own = lessons.shelf(session.current()).own
    if len(own[lessons.MINE].stops) == 1:
        del own[lessons.MINE]
    else:
        _change(lambda mine: replace(mine, stops=(*mine.stops[: number - 1], *mine.stops[number:])))
    changed()


def _change(make: Callable[[Lesson], Lesson]) -> None:
    """Puts a changed lesson in the place of the visitor's own, or says why it is none."""
    own = lessons.shelf(session.current()).own
    try:
        own[lessons.MINE] = make(own[lessons.MINE])
        changed()
    except ValueError as error:
        st.session_state[_ERROR] = str(error)


def _line(text: str) -> str:
    return " ".join(text.split())
