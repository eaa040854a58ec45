"""The class on every page: a bar that says so, and the page led by the teacher. Who is in no class has neither."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.runtime.scriptrunner import StopException, get_script_run_ctx

from pages.classroom import class_question, membership
from pages.classroom.membership import Place
from pages.controls import session_keys
from pages.frame import registry
from vitviz.classes.classes import Present
from vitviz.classes.codes import spaced
from vitviz.classes.database import ClassError
from vitviz.text import plain

KEY = "class_bar"
ROW, PULSE = "class.row", "class.pulse"  # fragments
LEADING_S = 1.0
FOLLOWING_S = 0.7
AGAIN_S = 3.0  # who could not come in knocks
AT_FULL_SPEED = 30  # learners; more of them ask less often
KEPT = "It is then kept on this server's disk, for everyone in the class, as long as the class lasts, and goes with it."
STYLE = f"""
.st-key-{KEY} {{ border: 1px solid rgba(128, 128, 128, .3); border-radius: 8px; padding: .25rem .75rem; }}
.st-key-{KEY} [data-testid="stHorizontalBlock"] {{ min-height: 2.5rem; }}
@media (max-width: 640px) {{
  .st-key-{KEY} {{ padding: 0 .5rem; }}
  .st-key-{KEY} [data-testid="stHorizontalBlock"] {{ flex-wrap: nowrap; }}
  .st-key-{KEY} [data-testid="stPageLink-NavLink"] {{ padding: 0 4px; }}
}}
"""


@contextmanager
def by_class(slug: str) -> Iterator[None]:
    """The page that runs within is led by its class, or leads it; of no class, nothing happens here."""
    if session_keys.CLASS not in st.session_state and "class" not in st.query_params:
        yield
        return
    place = _entered(slug)
    if place is None:
        yield
        return
    bar = st.container(key=KEY)
    if not place.leads:
        _draw(bar, slug)
    try:
        yield
    except StopException:
        _shown(place, slug)
        raise
    _shown(place, slug)
    if place.leads:
        _draw(bar, slug)


def _entered(slug: str) -> Place | None:
    """The class of this run, once what is shown has been taken over; says why there is none any more.

    A class that cannot be reached now is asked again: by the bar where the session is in it, else by a knock.
    """
    try:
        place = membership.enter()
        if place is not None:
            place = _settled(place, slug)
    except ClassError as error:
        place = membership.current()
        if place is None:
            st.warning(f"The class cannot be reached: {plain(str(error))}.", icon=":material/info:")
            st.fragment(_knock, key=PULSE, run_every=AGAIN_S)()
        else:
            place.trouble = str(error)
        return place
    if why := membership.take_over():
        st.warning(why, icon=":material/info:")
    return place


def _knock() -> None:
    """Runs the page again after a while, for who stands at the door of a class whose file was busy."""
    context = get_script_run_ctx()
    if context is not None and context.fragment_ids_this_run:
        st.rerun()


def _settled(place: Place, slug: str) -> Place | None:
    room = membership.store().look(place.code)
    if room is None:
        membership.over(place)
        return None
    place.challenge = room.challenge
    if not place.leads:
        membership.follow(place, room, slug)
    return place


def _shown(place: Place, slug: str) -> None:
    if place.leads:
        try:
            membership.show(place, slug)
        except ClassError as error:
            st.warning(f"The class does not see this page: {plain(str(error))}.", icon=":material/info:")


def _draw(bar: object, slug: str) -> None:
    with bar:  # type: ignore[attr-defined]
        st.html(f"<style>{STYLE}{class_question.STYLE}</style>")
        place = membership.current()
        leads = place is not None and place.leads
        if not leads:
            st.fragment(_learns, key=ROW)(slug)
        st.fragment(_pulse, key=PULSE, run_every=LEADING_S if leads else _pace())(slug)


def _pace() -> float:
    """How often a learner asks, in seconds: a large class shares the server's time."""
    place = membership.current()
    try:
        here = 0 if place is None else membership.store().present(place.code).here
    except ClassError:
        here = 0
    return FOLLOWING_S * max(1.0, here / AT_FULL_SPEED)


def _pulse(slug: str) -> None:
    """Asks for news, says that this session is here, and draws what changes: the question, and how many follow.

    It runs alone, again and again; a learner's row stays as it is, for what is drawn here costs every poll.
    """
    place = membership.current()
    if place is None:
        return
    try:
        room = membership.store().look(place.code)
        if room is not None:
            membership.say_here(place)
            if place.leads:
                membership.show(place, slug)
    except ClassError as error:
        place.trouble = str(error)
    else:
        moved = room is not None and place.follows and not place.leads and room.version != place.version
        if room is not None and moved:
            membership.go(place, room, slug)
        if room is None or room.challenge != place.challenge:
            st.rerun()
    try:
        if place.leads:
            _teaches(place, slug)
        class_question.panel(place)
    except ClassError as error:
        place.trouble = place.trouble or str(error)
    if place.trouble:
        st.caption(f"The class cannot be reached: {plain(place.trouble)}.")


def _learns(slug: str) -> None:
    """Runs alone when a learner lets go."""
    place = membership.current()
    if place is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if place.follows:
            st.markdown(f":material/co_present: **{spaced(place.code)}** · you follow", width="stretch")
            st.button("Look around", key="class.around", on_click=membership.look_around, type="tertiary")
        else:
            st.markdown(f":material/explore: **{spaced(place.code)}** · on your own", width="stretch")
            if st.button("Back to class", key="class.back", on_click=membership.come_back, type="tertiary"):
                st.rerun()
        _way(slug)


def _teaches(place: Place, slug: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        present = membership.store().present(place.code)
        st.markdown(
            f":material/cast_for_education: **Class {spaced(place.code)}** · {who(present)}", width="stretch"
        )
        image = membership.hidden_picture(place)
        if image is not None:
            st.button(
                "Show it to the class",
                key="class.show",
                type="tertiary",
                on_click=_show,
                args=(image,),
                help=KEPT,
            )
        hides = membership.hides_lesson(place)
        if hides:
            st.button(
                "Show your lesson to the class",
                key="class.show_lesson",
                type="tertiary",
                on_click=membership.show_lesson,
                help=f"Each stop's words and task stand beside the page of whoever follows. {KEPT}",
            )
        _way(slug)
    if image is not None:
        st.caption(f"The class does not see your picture until you show it. {KEPT}")
    if hides:
        st.caption(f"The class does not read your lesson until you show it. {KEPT}")


def _show(image: str) -> None:
    try:
        membership.show_picture(image)
    except ClassError as error:
        st.toast(f"It is not shown: {plain(str(error))}.", icon=":material/info:")


def who(present: Present) -> str:
    """'3 follow, 1 looks around', of those who are here now."""
    if not present.here:
        return "nobody has come yet"
    around = present.here - present.follow
    beside = f", {around} {'looks' if around == 1 else 'look'} around" if around else ""
    return f"{present.follow:,} {'follows' if present.follow == 1 else 'follow'}{beside}"


def _way(slug: str) -> None:
    entry = registry.BY_SLUG.get(membership.SLUG)
    if entry is not None and slug != entry.slug:
        place = membership.current()
        on = place is not None and place.challenge
        label, icon = ("Challenge", "trophy") if on else ("Class", "groups")
        st.page_link(entry.path, label=label, icon=f":material/{icon}:", width="content")
