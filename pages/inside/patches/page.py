"""Lens: how a picture becomes a sequence of tokens."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.inside.patches import cut as cutting
from pages.inside.patches import puzzle, sequence, sizes, stage, ways
from pages.inside.patches.cut import Cut
from pages.shell import nouns, page, registry, stand_in
from vitviz.analysis import patches
from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.abilities import abilities
from vitviz.models.vit import VisionTransformer
from vitviz.plots import patches as plots
from vitviz.tables import Columns, columns_of


def draw() -> None:
    """Reads the controls, runs the model, and draws the sections one below the other."""
    choice = nouns.choice()
    config, able = choice.config, abilities(choice.config)
    if not able.embedding or not isinstance(config, ViTConfig | SwinConfig):
        stand_in.offer(able.embedding.why_not, "patches.instead", icon=":material/grid_off:")
        return
    options = sizes.options(config)
    if not options:
        side = config.image_size // config.patch_size
        reason = f"This model cuts the picture into {side} × {side} patches, too many to show one by one."
        stand_in.offer(reason, "patches.instead", icon=":material/grid_off:")
        return
    chosen = sizes.read(choice, options, config.embed_dim, config.patch_size)
    cut = cutting.current(chosen)
    stage.draw(cut, chosen.column - 1)
    sequence.draw(cut)
    puzzle.draw(cut)
    ways.draw_convolution(cut)
    ways.draw_slip(cut)
    page.drawers(
        "patches",
        math=MATHEMATICS,
        code=(VisionTransformer._embed, patches.patchify),
        numbers=partial(draw_numbers, cut),
        try_this=TRY_THIS,
    )


def draw_numbers(cut: Cut) -> None:
    """Tokens, flattened patches and the cut picture, to take away."""
    values = cut.found.weight.shape[1]
    tokens, flat = cut.found.tokens, patches.patchify(cut.values, cut.patch_px)
    side = cut.values.shape[-1]
    st.markdown(
        f"Tokens x_p E are {len(tokens):,} × {tokens.shape[1]:,}; patches are {len(flat):,} × {values:,}, channel by"
        f" channel, row by row; the picture is {side} × {side} px."
    )
    left, middle, right = st.columns(3)
    with left:
        page.csv("Tokens (CSV)", _rows(tokens, "d"), "tokens.csv", "patches.csv_tokens", stretch=True)
    with middle:
        page.csv(
            "Flattened patches (CSV)", _rows(flat, "k"), "patches.csv", "patches.csv_patches", stretch=True
        )
    with right:
        page.download(
            "Patches apart (PNG)",
            partial(_apart, cut.shown, cut.patch_px),
            "patches.png",
            "patches.png",
            stretch=True,
        )


def _rows(matrix: plots.FloatArray, letter: str) -> Columns:
    """One line a patch, which counts from 1; columns d1, d2, …"""
    names = [f"{letter}{i + 1}" for i in range(matrix.shape[1])]
    return {"patch": range(1, len(matrix) + 1)} | columns_of(matrix, names)


def _apart(shown: plots.PictureArray, patch_px: int) -> bytes:
    return plots.png(plots.apart(shown, patch_px))


MATHEMATICS = r"""
$$
\mathbf{z}_0 = [\mathbf{x}_\text{class};\ \mathbf{x}^1_p\mathbf{E};\ \dots;\ \mathbf{x}^N_p\mathbf{E}]
+ \mathbf{E}_{pos}
$$

with $\mathbf{E} \in \mathbb{R}^{(P^2 C)\times D}$, $\mathbf{E}_{pos} \in \mathbb{R}^{(N+1)\times D}$ and $N = HW/P^2$:
$N$ patches, and $N + 1$ tokens with $\mathbf{x}_\text{class}$, which is [CLS]. One value of a token is one dot product:

$$
(\mathbf{x}_p\mathbf{E} + \mathbf{b})_d = \sum_{k=1}^{P^2C} x_k\, E_{k,d} + b_d
$$

A Conv2d with kernel and stride $P$ computes the same sum at every place where it stops.

Source: Dosovitskiy et al. 2021, *An Image is Worth 16×16 Words*, equation 1 and section 3.1.
The order of the rows reaches the layers through $\mathbf{E}_{pos}$ alone: attention and the MLP treat the tokens as a
set, and so does an answer that is read from [CLS] or from the mean of the patches.
"""
TRY_THIS = """
1. **Predict first:** you double P. By what factor does N change, and by what factor the rows of E?
   Then look at the shapes.
2. Pull the patches apart and find one that tells you nothing. What does its token look like?
3. Turn on *Response*: which patches answer to the column most strongly, and does its picture say why?
4. **Predict first:** with every patch shuffled, which model changes its answer?
   Then move the slider to 5 % and see when it starts.
5. Choose a patch as large as the picture. What is left for attention to do?
"""

entry = registry.BY_SLUG["patches"]
page.header(entry.title, entry.question)
draw()
