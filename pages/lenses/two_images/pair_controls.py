"""Draw the controls that sections of Two images share: the second image, the layer and the foreground."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from pages.controls import popover, session_keys, widgets
from pages.lenses.two_images.image_pair import ImagePair, PairSource
from pages.selection import image_picker, selection
from pages.selection.subject import Subject
from pages.stores import catalogue, shared_cache, uploads
from pages.views.event_values import read_events
from pages.views.register import register
from vitviz.analysis.image_changes import COPIES
from vitviz.config import CNNConfig
from vitviz.data.datasets import default_pictures, has_images
from vitviz.data.drawings import is_drawing
from vitviz.plots.blob import pack

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


_pad = register(__file__, "second_image_pad")
PAD = "two_images.pad"
TEST, DRAWING = "test", "drawing:"
_OWN = "two_images._own"  # session key: image keys of drawings and uploads
MOST_OWN = 4
CENTRE = (0.5, 0.5)


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
    return Foreground(
        method, choose_share(None if method == "attention" else "Only used by the foreground 'attention'.")
    )


def choose_share(why_not: str | None) -> float:
    """Draw the share of attention that the foreground holds."""
    return float(
        widgets.slider("two_images.share", "Share of attention", 0.3, 0.9, 0.6, 0.05, why_not=why_not)
    )


def choose_second(subject: Subject, *, same_class: bool) -> tuple[PairSource, str]:
    """Draw the controls of the second image; return it with its title.

    Args:
        same_class: whether the default is a test image of the first image's class, or of another one.
    """
    options = _list_options(subject)
    kind = subject.image.partition(":")[0]
    default = TEST if has_images(kind) else "crop"
    widgets.follow_default("two_images.second", default)
    with st.container(width=170):
        second = widgets.select(
            "two_images.second",
            "Second image",
            options,
            default,
            format_func=_name_option,
        )
    number = _choose_number(subject, same_class) if second == TEST else ""
    if number:
        return PairSource(number, CENTRE), shared_cache.get_image_title(number)
    if second in COPIES:
        return PairSource(subject.image, subject.offset, second), COPIES[second]
    return PairSource(second, CENTRE), selection.get_image_title(second)


def _list_options(subject: Subject) -> list[str]:
    """Return the second images on offer: those of the session's own that are still stored at the end."""
    key = "two_images.second"
    selected = st.session_state.get(key, session_keys.get_control_values().get(key, ""))
    linked = session_keys.get_dict(session_keys.REQUESTED).get(key, "")
    own_images: list[str] = st.session_state.setdefault(_OWN, [])
    own_images += [
        image for image in (str(selected), str(linked)) if image not in own_images and _is_own(image)
    ]
    samples = [f"sample:{name}" for name in catalogue.list_samples()]
    others = [image for image in samples if image != subject.image]
    return [TEST, *COPIES, *others, *filter(_is_own, own_images[-MOST_OWN:])]


def _is_own(key: str) -> bool:
    """Return True for a drawing, or an upload that is still stored."""
    kind, _, name = key.partition(":")
    return kind == "upload" and uploads.STORE.get(name) is not None or kind == "drawing" and is_drawing(name)


def _name_option(option: str) -> str:
    if option == TEST:
        return "Test image"
    if option in COPIES:
        return COPIES[option]
    return "Your drawing" if option.startswith(DRAWING) else selection.get_image_title(option)


def _choose_number(subject: Subject, same_class: bool) -> str:
    """Draw the number of the test image; return its key."""
    model, (kind, _, number) = subject.model, subject.image.partition(":")
    name = kind if has_images(kind) else default_pictures(model.trained_on, model.preparation.in_chans)
    first = int(number) if kind == name else -1
    default = find_partner(shared_cache.load_dataset(name).test_labels, first, same_class)
    key = "two_images.number"
    widgets.follow_default(key, default)
    with st.container(width=120):
        index = widgets.number(key, "Image no.", 0, shared_cache.count_test_images(name) - 1, default)
    return f"{name}:{index}"


def find_partner(labels: np.ndarray | None, first: int, same_class: bool) -> int:
    """Return the next test image of the same or of another class, from the beginning again after the last.

    Args:
        labels: (images,); None without classes.
        first: index of the first image; -1 if it is none of them.
    """
    if labels is None or first < 0:
        return first + 1 if first == 0 else 0
    order = np.roll(np.arange(len(labels)), -first - 1)[:-1]
    fitting = order[(labels[order] == labels[first]) == same_class]
    return int(fitting[0]) if len(fitting) else int(order[0])


def draw_own_image() -> None:
    """Draw the popover in which an image is drawn or uploaded."""
    with popover.draw_popover("Your second image", "draw", "two_images.own"):
        if popover.is_closed():
            return
        current = str(session_keys.get_control_values().get("two_images.second", ""))
        strokes = current.removeprefix(DRAWING) if current.startswith(DRAWING) else ""
        _pad(pack({"strokes": strokes}), key=PAD, triggers=("draw",), on_change=_select_drawing)
        image_picker.draw_upload("two_images", partial(widgets.set_control, "two_images.second"))


def _select_drawing() -> None:
    strokes = read_events(PAD).get("draw")
    if isinstance(strokes, str) and is_drawing(strokes):
        widgets.set_control("two_images.second", f"{DRAWING}{strokes}")
