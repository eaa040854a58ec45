"""Patches and embedding: how a picture becomes a sequence of tokens."""

from __future__ import annotations

import inspect
from functools import partial
from textwrap import dedent

import numpy as np
import streamlit as st

from pages.inside.patches import embedding
from pages.inside.patches import views as views
from pages.shell import controls, nouns, page, registry, stand_in
from pages.stores import cached
from vitviz.analysis import patches
from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.layers import unfold_patches
from vitviz.models.layout import TokenLayout
from vitviz.models.vit import VisionTransformer
from vitviz.pin import Pin
from vitviz.plots import patches as plots

IMAGE_SIZES = (28, 32, 48, 64, 96, 128, 192, 224)
PATCH_SIZES = (2, 4, 6, 7, 8, 12, 14, 16, 28, 32)
CODE_PX = 300  # of the two boxes of code, side by side

entry = registry.BY_SLUG["patches"]
page.header(entry.title, entry.question)
choice = nouns.choice()


def size_options() -> dict[int, list[patches.PatchSize]]:
    """Patch sizes by image size, where at least one can be shown; a Swin's windows hold it to its own."""
    config = choice.config
    own_image, own_patch = config.image_size, config.patch_size
    if isinstance(config, SwinConfig):
        images, candidates = {own_image}, (own_patch,)
    else:
        images, candidates = {*IMAGE_SIZES, own_image}, (*PATCH_SIZES, own_patch)
    sizes = {px: patches.patch_sizes(px, candidates) for px in sorted(images)}
    return {px: found for px, found in sizes.items() if any(size.reason is None for size in found)}


def size_controls(options: dict[int, list[patches.PatchSize]]) -> tuple[int, int, int]:
    config = choice.config
    own_image, own_patch, fixed = config.image_size, config.patch_size, isinstance(config, SwinConfig)
    image, cut, out, filters = st.columns([1.1, 2.3, 2.3, 1.1], vertical_alignment="top")
    with image:
        image_px = controls.select(
            "patches.image_px",
            "Image size",
            tuple(options),
            min(options, key=lambda px: abs(px - own_image)),
            format_func=lambda px: f"{px} px" + (" · its own" if px == own_image else ""),
            help="Side of the square that the model reads. E depends on the patch size alone: it fits every size.",
        )
    sizes = options[image_px]
    fitting = tuple(size.patch_px for size in sizes if size.reason is None)
    with cut:
        patch_px = controls.segmented(
            "patches.patch_px",
            "Patch size P, in pixels",
            fitting,
            own_patch if own_patch in fitting else fitting[len(fitting) // 2],
            help=f"{choice.title} was made for {own_patch} px. Another size needs another E: a seeded random one.",
        )
    misfits = {size.patch_px: size.reason for size in sizes if size.reason}
    with out:
        if misfits:
            reasons = "  \n".join(f"{px} px: {reason}." for px, reason in misfits.items())
            label = f"Patch sizes that do not fit {image_px} px"
            with st.container(gap="xxsmall"):
                st.markdown(f":small[Do not fit {image_px} px]", help=reasons)
                st.pills(
                    label, tuple(misfits), disabled=True, key="patches.misfits", label_visibility="collapsed"
                )
        elif fixed:
            st.caption("A Swin is shown at the sizes it was built for: its windows depend on them.")
    with filters:
        column = controls.number("patches.column", "Column of E", 1, config.embed_dim, 1)
    return image_px, patch_px, column - 1


def say_what_stands_in(found: embedding.Embedding) -> None:
    own = choice.config
    if not found.own_patch and isinstance(found.config, ViTConfig):
        st.markdown(
            f":orange-badge[:material/casino: random E, seed {embedding.SEED}] {choice.title} was made for"
            f" {own.patch_size} px patches. At {found.patch_px} px its E does not fit: a random model of"
            f" {found.config.depth} blocks stands in."
        )
        return
    page.untrained_note(choice.trained_on)
    if not found.own_size:
        st.markdown(
            f":blue-badge[:material/open_in_full: resized] Its own E, on a picture of {found.values.shape[-1]} px"
            f" instead of {own.image_size}; a learned E_pos is stretched to the new grid."
        )


def token_layout(found: embedding.Embedding) -> TokenLayout:
    side = found.values.shape[-1] // found.patch_px
    return TokenLayout(tuple(found.prefix), (side, side), found.patch_px)


def picked(layout: TokenLayout) -> None:
    """What was clicked on the stage becomes the pin, or the column of E."""
    said = st.session_state["patches.stage"]
    if said.get("column") is not None:
        controls.set_value("patches.column", int(said["column"]) + 1)
    if said.get("pin") is not None:
        nouns.set_pin(Pin.of_token(layout, int(said["pin"])))


def draw_stage(found: embedding.Embedding, column: int) -> None:
    layout = token_layout(found)
    payload = plots.stage(
        found.shown,
        found.values,
        found.weight,
        found.bias,
        found.tokens,
        found.prefix,
        found.patch_px,
        nouns.current().pin.token(layout),
        column,
    )
    views.stage(payload, key="patches.stage", on_change=partial(picked, layout))
    channels, side = found.values.shape[:2]
    count, values, dim = len(found.tokens), found.weight.shape[1], len(found.weight)
    p, tokens = found.patch_px, layout.num_tokens
    prefix = "".join(f" + {name.upper()}" for name in found.prefix)
    page.caption(
        f"{side} / {p} = {layout.grid[0]}, so N = HW/P² = {side}²/{p}² = {count:,} patches of P²C = {p}² · {channels}"
        f" = {values:,} values. E maps each of them to D = {dim:,}: {side * side * channels:,} pixel values become"
        f" {count:,} × {dim:,} = {found.tokens.size:,} numbers"
        + (f", and the sequence has {tokens:,} tokens (N{prefix})." if prefix else ".")
    )
    shown = {"x": (1, channels, side, side), "x_p": (1, count, values), "E": (values, dim)}
    page.shapes(**shown, **{"x_p·E": (1, *found.tokens.shape), "z0": (1, tokens, dim)})


def draw_convolution(found: embedding.Embedding) -> None:
    st.subheader("One convolution, or one matrix product", anchor=False)
    cut = patches.patchify(found.values, found.patch_px)
    product = patches.embed(cut, found.weight, found.bias)
    difference = patches.largest_difference(found.convolved, product)
    dim, values = found.weight.shape
    channels, p = found.values.shape[0], found.patch_px
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(f"**Conv2d, kernel = stride = {p}** · weight `({dim}, {channels}, {p}, {p})`")
        page.source(dedent(inspect.getsource(type(found.model.patch_embed).forward)), height=CODE_PX)
    with right:
        st.markdown(f"**Unfold, then one product** · weight as a matrix `({dim}, {values})`")
        page.source(inspect.getsource(unfold_patches), height=CODE_PX)
    largest = float(np.abs(found.convolved).max())
    verdict = "rounding only" if difference < 1e-4 * max(1.0, largest) else "more than rounding"
    if difference == 0:
        verdict = "the same to the last bit"
    page.caption(
        f"Both ran on this picture with {'this model’s own E' if found.own_patch else 'the random E'}. Of"
        f" {product.size:,} values the largest difference is **{amount(difference)}**, where the largest value is"
        f" {largest:.2f}: {verdict}."
    )


def draw_slip(found: embedding.Embedding) -> None:
    st.subheader("The slip that runs without an error", anchor=False)
    slipped = patches.slip_patches(found.shown, found.patch_px)
    views.slip(plots.slip(found.shown, slipped, found.patch_px), key="patches.slip")
    side, p = found.shown.shape[0], found.patch_px
    rows = patches.slip_rows(side, p)
    page.caption(
        f"`picture.reshape(N, P·P·C)` has the right shape, {len(slipped):,} × {p * p * len(found.values):,}, and the"
        f" wrong pixels: each “patch” is a run of {p * p} pixels over"
        f" {'1 row' if rows == 1 else f'up to {rows} rows'} of the picture. On average"
        f" {100 * patches.slip_share(side, p):.0f} % of them lie in the patch of the same number."
    )


def class_name(index: int) -> str:
    names = cached.loaded(choice, nouns.current().step).classes
    name = names[index] if index < len(names) else str(index)
    return f"class {name}" if name.isdigit() else name


@st.fragment
def draw_puzzle(found: embedding.Embedding) -> None:
    st.subheader("The scrambled puzzle", anchor=False)
    config = found.config
    if not isinstance(config, ViTConfig) or not config.num_classes:
        reason = (
            "A Swin has no table of positions: its biases see where two patches lie inside a window."
            if isinstance(config, SwinConfig)
            else "This model has no head, so there are no class probabilities to compare."
        )
        st.markdown(f":gray[{reason} Choose a ViT with a head for the puzzle.]")
        return
    amount, again = st.columns([3, 1], vertical_alignment="bottom")
    with amount:
        share = controls.slider("patches.shuffled", "Patches shuffled", 0, 100, 100, 5, format="%d %%")
    with again:
        seed = controls.number("patches.seed", "Shuffle number (seed)", 0, 999, 0)
    order = patches.scrambled_order(len(found.tokens), share / 100, seed)
    contenders = embedding.contenders(choice, found)
    results = [embedding.puzzle(found, order, contender) for contender in contenders]
    bars = []
    for result in results:
        top = np.argsort(-result.before, kind="stable")[:5]
        rows = [[class_name(i), float(result.before[i]), float(result.after[i])] for i in top]
        note = f"{result.contender.note} · largest change {chance(result.change)}"
        bars.append({"title": result.contender.title, "note": note, "rows": rows})
    views.puzzle(plots.puzzle(found.shown, order, found.patch_px, bars), key="patches.puzzle")
    page.caption(puzzle_caption(int((order != np.arange(len(order))).sum()), results, config))


def chance(p: float) -> str:
    """A probability for people: percent, or a power of ten where percent would read 0."""
    if p >= 5e-5:
        return f"{100 * p:.3g} %"
    return amount(p)


def amount(value: float) -> str:
    """A tiny number as a power of ten: 3·10⁻⁷."""
    if value == 0:
        return "0"
    factor, power = f"{value:.0e}".split("e")
    return f"{factor}·10{str(int(power)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def puzzle_caption(moved: int, results: list[embedding.Puzzle], config: ViTConfig) -> str:
    own = results[0]
    best = int(own.before.argmax())
    text = (
        f"{moved} of {len(found.tokens)} patches lie elsewhere; grey bars: in order, coloured: shuffled."
        f" {own.contender.title}, p({class_name(best)}) goes from {chance(float(own.before[best]))} to"
        f" {chance(float(own.after[best]))}."
    )
    for other in results[1:]:
        text += f" {other.contender.title}, no class changes by more than {chance(other.change)}"
        if other.change < 1e-5:
            text += ", which is rounding: to this model the tokens are a set."
        elif config.readout == "first_patch":
            text += ": the readout is the first patch, and another one stands there now."
        else:
            text += "."
    if choice.trained_on is None or not found.own_patch:
        text += (
            " The weights are random, so their small positions matter little yet: compare a trained model."
        )
    return text


def draw_sequence(found: embedding.Embedding) -> None:
    st.subheader("The sequence that enters the first block", anchor=False)
    if isinstance(found.config, SwinConfig):
        st.markdown(
            ":gray[A Swin has no [CLS] and no E_pos: its sequence is x_p E, normalised, on its grid.]"
        )
        return
    layout = token_layout(found)
    positions = patches.position_rows(found.table, layout.num_tokens, len(found.weight))
    payload = plots.sequence(
        found.shown, found.prefix, found.tokens, positions, found.table is not None, found.patch_px
    )
    views.sequence(payload, key="patches.sequence")
    content, pos = (
        float(np.sqrt(np.mean(a**2))) for a in (found.tokens, positions[layout.num_prefix_tokens :])
    )
    ratio = f"{pos / content:.2f} times" if content else "–"
    page.caption(
        f"z₀ has {layout.num_tokens:,} rows: {layout.num_prefix_tokens} learned, {layout.num_patches:,} from patches."
        f" Typical size (root mean square): patches {content:.3f}, positions {pos:.3f}, so where a patch lies weighs"
        f" {ratio} as much as what it shows."
    )


MATH = r"""
$$
\mathbf{z}_0 = [\mathbf{x}_\text{class};\ \mathbf{x}^1_p\mathbf{E};\ \dots;\ \mathbf{x}^N_p\mathbf{E}]
+ \mathbf{E}_{pos}
$$

with $\mathbf{E} \in \mathbb{R}^{(P^2 C)\times D}$, $\mathbf{E}_{pos} \in \mathbb{R}^{(N+1)\times D}$ and $N = HW/P^2$.
One value of a token is one dot product:

$$
(\mathbf{x}_p\mathbf{E} + \mathbf{b})_d = \sum_{k=1}^{P^2C} x_k\, E_{k,d} + b_d
$$

A Conv2d with kernel and stride $P$ computes the same sum at every place where it stops.

Source: Dosovitskiy et al. 2021, *An Image is Worth 16×16 Words*, equation 1 and section 3.1.
The order of the rows reaches the blocks through $\mathbf{E}_{pos}$ alone: attention, the MLP and a [CLS] or mean
readout treat the tokens as a set.
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


def csv(rows: np.ndarray, head: str) -> bytes:
    lines = [head, *(",".join([str(i + 1), *(f"{v:.6g}" for v in row)]) for i, row in enumerate(rows))]
    return ("\n".join(lines) + "\n").encode()


def draw_numbers(found: embedding.Embedding) -> None:
    dim, values = found.weight.shape
    side = found.values.shape[-1]
    st.markdown(
        f"Tokens x_p E are {len(found.tokens):,} × {dim:,}; patches are {len(found.tokens):,} × {values:,}, channel by"
        f" channel, row by row; the picture is {side} × {side} px."
    )
    a, b, c = st.columns(3)
    tokens, cut = found.tokens, patches.patchify(found.values, found.patch_px)
    a.download_button(
        "Tokens (CSV)",
        lambda: csv(tokens, "patch," + ",".join(f"d{d + 1}" for d in range(dim))),
        "tokens.csv",
        "text/csv",
        key="patches.csv_tokens",
        on_click="ignore",
        icon=":material/download:",
        width="stretch",
    )
    b.download_button(
        "Flattened patches (CSV)",
        lambda: csv(cut, "patch," + ",".join(f"k{k + 1}" for k in range(values))),
        "patches.csv",
        "text/csv",
        key="patches.csv_patches",
        on_click="ignore",
        icon=":material/download:",
        width="stretch",
    )
    c.download_button(
        "Patches apart (PNG)",
        lambda: plots.png(plots.apart(found.shown, found.patch_px)),
        "patches.png",
        "image/png",
        key="patches.png",
        on_click="ignore",
        icon=":material/download:",
        width="stretch",
    )


reason = embedding.reason_against(choice.config)
options = size_options() if reason is None else {}
if reason is None and not options:
    side = choice.config.image_size // choice.config.patch_size
    reason = f"This Swin cuts the picture into {side} × {side} patches, too many to show one by one."
if reason is not None:
    stand_in.offer(reason, "patches.instead", icon=":material/grid_off:")
else:
    image_px, patch_px, column = size_controls(options)
    found = embedding.embedding(image_px, patch_px)
    say_what_stands_in(found)
    draw_stage(found, column)
    draw_sequence(found)
    draw_puzzle(found)
    draw_convolution(found)
    draw_slip(found)
    page.drawers(
        "patches",
        math=MATH,
        code=(VisionTransformer._embed, patches.patchify),
        numbers=partial(draw_numbers, found),
        try_this=TRY_THIS,
    )
