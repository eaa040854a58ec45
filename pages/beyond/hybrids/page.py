"""Hybrids: convolutions that make tokens, what they buy over training time, and two nets that only look like one."""

from __future__ import annotations

from dataclasses import dataclass

from pages.beyond.hybrids import asked, flat, stem, training
from pages.shell import controls, page, registry, sections

VIEWS = {
    "stem": ("Stem to tokens", stem.draw),
    "training": ("Over training time", training.draw),
    "asked": ("Attention over convolutions", asked.draw),
    "flat": ("One token", flat.draw),
}


@dataclass(frozen=True)
class Choice(controls.Chosen, page="hybrids"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["hybrids"]
page.header(entry.title, entry.question)
controls.hold(stem.Choice, stem.Guess, training.Choice, asked.Choice, flat.Choice)
sections.choose(Choice.key("view"), VIEWS)()
