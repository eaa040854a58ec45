"""Swin: windows, shifts and masks that one can step through."""

from __future__ import annotations

import streamlit as st

from pages.beyond.swin import attention, bias, cost, hierarchy, stepper, subject, travel
from pages.shell import nouns, page, registry
from vitviz import windows
from vitviz.analysis import reachability

MATH = r"""
$$
\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\Bigl(\frac{QK^\top}{\sqrt d} + B + \text{mask}\Bigr)V
$$

in every window of $M \times M$ tokens. $B$ reads one number per head and offset from a table of $(2M-1)^2$; the mask is
$-100$ where query and key were not neighbours before the roll, else $0$. Blocks alternate (equation 3 of the paper):

$$
\hat z^{l} = \text{W-MSA}(\mathrm{LN}\,z^{l-1}) + z^{l-1},\qquad
\hat z^{l+1} = \text{SW-MSA}(\mathrm{LN}\,z^{l}) + z^{l},
$$

each followed by an MLP with its own residual. The shift is $s = \lfloor M/2 \rfloor$ on both axes; region ids come
from the slices $(0, -M), (-M, -s), (-s, \text{end})$.

**What can have been read.** With $L_l$ the Boolean matrix of the pairs that block $l$ allows, after $n$ blocks it is
$L_n L_{n-1} \cdots L_1$; merging is one more such matrix, four columns to a row.

**Cost**, in multiply-adds (equations 1 and 2), for $h \times w$ tokens of width $C$:

$$
\Omega(\text{MSA}) = 4hwC^2 + 2(hw)^2C, \qquad \Omega(\text{W-MSA}) = 4hwC^2 + 2M^2hwC.
$$

Over the number of tokens $N = hw$, both axes logarithmic, the first tends to a slope of 2; the second has a slope of 1.

Source: Liu et al. 2021, *Swin Transformer: Hierarchical Vision Transformer using Shifted Windows*.
"""
TRY_THIS = """
1. **Predict first:** a patch in the picture's corner, shifted block. How many of its window may it read?
   Then point at patch 1.
2. Step to the mask and leave it out. Which of the two pictures changes, and why only that one?
3. Set the shift to 0 and watch information travel. What can a Swin without shifts never learn?
4. Grid 16, windows of 4: after how many blocks has a corner reached the whole picture? And with windows of 8?
5. Turn from *where this patch reaches* to *what this token reads*: why are the two not the same?
6. **Predict first:** M from 4 to 8. By what factor does the windowed cost grow at 224 px? Then look at the plot.
"""

entry = registry.BY_SLUG["swin"]
page.header(entry.title, entry.question)
stepper.draw()
travel.draw()
choice, step = subject.swin()
travel.draw_measured(choice, step)
attention.draw(choice, step)
st.fragment(bias.draw)(choice, step)
hierarchy.draw(choice, step)
st.fragment(cost.draw)()
with st.container(horizontal=True):
    for name, recipe in (("digits", "digits_swin"), ("CIFAR-10", "cifar10_swin")):
        nouns.link_to("live_lab", f"Train a Swin on {name}, live", **{"live_lab.recipe": recipe})
page.drawers(
    "swin",
    math=MATH,
    code=(
        windows.region_ids,
        windows.attention_mask,
        windows.relative_position_index,
        reachability.window_links,
        reachability.follow,
    ),
    numbers=stepper.numbers,
    try_this=TRY_THIS,
)
