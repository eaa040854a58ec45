"""The sections of a page: one is chosen in its first row, named in the link, and drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pages.controls import widgets

T = TypeVar("T")


def choose(key: str, sections: Mapping[str, tuple[str, T]]) -> T:
    """What draws the section that the visitor chooses: `sections.choose(Choice.key("view"), VIEWS)()`.

    Args:
        key: of the control.
        sections: by name its title and what draws it; the first is the default.
    """
    name = widgets.segmented(
        key,
        "What to look at",
        tuple(sections),
        format_func=lambda name: sections[name][0],
        label_visibility="collapsed",
    )
    return sections[name][1]
