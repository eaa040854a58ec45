"""A page's controls as one value: its keys are its fields."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass

import pytest
import streamlit as st

from pages.controls import session_keys, widgets


@dataclass(frozen=True)
class Choice(widgets.ControlValues, page="lens"):
    layer: int
    dim: bool


def test_a_control_s_key_is_its_page_and_its_field() -> None:
    assert Choice.key("layer") == "lens.layer"
    with pytest.raises(KeyError, match="lens has no control 'head'"):
        Choice.key("head")


def test_what_is_chosen_cannot_be_changed_but_the_control_can(monkeypatch: pytest.MonkeyPatch) -> None:
    session: dict[str, object] = {}
    monkeypatch.setattr(st, "session_state", session)
    chosen = Choice(3, True)
    with pytest.raises(FrozenInstanceError):
        chosen.layer = 4  # type: ignore[misc]
    Choice.change(layer=4)
    assert session == {"lens.layer": 4, session_keys.CONTROL_VALUES: {"lens.layer": 4}}
    with pytest.raises(KeyError):
        Choice.change(head=1)
