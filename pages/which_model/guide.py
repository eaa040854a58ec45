"""Draw the texts of 'Which model': published results, and the guide to CNN, hybrid and ViT."""

from pathlib import Path

import streamlit as st

from pages.frame import page
from pages.selection import selection
from pages.views.figures import draw_chart
from vitviz.analysis.scoreboard import pareto
from vitviz.analysis.study_numbers import read_numbers
from vitviz.experiments.result_file import ResultError, describe_provenance, read_result_if_any
from vitviz.models.published_results import TRANSFERS
from vitviz.papers import link_names
from vitviz.plots import data_size, scoreboard
from vitviz.plots.chart import Chart
from vitviz.text import percent

STYLE = Path(__file__).with_name("tables.css")
MODELS = {"cnn": "CNN", "hybrid": "Hybrid", "vit": "ViT"}


def draw_papers() -> None:
    """Draw the cost and accuracy of pretraining as a picture, then each published finding with its table folded."""
    st.html(STYLE)
    draw_chart(build_pretraining_chart(), "which_model.pretraining")
    page.findings("which_model", is_open=True)
    sections = page.read_math(__file__, section="papers").removeprefix("### ").split("\n### ")
    with st.container(key="which_model-published"):
        for place, section in enumerate(sections):
            heading, _, body = section.partition("\n\n")
            if place:  # the picture stands above the first
                st.subheader(heading, anchor=False)
            for part in map(str.strip, body.split("\n\n")):
                is_table = part.startswith("|")
                with st.expander("The numbers", icon=":material/table:") if is_table else st.container():
                    st.markdown(link_names(part))


def build_pretraining_chart() -> Chart:
    """Return ImageNet accuracy over the cost of pretraining, of the models in the ViT paper's table 2."""
    costs = [(model.core_days, model.accuracy["ImageNet"]) for model in TRANSFERS]
    points = [
        scoreboard.BoardPoint(
            f"{model.name.partition(',')[0]}, {model.data}", model.family, *cost, front=is_front
        )
        for model, cost, is_front in zip(TRANSFERS, costs, pareto(costs, (False, True)), strict=True)
    ]
    across = scoreboard.Axis("core-days of pretraining on TPUv3", "", log=True)
    up = scoreboard.Axis("ImageNet accuracy", "%", log=False)
    return scoreboard.board_figure(points, across, up, selection.get_theme(), height_px=400)


def _draw_data_sizes() -> None:
    """Draw accuracy over the number of training images, and what it shows."""
    source = {"result": "data_size_cifar10", "where": {"augmented": True}}
    try:
        numbers = read_numbers([source], MODELS, series="model", x="pictures")
    except ResultError:  # the comparison below names the same numbers
        return
    places, theme = numbers.places, selection.get_theme()
    figure = data_size.size_figure(numbers.create_curves(), places, 0.1, "test accuracy", (), theme)
    draw_chart(figure, "which_model.data_size")
    few, many = (
        ", ".join(f"{title} {percent(numbers.get_mean(name, place))}" for name, title in MODELS.items())
        for place in (places[0], places[-1])
    )
    page.caption(f"With {places[0]:,} images of CIFAR-10: {few}; with {places[-1]:,}: {many}.")


def draw_guide() -> None:
    _draw_data_sizes()
    comparison, text = page.read_math(__file__).split("\n---\n")
    st.subheader("Comparison", anchor=False)
    st.html(STYLE)
    with st.container(key="which_model-comparison"):
        st.markdown(comparison)
    st.markdown(text)
    if stored := read_result_if_any("data_size_cifar10"):
        page.provenance(f"How much data? (CIFAR-10): `{stored.command}`, {describe_provenance(stored.made)}.")
    with st.container(horizontal=True):
        selection.link_to("data", "How much data?")
        selection.link_to("studies", "Does a teacher help?", **{"studies.study": "teacher"})
        selection.link_to("attention", "Are attention maps faithful?", **{"attention.view": "truth"})
        selection.link_to("swin", "Cost of window attention", **{"swin.view": "cost"})
