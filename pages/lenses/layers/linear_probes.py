"""Draw the accuracy of linear probes for the class and for token positions, at every layer of both models."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import downloads
from pages.frame import page
from pages.lenses.layers import dataset_task, layer_controls
from pages.selection import selection
from pages.selection.subject import Subject
from pages.stores import published_weights
from pages.views.figures import draw_chart
from vitviz.analysis import probes as analysis
from vitviz.csv_table import columns_of_rows
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import layers as plots
from vitviz.probe.capture import capture
from vitviz.probe.layers import LayerOutput, stream_layer_outputs
from vitviz.text import percent, signed

MOST, USUAL = 1000, 256
PLACE_IMAGES = 96  # in the position probe; each contributes up to 64 tokens
TOLERANCE = 0.02
SOURCES = {"mean": "the mean over positions", "cls": "[CLS]"}


@dataclass(frozen=True, eq=False)
class ProbeResults:
    """The probes of one model, layer by layer.

    Attributes:
        classes: the class accuracy of each layer, by the features it is read from: 'mean' or 'cls'.
        places: R² of the token positions, by layer.
        head: the accuracy of the model's own classifier head; None if its classes are not the dataset's.
    """

    classes: dict[str, list[analysis.ProbeScore]]
    places: list[analysis.ProbeScore]
    head: analysis.ProbeScore | None

    @property
    def main_source(self) -> str:
        """The key of `classes` that is reported first: [CLS] if the model has one."""
        return "cls" if "cls" in self.classes else "mean"

    def near_best(self) -> list[int]:
        """Return the layers that may be the first within `TOLERANCE` of the best."""
        return analysis.layers_near_best(self.classes[self.main_source], TOLERANCE)

    def shares(self, features: str = "") -> NDArray[np.float64]:
        """Return (layers,), the accuracy from some features, by default `main_source`."""
        return np.array([accuracy.share for accuracy in self.classes[features or self.main_source]])


def draw(current: Subject) -> None:
    if reason := published_weights.explain_no_classes(current.choice.key):
        st.info(reason, icon=":material/block:")
        return
    with page.row():
        other = layer_controls.choose_other(current)
        with st.container(width="content"), page.options("layers.probe"):
            subset = dataset_task.choose_images((current, other), MOST, USUAL, labelled=True)
    pair = (current, other)
    probes = dataset_task.measure_models("probe", pair, subset, fit_probes, "Fitting the probes")
    if probes is None:
        return
    stage = st.container()  # the picture stands above its question
    revealed = _ask_first_layer(current, probes[0])
    with stage:
        draw_figures(pair, probes, subset, revealed)
    page.caption(describe_probes(pair, probes, subset, revealed))
    page.findings("layers.probe")
    page.drawers(
        "layers.probe",
        math=page.read_math(__file__),
        code=(analysis.class_probe, analysis.place_probe),
        numbers=partial(draw_numbers, pair, probes) if revealed else None,
    )


def fit_probes(model: LoadedModel, subset: dataset_task.ImageSubset) -> Generator[float, None, ProbeResults]:
    """Run the model, then fit both probes layer by layer, yielding the completed share."""
    images, dataset = subset.prepare_images(model), subset.dataset
    labels = dataset.labels_of("test")[: subset.count]
    features: list[list[dict[str, analysis.FloatArray]]] = []
    maps: list[list[analysis.FloatArray]] = []
    for layers in stream_layer_outputs(model, images, dataset_task.BATCH):
        features.append([_collect_features(layer, model) for layer in layers])
        if len(maps) * dataset_task.BATCH < PLACE_IMAGES:
            maps.append([layer.places for layer in layers])
        yield 0.4 * len(features) * dataset_task.BATCH / (len(images) + dataset_task.BATCH)
    classes: dict[str, list[analysis.ProbeScore]] = {name: [] for name in features[0][0]}
    places, count = [], len(features[0])
    for layer in range(count):
        for name, accuracies in classes.items():
            rows = np.concatenate([batch[layer][name] for batch in features])
            accuracies.append(analysis.class_probe(rows, labels))
            yield 0.4 + 0.6 * (layer + 0.5) / count
        grids = np.concatenate([batch[layer] for batch in maps])
        places.append(analysis.place_probe(grids))
        yield 0.4 + 0.6 * (layer + 1) / count
    return ProbeResults(classes, places, _measure_head(model, images, labels, dataset.classes))


def _collect_features(layer: LayerOutput, model: LoadedModel) -> dict[str, analysis.FloatArray]:
    """Return (B, D) features by name."""
    features: dict[str, analysis.FloatArray] = {"mean": layer.mean}
    if "cls" in getattr(model.config, "prefix_tokens", ()):
        features["cls"] = layer.prefix[:, 0]
    return features


def _measure_head(
    model: LoadedModel, images: NDArray[np.float32], labels: NDArray[np.int64], classes: tuple[str, ...]
) -> analysis.ProbeScore | None:
    """Return the accuracy of the model's classifier head; None if its classes are not the dataset's."""
    if model.trained_on is None or model.classes != classes:
        return None
    predicted = capture(model.model, images, ("logits",)).logits.argmax(axis=1)
    return analysis.ProbeScore(float((predicted == labels).mean()), len(labels))


def draw_figures(
    pair: Sequence[Subject], probes: Sequence[ProbeResults], subset: dataset_task.ImageSubset, revealed: bool
) -> None:
    """Draw the class accuracy on the left, without the current model until revealed, and R² on the right."""
    families = [model.model.config.family for model in pair]
    titles = [[layer.title for layer in model.layers] for model in pair]
    classes = [
        plots.LayerLine(
            f"{model.title}, {SOURCES[features]}",
            layers,
            fitted.shares(features).tolist(),
            row,
            errors=[accuracy.half_width for accuracy in accuracies],
            head_value=fitted.head.share
            if fitted.head is not None and features == fitted.main_source
            else None,
            sample=_describe_sample(accuracies[0]),
        )
        for row, (model, layers, fitted) in enumerate(zip(pair, titles, probes, strict=True))
        for features, accuracies in fitted.classes.items()
        if revealed or row
    ]
    places = [
        plots.LayerLine(
            model.title,
            layers,
            [place.share for place in fitted.places],
            row,
            errors=[place.half_width for place in fitted.places],
            sample=_describe_sample(fitted.places[0]),
        )
        for row, (model, layers, fitted) in enumerate(zip(pair, titles, probes, strict=True))
    ]
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Accuracy of class probes** (dashed: the model's classifier head)")
        figure = plots.over_depth_figure(
            classes, families, "accuracy", 1 / len(subset.dataset.classes), selection.get_theme(), share=True
        )
        draw_chart(figure, "layers.probe_class")
    with right:
        st.markdown("**R² of position probes** (1: predicted exactly, 0: not at all)")
        figure = plots.over_depth_figure(
            places, families, "R² of row and column", 0.0, selection.get_theme(), share=False
        )
        draw_chart(figure, "layers.probe_place")


def describe_probes(
    pair: Sequence[Subject], probes: Sequence[ProbeResults], subset: dataset_task.ImageSubset, revealed: bool
) -> str:
    """Return a caption on the first and last layer of each model, and on the standard error."""
    sentences = []
    for row, (model, fitted) in enumerate(zip(pair, probes, strict=True)):
        classes = f"{_describe_classes(model, fitted)}. " if revealed or row else ""
        first, last = fitted.places[0].share, fitted.places[-1].share
        trend = (
            f"Position of a patch, read from its token: R² {signed(first)} in the first layer,"
            f" {signed(last)} in the last (1: exact)."
        )
        sentences.append(f"{model.safe_title}: {classes}{trend}")
    if not revealed:
        sentences.append(f"Predict to see the class accuracy of {pair[0].safe_title}.")
    widths = [
        accuracy.half_width for fitted in probes for part in fitted.classes.values() for accuracy in part
    ]
    return (
        f"{' '.join(sentences)} Mean of {analysis.SPLITS} splits of {subset.title} into {analysis.FOLDS} parts; bars:"
        f" 95 % intervals over the images, at most ± {100 * max(widths):.1f} points of accuracy."
    )


def _describe_sample(accuracy: analysis.ProbeScore) -> str:
    return f"{analysis.SPLITS} splits of {accuracy.count} images"


def _describe_classes(model: Subject, fitted: ProbeResults) -> str:
    titles, shares = [layer.title for layer in model.layers], fitted.shares()
    near = [model.layers[layer].phrase for layer in fitted.near_best()]
    first = f"{near[0]} is the first" if len(near) == 1 else f"{near[0]} to {near[-1]} may be the first"
    text = (
        f"accuracy {_format_range(shares, titles)} from {SOURCES[fitted.main_source]},"
        f" where {first} within {100 * TOLERANCE:.0f} points of the best"
    )
    if fitted.main_source != "cls":
        return text
    return f"{text}; {_format_range(fitted.shares('mean'), titles)} from {SOURCES['mean']}"


def _format_range(shares: NDArray[np.float64], titles: Sequence[str]) -> str:
    return f"{percent(shares[0], 0)} ({titles[0]}) to {percent(shares[-1], 0)} ({titles[-1]})"


def _ask_first_layer(model: Subject, fitted: ProbeResults) -> bool:
    """Ask from which layer on the class can be read; return True if the current model's line may be shown."""
    shares, layer_options = fitted.shares(), layer_controls.LayerOptions(model.layers)

    near = fitted.near_best()
    several = " The images do not tell these layers apart; each counts as correct." if len(near) > 1 else ""
    answer = layer_options.find_option(
        near,
        f"Accuracy in {model.layers[near[-1]].phrase}: {percent(float(shares[near[-1]]))}; best layer:"
        f" {percent(float(shares.max()))}; first layer: {percent(float(shares[0]))}.{several}",
    )
    prompt = (
        f"In which layer of {model.title} does a class probe of {SOURCES[fitted.main_source]} first come within"
        f" {100 * TOLERANCE:.0f} points of its best accuracy?"
    )
    return layer_controls.ask_before_reveal("layers.probe_guess", prompt, layer_options.options, answer)


def draw_numbers(pair: Sequence[Subject], probes: Sequence[ProbeResults]) -> None:
    rows = [
        (
            model.title,
            layer.title,
            SOURCES[features],
            accuracy.share,
            accuracy.error,
            place.share,
            place.error,
        )
        for model, fitted in zip(pair, probes, strict=True)
        for features, accuracies in fitted.classes.items()
        for layer, accuracy, place in zip(model.layers, accuracies, fitted.places, strict=True)
    ]
    names = (
        "model",
        "layer",
        "features",
        "accuracy",
        "standard error",
        "R² of the position",
        "standard error of R²",
    )
    columns = columns_of_rows(names, rows)
    shares = dict.fromkeys(("accuracy", "standard error"), percent)
    st.dataframe(page.style_table(columns, shares), hide_index=True, placeholder=page.MISSING)
    downloads.csv("Probes (CSV)", columns, "layers_probes.csv", "layers.csv.probe")
