"""Match the patches of two images by the cosine similarity of their tokens."""

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.controls import downloads, widgets
from pages.frame import image_sets, page
from pages.lenses.two_images import captions, pair_controls
from pages.lenses.two_images.image_pair import ImagePair, MatchedPair, has_start
from pages.lenses.two_images.pair_controls import Foreground
from pages.selection import selection
from pages.views.register import register
from vitviz.analysis import token_similarity
from vitviz.pin import Pin
from vitviz.plots import image_pair as plots
from vitviz.probe.capture import limit_pools

_view = register(__file__, "match", "match", "../../views/heat_grid")
VIEW = "two_images.match"
FIRST_LINES, MOST_LINES = 8, 64


def draw(pair: ImagePair, row: DeltaGenerator) -> None:
    with row:
        layer = pair_controls.choose_layer(pair)
        before, lines, centred, foreground = _read_controls(pair)
    shown = pair.before_training() if before else pair
    page.untrained_note(shown.model.trained_on)
    matched = match_layer(shown, layer, centred, foreground)
    if len(matched.matches):  # until the user pins a patch, the strongest pair is shown
        selection.set_default_pin(Pin.of_cell(pair.first.grid(layer), int(matched.matches.first[0])))
    _view(
        build_message(shown, layer, matched, lines),
        key=VIEW,
        triggers=("pin",),
        on_change=partial(selection.apply_click, VIEW),
    )
    other = None
    if pair.is_small and pair.subject.model.trained_on:
        other = match_layer(pair if before else pair.before_training(), layer, centred, foreground)
    page.caption(
        captions.describe_matches(shown, layer, matched, other, before=before) + foreground.describe()
    )
    describe = partial(captions.describe_measured_matches, layer=layer, layer_title=pair.layers[layer].phrase)
    image_sets.draw("matches", pair.subject.model, describe, "these two images")
    page.findings("two_images.match", is_open=True)
    page.drawers(
        "two_images.match",
        math=page.read_math(__file__),
        code=(token_similarity.cosines_between, token_similarity.find_mutual_neighbours),
        call=lambda: pair.layers[layer].write_call(),
        numbers=partial(draw_numbers, shown, layer, matched),
    )


def _read_controls(pair: ImagePair) -> tuple[bool, int, bool, Foreground]:
    untrained = pair.subject.model.trained_on is None
    with page.options("two_images.match"):
        lines = widgets.slider(
            "two_images.lines",
            "Lines",
            0,
            MOST_LINES,
            FIRST_LINES,
            help="Mutual nearest neighbours by rank: first the most similar ones in rows that are apart.",
        )
        before = widgets.toggle(
            "two_images.before",
            "Before training" if has_start(pair.subject.choice) else "Random weights",
            why_not="This model is not trained." if untrained else None,
        )
        centred = widgets.toggle(
            "two_images.centred",
            "Subtract the mean token",
            True,
            help="Removes the component that all tokens of both images share.",
        )
        # A photo's background is often uniform: all of its patches are each other's best matches.
        foreground = pair_controls.choose_foreground(pair, "off" if pair.is_small else "component")
    pair_controls.draw_own_image()
    return before and not untrained, int(lines), centred, foreground


def match_layer(pair: ImagePair, layer: int, centred: bool, foreground: Foreground) -> MatchedPair:
    """Return the cosines between both images' patches, and the mutual nearest neighbours on the foreground."""
    first, second = pair.images
    with limit_pools(1 if pair.is_small else None):
        cosines = token_similarity.cosines_between(
            first.flat(layer), second.flat(layer), without_mean=centred
        )
    masks = [image.foreground(foreground.method, foreground.share, layer).ravel() for image in pair.images]
    matches = token_similarity.find_mutual_neighbours(cosines, *masks)
    return MatchedPair(cosines, matches, int(masks[0].sum()))


def build_message(pair: ImagePair, layer: int, matched: MatchedPair, lines: int) -> bytes:
    """Pack both images and the cosines of a layer."""
    matches, apart = token_similarity.spread_matches(
        matched.matches, pair.first.grid(layer), pair.second.grid(layer)
    )
    return plots.pack_matches(
        (pair.first.title, pair.second.title),
        (pair.first.photo, pair.second.photo),
        str(selection.get_current().pin),
        (pair.first.grid(layer), pair.second.grid(layer)),
        layer,
        cosines=matched.cosines,
        matches=matches,
        count=min(lines, apart) if lines == FIRST_LINES else lines,  # until more are asked for
    )


def draw_numbers(pair: ImagePair, layer: int, matched: MatchedPair) -> None:
    matches, (first, second) = matched.matches, (pair.first.grid(layer), pair.second.grid(layer))
    columns: dict[str, list[object]] = {
        "row": (matches.first // first[1] + 1).tolist(),
        "column": (matches.first % first[1] + 1).tolist(),
        "row in the second": (matches.second // second[1] + 1).tolist(),
        "column in the second": (matches.second % second[1] + 1).tolist(),
        "cosine": matches.cosines.tolist(),
    }
    st.dataframe(columns, hide_index=True)
    downloads.csv("Mutual neighbours (CSV)", columns, "mutual_neighbours.csv", "two_images.csv.match")
