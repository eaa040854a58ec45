"""Draw the page's maps: a model's forward pass on an image, its opened part, its events and the drawing pad's."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from math import prod
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from pages.controls import query_params, session_keys, widgets
from pages.frame import page
from pages.selection import (
    default_model,
    image_picker,
    model_suggestion,
    model_weights,
    selection,
    substitutes,
)
from pages.selection.selection import Selection
from pages.start import lens_links, map_messages
from pages.stores import catalogue, registry, shared_cache
from pages.stores.model_choice import ModelChoice
from pages.views.event_values import read_events
from pages.views.register import register
from vitviz.config import Preparation, to_dict
from vitviz.data.datasets import default_pictures, first_number
from vitviz.data.drawings import FIRST, Frame, find_frame, is_drawing
from vitviz.pin import Pin
from vitviz.plots.blob import open_blob, pack, seal
from vitviz.text import plain

_map = register(__file__, "map", "map", "map_panel")
_part = register(__file__, "map_part")
EVENTS = ("pin", "open", "go", "draw", "show", "rest", "mask")
MASK = "home.mask"  # masked patches and zeroed heads in hexadecimal digits (map_masks.js)
_MASK_TEXT = re.compile(r"[0-9a-f]{1,64}(\.[0-9a-f]{1,64})?")
MOST_TEXT = 4_000  # characters of a request for records
DRAWING = "drawing:"
SECOND_VIEW = "home.map2"
SECOND_MODEL = "home.beside"  # the second model's key ('': none)
SECOND_PART = "home.beside_part"  # its open part
NO_MODEL = ""
PHOTO = "sample:cat"


@dataclass(frozen=True)
class MapFrame:
    """One map on the page.

    key: the view's key. part, asked: session keys of the open part and of the records that the view requests for it.
    choice, current: the map's model and selection. overrides: entries of the selection that its links replace.
    """

    key: str
    part: str
    asked: str
    choice: ModelChoice
    current: Selection
    overrides: dict[str, str] = field(default_factory=dict)

    @property
    def is_first(self) -> bool:
        return self.key == "home.map"

    def draw(self) -> dict[str, Any]:
        """Draw the map and its open part, follow a clicked link, and return the header of the map's message."""
        target = self._apply_events()
        header, buffers = open_blob(map_messages.load_map(self.choice, self.current))
        ids = [part["id"] for part in header["parts"]]
        links = lens_links.build_links(ids, self.choice.config, self.overrides)
        if target in links:
            slug, _, query = links[target]
            st.switch_page(registry.BY_SLUG[slug].path, query_params=query)
        self._add_session(header, links)
        _map(seal(header, buffers), key=self.key, triggers=EVENTS)
        # After the map, so that the map stays visible while the records are computed.
        _part(self._build_part_message(ids), key=f"{self.key}.part")
        return header

    def _apply_events(self) -> str:
        """Apply the user's events: set the pin, open or close a part; return the part whose lens was clicked.

        Events come from a browser, so invalid ones are ignored.
        """
        events = read_events(self.key)
        if events.get("open") is not None:
            part, _, names = str(events["open"])[:MOST_TEXT].partition(" ")
            widgets.set_control(self.part, part)
            widgets.set_control(self.asked, names)
        if events.get("mask") is not None and self.is_first:
            widgets.set_control(MASK, str(events["mask"]))
        pin = Pin.parse(str(events.get("pin") or ""))
        if pin is not None and (pin != selection.get_current().pin or not selection.is_pinned()):
            selection.set_pin(pin)
            st.rerun()  # the sidebar and every link on the page show the pin
        return str(events.get("go") or "")

    def _build_part_message(self, ids: Sequence[str]) -> bytes:
        """Return the open part's id, and the records that the view requests for it from a model of the server."""
        if query_params.was_dropped(self.part):
            widgets.set_control(self.part, "")
        widgets.resolve_option(self.part, ("", *ids))
        part = str(st.session_state[self.part])
        if part:
            widgets.store_value(self.part, part)
        else:
            query_params.remove_value(self.part)
        names = str(st.session_state.get(self.asked, "")) if part else ""
        header = {"part": part, "map": self.key}
        if not names:
            return pack(header)
        arrays, answer = map_messages.load_records(self.choice, self.current, tuple(names.split()))
        return pack(header | answer | {"subject": self._subject}, **arrays)

    @property
    def _subject(self) -> str:
        """A mark of the map's model, step and image, by which the view tells answers of one from another's."""
        current = self.current
        return blake2b(
            repr((self.choice.key, current.step, current.image, current.offset)).encode(), digest_size=8
        ).hexdigest()

    def _add_session(self, header: dict[str, Any], links: lens_links.Links) -> None:
        """Add to the header of a map what belongs to one session."""
        for part in header["parts"]:
            slug, label, query = links.get(part["id"], ("", "", {}))
            part["link"] = {"label": label, "href": f"{slug}?{urlencode(query)}"} if slug else None
        image, choice = self.current.image, self.choice
        if classes := header["classes"]:
            truth = find_label(image, choice)
            classes["truth"] = classes["index"].index(truth) if truth in classes["index"] else -1
        drawing = None
        if image.startswith(DRAWING):
            drawing = {
                "strokes": image.removeprefix(DRAWING),
                "frame": _find_frame(image, choice.preparation),
            }
        weights = model_weights.publish(choice, self.current.step)
        patches = prod(header["grid"]) if weights else 0
        header |= {
            "map": self.key,
            "label": f"{selection.get_image_title(image)}, preprocessed for {choice.title}",
            "pin": str(self.current.pin),
            "pinned": selection.is_pinned(),  # by the user
            "drawing": drawing,
            "weights": weights,  # address of the model for the browser's engine
            # A class follows its teacher: its map does not move by itself.
            "moves": self.is_first and st.session_state.get(session_keys.CLASS) is None,
            "subject": self._subject,
            "config": to_dict(choice.config),  # from which parts are opened
            "masks": resolve_mask(patches) if self.is_first else "",
        }


@shared_cache.shared(max_entries=256)
def _find_frame(image: str, preparation: Preparation) -> Frame | None:
    return find_frame(image.removeprefix(DRAWING), preparation)


def fits_grid(mask: str, patches: int) -> bool:
    """Return True if a text states masks of a grid of so many patches."""
    return bool(_MASK_TEXT.fullmatch(mask)) and len(mask.partition(".")[0]) == -(-patches // 4)


def resolve_mask(patches: int) -> str:
    """Return the masks of the session or the permalink, and store them in the link; '' if they do not fit the grid."""
    mask = widgets.resolve_text(MASK, lambda text: not text or fits_grid(text, patches))
    if mask:
        widgets.store_value(MASK, mask)
    else:
        query_params.remove_value(MASK)
    return mask


def find_label(image: str, choice: ModelChoice) -> int:
    """Return the image's label as the model's class index; -1 if unknown."""
    kind, _, number = image.partition(":")
    if kind in ("sample", "upload", "drawing") or choice.trained_on is None:
        return -1
    dataset = shared_cache.load_dataset(kind)
    if dataset.test_labels is None or kind not in (
        choice.trained_on,
        default_pictures(choice.trained_on, choice.preparation.in_chans),
    ):
        return -1
    return int(dataset.test_labels[int(number)])


@st.fragment
def draw_second_map() -> None:
    """Draw the choice of a second model and its map; opening a part reruns only this fragment."""
    second = _choose_second_model()
    if second is None:
        for key in (SECOND_MODEL, SECOND_PART):
            query_params.remove_value(key)
        return
    image, note = substitutes.choose_image(second)
    current = selection.get_current()
    second_selection = Selection(second.key, second.last_step, image, current.pin, current.crop)
    if note:
        st.markdown(f":gray[{note}]")
    header = MapFrame(
        SECOND_VIEW,
        SECOND_PART,
        "home.beside_asked",
        second,
        second_selection,
        {"model": second.key, "step": str(second.last_step), "image": image},
    ).draw()
    note = substitutes.describe_classes(second, image)
    page.caption(plain(str(header["caption"])), note)


def _choose_second_model() -> ModelChoice | None:
    others = {
        key: choice for key, choice in selection.list_models().items() if key != selection.get_current().model
    }
    with page.row(), st.container(width=360):
        key = widgets.select(
            SECOND_MODEL,
            "Compare with another model",
            [NO_MODEL, *catalogue.sort_models(others.values())],
            NO_MODEL,
            format_func=lambda key: catalogue.label_model(others[key]) if key else "none",
            help="Shows a second map below, for the same image and token.",
        )
    return others.get(key)


def apply_pad_events(view: str) -> None:
    """Apply the events of the view with this key in the current run; they come from a browser and may be invalid."""
    events = read_events(view)
    strokes = events.get("draw")
    if isinstance(strokes, str) and is_drawing(strokes):
        _select_drawing(strokes)
    if events.get("rest") and strokes is None:
        st.rerun()  # the pen rests: the sidebar and every link on the page show the drawing
    show = {"drawing": _show_drawing, "photo": _show_photo, "test": _show_test_image, "upload": _upload}
    if (shown := str(events.get("show"))) in show:
        show[shown]()


def _select_drawing(strokes: str) -> None:
    """Select the drawing for this run and the next ones; the model that reads it becomes the user's choice.

    The link follows when the pen rests: an address at every stroke costs the browser as much as the map.
    """
    image = f"{DRAWING}{strokes}"
    if selection.is_default_model():
        selection.set_model(selection.get_current().model, selection.get_current().step)
    session_keys.get_control_values().update(image=image, crop=selection.Selection.crop)
    selection.override_image(image)


def _show_drawing() -> None:
    if not selection.get_model_choice().preparation.digit:
        selection.set_model(default_model.get_default_model("home"))
    _show_image(f"{DRAWING}{FIRST}")


def _show_photo() -> None:
    if selection.get_model_choice().preparation.digit:
        st.session_state[session_keys.MODEL_CHOSEN] = False
    model_suggestion.suggest_for_image(PHOTO, for_this_page=True)
    _show_image(PHOTO)


def _show_test_image() -> None:
    choice = selection.get_model_choice()
    name = default_pictures(choice.trained_on, choice.preparation.in_chans)
    _show_image(f"{name}:{first_number(name)}")


def _show_image(image: str) -> None:
    """Select another image and run the page again, unless it is shown."""
    if selection.get_current().image != image:
        selection.set_image(image)
        st.rerun()


@st.dialog("Upload an image")
def _upload() -> None:
    image_picker.draw_upload("home")
    if session_keys.get_control_values().get("image", "") not in ("", selection.get_current().image):
        st.rerun()
