"""Maps of all explanation methods side by side on the same image."""

from functools import partial

import numpy as np
import streamlit as st

from pages.controls import downloads
from pages.frame import image_sets, page
from pages.lenses.attention import map_controls
from pages.lenses.attention.captions import describe_maps, describe_measured_maps
from pages.lenses.attention.map_explorer import draw_prediction
from pages.selection import selection
from pages.selection.subject import CapturedSubject, Subject
from pages.stores import shared_cache
from pages.views.figures import draw_heat_grid
from vitviz.analysis import explanation_methods
from vitviz.analysis.explanation_methods import METHODS, compute_top_share
from vitviz.lessons import model_measures
from vitviz.lessons.lesson import Question
from vitviz.plots.attention_images import Drawn, attention_image, png
from vitviz.plots.heat_grid import pack_maps
from vitviz.probe import attention_lrp, explanation_maps
from vitviz.probe.image_sets import draw_untrained
from vitviz.text import percent

MethodMaps = dict[str, np.ndarray]


@shared_cache.per_image(shared=32, upload=8)
def compute_maps(subject: Subject, recipe: explanation_maps.Recipe, draw: int | None) -> MethodMaps:
    """Return a map (patches,) per method; by `draw`, of random weights for the same class."""
    model = subject.model if draw is None else draw_untrained(subject.model, draw)
    return explanation_maps.method_maps_of(model, subject.prepared.input, recipe)


def draw_panels(
    subject: CapturedSubject,
    maps: MethodMaps,
    background: map_controls.BackgroundControls,
    key: str,
    notes: list[str] | None = None,
) -> None:
    """Draw the maps side by side, with formulas and sources or with `notes`; a click pins a patch."""
    message = pack_maps(
        subject.ground(background.seen),
        np.stack(list(maps.values())),
        [METHODS[name].title for name in maps],
        subject.layout.grid,
        lines=[f"{METHODS[name].line}. {METHODS[name].source}." for name in maps] if notes is None else (),
        notes=notes or [f"top five: {percent(compute_top_share(m), 0)} of the sum" for m in maps.values()],
        style=background.map_style(subject),
    )
    draw_heat_grid(message, key=key, on_pin=partial(selection.apply_click, key))


def draw(subject: CapturedSubject) -> None:
    recipe, background = map_controls.read_method_controls(subject)
    maps = compute_maps(subject, recipe, None)
    able = subject.able
    if not able.rollout:
        st.info(able.rollout.why_not, icon=":material/block:")
    if not maps:
        st.info(able.class_head.why_not, icon=":material/block:")
        return
    draw_panels(subject, maps, background, "attention.methods")
    page.caption(describe_maps(maps) + " Each map has its own scale.")
    image_sets.draw("maps", subject.model, describe_measured_maps)
    if subject.readout == "mean" and "raw" in maps:
        page.caption(able.cls_readout.why_not)
    if recipe.target is None:
        page.caption(f"{able.class_head.why_not} The methods that explain a class are not available.")
    draw_prediction(subject)
    page.drawers(
        "attention.methods",
        math=MATHEMATICS,
        code=(
            explanation_methods.rollout,
            explanation_maps.gradient_rollout,
            explanation_maps.class_relevance,
            attention_lrp.attention_relevance,
        )
        if able.rollout
        else (),
        numbers=partial(draw_downloads, subject, maps, background),
        ask=Question(
            "Which method finds the patches that matter most on this image?", model_measures.MostFaithfulMap()
        ),
    )


def draw_downloads(
    subject: CapturedSubject, maps: MethodMaps, background: map_controls.BackgroundControls
) -> None:
    rows, cols = subject.layout.grid
    row, col = np.divmod(np.arange(rows * cols), cols)
    columns = {"row": row + 1, "column": col + 1} | {METHODS[name].title: maps[name] for name in maps}
    st.dataframe(columns, hide_index=True, height=240)
    photo, mode = subject.ground(background.seen), selection.get_theme()
    style = Drawn("overlay", opacity=1.0, smooth=background.smooth, grey=background.grey, mode=mode)
    with st.container(horizontal=True):
        for name, values in maps.items():
            downloads.download(
                f"{METHODS[name].title}, PNG",
                lambda values=values: png(attention_image(photo.pixels, values, (rows, cols), style)),  # type: ignore[misc]
                f"{name}.png",
                f"attention.methods.png.{name}",
            )
        downloads.csv("Maps, CSV", columns, "methods.csv", "attention.methods.csv")


MATHEMATICS = "\n\n".join(
    f"**{method.title}** · {method.source}\n\n$$\n{method.latex}\n$$" for method in METHODS.values()
) + (
    "\n\nAn attention map is the row of [CLS] without the columns of prefix tokens. In a DeiT, it is the mean of the"
    " rows of [CLS] and [DIST]; in a model that averages its patches, the mean of all patch rows."
    "\n\n$s_c(z^{(l)})$ is the score that the last norm and the head give to the tokens after layer $l$, read as the"
    " model reads them; the authors' package reads the mean of all tokens instead. $T$ is the number of tokens."
    "\n\n$\\tilde\\partial$ is the gradient with the rules of LRP: a norm's deviation $\\sigma$ and an activation's"
    " factor $f(u)/u$ are constants, a product of two matrices passes half of its relevance to each, softmax and"
    " linear maps keep their gradients. Relevance is signed; its positive part is shown and ranked."
)
