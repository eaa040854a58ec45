"""Whether the methods' maps are true to the model: patches blanked in their order, and maps of random weights."""

from __future__ import annotations

import streamlit as st

from pages.frame import page
from pages.lenses.attention import method_choice, method_maps
from pages.lenses.attention.method_maps import Check, Maps
from pages.lenses.attention.methods import panels
from pages.selection import selection
from pages.selection.subject import Subject
from vitviz.analysis import faithfulness
from vitviz.analysis.faithfulness import Score, area
from vitviz.analysis.map_similarity import rank_correlation
from vitviz.analysis.methods import METHODS
from vitviz.plots.faithfulness import curves_figure
from vitviz.text import signed

AREAS = {
    "Deletion": "the area under the left curve, lower is truer.",
    "Insertion": "under the right one, higher is truer.",
    "Gap": "insertion less deletion, higher is truer.",
}


def draw(subject: Subject) -> None:
    """Deletion and insertion of every method against random orders, and the same maps with random weights."""
    if not subject.able.class_head:
        st.info(subject.able.class_head.why_not, icon=":material/block:")
        return
    chosen, ground = method_choice.choose(subject)
    assert chosen.target is not None  # there is a head, so there are classes
    found = method_maps.maps(subject, chosen)
    draw_curves(subject, method_maps.check(subject, found, chosen.target), chosen.target)
    st.subheader("The same maps from random weights", anchor=False)
    twin = method_maps.maps(subject, chosen, twin=True)
    same = {name: rank_correlation(found[name], twin[name]) for name in found}
    notes = [f"rank correlation with the model's: {signed(same[name])}" for name in found]
    panels(subject, twin, ground, "attention.twin", notes)
    page.caption(describe_twin(found, same, subject.model.trained_on is not None))
    page.drawers(
        "attention.truth",
        math=MATHEMATICS,
        code=(faithfulness.schedule, faithfulness.blank_patches),
    )


def draw_curves(subject: Subject, checked: Check, target: int) -> None:
    """The curves, their areas in a table, and what they say."""
    titles = {name: METHODS[name].title for name in checked.curves}
    fraction, noisy = checked.random[0].fraction, checked.noise
    figure = curves_figure(
        fraction,
        {titles[name]: (curve.deletion, curve.insertion) for name, curve in checked.curves.items()},
        noisy,
        subject.classes[target],
        selection.mode(),
    )
    scores = [
        Score(titles[name], area(fraction, curve.deletion), area(fraction, curve.insertion))
        for name, curve in checked.curves.items()
    ]
    orders = [
        Score("One random order", area(fraction, curve.deletion), area(fraction, curve.insertion))
        for curve in checked.random
    ]
    noise = Score("Random order", *(area(fraction, side.mean(axis=0)) for side in noisy))
    left, right = st.columns([6, 5], gap="medium", vertical_alignment="center")
    with left:
        page.figure(figure, "attention.curves")
    with right:
        draw_areas([*scores, noise])
    page.caption(faithfulness.describe_scores(scores, orders))


def draw_areas(scores: list[Score]) -> None:
    """The areas, the truest order first: a table that fits the column beside the curves, however narrow."""
    rows = [
        f"| {score.method} | {score.deletion:.2f} | {score.insertion:.2f} | {signed(score.gap)} |"
        for score in sorted(scores, key=lambda score: -score.gap)
    ]
    st.markdown("\n".join([f"| Order | {' | '.join(AREAS)} |", "|---|---:|---:|---:|", *rows]))
    page.caption(" ".join(f"{name}: {text}" for name, text in AREAS.items()))


def describe_twin(found: Maps, same: dict[str, float], trained: bool) -> str:
    """Which method's map random weights draw as well, from the rank correlations."""
    most = max(same, key=lambda name: same[name])
    others = [f"{METHODS[name].title.lower()} {signed(same[name])}" for name in found if name != most]
    random = "random weights" if trained else "other random weights"
    keeps = "keeps the most of its order" if others else "keeps this much of its order"
    rest = f"; {', '.join(others)}" if others else ""
    return (
        "A map that random weights draw as well shows the picture and not what was learned (Adebayo et al. 2018):"
        f" {METHODS[most].title.lower()} {keeps} with {random}, {signed(same[most])}{rest}."
    )


MATHEMATICS = r"""
Patches are blanked (painted in what the model reads as 0) from the most relevant on, and the class probability is
followed:

$$
\text{deletion} = \int_0^1 p_c(\text{picture without the first } t)\,dt, \qquad
\text{insertion} = \int_0^1 p_c(\text{only the first } t)\,dt.
$$

A true map has a small deletion area and a large insertion area (Petsiuk et al. 2018). Random orders are drawn six
times; their range is grey.
"""
