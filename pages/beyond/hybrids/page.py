"""Hybrids: convolutions that make tokens, what they buy over training time, and two nets that only look like one."""

from __future__ import annotations

from dataclasses import dataclass

from pages.beyond.hybrids import conv_attention, flat, over_training, stem
from pages.shell import controls, page, registry, sections

VIEWS = {
    "stem": ("Stem to tokens", stem.draw),
    "training": ("Over training time", over_training.draw),
    "asked": ("Attention over convolutions", conv_attention.draw),
    "flat": ("One token", flat.draw),
}


@dataclass(frozen=True)
class Choice(controls.Chosen, page="hybrids"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["hybrids"]
page.header(entry.title, entry.question)
controls.hold(stem.Choice, stem.Guess, over_training.Choice, conv_attention.Choice, flat.Choice)
sections.choose(Choice.key("view"), VIEWS)()
