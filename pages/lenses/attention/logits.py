"""Logits: predictions after each layer (logit lens), and the share of every head and MLP in a class logit."""

from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from pages.controls import downloads
from pages.frame import page
from pages.lenses.attention.captions import describe_lens, describe_shares
from pages.lenses.attention.map_controls import read_background, read_class
from pages.selection import selection, substitutes
from pages.selection.subject import CapturedSubject, name_token
from pages.views.figures import draw_chart, draw_heat_grid
from vitviz.analysis import logits
from vitviz.lessons import lesson, model_measures
from vitviz.models.abilities import as_cut, as_vit
from vitviz.plots.heat_grid import pack_maps
from vitviz.plots.logits import attribution_figure, lens_figure
from vitviz.probe.logits import attribute, list_records, readout_weights, stream, stream_names
from vitviz.text import percent, plain

READOUTS = {
    "cls": "[CLS]",
    "dist": "[CLS] and [DIST] (mean of their logits)",
    "mean": "the mean of all patches",
    "first_patch": "the first patch",
}


def draw_lens(subject: CapturedSubject) -> None:
    for ability in (subject.able.logit_lens, subject.able.class_head):
        if not ability:
            substitutes.draw_refusal(ability.why_not, "attention", "logit_lens", "class_head")
            return
    layout, depth = subject.layout, as_vit(subject.model.config).depth
    tokens, weights = stream(subject.capture(stream_names(depth)), depth), readout_weights(subject.model.vit)
    readout_probs = logits.lens_of_readout(tokens, weights, subject.readout, layout.prefix)
    token = selection.get_current().pin.token(layout)
    head = "dist" if token < len(layout.prefix) and layout.prefix[token] == "dist" else "cls"
    token_probs = logits.lens_of_token(tokens[:, token], weights, head)
    draw_curves(subject, readout_probs, token_probs, name_token(layout, token))
    target = int(readout_probs[-1].argmax())
    patch_probs = logits.lens_of_token(tokens, weights)[:, layout.num_prefix_tokens :, target]
    draw_patches(subject, patch_probs, subject.classes[target])
    page.drawers(
        "attention.depth",
        math=page.read_math(__file__, section="logit_lens"),
        code=(logits.lens_of_token, logits.lens_of_readout),
        ask=lesson.Question(
            "After which layer does the most probable class no longer change?",
            model_measures.SettlingLayer(),
        ),
    )


def draw_curves(
    subject: CapturedSubject, readout_probs: np.ndarray, token_probs: np.ndarray, name: str
) -> None:
    """Draw the readout's top four classes over depth, and the same for the pinned token if it is another."""
    classes = np.argsort(-readout_probs[-1], kind="stable")[:4].tolist()
    classes += [int(i) for i in np.argsort(-token_probs[-1])[:1] if i not in classes]
    readout = "dist" if "dist" in subject.layout.prefix else subject.readout
    panels = [(f"Classifier head applied to {READOUTS[readout]}", readout_probs, "readout")]
    if not np.array_equal(token_probs, readout_probs):  # the pinned token is not the readout
        panels.append((f"Classifier head applied to {name}", token_probs, "token"))
    for column, (title, probs, key) in zip(st.columns(len(panels), gap="medium"), panels, strict=True):
        with column:
            st.markdown(f"**{title}**")
            figure = lens_figure(probs, subject.classes, classes, selection.get_theme())
            draw_chart(figure, f"attention.lens_{key}")
    page.caption(describe_lens(subject.classes, readout_probs, token_probs, name), subject.class_note)


def draw_patches(subject: CapturedSubject, probs: np.ndarray, class_name: str) -> None:
    """Draw maps of a class's probability (layers, patches); a click pins a patch."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown(
            f"**Probability of {plain(class_name)} if the classifier head were applied to each patch** (click to pin)"
        )
        background = read_background(subject)
    draw_heat_grid(
        pack_maps(
            subject.ground(background.seen),
            probs,
            ["input", *(f"layer {i}" for i in range(1, len(probs)))],
            subject.layout.grid,
            sharing=len(probs),
            notes=[f"max. {percent(row.max())}" for row in probs],
            style=background.map_style(subject),
        ),
        key="attention.lens_maps",
        on_pin=partial(selection.apply_click, "attention.lens_maps"),
    )


def draw_attribution(subject: CapturedSubject) -> None:
    able = subject.able.logit_shares
    if not able:
        substitutes.draw_refusal(able.why_not, "attention", "logit_shares")
        return
    with page.row(), st.container(width=230):
        target = read_class(subject)
    assert target is not None  # a model with a class head has classes
    shares = attribute(subject.model, subject.capture(list_records(as_cut(subject.model.config))), target)
    name = subject.classes[target]
    draw_chart(attribution_figure(shares, name, selection.get_theme()), "attention.logit_shares")
    page.caption(describe_shares(shares, name), subject.class_note)
    layer, head = (
        int(place) + 1 for place in np.unravel_index(np.nanargmax(shares.heads), shares.heads.shape)
    )
    shown: dict[str, Any] = {"attention.view": "look", "attention.layer": layer, "attention.head": head}
    selection.link_to("attention", f"Attention of layer {layer}, head {head}", **shown)
    page.drawers(
        "attention.logit_shares",
        math=page.read_math(__file__, section="logit_attribution"),
        code=(logits.attribute_logit, logits.FixedNorm),
        numbers=partial(draw_shares, shares),
    )


def draw_shares(shares: logits.Attribution) -> None:
    layers, heads = shares.heads.shape
    columns: dict[str, list[object]] = {"layer": list(range(1, layers + 1))}
    columns |= {f"head {head + 1}": shares.heads[:, head].tolist() for head in range(heads)}
    columns["MLP"] = shares.mlps.tolist()
    st.dataframe(columns, hide_index=True)
    page.shapes(heads=shares.heads.shape, MLPs=shares.mlps.shape)
    downloads.csv("Logit shares (CSV)", columns, "logit_shares.csv", "attention.logit_shares.csv")
