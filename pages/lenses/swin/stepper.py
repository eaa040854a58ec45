"""Shifted windows step by step: partition, roll, region ids, mask, attention, reverse, unroll."""

from functools import partial

import numpy as np
import streamlit as st

from pages.controls import downloads, widgets
from pages.frame import page
from pages.lenses.swin import captions, swin_selection
from pages.selection import selection
from pages.views.event_values import read_events, read_index
from pages.views.register import register
from vitviz import shifted_windows
from vitviz.analysis import window_attention as analysis
from vitviz.csv_table import columns_of
from vitviz.lessons import formula_measures, lesson
from vitviz.plots import swin as plots

KEY = "swin.stepper"
STAGES = (  # the keys of STAGES in swin_stepper_stages.js
    "tokens",
    "partition",
    "roll",
    "ids",
    "again",
    "mask",
    "attention",
    "reverse",
    "unroll",
)
_view = register(__file__, "swin_stepper")


def draw(controls: swin_selection.GridControls) -> None:
    layout = analysis.create_layout((controls.grid, controls.grid), controls.window, controls.shift)
    image = swin_selection.crop_image()
    attention = analysis.compare_masks(image, layout)
    stage = widgets.resolve_option("swin.stage", STAGES, "partition")
    widgets.store_value("swin.stage", stage)
    is_pinned = selection.is_pinned()
    pin = selection.get_current().pin.cell(layout.grid) if is_pinned else layout.find_most_masked()
    findings = captions.describe_stages(layout, attention.leak)
    payload = plots.stepper(image, layout, attention, pin, findings, begin=STAGES.index(stage))
    _view(payload, key=KEY, triggers=("pin", "stage"), on_change=_apply_click)
    page.drawers(
        "swin.steps",
        math=page.read_math(__file__),
        code=(shifted_windows.region_ids, shifted_windows.attention_mask, analysis.colour_attention),
        numbers=partial(draw_tables, layout),
        ask=lesson.Question(
            "8 × 8 patches, windows of 4, shift 2: to how many patches can patch 1 attend in the shifted block?",
            formula_measures.ReadableInCorner(8, 4, 2),
        ),
    )


def _apply_click() -> None:
    stage = read_index(read_events(KEY).get("stage"))
    if stage is not None and stage < len(STAGES):
        widgets.set_control("swin.stage", STAGES[stage])
    selection.apply_click(KEY)


def draw_tables(layout: analysis.Layout) -> None:
    """Draw region ids, windows and masked pairs as downloads."""
    count, cells = layout.index.shape
    st.markdown(
        f"Region ids of the rolled grid; {count:,} windows of {cells:,} slots (in the files, patches, windows and slots"
        " count from 0)."
    )
    ids = columns_of(layout.ids, (f"column_{i + 1}" for i in range(layout.grid[1])))
    slots = columns_of(layout.index, (f"slot_{i + 1}" for i in range(cells)))
    pairs = columns_of(np.argwhere(layout.mask < 0) + 1, ("window", "query", "key"))
    with st.container(horizontal=True):
        downloads.csv("Region ids (CSV)", ids, "region_ids.csv", "swin.csv_ids")
        downloads.csv("Patch per slot (CSV)", slots, "windows.csv", "swin.csv_windows")
        downloads.csv("Masked pairs (CSV)", pairs, "masked_pairs.csv", "swin.csv_masks")
    st.dataframe(layout.ids, height=240)
