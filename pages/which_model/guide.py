"""Draw the texts of 'Which model': published results, and the guide to CNN, hybrid and ViT."""

from pathlib import Path

import streamlit as st

from pages.frame import page
from pages.selection import selection
from vitviz.experiments.result_file import describe_provenance, read_result_if_any
from vitviz.papers import link_names

STYLE = Path(__file__).with_name("tables.css")


def draw_papers() -> None:
    st.html(STYLE)
    with st.container(key="which_model-published"):
        st.markdown(link_names(page.read_math(__file__, section="papers")))


def draw_guide() -> None:
    comparison, text = page.read_math(__file__).split("\n---\n")
    st.subheader("Comparison", anchor=False)
    st.html(STYLE)
    with st.container(key="which_model-comparison"):
        st.markdown(comparison)
    st.markdown(text)
    if stored := read_result_if_any("data_size_cifar10"):
        page.provenance(f"How much data? (CIFAR-10): `{stored.command}`, {describe_provenance(stored.made)}.")
    with st.container(horizontal=True):
        selection.link_to("data", "How much data?")
        selection.link_to("studies", "Does a teacher help?", **{"studies.study": "teacher"})
        selection.link_to("attention", "Are attention maps faithful?", **{"attention.view": "truth"})
        selection.link_to("swin", "Cost of window attention", **{"swin.view": "cost"})
