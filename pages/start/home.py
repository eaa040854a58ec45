"""Start: what the app is, and the way to every page."""

import streamlit as st

from pages._shared import nouns, page, registry

page.header(
    "See what a Vision Transformer computes", "Cut a picture into patches, and follow them through a model."
)
for entry in registry.PAGES:
    if entry.slug != "home":
        nouns.link_to(entry.slug)
st.caption("Choose a model and a picture in the sidebar; every page shows them.")
