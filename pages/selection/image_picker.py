"""Draws the picture among the nouns: what is chosen, what the model sees of it, and where another comes from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import numpy as np
import streamlit as st

from pages.controls import query_params, session_keys
from pages.selection import model_dialog, model_suggestion, selection, thumbnails, upload
from pages.stores import cached, catalogue, session, uploads
from pages.stores.model_choice import ModelChoice
from pages.streamlit_fixes import element_cache
from vitviz.pin import Pin
from vitviz.plots.theme import Mode
from vitviz.text import unbroken

if TYPE_CHECKING:
    from vitviz.config import Preparation
    from vitviz.data.preparation import Prepared

_UPLOAD = re.compile(r"upload:[\w-]{20,32}")
_INDEX = re.compile(r"0|[1-9][0-9]{0,5}")
_NAME = re.compile(r"[a-z_]{1,32}")
_SOURCES = {"sample": "Samples", "dataset": "Data sets", "own": "Yours"}
_IMAGE_PX = 112  # the longer side of the picture in small
_TALL_PX, _WIDE_PX = 160, 256  # of one more than twice as high as wide, or as wide as high
GONE = "That picture is gone: an upload lives as long as its visit. Here is another one."
GONE_SAMPLE = "That sample picture is not on this server. Here is another one."


def settled(model: ModelChoice) -> str:
    """What the link newly says if it is there, else what was shown, else a picture like those the model learned from;
    says so where a picture is gone.
    """
    said = query_params.take("image")
    if said is not None and _exists(said):
        session_keys.kept()["image"] = said
    elif said is not None:
        _notice(_why_gone(said))
    image = session_keys.kept().get("image")
    if isinstance(image, str) and not _exists(image):
        _notice(_why_gone(image))
        del session_keys.kept()["image"]
        image = None
    return image if isinstance(image, str) else _default(model)


def _default(model: ModelChoice) -> str:
    from vitviz.data.datasets import default_picture

    image = default_picture(model.trained_on, model.preparation.in_chans)
    if not _exists(image):  # its file is damaged, and not offered from now on
        image = default_picture(model.trained_on, model.preparation.in_chans)
    return image


def _notice(sentence: str) -> None:
    if sentence:
        st.session_state[session_keys.NOTICE] = sentence


def _why_gone(image: str) -> str:
    """The sentence for a key that a link of this project may hold and that names nothing here; else none."""
    from vitviz.data.cache import data_file
    from vitviz.data.datasets import DATASETS

    kind, _, name = image.partition(":")
    if _UPLOAD.fullmatch(image):
        return GONE
    if kind == "sample" and _NAME.fullmatch(name):
        return GONE_SAMPLE
    if kind in DATASETS and kind not in catalogue.datasets() and _INDEX.fullmatch(name):
        if data_file(kind).exists():
            return f"The file of {catalogue.data_title(kind)} on this server is damaged. Here is another picture."
        return f"{catalogue.data_title(kind)} is not on this server. Here is another picture."
    return ""


def _exists(image: str) -> bool:
    from vitviz.data.dataset import DatasetError

    kind, _, name = image.partition(":")
    if kind == "upload":
        return uploads.STORE.get(name) is not None
    if kind == "sample":
        return name in catalogue.samples()
    if kind not in catalogue.datasets() or not _INDEX.fullmatch(name):
        return False
    try:
        return int(name) < cached.examples(kind)
    except DatasetError:  # its file is damaged
        return False


def draw(model: ModelChoice, chosen: selection.Nouns) -> None:
    """The picture as the model sees it, what becomes of it, which model reads it, and where another comes from."""
    picture = cached.picture(chosen.image)
    prepared = cached.prepared(chosen.image, model.preparation, chosen.offset)
    redrawn = _redrawn(picture, prepared, model.preparation)
    pin = chosen.pin if selection.is_pinned() and not redrawn else None
    element_cache.draw(
        st.container(horizontal=_side(picture) != _WIDE_PX, vertical_alignment="center", gap="small"),
        _say_picture,
        _small(chosen.image, model.preparation, chosen.offset, pin, selection.mode()),
        _width(picture),
        picture.shape[0] == picture.shape[1],
        selection.picture_title(chosen.image),
        seen(_own_size(chosen.image, picture), picture.shape[:2], prepared, redrawn),
        own=chosen.image.startswith(cached.UPLOAD),
    )
    notice = st.session_state.pop(session_keys.NOTICE, None)
    if notice:
        st.warning(notice, icon=":material/info:")
    _crop(picture, model)
    said = model_suggestion.draw(model, chosen.image)
    _source(chosen.image, said)


def _say_picture(small: str, width: int, square: bool, title: str, words: str) -> None:
    """The picture in small, and beside it, or below a wide one, what it is and what becomes of it."""
    height: int | Literal["content"] = _IMAGE_PX if square else "content"
    with st.container(width=width, height=height, border=False, key="nouns-picture"):
        st.image(small, alt=f"The chosen picture: {title}", width=width)
    with st.container(gap="xxsmall"):
        st.markdown(f"**{title}**")
        st.caption(words)


def _redrawn(picture: np.ndarray, prepared: Prepared, preparation: Preparation) -> bool:
    """Whether the model reads the picture as a digit of another size."""
    return preparation.digit and bool(picture.shape[:2] != prepared.shown.shape[:2])


def _side(picture: np.ndarray) -> int:
    """The longer side of the picture in small, in px: a long one's shorter side must still show something."""
    height, width = picture.shape[:2]
    return _WIDE_PX if width > 2 * height else _TALL_PX if height > 2 * width else _IMAGE_PX


def _width(picture: np.ndarray) -> int:
    height, width = picture.shape[:2]
    shown: int = max(1, round(_side(picture) * width / max(height, width)))
    return shown


@cached.per_picture(shared=256, upload=16)
def _small(image: str, preparation: Preparation, offset: cached.Offset, pin: Pin | None, mode: Mode) -> str:
    """The picture with what the model sees of it, as a file."""
    picture = cached.picture(image)
    box = cached.prepared(image, preparation, offset).box
    return thumbnails.encoded(thumbnails.seen_picture(picture, box, pin, mode, _side(picture)))


def _own_size(image: str, picture: np.ndarray) -> tuple[int, int]:
    """(height, width) of the picture as it came: of an upload its file's own, which may have been made smaller."""
    size = uploads.own_size(image) if image.startswith(cached.UPLOAD) else None
    return size or (picture.shape[0], picture.shape[1])


def seen(size: tuple[int, int], kept: tuple[int, ...], prepared: Prepared, redrawn: bool) -> str:
    """What becomes of the picture on its way into the model.

    Args:
        size: (height, width) as it came.
        kept: (height, width) in whose pixels the model's square is counted.
        prepared: what the model reads.
        redrawn: as a digit is, whole.
    """
    side = prepared.shown.shape[0]
    has, read = _px(size[1], size[0]), _px(side, side)
    if redrawn:
        return f"{has}, redrawn as a digit of {read}"
    if prepared.box[2] < max(kept) - 0.5:
        return f"{has}; the model sees the bright square at {read}"
    return f"{has}, seen whole" + ("" if tuple(size) == (side, side) else f" at {read}")


def _px(width: int, height: int) -> str:
    """'32 × 32 px', on one line."""
    return unbroken(f"{width:,} × {height:,} px")


def _crop(picture: np.ndarray, model: ModelChoice) -> None:
    if model.preparation.digit or picture.shape[0] == picture.shape[1]:
        return
    st.session_state["nouns.crop"] = selection.current().crop  # a link, or another picture, may have moved it
    st.slider(
        "Crop, left to right" if picture.shape[1] > picture.shape[0] else "Crop, top to bottom",
        0.0,
        1.0,
        step=0.05,
        key="nouns.crop",
        format="%.2f",
        help="Where the square that the model sees lies on the picture.",
        on_change=lambda: session_keys.kept().update(crop=st.session_state["nouns.crop"]),
    )


def _source(image: str, offered: bool) -> None:
    """Where another picture comes from; `offered`: models of photos are offered above already."""
    kind = image.partition(":")[0]
    source = {"sample": "sample", "upload": "own"}.get(kind, "dataset")
    if st.session_state.get("nouns.shown_image") != image:  # chosen elsewhere: by a link, by a page
        st.session_state["nouns.shown_image"] = image
        st.session_state["nouns.source"] = source
    if st.session_state.get("nouns.source") not in _SOURCES:  # a browser that mounts it anew may say None
        st.session_state["nouns.source"] = source
    picked = st.segmented_control(
        "Picture from",
        list(_SOURCES),
        default=st.session_state["nouns.source"],
        key="nouns.source",
        required=True,
        format_func=_SOURCES.__getitem__,
        label_visibility="collapsed",
        width="stretch",
    )
    {"sample": _samples, "dataset": _examples, "own": _own}[str(picked)](image)
    if picked == "own" and not offered:
        model_dialog.offer("nouns.imagenet")


def _choose(image: str) -> None:
    """Takes a picture, and looks at its middle: where the last one was cut says nothing of this one."""
    session_keys.kept().update(image=image, crop=selection.Nouns.crop)


def _brought(image: str) -> None:
    """A picture of the visitor's own, or a sample."""
    _choose(image)
    model_suggestion.came(image)


def _samples(image: str) -> None:
    names = catalogue.samples()
    name = image.removeprefix("sample:")
    if st.session_state.get("nouns.sample") not in names or image.startswith("sample:"):
        st.session_state["nouns.sample"] = name if name in names else None
    st.selectbox(
        "Sample",
        names,
        key="nouns.sample",
        placeholder="Choose a picture",
        format_func=lambda value: cached.picture_title(f"sample:{value}"),
        label_visibility="collapsed",
        on_change=lambda: _brought(f"sample:{st.session_state['nouns.sample']}"),
    )


def _examples(image: str) -> None:
    titles = catalogue.datasets()
    kind, _, index = image.partition(":")
    if kind in titles:
        st.session_state["nouns.dataset"] = kind
    st.session_state.setdefault("nouns.dataset", next(iter(titles)))

    def first() -> None:
        _choose(f"{st.session_state['nouns.dataset']}:0")

    def example() -> None:
        _choose(f"{st.session_state['nouns.dataset']}:{st.session_state['nouns.index']}")

    name = st.selectbox(
        "Data set", list(titles), key="nouns.dataset", format_func=titles.__getitem__, on_change=first
    )
    if name != kind:
        st.button("Show its first test picture", on_click=first, width="stretch")
        return
    st.session_state["nouns.index"] = int(index)
    count = cached.examples(name)
    st.number_input(
        f"Test picture, 0 to {count - 1:,}", 0, count - 1, key="nouns.index", step=1, on_change=example
    )


def _own(image: str) -> None:
    if image.startswith("upload:"):
        mine = uploads.is_mine(session.current(), image)
        st.button(
            "Remove my picture" if mine else "Forget this picture",
            icon=":material/delete:" if mine else ":material/close:",
            on_click=_remove,
            args=(image,),
            width="stretch",
            help=None if mine else "You see it by its link; only the visit that brought it can remove it.",
        )
    bring("nouns", st.toggle("Use the camera", key="nouns.camera_on"))


def bring(where: str, camera: bool = False) -> None:
    """Takes a picture of the visitor's own, and says what becomes of the file.

    Args:
        where: names the widget; one that stands elsewhere is another.
        camera: whether it is taken now.
    """
    turn = st.session_state.setdefault("nouns.turn", 0)
    key = f"{where}.{'camera' if camera else 'upload'}.{turn}"
    if camera:
        st.camera_input("Camera", key=key, label_visibility="collapsed", on_change=_received, args=(key,))
    else:
        st.file_uploader(
            "Your picture",
            type="image",  # any: what cannot be shown is refused with a sentence that says why
            key=key,
            max_upload_size=20,
            label_visibility="collapsed",
            on_change=_received,
            args=(key,),
        )
    st.caption(uploads.PRIVACY)


def _received(key: str) -> None:
    """A file has come: keep its picture, drop the file, and show an empty uploader again."""
    from vitviz.data.images import ImageError

    file = upload.take(key)
    if file is None:
        return
    try:
        _brought(uploads.keep(session.current(), file.data))
    except ImageError as error:
        st.session_state[session_keys.NOTICE] = str(error)
    st.session_state["nouns.turn"] += 1
    st.session_state["nouns.camera_on"] = False


def _remove(image: str) -> None:
    uploads.remove(session.current(), image)
    for key in ("image", "crop"):
        session_keys.kept().pop(key, None)
