"""Attention over convolutions: the lecture's open question, answered by an experiment over several seeds."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, stdev

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.hybrids import captions
from pages.questions import prediction
from pages.selection import selection
from vitviz.experiments.conv_nets import MODELS, TITLES
from vitviz.experiments.result import Result
from vitviz.lessons.convolution_measures import AttentionOverConvolutions, list_accuracies, load_stored_result
from vitviz.lessons.lesson import Question
from vitviz.models.lecture_nets import ConvAttention
from vitviz.plots.hybrids import seeds_figure
from vitviz.text import percent

QUESTION = Question(
    "The lecture's net computes queries, keys and values with 3 × 3 convolutions. Compare it with the same net without"
    " attention and with a CNN of the same size: which is most accurate on MNIST?",
    AttentionOverConvolutions(),
    proof=(("hybrids.results", "1"),),
)

MATHEMATICS = r"""
Queries, keys and values are $3 \times 3$ convolutions of the image, and every pixel is a token. The lecture writes

$$
A = \mathrm{softmax}(QK^\top), \qquad y = A^\top V,
$$

with two bugs: $1/\sqrt d$ is missing and $A$ is transposed, so a pixel sums over the pixels that attend to it and its
weights do not sum to 1. Fixed: $A = \mathrm{softmax}(QK^\top/\sqrt d)$, $y = AV$. The control has $y = V$: one
convolution and the same classifier head.
"""


@dataclass(frozen=True)
class ResultControls(widgets.ControlValues, page="hybrids"):
    """If `results` is True, the results are shown; a measured prediction sets it."""

    results: bool


def draw() -> None:
    with st.container(border=True):
        prediction.ask_question(QUESTION, "hybrids.question")
    experiment = load_stored_result()
    if experiment is None:
        st.info(
            "Results are missing. Run `python -m vitviz.experiment conv_attention`.", icon=":material/timer:"
        )
        return
    if widgets.toggle(ResultControls.key("results"), "Show results"):
        _draw_results(experiment)


def _draw_results(experiment: Result) -> None:
    names = [name for name in MODELS if list_accuracies(experiment, name)]
    tests = [list_accuracies(experiment, name) for name in names]
    marked = names.index("control") if "control" in names else -1
    figure = seeds_figure([TITLES[name] for name in names], tests, marked, selection.get_theme())
    page.figure(figure, "hybrids.seeds")
    page.caption(captions.describe_results(experiment))
    columns = build_columns(experiment, names)
    page.table(columns, {"Mean accuracy": percent}, _FORMATS, "hybrids.table")
    page.csv("All results (CSV)", columns, "conv_attention.csv", "hybrids.csv")
    page.caption(captions.PUBLISHED_CONVOLUTIONS)
    page.provenance(captions.describe_experiment(experiment))
    page.drawers("hybrids.asked", math=MATHEMATICS, code=(ConvAttention,))


_FORMATS = {
    "Parameters": st.column_config.NumberColumn(format="localized"),
    "Multiply-adds": st.column_config.NumberColumn(format="localized"),
    "Training, core-seconds": st.column_config.NumberColumn(format="%.1f"),
    "± (seeds), points": st.column_config.NumberColumn(format="%.2f"),
}


def build_columns(experiment: Result, names: list[str]) -> dict[str, list[object]]:
    tests = [list_accuracies(experiment, name) for name in names]
    seconds = [[float(row["training_core_s"]) for row in experiment.where(model=name)] for name in names]
    return {
        "Model": [TITLES[name] for name in names],
        "Mean accuracy": [mean(seeds) for seeds in tests],
        "± (seeds), points": [100 * stdev(seeds) if len(seeds) > 1 else None for seeds in tests],
        "Seeds": [len(seeds) for seeds in tests],
        "Parameters": [experiment.settings["parameters"][name] for name in names],
        "Multiply-adds": [experiment.settings["multiply_adds"][name] for name in names],
        "Training, core-seconds": [mean(seeds) for seeds in seconds],
    }
