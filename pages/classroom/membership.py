"""The class that a session is in: who leads shows, who follows is brought to what is shown, or looks around."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import streamlit as st

from pages.controls import query_params, session_keys
from pages.frame import registry
from pages.lessons import open_lesson
from pages.stores import classes, lessons, session
from vitviz.classes import teacher_images
from vitviz.classes.classes import TOLD_S, Classes, Room, member
from vitviz.classes.codes import read_code
from vitviz.classes.database import ClassError
from vitviz.classes.shared_view import CLASS, LESSON, Words, shown
from vitviz.lessons.lesson import Lesson

SLUG = "class_room"  # the class's own page, where nobody is led from
OVER = "The class is over."
NONE = "That class is over, or there is none of this code."
TOO_MANY = "Too many codes that are none; try again in five minutes."
_NAME = "class.name"  # of a visit's notes: its nickname
_OWN_LESSONS = frozenset({lessons.OPENED, lessons.MINE})


@dataclass
class Place:
    """Where a session is in a class; a reload goes on with it."""

    code: str
    leads: bool
    who: str  # how the visit stands in the class's file
    follows: bool = True
    version: int = -1  # of what is shown: that which was followed last
    challenge: bool = False  # whether the class takes runs, as the page has drawn it
    slug: str = ""  # the page that was followed to last
    told: float = -1e9  # when it last said that it is here, by the clock that only counts
    published: str = ""  # what this session showed last
    pictures: dict[str, str] = field(default_factory=dict)  # the class's picture by one's own
    lessons: list[Lesson] = field(default_factory=list)  # one's own whose stops the class reads
    words: Words | None = None  # of the stop that the teacher shows
    trouble: str = ""  # why the class cannot be reached now
    answers: dict[int, float] = field(default_factory=dict)  # one's own, by the question's number


def current() -> Place | None:
    """Where this session is; None in no class."""
    found: Place | None = st.session_state.get(session_keys.CLASS)
    return found


def store() -> Classes:
    """The server's classes."""
    return classes.classes()


def enter() -> Place | None:
    """The class of this run: the one that the address newly names, else the session's."""
    said = query_params.take(CLASS)
    place = current()
    if said is not None and (place is None or place.code != read_code(said)):
        try:
            place = come(said)
        except ClassError:
            query_params.want(CLASS, said)
            query_params.put(CLASS, said)
            raise
    if place is not None:
        query_params.put(CLASS, place.code)
    return place


def come(said: str) -> Place | None:
    """Comes into the class of a code; None where there is none, which is said.

    Raises:
        ClassError: if the file of classes cannot be read.
    """
    here = session.current()
    if not classes.may_try(here):
        _leave(TOO_MANY)
        return None
    code = read_code(said)
    room = None if code is None else store().look(code)
    if room is None:
        classes.tried_wrong(here)
        _leave(NONE)
        return None
    place = Place(room.code, room.teacher == here.owner, member(room.code, here.token))
    st.session_state[session_keys.CLASS] = place
    return place


def forget_pictures(place: Place) -> None:
    """The pictures that the class was shown are gone from the disk: from this process's memory, too."""
    classes.forget(place.code)


def over(place: Place) -> None:
    """The class is over: this session is in none, and says so."""
    classes.forget(place.code)
    _leave(OVER)


def leave() -> None:
    """This session leaves its class."""
    place = current()
    if place is not None and not place.leads:
        try:
            store().leave(place.code, place.who)
        except ClassError:  # who is silent counts as gone soon
            pass
    _leave("")


def _leave(why: str) -> None:
    st.session_state[session_keys.CLASS] = None
    st.session_state[session_keys.CLASS_OVER] = why
    query_params.drop(CLASS)


def take_over() -> str:
    """Why this session's class was left, once; '' where it was not, or on purpose."""
    why: str = st.session_state.pop(session_keys.CLASS_OVER, "")
    return why


# ---------------------------------------------------------------- who follows


def follow(place: Place, room: Room, slug: str) -> None:
    """Brings a learner's run to what is shown, before anything is drawn; may go to another page.

    Who goes to another page by themselves looks around from then on; the class's own page is beside the way.
    """
    if place.follows and room.version != place.version:
        _bring(place, room, slug)
    elif place.follows and place.slug and slug not in (place.slug, SLUG):
        place.follows = False
    image = st.session_state.get(session_keys.INCOMING, {}).get("image") or session_keys.kept().get("image")
    if isinstance(image, str):
        classes.bring(place.code, image)


def go(place: Place, room: Room, slug: str) -> None:
    """Leaves this run for one that shows what is shown: on another page at once, which spares a run of this one."""
    now = room.shown
    if now is not None and now.slug in registry.BY_SLUG and now.slug != slug:
        _bring(place, room, slug)
    st.rerun()


def _bring(place: Place, room: Room, slug: str) -> None:
    now, place.version = room.shown, room.version
    if now is None or now.slug not in registry.BY_SLUG:
        return
    place.slug, place.words = now.slug, now.words
    if not now.lesson:
        open_lesson.leave()
    if now.slug != slug:
        st.switch_page(registry.BY_SLUG[now.slug].path, query_params={**now.query, CLASS: place.code})
    query_params.say({key: value for key, value in now.query.items() if key != LESSON} | _lesson(now.query))


def _lesson(query: dict[str, str]) -> dict[str, str]:
    """The lesson's name, also where only its stop is new: `lesson.settle` reads the two together."""
    return {LESSON: query[LESSON]} if LESSON in query else {}


def look_around() -> None:
    """Lets go: what is shown changes nothing here any more."""
    place = current()
    if place is not None:
        place.follows, place.told = False, -1e9


def come_back() -> None:
    """Follows again, from what is shown now."""
    place = current()
    if place is not None:
        place.follows, place.version, place.told = True, -1, -1e9


def say_here(place: Place) -> None:
    """Says every few seconds that this session is here; what went wrong before is over then."""
    now = time.monotonic()
    if now - place.told < TOLD_S:
        return
    place.told = now
    if place.leads:
        store().sign(place.code)
    else:
        store().here(place.code, place.who, place.follows, name())
        classes.stay(place.code)
    place.trouble = ""


def name() -> str:
    """The visit's nickname; '' for none."""
    return str(session.current().notes.get(_NAME, ""))


def call_me(text: str) -> None:
    """Gives the visit a nickname."""
    session.current().notes[_NAME] = text
    place = current()
    if place is not None:
        place.told = -1e9


# ---------------------------------------------------------------- who leads


def show(place: Place, slug: str) -> None:
    """Shows the class what this run shows, where it is not what it was."""
    if slug == SLUG:
        return
    now = shown(slug, query_params.written(), place.pictures, _OWN_LESSONS, _own_words(place))
    if str(now) == place.published:
        return
    place.version = store().show(place.code, now)
    place.published = str(now)


def own_lesson() -> open_lesson.Open | None:
    """The stop that is open beside the page, where its lesson is the visit's own."""
    now = open_lesson.current()
    return now if now is not None and now.name in _OWN_LESSONS else None


def _own_words(place: Place) -> Words | None:
    now = own_lesson()
    if now is None or now.lesson not in place.lessons:
        return None
    stop = now.stop
    return Words(now.lesson.title, now.number, len(now.lesson.stops), stop.title, stop.words, stop.task)


def hides_lesson(place: Place) -> bool:
    """Whether a lesson of one's own is open that the class does not read."""
    now = own_lesson()
    return now is not None and now.lesson not in place.lessons


def show_lesson() -> None:
    """Lets the class read the stops of the lesson of one's own that is open, each as it is shown."""
    place, now = current(), own_lesson()
    if place is not None and now is not None:
        place.lessons.append(now.lesson)


def read_along() -> Words | None:
    """What the teacher's own lesson says to who follows; None where there is nothing to read."""
    place = current()
    return None if place is None or place.leads or not place.follows else place.words


def hidden_picture(place: Place) -> str | None:
    """The chosen picture, where it is one's own and the class does not see it."""
    image = query_params.written().get("image", "")
    return image if image.startswith("upload:") and image not in place.pictures else None


def show_picture(image: str) -> None:
    """Lets the class see a picture of one's own, from the server's disk, as long as the class lasts.

    Raises:
        ClassError: if it cannot be kept.
    """
    from pages.stores import uploads

    place, picture = current(), uploads.STORE.get(image.removeprefix("upload:"))
    if place is not None and picture is not None:
        place.pictures[image] = f"upload:{teacher_images.keep(store(), place.code, picture)}"
