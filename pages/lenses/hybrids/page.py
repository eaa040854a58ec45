"""Hybrids: convolutions that make tokens, what they buy over training time, and two nets that only look like one."""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import sections, widgets
from pages.frame import page, registry
from pages.lenses.hybrids import conv_attention, one_token_net, stem, training_curves

VIEWS = {
    "stem": ("Stem to tokens", stem.draw),
    "training": ("Over training time", training_curves.draw),
    "asked": ("Attention over convolutions", conv_attention.draw),
    "flat": ("One token", one_token_net.draw),
}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="hybrids"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["hybrids"]
page.header(entry.title, entry.question)
widgets.hold(stem.Choice, stem.Guess, training_curves.Choice, conv_attention.Choice, one_token_net.Choice)
sections.choose(Choice.key("view"), VIEWS)()
