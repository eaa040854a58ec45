"""Methods side by side on the same picture, and whether they are true to the model."""

from __future__ import annotations

import numpy as np
import streamlit as st

from pages.inside.attention import explained, predictions
from pages.inside.attention.explained import Recipe
from pages.shell import controls, nouns, page
from pages.shell.subject import Subject
from pages.views.maps import maps as draw_maps
from vitviz.analysis import faithfulness, rollout
from vitviz.analysis.faithfulness import Score, area
from vitviz.analysis.methods import METHODS, rank_correlation
from vitviz.config import SwinConfig
from vitviz.pin import Pin
from vitviz.plots.attention import maps_view
from vitviz.plots.faithfulness import curves_figure
from vitviz.probe.relevance import gradient_rollout
from vitviz.words import percent, signed

NO_ROLLOUT = (
    "Swin merges patches between its stages and attends inside windows that shift, so there is no one row of attention"
    " from its answer to the patches, and rollout is not defined for it. Gradient × input needs no attention."
)


def choose(subject: Subject) -> Recipe:
    """Class, fusion and discard; the class needs a head."""
    first, second, third = st.columns([4, 4, 4])
    swin = isinstance(subject.model.config, SwinConfig)
    target = None
    with first:
        if subject.classes:
            chances = subject.probabilities
            order = np.argsort(-chances, kind="stable")[:50]
            said = controls.select(
                "attention.class",
                "Explain the class",
                ["top", *(int(i) for i in order)],
                format_func=lambda c: (
                    f"predicted: {subject.classes[order[0]]}"
                    if c == "top"
                    else f"{subject.classes[c]}, {percent(chances[c])}"
                ),
            )
            target = int(order[0]) if said == "top" else int(said)
        else:
            st.selectbox("Explain the class", ["no classes"], disabled=True, help=predictions.HEADLESS)
    with second:
        fusion = controls.segmented(
            "attention.fusion",
            "Rollout fuses heads by",
            ["mean", "max", "min"],
            help=NO_ROLLOUT if swin else "Of every layer, before the product.",
            disabled=swin,
        )
    with third:
        discard = controls.slider(
            "attention.discard",
            "Rollout discards",
            0.0,
            0.95,
            0.0,
            0.05,
            format="percent",
            help=NO_ROLLOUT
            if swin
            else "The lowest weights of every layer are dropped; the columns of prefix tokens are kept.",
            disabled=swin,
        )
    return Recipe(target, fusion, discard)


AREAS = {
    "Deletion": "Area under the left curve: lower is truer.",
    "Insertion": "Area under the right curve: higher is truer.",
    "Gap": "Insertion minus deletion: higher is truer.",
}


def share_of_top(values: np.ndarray, count: int = 5) -> float:
    """Share of a map's mass on its `count` strongest patches."""
    total = float(values.sum())
    return float(np.sort(values)[-count:].sum() / total) if total else 0.0


def describe_maps(found: dict[str, np.ndarray]) -> str:
    """How concentrated the maps are, and which two agree most and least."""
    names = list(found)
    pairs = {
        (a, b): rank_correlation(found[a], found[b]) for i, a in enumerate(names) for b in names[i + 1 :]
    }
    if not pairs:
        (only,) = names
        return (
            f"{METHODS[only].title}: five patches hold {percent(share_of_top(found[only]), 0)} of its mass."
        )
    close, far = max(pairs, key=lambda pair: pairs[pair]), min(pairs, key=lambda pair: pairs[pair])
    sharp = max(names, key=lambda name: share_of_top(found[name]))
    held = percent(share_of_top(found[sharp]), 0)
    text = f"{METHODS[sharp].title} is the sharpest: five patches hold {held} of its mass."
    if len(pairs) > 1:
        text += (
            f" {METHODS[close[0]].title} and {METHODS[close[1]].title.lower()} agree most (rank correlation"
            f" {signed(pairs[close])}), {METHODS[far[0]].title.lower()} and {METHODS[far[1]].title.lower()} least"
            f" ({signed(pairs[far])})."
        )
    return text


def _panels(subject: Subject, found: dict[str, np.ndarray], key: str, notes: list[str] | None = None) -> None:
    data = maps_view(
        subject.prepared.shown,
        np.stack(list(found.values())),
        [METHODS[name].title for name in found],
        subject.layout.grid,
        lines=[f"{METHODS[name].line}. {METHODS[name].source}." for name in found] if notes is None else (),
        notes=notes or [f"five patches hold {percent(share_of_top(values), 0)}" for values in found.values()],
    )
    picked = draw_maps(data, key=key)
    if picked is not None:
        nouns.set_pin(Pin.of_cell(subject.layout.grid, picked))


def draw(subject: Subject) -> None:
    """Every method's map of the same picture, one pointer over all."""
    recipe = choose(subject)
    found = explained.maps(subject, recipe)
    if isinstance(subject.model.config, SwinConfig):
        st.info(NO_ROLLOUT, icon=":material/block:")
    if not found:
        st.info(predictions.HEADLESS, icon=":material/block:")
        return
    _panels(subject, found, "attention.methods")
    page.caption(describe_maps(found) + " Each map has its own scale.")
    if subject.readout == "mean" and "raw" in found:
        page.caption(
            "This model averages its patches and has no [CLS]: the rows of all patches are averaged."
        )
    if recipe.target is None:
        page.caption(f"{predictions.HEADLESS} The two methods that need a class are left out.")
    predictions.draw(subject)
    page.drawers(
        "attention.methods",
        math=MATHEMATICS,
        code=(rollout.rollout, gradient_rollout),
        try_this=TRY_METHODS,
    )


def draw_truth(subject: Subject) -> None:
    """Deletion and insertion of every method against random orders, and the same maps with random weights."""
    if not subject.classes:
        st.info(predictions.HEADLESS, icon=":material/block:")
        return
    recipe = choose(subject)
    assert recipe.target is not None
    found = explained.maps(subject, recipe)
    checked = explained.check(subject, found, recipe.target)
    titles = {name: METHODS[name].title for name in found}
    figure = curves_figure(
        checked.fraction,
        {titles[name]: pair for name, pair in checked.curves.items()},
        checked.random,
        subject.classes[recipe.target],
        nouns.mode(),
    )
    left, right = st.columns([6, 5], gap="medium", vertical_alignment="center")
    scores = [
        Score(titles[name], area(checked.fraction, down), area(checked.fraction, up))
        for name, (down, up) in checked.curves.items()
    ]
    gaps = [
        area(checked.fraction, up) - area(checked.fraction, down)
        for down, up in zip(*checked.random, strict=True)
    ]
    noise = Score("Random order", *(area(checked.fraction, side.mean(axis=0)) for side in checked.random))
    with left:
        st.plotly_chart(figure, theme=None, config={"displayModeBar": False}, key="attention.curves")
    with right:
        st.dataframe(
            [
                {"Order": s.method, "Deletion": s.deletion, "Insertion": s.insertion, "Gap": s.gap}
                for s in sorted([*scores, noise], key=lambda s: -s.gap)
            ],
            hide_index=True,
            column_config={
                name: st.column_config.NumberColumn(format="%.2f", width="small", help=text)
                for name, text in AREAS.items()
            },
        )
    spread = max(abs(gap - noise.gap) for gap in gaps)
    page.caption(faithfulness.describe_scores(scores, noise, spread))
    st.subheader("The same maps from random weights", anchor=False)
    twin = explained.maps(subject, recipe, twin=True)
    same = {name: rank_correlation(found[name], twin[name]) for name in found}
    _panels(
        subject,
        twin,
        "attention.twin",
        [f"rank correlation with the model's: {signed(same[n])}" for n in found],
    )
    most = max(same, key=lambda name: same[name])
    others = [f"{titles[name].lower()} {signed(same[name])}" for name in found if name != most]
    random = "random weights" if subject.model.trained_on else "other random weights"
    keeps = "keeps the most of its order" if others else "keeps this much of its order"
    page.caption(
        f"A map that random weights draw as well shows the picture and not what was learned (Adebayo et al. 2018):"
        f" {titles[most].lower()} {keeps} with {random}, {'; '.join([signed(same[most]), *others[:1]])}"
        + "".join(f", {other}" for other in others[1:])
        + "."
    )
    page.drawers(
        "attention.truth",
        math=TRUTH,
        code=(faithfulness.schedule, faithfulness.blank_patches),
        try_this=TRY_TRUTH,
    )


MATHEMATICS = "\n\n".join(
    f"**{method.title}** · {method.source}\n\n$${method.latex}$$" for method in METHODS.values()
) + (
    "\n\nThe map is the readout's row without prefix tokens: the [CLS] row, the mean of the [CLS] and distillation rows"
    " of a DeiT, or the mean of all patch rows where the model averages its patches."
)
TRUTH = r"""
Patches are blanked (set to the mean colour) from the most relevant on, and the class probability is followed:
$$\text{deletion} = \int_0^1 p_c(\text{picture without the first } t)\,dt, \qquad
\text{insertion} = \int_0^1 p_c(\text{only the first } t)\,dt.$$
A true map has a small deletion area and a large insertion area (Petsiuk et al. 2018). Random orders are drawn six
times; their range is grey.
"""
TRY_METHODS = """
- Predict first: which method changes when you choose another class? Then choose the second most probable one.
- Let rollout discard 90 %: what is left of the background?
"""
TRY_TRUTH = """
- Predict first: does the sharpest map also have the largest gap?
- Choose a class that the model does not answer: which method still beats the random orders?
- Drag the step to 0: is there a method that explains a model that has learned nothing?
"""
