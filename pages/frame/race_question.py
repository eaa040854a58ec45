"""What a race's models are asked: the question, and labelled pictures of its answers."""

from __future__ import annotations

import numpy as np
import streamlit as st

from pages.stores import cached
from vitviz.training.races import QUESTIONS

MOST = 4  # pictures, of the first classes
_PX = 64


def draw(dataset: str) -> None:
    """The question of a race's data set and one test picture of each answer, of the first four where there are more."""
    data = cached.dataset(dataset)
    labels = data.labels_of("test")
    shown = [data.test_images[int(np.argmax(labels == index))] for index in range(len(data.classes[:MOST]))]
    scale = max(1, 2 * _PX // shown[0].shape[0])  # so that a browser does not blur small pictures
    st.caption(f"The question: {QUESTIONS[dataset]}")
    with st.container(horizontal=True, gap="small"):
        for name, one in zip(data.classes, shown, strict=False):
            large = np.broadcast_to(one, (*one.shape[:2], 3)).repeat(scale, 0).repeat(scale, 1)
            st.image(large, caption=name, alt=f"A test picture whose answer is {name}", width=_PX)
