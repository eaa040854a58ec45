"""Principal components of filters of several models through training, and the image reconstructed from the first k."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st

from pages.classroom import class_question
from pages.controls import downloads, widgets
from pages.frame import page
from pages.lenses.filters import captions, sources
from pages.selection import selection
from pages.stores import parameter_history, registry, shared_cache
from pages.stores.model_choice import ModelChoice
from pages.views.register import register
from vitviz.analysis import filters
from vitviz.analysis.filters import FloatArray, Rebuilding
from vitviz.config import Preparation
from vitviz.csv_table import Columns, columns_of
from vitviz.lessons import lesson, weight_measures
from vitviz.models.abilities import abilities, as_cut
from vitviz.plots import filters as plots
from vitviz.text import plain

mount_tiles = register(__file__, "tiles_view")
_mount_reconstruction = register(__file__, "rebuild_view")
COLUMNS = 7
MAX_COMPONENTS = 96  # in a reconstruction: more would make the message unreasonably large
_compute_components = shared_cache.shared(max_entries=48)(filters.components_over_time)
COUNTS = (4, 7, 14, 28, 42, 56, 70, 84)
NOTHING = "nothing"
KINDS = {"components": "Components", "raw": "Raw filters", "change": "Learned change"}


@dataclass(frozen=True)
class FilterControls:
    """The kind and number of tiles, and the compared models (keys of models, or NOTHING)."""

    kind: str
    beside: str
    cnn: str
    count: int
    grey: bool


def draw() -> None:
    choice = selection.get_model_choice()
    controls = draw_controls()
    main, models = load_models(controls)
    if not sources.cuts_patches(choice.config):
        st.info(
            "This model has no patch embedding: shown are the 3 × 3 filters of its first convolution.",
            icon=":material/filter_alt:",
        )
    page.untrained_note(choice.trained_on)
    frame, histories = parameter_history.share_slider([model.history for model in models], main.history)
    models = [replace(model, history=history) for model, history in zip(models, histories, strict=True)]
    word = "filter" if controls.kind == "raw" else "component"
    summed = not class_question.is_hidden(weight_measures.ExplainedVariance())
    data = _load_patches(choice) if controls.kind == "components" else None
    why = ""
    if data is not None:
        look, patches = (
            sources.measure_smoothness(_average_channels(maps, controls.grey))
            for maps in (main.history.selected, data[1])
        )
        why = captions.explain_smoothness(look, patches, data[0])
    sheets = [_create_sheet(model, controls) for model in models]
    if data is not None:
        sheets.insert(1, _create_data_sheet(*data, controls))
    payload = plots.tiles(sheets, COLUMNS, frame, word, summed=summed)
    mount_tiles(payload, key="filters.tiles")
    sentences = [_describe_model(model, controls.grey) for model in models]
    if any(len(history.values) > 1 for history in histories):
        sentences.append("These numbers do not change while the training plays.")
    notes = dict.fromkeys(history.note for history in histories if history.note)
    page.caption(" ".join((*sentences, captions.describe_tile(word), *notes)), why)
    page.drawers(
        "filters.components",
        math=page.read_math(__file__),
        code=(filters.principal_components, filters.align_signs),
        numbers=partial(_draw_downloads, models, controls),
        ask=lesson.Question(
            "What share of the variance do the first five components explain?",
            weight_measures.ExplainedVariance(),
        ),
    )


def _average_channels(weights: filters.FloatArray, grey: bool) -> filters.FloatArray:
    return weights.mean(axis=1, keepdims=True) if grey else weights


def _create_sheet(model: sources.FilterHistory, controls: FilterControls) -> plots.Sheet:
    weights = [_average_channels(snapshot, controls.grey) for snapshot in model.history.values]
    training = model.history.training
    if controls.kind == "raw":
        maps = np.stack([snapshot[: controls.count] for snapshot in weights])
        return plots.Sheet(model.title, model.note, maps, training=training)
    maps, shares = _compute_components(weights, controls.count)
    sentences = [captions.describe_shares(share) for share in shares]
    return plots.Sheet(model.title, model.note, maps, shares, sentences, training)


def _describe_model(model: sources.FilterHistory, grey: bool) -> str:
    weights = _average_channels(model.history.selected, grey)
    look = sources.measure_smoothness(weights)
    first_share, random_share = 0.0, 1.0
    if model.trained and look.head >= filters.NOISY:  # only then does the sentence name them
        first_share = sources.measure_first_share(weights)
        random_share = sources.measure_random_share(weights.shape)
    return captions.describe_filters(model, look, first_share, random_share)


def _load_patches(choice: ModelChoice) -> tuple[str, filters.FloatArray] | None:
    """Return the title and the patches of images like a model's, if its first components are smoother than noise."""
    if choice.trained_on is None or not sources.cuts_patches(choice.config):
        return None
    weights = sources.load_filters(choice, selection.get_current().step).history.selected
    if sources.measure_smoothness(weights).head >= filters.NOISY:
        return None
    return sources.load_patches(choice)


def _create_data_sheet(title: str, patches: filters.FloatArray, controls: FilterControls) -> plots.Sheet:
    maps, shares = _compute_components([_average_channels(patches, controls.grey)], controls.count)
    note = f"no model: main patterns of {len(patches):,} patches (PCA)"
    return plots.Sheet(title, note, maps, shares, [captions.describe_shares(shares[0])])


def _draw_downloads(models: list[sources.FilterHistory], controls: FilterControls) -> None:
    for index, model in enumerate(models):
        weights = model.history.selected
        components = filters.principal_components(_average_channels(weights, controls.grey), controls.count)
        st.markdown(f"**{plain(model.title)}** · {plain(model.note)} {model.history.moment}")
        page.shapes(E=weights.shape, components=components.maps.shape)
        with st.container(horizontal=True):
            downloads.csv(
                "Components (CSV)",
                _list_rows("component", components.maps, {"share of variance": components.explained}),
                f"components_{index + 1}.csv",
                f"filters.csv_components{index}",
            )
            downloads.csv(
                "Raw filters (CSV)",
                _list_rows("filter", weights, {}),
                f"filters_{index + 1}.csv",
                f"filters.csv_raw{index}",
            )


def _list_rows(name: str, maps: filters.FloatArray, more: Columns) -> Columns:
    """Return one row per map (C, P, P), counted from 1."""
    flat = maps.reshape(len(maps), -1)
    weights = columns_of(flat, [f"w{i}" for i in range(flat.shape[1])])
    return {name: range(1, len(flat) + 1)} | dict(more) | weights


def draw_controls() -> FilterControls:
    model = selection.get_model_choice()
    with page.row():
        with st.container(width="content"):
            kind = _draw_kind(model)
        with page.options("filters"):
            others = {
                key: other
                for key, other in selection.list_models().items()
                if key != model.key and abilities(other.config).filters
            }
            beside, cnn = _draw_second_model(others), _draw_cnn(others)
            count = widgets.select("filters.count", "Number of tiles", COUNTS, 28)
            one_channel = getattr(model.config, "in_chans", 3) == 1
            grey = widgets.toggle(
                "filters.grey",
                "Average the channels (grey)",
                why_not="This model has only one channel." if one_channel else None,
            )
    return FilterControls(kind, beside, cnn, count, grey)


def _draw_kind(model: ModelChoice) -> str:
    return widgets.segmented(
        "filters.kind",
        "Tiles",
        {kind: title for kind, title in KINDS.items() if kind != "change" or len(model.steps) > 1},
        help="Learned change: components of the difference between E and its first snapshot.",
    )


def _draw_second_model(others: Mapping[str, ModelChoice]) -> str:
    titles = {NOTHING: "None"} | {
        key: model.title
        for key, model in others.items()
        if model.trained_on is not None and model.config.kind != "cnn"
    }
    default = _choose_second_model(others, tuple(titles))
    return widgets.select("filters.beside", "Second model", titles, default)


def _choose_second_model(others: Mapping[str, ModelChoice], keys: tuple[str, ...]) -> str:
    """Return the first of: pretrained weights, the page's default, a model of colour images, NOTHING."""
    pretrained = [key for key in keys if key.startswith("pretrained:") and "@" not in key]  # no larger twins
    clear = [key for key in keys if key == f"checkpoint:{registry.BY_SLUG['filters'].default}"]
    colour = [key for key in keys if key in others and others[key].preparation.in_chans == 3]
    return next(iter((*pretrained, *clear, *colour)), NOTHING)


def _draw_cnn(others: Mapping[str, ModelChoice]) -> str:
    cnns = {key: model for key, model in others.items() if model.config.kind == "cnn"}
    trained = [key for key, model in cnns.items() if model.trained_on is not None]
    titles = {NOTHING: "None"} | {
        key: model.title if key in trained else f"{model.title} (untrained)" for key, model in cnns.items()
    }
    default = next(iter((*trained, *cnns)), NOTHING)
    return widgets.select("filters.cnn", "CNN to compare", titles, default)


def load_models(controls: FilterControls) -> tuple[sources.FilterHistory, list[sources.FilterHistory]]:
    """Load the sidebar's model, and all models in the order in which they are shown."""
    choice, models = selection.get_model_choice(), selection.list_models()
    main = sources.load_filters(choice, selection.get_current().step)
    compared = [
        sources.load_filters(models[key], None) for key in (controls.beside, controls.cnn) if key != NOTHING
    ]
    trained = [main, *compared]
    if controls.kind == "change":
        several = [model for model in trained if len(model.history.values) > 1]
        return sources.subtract_first_snapshot(main), list(map(sources.subtract_first_snapshot, several))
    if choice.trained_on is None:
        return main, trained
    return main, [main, sources.create_random_filters(choice.config), *compared]


def draw_reconstruction() -> None:
    choice, nouns = selection.get_model_choice(), selection.get_current()
    config = as_cut(choice.config)
    page.untrained_note(choice.trained_on)
    prepared = selection.prepare_image(choice.preparation)
    weights = sources.load_filters(choice, nouns.step).history.selected
    weights_id = shared_cache.identify_weights(choice, nouns.step)
    model, optimal, cosines = _reconstruct(weights_id, choice.preparation, nouns.image, nouns.offset, weights)
    rows, cols = (side // config.patch_size for side in config.image_shape)
    payload = plots.rebuilding(
        shown=prepared.shown,
        patch_px=config.patch_size,
        rebuilt=[
            ("Components of E", "of this model", model),
            ("PCA of these patches", "the optimal basis", optimal),
            ("DCT", "cosine waves, as in JPEG", cosines),
        ],
        scale=np.array(choice.preparation.std),
        shift=np.array(choice.preparation.mean),
        k=min(8, len(model.basis)),
        patch=nouns.pin.cell((rows, cols)),
    )
    _mount_reconstruction(payload, key="filters.rebuild")
    page.caption(f"{captions.describe_reconstruction(model, optimal, cosines)} {captions.E_DEFINITION}.")
    page.shapes(patches=(rows * cols, *model.basis.shape[1:]), E=weights.shape)
    page.drawers(
        "filters.express",
        math=page.read_math(__file__, section="reconstruction"),
        code=(filters.rebuild_patches, filters.dct_basis),
    )


@shared_cache.per_image(shared=16, upload=4)
def _reconstruct(
    weights_id: str, preparation: Preparation, image: str, offset: shared_cache.Offset, _weights: FloatArray
) -> tuple[Rebuilding, Rebuilding, Rebuilding]:
    """Reconstruct the image with the components of E, the patches' own components and the DCT.

    Args:
        weights_id: identifies `_weights` in the cache.
        preparation, image, offset: of the image.
        _weights: (D, C, P, P).
    """
    channels, patch_px = _weights.shape[1], _weights.shape[2]
    scale = 255 * np.array(preparation.std)
    patches = filters.cut_patches(shared_cache.prepare_image(image, preparation, offset).input, patch_px)
    bases = (
        filters.principal_components(_weights, MAX_COMPONENTS).maps,
        filters.principal_components(patches, MAX_COMPONENTS).maps,
        filters.dct_basis(channels, patch_px, MAX_COMPONENTS),
    )
    model, optimal, cosines = (filters.rebuild_patches(patches, basis, scale) for basis in bases)
    return model, optimal, cosines
