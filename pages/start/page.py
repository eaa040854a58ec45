"""Start: what the app is, a picture that becomes a sequence, and the way to every page."""

from itertools import groupby
from pathlib import Path

import streamlit as st

from pages.shell import nouns, page, registry, sidebar
from pages.start.hero import hero
from vitviz.pin import Pin

CARDS = Path(__file__).parents[2] / "static/cards"

chosen, choice = nouns.current(), nouns.choice()
shown = nouns.prepared(choice.preparation).shown
side_px = shown.shape[0]
cuts = hasattr(choice.config, "patch_size") and not getattr(choice.config, "stem", ())
patch_px = getattr(choice.config, "patch_size", max(1, side_px // 8))
grid = side_px // patch_px

page.header(
    "See what a Vision Transformer computes",
    "How does a picture become a sequence, and what does the model do with it?",
)
picked = hero(shown, patch_px, chosen.pin.place, key="home.hero")
if picked is not None:
    nouns.set_pin(Pin.of_cell((grid, grid), picked))
    st.rerun()
patches, prefix = grid * grid, getattr(choice.config, "prefix_tokens", ()) if cuts else ("cls",)
sequence = f"{patches} patches" + (
    f": {patches + len(prefix)} tokens with {' and '.join(f'[{name.upper()}]' for name in prefix)}"
    if prefix
    else ""
)
reads = "as the chosen model reads it" if cuts else "as a ViT would read it, the chosen model cuts no patches"
st.caption(
    f"{sidebar.describe(chosen.image)}, {reads}: {side_px} × {side_px} px,"
    f" cut into {grid} × {grid} patches of {patch_px} px, is a sequence of {sequence}."
    " Point at a patch to find it in the sequence; click to pin it on every page."
)

# On a phone one card fills the line.
st.html(
    "<style>@media (max-width: 640px) {"
    " :has(> [class*='st-key-home-card-']) { flex-basis: 100% !important; }"
    " [class*='st-key-home-card-'] { width: 100% !important; } }</style>"
)

for group, entries in groupby(registry.PAGES, key=lambda entry: entry.group):
    cards = [entry for entry in entries if entry.slug != "home"]
    if not cards:
        continue
    st.header(group, anchor=False)
    with st.container(horizontal=True, gap="medium"):
        for entry in cards:
            with st.container(border=True, width=284, key=f"home-card-{entry.slug}"):
                pictogram = CARDS / f"{entry.slug}.svg"
                if pictogram.is_file():
                    st.image(str(pictogram), alt="", width="stretch")
                nouns.link_to(entry.slug)
                st.caption(entry.question)
