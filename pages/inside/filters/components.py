"""Principal components of E beside random, trained, other models' and a CNN's filters, through training."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from pages.inside.filters import sources
from pages.inside.filters.sources import Filters
from pages.inside.filters.tiles_view import tiles as tiles_view
from pages.shell import controls, nouns, page
from pages.stores import films
from vitviz.analysis import filters
from vitviz.config import CNNConfig
from vitviz.plots import filters as plots

COUNTS = (4, 7, 14, 28, 42, 56, 70, 84)
COLUMNS = 7
NOTHING = "nothing"
SMOOTH, NOISY = 0.5, 0.85  # of `roughness`: a slow wave is below the first, white noise about 1

MATH = r"""
$\mathbf{E} \in \mathbb{R}^{(P^2C) \times D}$ is a Conv2d weight $(D, C, P, P)$: $D$ filters of $C P^2$ weights.
With the $D$ filters as samples, centred, $X = U \Sigma V^\top$: row $i$ of $V^\top$, folded to
$(C, P, P)$, is principal component $i$, and
$\sigma_i^2 / \sum_j \sigma_j^2$ its share of the variance (Dosovitskiy et al. 2021, figure 7 left: the first 28).

Each tile is scaled by its own least and greatest value, so strong and weak components look alike: read the bars below
them. A component's sign is arbitrary; through training each is turned to agree with the frame before.
"""
TRY_THIS = """
1. **Predict first:** how much of the variance do the first 28 components of *random* weights hold? Of trained ones?
2. Press *Play*. Which comes first, the smooth components or the loss of the noise in the last ones?
3. Compare E with the CNN's first filters: how large is what each of them sees?
4. Choose *Raw filters*: can you see what the components show?
5. Where all looks like noise choose *Learned change*: what did training add to the noise that E started from?
"""


def draw() -> None:
    """The whole view: controls, sheets of tiles, caption, drawers."""
    choice = nouns.choice()
    kind, count, grey, others = _controls()
    main = sources.of(choice, nouns.current().step)
    models = [sources.random_twin(choice), main] if choice.trained_on is not None else [main]
    models += [sources.of(nouns.models()[key], None) for key in others]
    place = models.index(main)
    if kind == "change":
        models = [sources.change(model) for model in models[place:] if len(model.weights) > 1]
        main, place = models[0], 0
    raw = kind == "raw"
    sheets = [_sheet(model, raw, count, grey) for model in models]
    if not sources.has_embedding(choice.config):
        st.info(
            "This model does not cut patches: shown are the 3 × 3 filters of its first convolution.",
            icon=":material/filter_alt:",
        )
    page.untrained_note(choice.trained_on)
    word = "filter" if raw else "component"
    frame = films.shared_frame([(len(m.weights), m.frame) for m in (main, *models)])
    at = films.frames_at(frame, [len(model.weights) for model in models])
    models = [replace(model, frame=moment) for model, moment in zip(models, at, strict=True)]
    tiles_view(plots.tiles(sheets, COLUMNS, frame, word, place), key="filters.tiles")
    page.caption(" ".join(describe(model, grey) for model in models))
    page.drawers(
        "filters.components",
        math=MATH,
        code=(filters.principal_components, filters.align_signs),
        numbers=partial(_numbers, models, count, grey),
        try_this=TRY_THIS,
    )


def _controls() -> tuple[str, int, bool, list[str]]:
    choice = nouns.choice()
    kind_box, other_box, cnn_box, more = st.columns([2.7, 1.8, 1.8, 1.1], vertical_alignment="top")
    kinds = {"components": "Components", "raw": "Raw filters"}
    if len(choice.steps) > 1:
        kinds["change"] = "Learned change"
    with kind_box:
        kind = controls.segmented(
            "filters.kind",
            "Tiles",
            tuple(kinds),
            "components",
            format_func=kinds.__getitem__,
            help="Learned change: components of E minus E at the first step, so that the noise E started from"
            " does not hide what training wrote.",
        )
    others = {
        key: model
        for key, model in nouns.models().items()
        if key != choice.key and sources.parameter_name(model.config) is not None
    }
    cnns = {
        key: m.title if m.trained_on is not None else f"untrained: {m.title}"
        for key, m in others.items()
        if isinstance(m.config, CNNConfig)
    }
    trained = [key for key in cnns if others[key].trained_on is not None]
    embeddings = {
        key: m.title
        for key, m in others.items()
        if m.trained_on is not None and not isinstance(m.config, CNNConfig)
    }
    chosen = []
    with other_box:
        names = {NOTHING: "Nothing"} | embeddings
        chosen.append(
            controls.select(
                "filters.beside",
                "Another model",
                tuple(names),
                _best_other(tuple(embeddings)),
                format_func=names.__getitem__,
            )
        )
    with cnn_box:
        names_cnn = {NOTHING: "Nothing"} | cnns
        chosen.append(
            controls.select(
                "filters.cnn",
                "A CNN's first layer",
                tuple(names_cnn),
                next(iter((*trained, *cnns)), NOTHING),
                format_func=names_cnn.__getitem__,
            )
        )
    channels = getattr(choice.config, "in_chans", 3)
    beside = more.container(gap=None)
    beside.space(28)  # the height of a label, which a popover does not have
    with beside.popover("Tiles", width="stretch", icon=":material/tune:"):
        count = controls.select("filters.count", "How many tiles", COUNTS, 28)
        grey = controls.toggle(
            "filters.grey",
            "Grey: mean of the channels",
            disabled=channels == 1,
            help="This model reads grey pictures: it has one channel." if channels == 1 else None,
        )
    return kind, count, grey, [key for key in chosen if key != NOTHING]


def _best_other(keys: tuple[str, ...]) -> str:
    """Pretrained weights first; else a model of colour pictures, whose filters differ most; else nothing."""
    pretrained = [key for key in keys if key.startswith("pretrained:")]
    colour = [key for key in keys if getattr(nouns.models()[key].config, "in_chans", 1) == 3]
    return next(iter((*pretrained, *colour)), NOTHING)


def _shown(weights: np.ndarray, grey: bool) -> np.ndarray:
    return weights.mean(axis=1, keepdims=True) if grey else weights


def _sheet(model: Filters, raw: bool, count: int, grey: bool) -> plots.Sheet:
    weights = [_shown(moment, grey) for moment in model.weights]
    if raw:
        maps = np.stack([moment[:count] for moment in weights])
        return plots.Sheet(model.title, model.note, maps, None, model.moments, [""] * len(maps))
    maps, shares = _components(weights, count)
    told = [
        f"{len(share)} components hold {100 * share.sum():.0f} % of the variance, the first {100 * share[0]:.0f} %"
        for share in shares
    ]
    return plots.Sheet(model.title, model.note, maps, shares, model.moments, told)


@st.cache_data(max_entries=48, show_spinner=False)
def _components(weights: list[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    return filters.components_over_time(weights, count)


@st.cache_data(max_entries=64, show_spinner=False)
def _principal(weights: np.ndarray, count: int) -> filters.Components:
    return filters.principal_components(weights, count)


def describe(model: Filters, grey: bool) -> str:
    """What a model's components are like, from their numbers, and honest where training has left noise."""
    found = _principal(_shown(model.now, grey), 28)
    rough = filters.roughness(found.maps)
    head = float(np.average(rough[:7], weights=found.explained[:7] + 1e-12))
    tail = float(rough[-7:].mean())
    held = f"{len(found.maps)} components hold {100 * found.explained.sum():.0f} %"
    if head < SMOOTH:
        kind = f"the first are slow waves (roughness {head:.2f}; noise has about 1)"
        kind += ", the last are noise" if tail > NOISY else ", the last finer ones"
    elif head < NOISY:
        kind = (
            f"the first are smoother than noise, no clear waves yet (roughness {head:.2f}; noise has about 1)"
        )
    else:
        kind = f"no structure: as rough as noise ({head:.2f})"
    return f"**{model.title}**: {held}; {kind}."


def _numbers(models: list[Filters], count: int, grey: bool) -> None:
    for index, model in enumerate(models):
        found = _principal(_shown(model.now, grey), count)
        st.markdown(f"**{model.title}** · {model.note} {model.moments[model.frame]}")
        page.shapes(E=model.now.shape, components=found.maps.shape)
        left, right = st.columns(2)
        rows = np.column_stack([found.explained, found.maps.reshape(len(found.maps), -1)])
        left.download_button(
            "Components (CSV)",
            partial(_csv, rows, "component,share of variance"),
            f"components_{index + 1}.csv",
            "text/csv",
            key=f"filters.csv_components{index}",
            on_click="ignore",
            icon=":material/download:",
            width="stretch",
        )
        right.download_button(
            "Raw filters (CSV)",
            partial(_csv, model.now.reshape(len(model.now), -1), "filter"),
            f"filters_{index + 1}.csv",
            "text/csv",
            key=f"filters.csv_raw{index}",
            on_click="ignore",
            icon=":material/download:",
            width="stretch",
        )


def _csv(rows: np.ndarray, head: str) -> bytes:
    weights = rows.shape[1] - head.count(",")
    names = ",".join(f"w{i}" for i in range(weights))
    lines = (",".join([str(i + 1), *(f"{v:.6g}" for v in row)]) for i, row in enumerate(rows))
    return ("\n".join([f"{head},{names}", *lines]) + "\n").encode()
