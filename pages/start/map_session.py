"""One map on the page: a model on a picture, what is open in it, and what the visitor did there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from pages.controls import query_params, widgets
from pages.frame import registry
from pages.selection import selection
from pages.selection.selection import Nouns
from pages.start import map_answers, scene
from pages.start.map import draw_map, draw_part, events
from pages.stores import cached
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.part_request import Asked
from vitviz.data.datasets import default_pictures
from vitviz.models.layout import TokenLayout
from vitviz.pin import Pin
from vitviz.plots import map_part
from vitviz.plots.blob import opened
from vitviz.plots.map import Links, Visit, for_visit


@dataclass(frozen=True)
class OneMap:
    """Whose map it is, and under which keys it is mounted and keeps what is open in it.

    now: model, step and picture as it reads them. elsewhere: what of them its links change, where they are not the
    sidebar's.
    """

    key: str
    part: str
    asked: str
    choice: ModelChoice
    now: Nouns
    elsewhere: dict[str, str] = field(default_factory=dict)

    def draw(self) -> bytes:
        """Mounts it, answers what is opened in it, and goes where the visitor wants; returns its message."""
        wanted = self._take_events()
        message = map_answers.whole(self.choice, self.now)
        parts = opened(message)[0]["parts"]
        config = self.choice.config
        ways = scene.links([part["id"] for part in parts], config, self.elsewhere)
        if wanted in ways:
            slug, query = scene.query_of(wanted, config, self.elsewhere)
            st.switch_page(registry.BY_SLUG[slug].path, query_params=query)
        draw_map(for_visit(message, self._visit(message, ways)), key=self.key)
        asked = self._asked_for([part["id"] for part in parts if part["opens"]])
        # After the map, which so stays as it is while this part is computed.
        draw_part(self._inside(asked, parts, ways), key=f"{self.key}.part")
        return message

    def _take_events(self) -> str:
        """What the visitor did: another token, a part opened or closed; returns the part whose lens is wanted.

        It comes from a browser, so what is no pin, no question and no part is left alone.
        """
        said = events(self.key)
        if "open" in said:
            asked = Asked.parse(said["open"], self.now.pin)
            widgets.set_value(self.part, "" if asked is None else asked.part)
            widgets.set_value(self.asked, "" if asked is None else said["open"])
        pin = Pin.parse(str(said.get("pin", "")))
        if pin is not None and (pin != selection.current().pin or not selection.is_pinned()):
            selection.set_pin(pin)
            st.rerun()  # the pin is a noun: the sidebar and every link on the page follow it
        return str(said.get("go", ""))

    def _asked_for(self, ids: Sequence[str]) -> Asked | None:
        """What is open: as the view asked, or as a link says; None for nothing."""
        widgets.settle_choice(self.part, ("", *ids))
        part = str(st.session_state[self.part])
        if not part:
            query_params.drop(self.part)
            return None
        widgets.keep(self.part, part)
        asked = Asked.parse(st.session_state.get(self.asked, ""), self.now.pin)
        return asked if asked is not None and asked.part == part else Asked(part, self.now.pin)

    def _inside(self, asked: Asked | None, parts: Sequence[dict[str, Any]], ways: Links) -> bytes:
        """What the map is told of the part that is open in it."""
        message = None if asked is None else map_answers.part(self.choice, self.now, asked)
        if asked is None or message is None:
            return map_part.closed(self.key)
        title = next(part["title"] for part in parts if part["id"] == asked.part)
        return map_part.for_visit(message, title, ways.get(asked.part), self.key)

    def _visit(self, message: bytes, ways: Links) -> Visit:
        """What the map says to this visitor."""
        header, _ = opened(message)
        layout = TokenLayout(
            tuple(header["prefix"]), (header["grid"][0], header["grid"][1]), header["patch_px"]
        )
        pin, image = self.now.pin, self.now.image
        label = f"{selection.picture_title(image)}, as {self.choice.title} reads it"
        return Visit(pin.token(layout), str(pin), label, truth_of(image, self.choice), ways, self.key)


def truth_of(image: str, choice: ModelChoice) -> int:
    """The picture's class as the model counts them; -1 where nobody says so."""
    kind, _, number = image.partition(":")
    if kind in ("sample", "upload") or choice.trained_on is None:
        return -1
    data = cached.dataset(kind)
    if data.test_labels is None or kind not in (
        choice.trained_on,
        default_pictures(choice.trained_on, choice.preparation.in_chans),
    ):
        return -1
    return int(data.test_labels[int(number)])
