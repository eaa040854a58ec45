"""Probe: how well a linear map reads the class, and a token's own place, from every layer of both models."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.frame import page
from pages.lenses.layers import image_set, model_pair, papers, prediction, set_computation
from pages.lenses.layers.image_set import Seen
from pages.lenses.layers.model_pair import Side
from pages.selection import selection
from vitviz.analysis import probes as analysis
from vitviz.analysis.probes import Accuracy, FloatArray
from vitviz.lessons.question_kinds import Measured
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import probes as plots
from vitviz.plots.probes import Line
from vitviz.probe.capture import capture
from vitviz.probe.layers import Said, stream
from vitviz.text import percent, plural, signed

MOST, USUAL = 1000, 256
TESTED = 1 / 3  # of the pictures whose places are read are kept apart for the test
PLACED = 96  # pictures whose tokens are asked for their place: each brings up to 64 of them
NEAR = 0.02
READ = {"mean": "the mean of its places", "cls": "[CLS]"}


@dataclass(frozen=True, eq=False)
class Probed:
    """One model's layers: accuracy of the class, R² of the place, and what its own head gets right, if it can.

    classes: by what is read, 'mean' or 'cls', an accuracy a layer.
    """

    classes: dict[str, list[Accuracy]]
    places: list[float]
    own: Accuracy | None

    @property
    def read(self) -> str:
        """Which of `classes` is named first: [CLS], where there is one."""
        return "cls" if "cls" in self.classes else "mean"

    def shares(self, read: str = "") -> NDArray[np.float64]:
        """(layers,), by default of what is named first."""
        return np.array([accuracy.share for accuracy in self.classes[read or self.read]])


def draw(one: Side) -> None:
    """The section."""
    papers.ask(
        "A linear map is fitted to every layer, with other pictures than those it is tested on. How early is the class"
        " there to be read, and how long does a token know its place?"
    )
    with page.row():
        with st.container(width=230):
            other = model_pair.beside(one)
        with st.container(width="content"), page.options("layers.probe"):
            seen = image_set.choose((one, other), MOST, USUAL, labelled=True)
    both = (one, other)
    wanted = [
        set_computation.task(("probe", side.known, seen), partial(probe, side.now.model, seen))
        for side in both
    ]
    found = set_computation.results(
        wanted, f"Fitting {plural(sum(len(s.layers) for s in both), 'layer')} over {seen.title}"
    )
    if found is None:
        return
    answered = _guessed(one, found[0])
    draw_figures(both, found, seen, answered)
    page.caption(describe(both, found, seen, answered))
    papers.say("probe")
    page.drawers(
        "layers.probe",
        math=MATHEMATICS,
        code=(analysis.class_probe, analysis.place_probe),
        numbers=partial(numbers, both, found) if answered else None,
    )


def probe(model: LoadedModel, seen: Seen) -> Generator[float, None, Probed]:
    """Runs the model, then fits both probes layer by layer."""
    images, data = seen.images(model), seen.data
    labels = data.labels_of("test")[: seen.count]
    features: list[list[dict[str, FloatArray]]] = []
    maps: list[list[FloatArray]] = []
    for said in stream(model, images, image_set.BATCH):
        features.append([_read(layer, model) for layer in said])
        if len(maps) * image_set.BATCH < PLACED:
            maps.append([layer.places for layer in said])
        yield 0.4 * len(features) * image_set.BATCH / (len(images) + image_set.BATCH)
    classes: dict[str, list[Accuracy]] = {read: [] for read in features[0][0]}
    places, count = [], len(features[0])
    for layer in range(count):
        for read, found in classes.items():
            rows = np.concatenate([part[layer][read] for part in features])
            found.append(analysis.class_probe(rows, labels))
            yield 0.4 + 0.6 * (layer + 0.5) / count
        grids = np.concatenate([part[layer] for part in maps])
        kept = max(1, round(TESTED * len(grids)))
        places.append(analysis.place_probe(grids[kept:], grids[:kept]))
        yield 0.4 + 0.6 * (layer + 1) / count
    return Probed(classes, places, _own(model, images, labels, data.classes))


def _read(said: Said, model: LoadedModel) -> dict[str, FloatArray]:
    """(B, D) by what is read."""
    found: dict[str, FloatArray] = {"mean": said.mean}
    if "cls" in getattr(model.config, "prefix_tokens", ()):
        found["cls"] = said.prefix[:, 0]
    return found


def _own(
    model: LoadedModel, images: NDArray[np.float32], labels: NDArray[np.int64], classes: tuple[str, ...]
) -> Accuracy | None:
    """What the model's own head gets right, where its classes are the set's."""
    if model.trained_on is None or model.classes != classes:
        return None
    answers = capture(model.model, images, ("logits",)).logits.argmax(axis=1)
    return Accuracy(float((answers == labels).mean()), len(labels))


def draw_figures(both: Sequence[Side], found: Sequence[Probed], seen: Seen, answered: bool) -> None:
    """The class left, of the sidebar's model once that was guessed; the place right."""
    titles = [[layer.title for layer in side.layers] for side in both]
    classes = [
        Line(
            f"{side.title}, {READ[read]}",
            layers,
            one.shares(read).tolist(),
            row,
            [accuracy.error for accuracy in accuracies],
            one.own.share if one.own is not None and read == one.read else None,
        )
        for row, (side, layers, one) in enumerate(zip(both, titles, found, strict=True))
        for read, accuracies in one.classes.items()
        if answered or row
    ]
    places = [
        Line(side.title, layers, one.places, row)
        for row, (side, layers, one) in enumerate(zip(both, titles, found, strict=True))
    ]
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**The class**; dashed: what the model's own head gets right")
        drawn = plots.over_depth_figure(
            classes, "pictures read right", 1 / len(seen.data.classes), selection.mode(), share=True
        )
        page.figure(drawn, "layers.probe_class")
    with right:
        st.markdown("**A token's own place**; 1: known, 0: not at all")
        drawn = plots.over_depth_figure(places, "R² of row and column", 0.0, selection.mode(), share=False)
        page.figure(drawn, "layers.probe_place")


def describe(both: Sequence[Side], found: Sequence[Probed], seen: Seen, answered: bool) -> str:
    """First and last layer of each model, by class and by place, from where on the class is there, and the sizes."""
    said = []
    for place, (side, one) in enumerate(zip(both, found, strict=True)):
        moves = f"of a token's place goes from {signed(one.places[0])} to {signed(one.places[-1])}."
        said.append(f"{side.shown}: {f'{_read_from(side, one)}. ' if answered or place else ''}R² {moves}")
    if not answered:
        said.append(f"A guess shows how the class is read from {both[0].shown}.")
    errors = [accuracy.error for one in found for part in one.classes.values() for accuracy in part]
    return (
        f"{' '.join(said)} Over {seen.title}, each read by a map that was fitted to others; one standard error, the"
        f" bars, is at most {100 * max(errors):.1f} points."
    )


def _read_from(side: Side, one: Probed) -> str:
    titles, shares = [layer.title for layer in side.layers], one.shares()
    near = side.layers[analysis.first_near_best(shares, NEAR)].said
    text = f"a linear map reads {_ends(shares, titles)} of the pictures right from {READ[one.read]}"
    if one.read == "cls":
        text += f", {_ends(one.shares('mean'), titles)} from {READ['mean']}"
    return f"{text}; {near} is the first within {100 * NEAR:.0f} points of the best"


def _ends(shares: NDArray[np.float64], titles: Sequence[str]) -> str:
    return f"{percent(shares[0], 0)} ({titles[0]}) to {percent(shares[-1], 0)} ({titles[-1]})"


def _guessed(one: Side, own: Probed) -> bool:
    """Asks where the class is there to be read; whether the sidebar's model's line may be shown."""
    shares, spans = own.shares(), prediction.Spans(one.layers)

    def answer() -> Measured:
        near = analysis.first_near_best(shares, NEAR)
        return spans.of(
            [near],
            f"In {one.layers[near].said} {percent(float(shares[near]))} of the pictures are read right; the best layer"
            f" reads {percent(float(shares.max()))}, the first {percent(float(shares[0]))}.",
        )

    prompt = (
        f"Which is the first layer of {one.title} that comes within {100 * NEAR:.0f} points of its best, the class read"
        f" from {READ[own.read]}?"
    )
    return prediction.first("probe_guess", prompt, spans.options, answer)


def numbers(both: Sequence[Side], found: Sequence[Probed]) -> None:
    """Every layer's accuracy with its error, and R² of the place."""
    columns: dict[str, list[object]] = {
        name: [] for name in ("model", "layer", "read from", "accuracy", "standard error", "R² of the place")
    }
    for side, one in zip(both, found, strict=True):
        for read, accuracies in one.classes.items():
            for layer, accuracy, place in zip(side.layers, accuracies, one.places, strict=True):
                values = (side.title, layer.title, READ[read], accuracy.share, accuracy.error, place)
                for name, value in zip(columns, values, strict=True):
                    columns[name].append(value)
    shares = dict.fromkeys(("accuracy", "standard error"), percent)
    st.dataframe(page.styled(columns, shares), hide_index=True, placeholder=page.MISSING)
    page.csv("Probes (CSV)", columns, "layers_probes.csv", "layers.csv.probe")


MATHEMATICS = r"""
$$
\hat y = \arg\max_k\,(W z + b)_k,\qquad
\min_{W, b}\ \sum_i -\log p_{y_i}(z_i) + \frac{1}{2C}\lVert W\rVert^2,\qquad
R^2 = 1 - \frac{\sum (y - \hat y)^2}{\sum (y - \bar y)^2}
$$

**The class** is read by a logistic regression (scikit-learn, $C = 0.1$, features brought to mean 0 and variance 1) from
one vector a picture: the mean over places, and [CLS] where there is one. The pictures are parted in three; each third
is read by a map fitted to the other two. No shipped model learned from any of them. A linear map
cannot make up for what a layer has not yet sorted out, so it says what *is there to be read*,
not what the model uses. **The place** is a token's row and column, read by a ridge regression from single tokens (at
most 64 a picture) of up to 96 pictures, a third of them kept for the test. A CNN is given no positions: what its places
know of them comes from the zeros around the picture (Islam, Jia and Bruce 2020).
"""
