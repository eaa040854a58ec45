"""Measure and describe the inference time of models on this server."""

from collections.abc import Sequence

import streamlit as st
from torch import nn

from pages.selection import selection
from pages.stores import cached, timings
from vitviz.analysis.scoreboard import Entry, Timing, Timings, by_formula
from vitviz.text import plural

ROUGH_ADDS_PER_S = 6e10  # only to estimate the duration of the measurement
_CALLS = 6  # of a large model: warm-up, repeats, and the call whose memory is measured
_START_S = 0.15


def draw_button(entries: Sequence[Entry], known: Timings) -> None:
    waiting = select_untimed(entries, known)
    if not waiting:
        return
    seconds = sum(_START_S + _CALLS * entry.multiply_adds / ROUGH_ADDS_PER_S for entry in waiting)
    hint = (
        f"Takes about {max(1, seconds):,.0f} s, one image at a time in fp32. Missing weights are replaced by random"
        " ones, which take the same time."
    )
    if large := sum(entry.too_large for entry in entries):
        hint += f" Estimated by formula: {plural(large, 'model')} of more than 100 million parameters."
    label = f"Measure the time of {plural(len(waiting), 'model')}"
    if st.button(label, key="which_model.time", icon=":material/timer:", help=hint):
        _time_models(waiting)
        st.rerun()


def select_untimed(entries: Sequence[Entry], known: Timings) -> list[Entry]:
    """Return one entry per shape that has no timing and is not too large, cheapest first."""
    waiting = {entry.shape: entry for entry in entries if not entry.too_large and entry.shape not in known}
    return sorted(waiting.values(), key=lambda entry: entry.multiply_adds)


def _time_models(waiting: Sequence[Entry]) -> None:
    bar = st.progress(0.0)
    for number, entry in enumerate(waiting):
        bar.progress(number / len(waiting), f"{entry.title}, {number + 1} of {len(waiting)}")
        time_model(entry)
    bar.empty()


def time_model(entry: Entry) -> Timing:
    """Time a model with its own weights, or with random weights if they are missing."""
    choice = selection.list_models().get(entry.key)
    if choice is not None:
        return timings.time_model(entry.shape, lambda: cached.load_model(choice).model, random=False)
    return timings.time_model(entry.shape, lambda: _create_random_model(entry), random=True)


def _create_random_model(entry: Entry) -> nn.Module:
    """Return an untrained model; it is not cached because it may be large."""
    from vitviz.models.zoo import create_model

    return create_model(entry.config, seed=0).eval().requires_grad_(False)


def describe_timing(entry: Entry, known: Timings) -> str:
    """Return the time per image with its range and memory, an estimate, or why there is none."""
    timing = known.get(entry.shape)
    if timing is not None:
        weights = ", random weights" if timing.random else ""
        return (
            f"**{1000 * timing.median_s:,.1f} ms** per image on this server, median of {timing.repeats}"
            f" ({format_range(entry, timing)} ms) on {plural(timing.threads, 'thread')}{weights};"
            f" {timing.held_bytes / 1e6:,.1f} MB beside the weights"
        )
    if not entry.too_large:
        return "not timed yet"
    estimate = by_formula(entry, known)
    return (
        "too large to time" if estimate is None else f"too large to time: about {estimate:,.0f} ms by formula"
    )


def format_range(entry: Entry, timing: Timing | None) -> str | None:
    """Return '12.1 to 13.4', 'by formula' for an estimate, or None without a timing."""
    if timing is None:
        return "by formula" if entry.too_large else None
    return f"{1000 * timing.low_s:,.1f} to {1000 * timing.high_s:,.1f}"
