"""Direct logit attribution: the share of every head and MLP in a class logit."""

from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from pages.frame import page
from pages.lenses.attention.captions import describe_shares
from pages.lenses.attention.map_controls import read_class
from pages.selection import selection
from pages.selection.subject import CapturedSubject
from pages.views.figures import draw_chart
from vitviz.analysis import logits
from vitviz.analysis.logits import Attribution
from vitviz.models.abilities import as_cut
from vitviz.plots.logits import attribution_figure
from vitviz.probe.logits import attribute, list_records


def draw(subject: CapturedSubject) -> None:
    able = subject.able.logit_shares
    if not able:
        st.info(able.why_not, icon=":material/block:")
        return
    with page.row(), st.container(width=230):
        target = read_class(subject)
    assert target is not None  # a model with a class head has classes
    shares = attribute(subject.model, subject.capture(list_records(as_cut(subject.model.config))), target)
    name = subject.classes[target]
    draw_chart(attribution_figure(shares, name, selection.get_theme()), "attention.logit_shares")
    page.caption(describe_shares(shares, name))
    layer, head = (
        int(place) + 1 for place in np.unravel_index(np.nanargmax(shares.heads), shares.heads.shape)
    )
    shown: dict[str, Any] = {"attention.view": "look", "attention.layer": layer, "attention.head": head}
    selection.link_to("attention", f"Attention of layer {layer}, head {head}", **shown)
    page.drawers(
        "attention.logit_shares",
        math=page.read_math(__file__),
        code=(logits.attribute_logit, logits.FixedNorm),
        numbers=partial(draw_numbers, shares),
    )


def draw_numbers(shares: Attribution) -> None:
    layers, heads = shares.heads.shape
    columns: dict[str, list[object]] = {"layer": list(range(1, layers + 1))}
    columns |= {f"head {head + 1}": shares.heads[:, head].tolist() for head in range(heads)}
    columns["MLP"] = shares.mlps.tolist()
    st.dataframe(columns, hide_index=True)
    page.shapes(heads=shares.heads.shape, MLPs=shares.mlps.shape)
    page.csv("Logit shares (CSV)", columns, "logit_shares.csv", "attention.logit_shares.csv")
