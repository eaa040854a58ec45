"""The ViT paper's tables 1 and 2, with DeiT and Swin beside: what others measured, and what it cost them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from vitviz.analysis.scoreboard import pareto
from vitviz.models import parameter_count, published_results
from vitviz.models.presets import PRESETS
from vitviz.plots import scoreboard as plots

FEWER_MORE = (False, True)  # cost, accuracy
USUAL = "JFT-300M"  # what most of table 2 was pre-trained on
GUESSES = {  # who has the best accuracy, and whether for fewer core-days than the other kind's best
    "vit_fewer": "The ViT, for fewer core-days",
    "vit_more": "The ViT, for more",
    "cnn_fewer": "The CNN, for fewer core-days",
    "cnn_more": "The CNN, for more",
}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="which_model"):
    """On which of the paper's test sets, and who is guessed to be ahead: of `GUESSES`."""

    tested_on: str
    papers_guess: str


def draw() -> None:
    """Table 2 as a plot over its core-days, then as a table; DeiT and Swin over multiply-adds; table 1."""
    _draw_transfers()
    _draw_beside()
    _draw_sizes()
    st.markdown(
        ":small[Sources: Dosovitskiy et al. 2021, tables 1 and 2 (means of three fine-tuning runs; ViT-L/16 at 512 px,"
        " ViT-H/14 at 518 px); Touvron et al. 2021, tables 1 and 5, DeiT-S by their repository (79.8 in the paper);"
        " Liu et al. 2021, their repository, whose Swin-T and Swin-S differ from the paper's by 0.1 or 0.2 points."
        " Nothing in this section was measured here but the counts of parameters and multiply-adds.]"
    )


@st.fragment
def _draw_transfers() -> None:
    st.subheader("Accuracy for core-days of pre-training", anchor=False)
    with page.row(), st.container(width=248):
        tested_on = widgets.select(Choice.key("tested_on"), "Test set", published_results.TEST_SETS)
    known = [one for one in published_results.TRANSFERS if tested_on in one.accuracy]
    answered = _guessed(known, tested_on)
    shown = known if answered else [one for one in known if one.family == "CNN"]
    points = points_of(shown, tested_on)
    axes = plots.Axis("TPUv3-core-days", "", True), plots.Axis(f"accuracy on {tested_on}", "%", False)
    page.figure(plots.board_figure(points, *axes, selection.mode(), 340, 880), "which_model.transfers")
    page.caption(describe(known, tested_on) if answered else "These are the CNNs; a guess shows the ViTs.")
    if answered:
        _draw_table()


def _guessed(known: Sequence[published_results.Transfer], test_set: str) -> bool:
    """Asks whose best is better, and for what; whether the ViTs may be shown."""
    return prediction_gate.first(
        Choice.key("papers_guess"),
        "papers",
        f"The best ViT and the best CNN of the ViT paper's table 2: which is more accurate on {test_set}?",
        GUESSES,
        lambda guess: judged(known, test_set, guess),
    )


def judged(known: Sequence[published_results.Transfer], test_set: str, guess: str) -> str:
    """Whether a guess of `GUESSES` was right."""
    vit, cnn = best_of(known, test_set)
    ahead, other = (vit, cnn) if vit.accuracy[test_set] > cnn.accuracy[test_set] else (cnn, vit)
    cost = "fewer" if ahead.core_days < other.core_days else "more"
    right = f"{ahead.family.lower()}_{cost}"
    said, found = (f"{GUESSES[name][0].lower()}{GUESSES[name][1:]}" for name in (guess, right))
    return f"You said {said}: {'right' if guess == right else f'not so, it is {found}'}."


def _draw_table() -> None:
    rows = {
        "": [one.name for one in published_results.TRANSFERS],
        "Pre-trained on": [one.data for one in published_results.TRANSFERS],
        "Pictures": [published_results.TRAINING_PICTURES[one.data] for one in published_results.TRANSFERS],
        "Core-days": [one.core_days for one in published_results.TRANSFERS],
    } | {
        name: [one.accuracy.get(name) for one in published_results.TRANSFERS]
        for name in published_results.TEST_SETS
    }
    formats = {name: st.column_config.NumberColumn(format="%.2f") for name in published_results.TEST_SETS}
    whole = {name: st.column_config.NumberColumn(format="localized") for name in ("Pictures", "Core-days")}
    st.dataframe(
        rows, hide_index=True, placeholder="–", column_config=formats | whole, key="which_model.table2"
    )


def points_of(shown: Sequence[published_results.Transfer], test_set: str) -> list[plots.Point]:
    """Table 2's columns as points."""
    where = [(one.core_days, one.accuracy[test_set]) for one in shown]
    fronts = pareto(where, FEWER_MORE)
    return [
        plots.Point(
            _short(one), one.family, x, y, True, front, note=f"{one.data}; {published_results.VIT_PAPER}"
        )
        for one, (x, y), front in zip(shown, where, fronts, strict=True)
    ]


def _short(one: published_results.Transfer) -> str:
    """Its name on the plot, where names lie close on a phone: the set that it saw where that is not the usual one."""
    name = one.name.partition(",")[0]
    return name if one.data == USUAL else f"{name}, {one.data}"


def best_of(
    known: Sequence[published_results.Transfer], test_set: str
) -> tuple[published_results.Transfer, published_results.Transfer]:
    """The most accurate ViT and the most accurate CNN."""
    vit, cnn = (
        max((one for one in known if one.family == family), key=lambda one: one.accuracy[test_set])
        for family in ("ViT", "CNN")
    )
    return vit, cnn


def describe(shown: Sequence[published_results.Transfer], test_set: str) -> str:
    """The best ViT against the best CNN, in points and in core-days."""
    vit, cnn = best_of(shown, test_set)
    lead = vit.accuracy[test_set] - cnn.accuracy[test_set]
    said = "ahead" if lead > 0 else "behind"
    return (
        f"On {test_set}, {vit.name} ({vit.data}) has {vit.accuracy[test_set]:.2f} %, {abs(lead):.2f} points {said} of"
        f" {cnn.name} ({cnn.accuracy[test_set]:.2f} %), for {vit.core_days:,.0f} core-days against"
        f" {cnn.core_days:,.0f}: {cnn.core_days / vit.core_days:.1f} times fewer. All hollow: cited, from table 2;"
        f" pre-trained on {USUAL} where no other set is named."
    )


def _draw_sizes() -> None:
    st.subheader("The sizes", anchor=False)
    configs = [PRESETS[one.preset].config for one in published_results.SIZES]
    st.dataframe(
        {
            "": [one.name for one in published_results.SIZES],
            "Layers": [one.layers for one in published_results.SIZES],
            "D": [one.width for one in published_results.SIZES],
            "MLP": [one.mlp for one in published_results.SIZES],
            "Heads": [one.heads for one in published_results.SIZES],
            "Stated, million": [one.millions for one in published_results.SIZES],
            "Counted here": [sum(parameter_count.parameters(config).values()) for config in configs],
            "Billion multiply-adds": [
                sum(parameter_count.multiply_adds(config, 224).values()) / 1e9 for config in configs
            ],
        },
        hide_index=True,
        column_config={
            "Counted here": st.column_config.NumberColumn(format="localized"),
            "Billion multiply-adds": st.column_config.NumberColumn(format="%.1f"),
        },
        key="which_model.table1",
    )
    small, large = (
        sum(parameter_count.multiply_adds(config, 224).values()) for config in (configs[0], configs[-1])
    )
    page.caption(
        f"From {published_results.SIZES[0].name} to {published_results.SIZES[-1].name} a picture of 224 px "
        f"costs {large / small:,.0f} times as"
        " many multiply-adds. Ti and S are DeiT's sizes, B, L and H the ViT paper's."
    )


def _draw_beside() -> None:
    st.subheader("DeiT and Swin, ImageNet-1k alone", anchor=False)
    where = [
        (float(sum(parameter_count.multiply_adds(PRESETS[one.preset].config, 224).values())), one.top1)
        for one in published_results.BESIDE
    ]
    fronts = pareto(where, FEWER_MORE)
    points = [
        plots.Point(one.name, one.family, x, y, True, front, note=one.source)
        for one, (x, y), front in zip(published_results.BESIDE, where, fronts, strict=True)
    ]
    axes = plots.Axis("multiply-adds at 224 px", "", True), plots.Axis("top-1 on ImageNet-1k", "%", False)
    page.figure(plots.board_figure(points, *axes, selection.mode(), 340, 880), "which_model.beside")
    front = "; ".join(p.name for p in sorted(points, key=lambda p: p.x) if p.front)  # a name may have a comma
    page.caption(f"The Pareto front: {front}. Accuracies are cited, multiply-adds counted here.")
