"""The logit lens: what the model would answer if it stopped after a layer, and what each patch would say."""

from __future__ import annotations

import numpy as np
import streamlit as st

from pages.frame import page
from pages.lenses.attention.map_controls import choose_ground
from pages.selection import selection
from pages.selection.subject import Subject, token_name
from pages.views.maps import maps as draw_maps
from vitviz.analysis import logit_lens
from vitviz.lessons import model_measures
from vitviz.lessons.lesson import Question
from vitviz.models.abilities import as_vit
from vitviz.pin import Pin
from vitviz.plots.attention import maps_view
from vitviz.plots.logit_lens import lens_figure
from vitviz.probe.logit_lens import readout_weights, stream, stream_names
from vitviz.text import percent, plain

READ_FROM = {
    "cls": "from [CLS]",
    "dist": "from [CLS] and [DIST], whose logits are averaged",
    "mean": "from the mean of all patches",
    "first_patch": "from the first patch",
}


def describe(classes: tuple[str, ...], of_readout: np.ndarray, of_token: np.ndarray, name: str) -> str:
    """From which layer the answer stands, and what the pinned token says at the end."""
    layer, top = logit_lens.settling_layer(of_readout), int(of_readout[-1].argmax())
    where = "before the first layer" if layer == 0 else f"after layer {layer} of {len(of_readout) - 1}"
    said = (
        f"The answer {plain(classes[top])} leads for good {where}, there with {percent(of_readout[layer, top])}, and"
        f" ends at {percent(of_readout[-1, top])}."
    )
    if np.array_equal(of_token, of_readout):
        return f"{said} Pin a patch to see beside it what the head reads there."
    last = int(of_token[-1].argmax())
    return f"{said} Read from {name}, the last layer says {plain(classes[last])} ({percent(of_token[-1, last])})."


def draw(subject: Subject) -> None:
    """Probabilities over depth from the readout and from the pinned token; and from every patch, as maps."""
    for ability in (subject.able.logit_lens, subject.able.class_head):
        if not ability:
            st.info(ability.why_not, icon=":material/block:")
            return
    layout, depth = subject.layout, as_vit(subject.model.config).depth
    tokens, weights = stream(subject.capture(stream_names(depth)), depth), readout_weights(subject.model.vit)
    of_readout = logit_lens.lens_of_readout(tokens, weights, subject.readout, layout.prefix)
    token = selection.current().pin.token(layout)
    head = "dist" if token < len(layout.prefix) and layout.prefix[token] == "dist" else "cls"
    of_token = logit_lens.lens_of_token(tokens[:, token], weights, head)
    draw_curves(subject, of_readout, of_token, token_name(layout, token))
    target = int(of_readout[-1].argmax())
    every = logit_lens.lens_of_token(tokens, weights)[:, layout.num_prefix_tokens :, target]
    draw_patches(subject, every, subject.classes[target])
    page.drawers(
        "attention.depth",
        math=MATHEMATICS,
        code=(logit_lens.lens_of_token, logit_lens.lens_of_readout),
        asks=ASKS,
    )


def draw_curves(subject: Subject, of_readout: np.ndarray, of_token: np.ndarray, name: str) -> None:
    """The readout's four favourites over depth, and the same classes read from the pinned token, if it is another."""
    chosen = np.argsort(-of_readout[-1], kind="stable")[:4].tolist()
    chosen += [int(i) for i in np.argsort(-of_token[-1])[:1] if i not in chosen]
    reads = "dist" if "dist" in subject.layout.prefix else subject.readout
    lines = [(f"Read as the model reads, {READ_FROM[reads]}", of_readout, "readout")]
    if not np.array_equal(of_token, of_readout):  # the pinned token is the one that the model reads from
        lines.append((f"Read from {name}", of_token, "token"))
    for column, (title, values, key) in zip(st.columns(len(lines), gap="medium"), lines, strict=True):
        with column:
            st.markdown(f"**{title}**")
            drawn = lens_figure(values, subject.classes, chosen, selection.mode())
            page.figure(drawn, f"attention.lens_{key}")
    page.caption(describe(subject.classes, of_readout, of_token, name))


def draw_patches(subject: Subject, every: np.ndarray, name: str) -> None:
    """The answer's probability if the head read each patch, layer by layer; a click pins a patch."""
    grid = subject.layout.grid
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown(f"**Probability of {plain(name)} if the head read each patch**; a click pins it")
        ground = choose_ground(subject)
    picked = draw_maps(
        maps_view(
            subject.ground(ground.seen),
            every,
            ["input", *(f"layer {i}" for i in range(1, len(every)))],
            grid,
            shared_scale=True,
            notes=[f"highest {percent(row.max())}" for row in every],
            drawn=ground.maps(subject),
        ),
        key="attention.lens_maps",
    )
    if picked is not None and picked < grid[0] * grid[1]:
        selection.set_pin(Pin.of_cell(grid, picked))
        st.rerun(scope="fragment")


MATHEMATICS = r"""
$$
p_l = \mathrm{softmax}\bigl(W\,\mathrm{LN}(z_l) + b\bigr)
$$

The model's own last LayerNorm and head, applied to the residual stream $z_l$ after every layer $l$ (nostalgebraist
2020, 'logit lens'). The head was trained on the last layer's readout only: early layers, and patches, were never asked
to be readable, so a low probability there says little, a high one says much. A DeiT's answer is the softmax of the mean
of two logits, read from [CLS] and [DIST] with a head each; patches are read with the first.
"""
ASKS = (
    Question("After which layer does the answer lead and stay in front?", model_measures.SettlingLayer()),
)
