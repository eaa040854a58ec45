"""The logit lens: what the model would answer if it stopped after a layer, and what each patch would say."""

from __future__ import annotations

import numpy as np
import streamlit as st

from pages.inside.attention import predictions
from pages.shell import nouns, page
from pages.shell.subject import Subject, token_name
from pages.views.maps import maps as draw_maps
from vitviz.analysis import logit_lens
from vitviz.analysis.logit_lens import ReadoutWeights
from vitviz.config import SwinConfig
from vitviz.models.loaded import LoadedModel
from vitviz.pin import Pin
from vitviz.plots.attention import maps_view
from vitviz.plots.lens import lens_figure
from vitviz.probe.capture import as_array
from vitviz.words import percent


def readout_weights(model: LoadedModel) -> ReadoutWeights:
    """The last LayerNorm and the heads of a ViT as arrays."""
    vit = model.model
    normed = hasattr(vit.norm, "weight")
    dist = vit.head_dist
    return ReadoutWeights(
        as_array(vit.norm.weight) if normed else None,
        as_array(vit.norm.bias) if normed else None,
        model.config.norm_eps,
        as_array(vit.head.weight),
        as_array(vit.head.bias),
        None if dist is None else as_array(dist.weight),
        None if dist is None else as_array(dist.bias),
    )


def stream(subject: Subject) -> np.ndarray:
    """(depth + 1, tokens, D): the residual stream before the first block and after every block."""
    names = ("embedded", *(f"blocks.{i}" for i in range(subject.model.config.depth)))
    found = subject.capture(names)
    return np.stack([found[name][0] for name in names])


def describe(classes: tuple[str, ...], of_readout: np.ndarray, of_token: np.ndarray, name: str) -> str:
    """From which layer the answer stands, and what the pinned token says at the end."""
    layer, top = logit_lens.settling_layer(of_readout), int(of_readout[-1].argmax())
    where = "before the first layer" if layer == 0 else f"after layer {layer} of {len(of_readout) - 1}"
    last = int(of_token[-1].argmax())
    return (
        f"The answer {classes[top]} leads for good {where}, there with {percent(of_readout[layer, top])}, and ends at"
        f" {percent(of_readout[-1, top])}. Read from {name}, the last layer says {classes[last]}"
        f" ({percent(of_token[-1, last])})."
    )


def draw(subject: Subject) -> None:
    """Probabilities over depth from the readout and from the pinned token; and from every patch, as maps."""
    if isinstance(subject.model.config, SwinConfig):
        st.info(
            "Swin's tokens change width from stage to stage, so the head cannot read them before the last stage.",
            icon=":material/block:",
        )
        return
    if not subject.classes:
        st.info(predictions.HEADLESS, icon=":material/block:")
        return
    tokens, weights, layout = stream(subject), readout_weights(subject.model), subject.layout
    of_readout = logit_lens.lens_of_readout(tokens, weights, subject.readout, layout.prefix)
    token = nouns.current().pin.token(layout)
    head = "dist" if token < len(layout.prefix) and layout.prefix[token] == "dist" else "cls"
    of_token = logit_lens.lens_of_token(tokens[:, token], weights, head)
    chosen = np.argsort(-of_readout[-1], kind="stable")[:4].tolist()
    chosen += [int(i) for i in np.argsort(-of_token[-1])[:1] if i not in chosen]
    name = token_name(layout, token)
    left, right = st.columns(2, gap="medium")
    for column, title, values, key in (
        (left, f"Read as the model reads ({subject.readout.replace('_', ' ')})", of_readout, "readout"),
        (right, f"Read from {name}", of_token, "token"),
    ):
        with column:
            st.markdown(f"**{title}**")
            figure = lens_figure(values, subject.classes, chosen, nouns.mode())
            st.plotly_chart(figure, theme=None, config={"displayModeBar": False}, key=f"attention.lens_{key}")
    page.caption(describe(subject.classes, of_readout, of_token, name))
    target = int(of_readout[-1].argmax())
    every = logit_lens.lens_of_token(tokens, weights)[:, layout.num_prefix_tokens :, target]
    st.markdown(f"**Probability of {subject.classes[target]} if the head read each patch**; a click pins it")
    picked = draw_maps(
        maps_view(
            subject.prepared.shown,
            every,
            ["input", *(f"layer {i}" for i in range(1, len(every)))],
            layout.grid,
            shared_scale=True,
            notes=[f"highest {percent(row.max())}" for row in every],
        ),
        key="attention.lens_maps",
    )
    if picked is not None:
        nouns.set_pin(Pin.of_cell(layout.grid, picked))
        st.rerun(scope="fragment")
    page.drawers(
        "attention.depth",
        math=MATHEMATICS,
        code=(logit_lens.lens_of_token, logit_lens.lens_of_readout),
        try_this=TRY_THIS,
    )


MATHEMATICS = r"""
$$p_l = \mathrm{softmax}\bigl(W\,\mathrm{LN}(z_l) + b\bigr)$$
The model's own last LayerNorm and head, applied to the residual stream $z_l$ after every layer $l$ (nostalgebraist
2020, 'logit lens'). The head was trained on the last layer's readout only: early layers, and patches, were never asked
to be readable, so a low probability there says little, a high one says much.
"""
TRY_THIS = """
- Predict first: after which layer does the answer stand? Does a harder picture take longer?
- Pin a patch of the background: does it know the class as well by the last layer?
- Drag the step back: does the last layer learn to answer before the earlier ones?
"""
