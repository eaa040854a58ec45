"""Attention over convolutions, as the lecture posed it: an open question, answered over seeds."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, stdev

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.hybrids import papers
from pages.questions import prediction
from pages.selection import selection
from vitviz.experiments.conv_nets import MODELS, TITLES
from vitviz.experiments.result import Result, told
from vitviz.lessons.convolution_measures import AttentionOverConvolutions, accuracies, stored
from vitviz.lessons.lesson import Question
from vitviz.models.lecture_nets import ConvAttention
from vitviz.plots.hybrids import seeds_figure
from vitviz.text import apart, percent, plain, plural

QUESTION = Question(
    "Queries, keys and values from 3 × 3 convolutions, as the lecture wrote it; the same net that does not attend; a"
    " CNN of the same size. Which is most accurate on MNIST?",
    AttentionOverConvolutions(),
    proof=(("hybrids.results", "1"),),
)


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="hybrids"):
    """Whether the results are shown: a prediction that was measured shows them."""

    results: bool


def draw() -> None:
    """The question; once there are results, every seed as a dot, a table, and the answer."""
    with st.container(border=True):
        prediction.ask(QUESTION, "hybrids.question")
    found = stored()
    if found is None:
        st.info(
            "Nothing was measured here yet: `python -m vitviz.experiment conv_attention`.",
            icon=":material/timer:",
        )
        return
    if Choice(widgets.toggle(Choice.key("results"), "Show the results")).results:
        _draw_results(found)


def _draw_results(found: Result) -> None:
    names = [name for name in MODELS if accuracies(found, name)]
    values = [accuracies(found, name) for name in names]
    marked = names.index("control") if "control" in names else -1
    figure = seeds_figure([TITLES[name] for name in names], values, marked, selection.mode())
    page.figure(figure, "hybrids.seeds")
    page.caption(describe(found))
    columns = columns_of(found, names)
    page.table(columns, {"Mean": percent}, _FORMATS, "hybrids.table")
    page.csv("All numbers (CSV)", columns, "conv_attention.csv", "hybrids.csv")
    settings = found.settings
    page.caption(
        f"{settings['epochs']:g} epoch of {percent(settings['train_fraction'], 0)} of MNIST's training pictures at"
        f" {settings['side_px']} px, batches of {settings['batch_size']}, the same recipe for all;"
        f" `{found.command}`, {told(found.made)}"
        + (f"; {plural(found.missing, 'cell')} not measured." if found.missing else ".")
    )
    papers.say("asked")
    page.drawers("hybrids.asked", math=MATHEMATICS, code=(ConvAttention,))


_FORMATS = {
    "Parameters": st.column_config.NumberColumn(format="localized"),
    "Multiply-adds": st.column_config.NumberColumn(format="localized"),
    "Training, core-seconds": st.column_config.NumberColumn(format="%.1f"),
    "± (seeds), points": st.column_config.NumberColumn(format="%.2f"),
}


def columns_of(found: Result, names: list[str]) -> dict[str, list[object]]:
    """Mean, spread over seeds, size and cost of every net, as the file has them."""
    values = [accuracies(found, name) for name in names]
    spent = [[float(row["training_core_s"]) for row in found.where(model=name)] for name in names]
    return {
        "Net": [TITLES[name] for name in names],
        "Mean": [mean(one) for one in values],
        "± (seeds), points": [100 * stdev(one) if len(one) > 1 else None for one in values],
        "Seeds": [len(one) for one in values],
        "Parameters": [found.settings["parameters"][name] for name in names],
        "Multiply-adds": [found.settings["multiply_adds"][name] for name in names],
        "Training, core-seconds": [mean(one) for one in spent],
    }


def describe(found: Result) -> str:
    """The answer: what attention is worth here, whether the slips matter, and who is best."""
    values = {name: accuracies(found, name) for name in MODELS if accuracies(found, name)}
    if not {"written", "control"} <= values.keys():
        return "The experiment is not whole yet: the lecture's net or its control is missing."
    attends = {
        name: one for name, one in values.items() if name in ("written", "scaled", "upright", "corrected")
    }
    best = max(attends, key=lambda name: mean(attends[name]))
    control = values["control"]
    gain = apart(mean(attends[best]), mean(control))
    clear = min(attends[best]) > max(control) if gain > 0 else max(attends[best]) < min(control)
    seeds = "every seed apart" if clear else "within the spread of the seeds"
    if min(len(attends[best]), len(control)) == 1:
        seeds = "of one seed"
    cost = found.settings["multiply_adds"]
    said = (
        f"At this budget attention over convolutions is {'worth' if gain > 0 else 'no gain:'}"
        f" {abs(gain):.1f} points {'more' if gain > 0 else 'less'} than the same net without attention"
        f" ({TITLES[best]}: {percent(mean(attends[best]))}; control: {percent(mean(control))}),"
        f" {seeds}, for"
        f" {cost[best] / cost['control']:.0f} times the multiply-adds."
    )
    if "corrected" in values:
        slips = apart(mean(values["written"]), mean(values["corrected"]))
        written, corrected = values["written"], values["corrected"]
        overlap = max(min(written), min(corrected)) <= min(max(written), max(corrected))
        said += (
            f" As written it has {percent(mean(written))}, with both slips corrected {percent(mean(corrected))}:"
            f" {abs(slips):.1f} points {'more' if slips > 0 else 'less'} as written"
            f"{', within the spread of the seeds' if overlap else ''}."
        )
    top = max(values, key=lambda name: mean(values[name]))
    return said + f" Best of all: {plain(TITLES[top])}, {percent(mean(values[top]))}."


MATHEMATICS = r"""
Queries, keys and values are $3 \times 3$ convolutions of the picture, and every pixel is a token. The lecture writes

$$
A = \mathrm{softmax}(QK^\top), \qquad y = A^\top V,
$$

without $1/\sqrt d$ and with the product turned round: a pixel then sums over those that look at it, and its weights do
not sum to 1. Corrected: $A = \mathrm{softmax}(QK^\top/\sqrt d)$, $y = AV$. The control has $y = V$: one convolution and
the same head.
"""
