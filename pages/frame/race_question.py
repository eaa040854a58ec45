"""Draw the question that a race's models are trained on."""

import numpy as np
import streamlit as st

from pages.stores import shared_cache
from vitviz.training.position_race import QUESTIONS

MAX_IMAGES = 4  # images, of the first classes
_PX = 64


def draw(dataset_name: str) -> None:
    """Draw the dataset's question and one test image per class, at most four."""
    dataset = shared_cache.load_dataset(dataset_name)
    labels = dataset.labels_of("test")
    images = [
        dataset.test_images[np.argmax(labels == index)] for index in range(len(dataset.classes[:MAX_IMAGES]))
    ]
    scale = max(1, 2 * _PX // images[0].shape[0])  # so that a browser does not blur small images
    st.caption(f"Question: {QUESTIONS[dataset_name]}")
    with st.container(horizontal=True, gap="small"):
        for name, image in zip(dataset.classes, images, strict=False):
            large = np.broadcast_to(image, (*image.shape[:2], 3)).repeat(scale, 0).repeat(scale, 1)
            st.image(large, caption=name, alt=f"Test image of class {name}", width=_PX)
