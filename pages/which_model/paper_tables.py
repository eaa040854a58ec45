"""Published results: tables 1 and 2 of the ViT paper, with DeiT and Swin."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.views.figures import draw_chart
from pages.which_model import captions
from vitviz.analysis.scoreboard import pareto
from vitviz.models import parameter_count, presets, published_results
from vitviz.models.published_results import Transfer
from vitviz.papers import cite
from vitviz.plots import scoreboard as plots

FEWER_MORE = (False, True)  # cost, accuracy
USUAL_DATASET = "JFT-300M"  # the pretraining dataset of most models in table 2
PREDICTIONS = {  # the more accurate family, and if it needs fewer core-days than the other
    "vit_fewer": "The ViT, for fewer core-days",
    "vit_more": "The ViT, for more",
    "cnn_fewer": "The CNN, for fewer core-days",
    "cnn_more": "The CNN, for more",
}


@dataclass(frozen=True)
class TableControls(widgets.ControlValues, page="which_model"):
    """The test set of table 2, and the prediction, a key of `PREDICTIONS`."""

    tested_on: str
    papers_guess: str


YEARS = (
    "**1998** CNNs, {lecun1998} · **2017** attention, {vaswani2017} · **2018** BERT's [CLS], {devlin2018} · **2020**"
    " ViT, {dosovitskiy2021} · **2021** DeiT, {touvron2021}, and Swin, {liu2021}"
)


def draw() -> None:
    _draw_transfers()
    st.subheader("Years", anchor=False)
    st.markdown(cite(YEARS))
    _draw_deit_and_swin()
    _draw_sizes()
    st.markdown(
        cite(
            ":small[Sources: {dosovitskiy2021}, tables 1 and 2 (means of three fine-tuning runs; ViT-L/16 at 512 px,"
            " ViT-H/14 at 518 px); {touvron2021}, tables 1 and 5, DeiT-S from their repository (79.8 in the paper);"
            " {liu2021}, their repository, where Swin-T and Swin-S differ from the paper by 0.1 or 0.2 points."
            " Parameters and multiply-adds are counted by this project; everything else is cited.]"
        )
    )


@st.fragment
def _draw_transfers() -> None:
    st.subheader("Accuracy over core-days of pretraining", anchor=False)
    with page.row(), st.container(width=248):
        tested_on = widgets.select(TableControls.key("tested_on"), "Test set", published_results.TEST_SETS)
    transfers = [t for t in published_results.TRANSFERS if tested_on in t.accuracy]
    predicted = _ask_best_model(transfers, tested_on)
    visible = transfers if predicted else [t for t in transfers if t.family == "CNN"]
    axes = plots.Axis("TPUv3-core-days", "", True), plots.Axis(f"accuracy on {tested_on}", "%", False)
    figure = plots.board_figure(build_points(visible, tested_on), *axes, selection.get_theme(), 340, 880)
    draw_chart(figure, "which_model.transfers")
    if not predicted:
        page.caption("Predict to see the ViTs; these are the CNNs.")
        return
    page.caption(captions.describe_transfers(*find_best(transfers, tested_on), tested_on, USUAL_DATASET))
    _draw_table()


def _ask_best_model(transfers: Sequence[Transfer], test_set: str) -> bool:
    return prediction_gate.ask_options(
        TableControls.key("papers_guess"),
        "papers",
        f"Compare the best ViT and the best CNN of the ViT paper's table 2: which is more accurate on {test_set}?",
        PREDICTIONS,
        lambda prediction: judge_prediction(transfers, test_set, prediction),
    ).is_answered()


def judge_prediction(transfers: Sequence[Transfer], test_set: str, prediction: str) -> str:
    vit, cnn = find_best(transfers, test_set)
    better, other = (vit, cnn) if vit.accuracy[test_set] > cnn.accuracy[test_set] else (cnn, vit)
    cost = "fewer" if better.core_days < other.core_days else "more"
    correct = f"{better.family.lower()}_{cost}"
    predicted, published = (
        f"{PREDICTIONS[key][0].lower()}{PREDICTIONS[key][1:]}" for key in (prediction, correct)
    )
    if prediction == correct:
        return f"Your prediction is correct: {published}."
    return f"Your prediction: {predicted}. Published: {published}."


def _draw_table() -> None:
    transfers = published_results.TRANSFERS
    columns = {
        "": [t.name for t in transfers],
        "Pretrained on": [t.data for t in transfers],
        "Images": [published_results.TRAINING_IMAGES[t.data] for t in transfers],
        "Core-days": [t.core_days for t in transfers],
    } | {name: [t.accuracy.get(name) for t in transfers] for name in published_results.TEST_SETS}
    formats = {name: st.column_config.NumberColumn(format="%.2f") for name in published_results.TEST_SETS}
    formats |= {name: st.column_config.NumberColumn(format="localized") for name in ("Images", "Core-days")}
    st.dataframe(
        columns, hide_index=True, placeholder=page.MISSING, column_config=formats, key="which_model.table2"
    )


def build_points(transfers: Sequence[Transfer], test_set: str) -> list[plots.Point]:
    coordinates = [(t.core_days, t.accuracy[test_set]) for t in transfers]
    return [
        plots.Point(
            _shorten_name(t), t.family, x, y, True, front, note=f"{t.data}; {published_results.VIT_PAPER}"
        )
        for t, (x, y), front in zip(transfers, coordinates, pareto(coordinates, FEWER_MORE), strict=True)
    ]


def _shorten_name(transfer: Transfer) -> str:
    """Return a name for the plot; it includes the dataset if it is not `USUAL_DATASET`."""
    name = transfer.name.partition(",")[0]
    return name if transfer.data == USUAL_DATASET else f"{name}, {transfer.data}"


def find_best(transfers: Sequence[Transfer], test_set: str) -> tuple[Transfer, Transfer]:
    vit, cnn = (
        max((t for t in transfers if t.family == family), key=lambda t: t.accuracy[test_set])
        for family in ("ViT", "CNN")
    )
    return vit, cnn


def _draw_sizes() -> None:
    st.subheader("Model sizes", anchor=False)
    sizes = published_results.SIZES
    configs = [presets.PRESETS[size.preset].config for size in sizes]
    adds = [sum(parameter_count.multiply_adds(config, 224).values()) for config in configs]
    st.dataframe(
        {
            "": [size.name for size in sizes],
            "Layers": [size.layers for size in sizes],
            "D": [size.width for size in sizes],
            "MLP": [size.mlp for size in sizes],
            "Heads": [size.heads for size in sizes],
            "Published, million": [size.millions for size in sizes],
            "Parameters": [sum(parameter_count.parameters(config).values()) for config in configs],
            "Billion multiply-adds": [count / 1e9 for count in adds],
        },
        hide_index=True,
        column_config={
            "Parameters": st.column_config.NumberColumn(format="localized"),
            "Billion multiply-adds": st.column_config.NumberColumn(format="%.1f"),
        },
        key="which_model.table1",
    )
    page.caption(
        f"{sizes[-1].name} needs {adds[-1] / adds[0]:,.0f} times as many multiply-adds as {sizes[0].name} for an image"
        " of 224 px. Sizes Ti and S are of DeiT; B, L and H are of the ViT paper."
    )


def _draw_deit_and_swin() -> None:
    st.subheader("DeiT and Swin, trained on ImageNet-1k only", anchor=False)
    models = published_results.PAPER_MODELS
    coordinates = [
        (float(sum(parameter_count.multiply_adds(presets.PRESETS[m.preset].config, 224).values())), m.top1)
        for m in models
    ]
    points = [
        plots.Point(m.name, m.family, x, y, True, front, note=m.source)
        for m, (x, y), front in zip(models, coordinates, pareto(coordinates, FEWER_MORE), strict=True)
    ]
    axes = plots.Axis("multiply-adds at 224 px", "", True), plots.Axis("top-1 on ImageNet-1k", "%", False)
    draw_chart(plots.board_figure(points, *axes, selection.get_theme(), 340, 880), "which_model.beside")
    front = "; ".join(
        p.name for p in sorted(points, key=lambda p: p.x) if p.front
    )  # Names may contain commas.
    page.caption(
        f"No model is both cheaper and better than these: {front}. Accuracies are cited, multiply-adds are"
        " counted by this project."
    )
