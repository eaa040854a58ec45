"""Milliseconds a picture on this machine: measured when asked for, in turn, and said with their spread."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from torch import nn

from pages.selection import selection
from pages.stores import cached, timings
from vitviz.analysis.scoreboard import Entry, Timing, Timings, by_formula
from vitviz.text import plural

ROUGH_ADDS_PER_S = 6e10  # only to say beforehand about how long it takes
_CALLS = 6  # of a large model: a first one, the repeats, and the one that is watched
_START_S = 0.15


def offer(shown: Sequence[Entry], known: Timings) -> None:
    """The button that times what has not been timed; what was done stays if the visitor goes on."""
    waiting = to_time(shown, known)
    large = sum(entry.too_large for entry in shown)
    if not waiting:
        return
    about = sum(_START_S + _CALLS * entry.multiply_adds / ROUGH_ADDS_PER_S for entry in waiting)
    label = f"Time {plural(len(waiting), 'model')} here"
    hint = (
        f"One picture at a time, fp32, in turn with other visitors: about {max(1, about):,.0f} s. Where the weights are"
        " not here, random ones: the time does not depend on them."
    )
    if large:
        hint += (
            f" {plural(large, 'model')} of more than 100 million parameters: by formula, at the others' pace."
        )
    if st.button(label, key="which_model.time", icon=":material/timer:", help=hint):
        _time(waiting)
        st.rerun()


def to_time(shown: Sequence[Entry], known: Timings) -> list[Entry]:
    """One entry of every shape that has not been timed and is not too large, the cheapest first."""
    waiting = {entry.shape: entry for entry in shown if not entry.too_large and entry.shape not in known}
    return sorted(waiting.values(), key=lambda entry: entry.multiply_adds)


def _time(waiting: Sequence[Entry]) -> None:
    bar = st.progress(0.0)
    for number, entry in enumerate(waiting):
        bar.progress(number / len(waiting), f"{entry.title}, {number + 1} of {len(waiting)}")
        time_one(entry)
    bar.empty()


def time_one(entry: Entry) -> Timing:
    """Times a model: with its own weights where they are here, else with random ones."""
    choice = selection.models().get(entry.key)
    if choice is not None:
        return timings.time_model(entry.shape, lambda: cached.loaded(choice).model, random=False)
    return timings.time_model(entry.shape, lambda: _random(entry), random=True)


def _random(entry: Entry) -> nn.Module:
    """Its shape with random weights; kept by nobody, so that a large one does not stay."""
    from vitviz.models.zoo import create_model

    return create_model(entry.config, seed=0).eval().requires_grad_(False)


def said(entry: Entry, known: Timings) -> str:
    """How long one picture takes, and how that is known."""
    found = known.get(entry.shape)
    if found is not None:
        weights = ", random weights" if found.random else ""
        return (
            f"**{1000 * found.median_s:,.1f} ms** a picture here, median of {found.repeats} ({spread(entry, found)} ms)"
            f" on {plural(found.threads, 'thread')}{weights}; {found.held_bytes / 1e6:,.1f} MB held beside the weights"
        )
    if not entry.too_large:
        return "not timed here yet"
    rough = by_formula(entry, known)
    why = "too large to run here"
    return f"{why}: about {rough:,.0f} ms at the pace of the timed ones" if rough is not None else why


def spread(entry: Entry, found: Timing | None) -> str | None:
    """'12.1 to 13.4', or how an estimate was made; None where nothing is known."""
    if found is None:
        return "by formula" if entry.too_large else None
    return f"{1000 * found.low_s:,.1f} to {1000 * found.high_s:,.1f}"
