"""Draw the controls that sections of Two images share: layer, foreground and weights."""

from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.lenses.two_images.image_pair import ImagePair
from vitviz.config import CNNConfig

FOREGROUND = {"off": "all patches", "attention": "attention", "component": "first component"}


@dataclass(frozen=True)
class Foreground:
    """The method that finds the foreground (off, attention or component), and the share of attention that it holds."""

    method: str
    share: float

    def describe(self) -> str:
        """Return a condition for a caption, or ''."""
        return {
            "off": "",
            "attention": f" Foreground: the patches with {100 * self.share:.0f} % of the attention.",
            "component": " Foreground: one side of the first component.",
        }[self.method]


def choose_layer(pair: ImagePair) -> int:
    """Draw the layer slider; return the layer's index."""
    layers, config = pair.layers, pair.model.config
    # A classifier's last tokens carry the class rather than the place.
    last, cnn = len(layers) - 1, isinstance(config, CNNConfig)
    default = last if not config.num_classes else last // 2 if cnn else (last + 1) // 2
    key = "two_images.layer"
    widgets.follow_default(key, default)
    with st.container(width=140):
        return widgets.select_slider(
            key,
            "Layer",
            range(len(layers)),
            default,
            format_func=lambda index: layers[index].title,
        )


def choose_foreground(pair: ImagePair, default: str) -> Foreground:
    """Draw the foreground's method, and its share of attention, within an options popover."""
    able = pair.subject.able
    methods = {
        name: title for name, title in FOREGROUND.items() if name != "attention" or able.heads_over_all
    }
    widgets.follow_default("two_images.foreground", default)
    method = widgets.segmented(
        "two_images.foreground",
        "Foreground",
        methods,
        default,
        help=None if able.heads_over_all else able.heads_over_all.why_not,
    )
    share = widgets.slider(
        "two_images.share",
        "Share of attention",
        0.3,
        0.9,
        0.6,
        0.05,
        why_not=None if method == "attention" else "Only used by the foreground 'attention'.",
    )
    return Foreground(method, float(share))
