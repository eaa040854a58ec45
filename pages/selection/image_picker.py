"""Draw the image part of the sidebar: the selected image, its crop, and the sources of other images."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages.controls import notices, query_params, session_keys
from pages.selection import model_dialog, model_suggestion, selection, thumbnails, upload
from pages.stores import catalogue, session, shared_cache, uploads
from pages.stores.model_choice import ModelChoice
from pages.streamlit_fixes.optional import element_cache
from vitviz.data.drawings import is_drawing
from vitviz.pin import Pin
from vitviz.plots.theme import Mode
from vitviz.text import unbroken
from vitviz.upload_limits import IMAGE_BYTES

if TYPE_CHECKING:
    from vitviz.config import Preparation
    from vitviz.data.image_preprocessing import Prepared

_UPLOAD = re.compile(r"upload:[\w-]{20,32}")
_INDEX = re.compile(r"0|[1-9][0-9]{0,5}")
_NAME = re.compile(r"[a-z_]{1,32}")
_SOURCES = {"sample": "Samples", "dataset": "Datasets", "own": "Upload"}
_IMAGE_PX = 112  # longer side of the thumbnail
_TALL_PX, _WIDE_PX = 160, 256  # longer side of a thumbnail with an aspect ratio above 2
_SQUARES_PX = 64  # largest image whose pixels are seen as squares
IMAGE_EXPIRED = "This image has expired: an upload is deleted when its session ends. Another image is shown."
SAMPLE_MISSING = "This sample image is not on this server. Another image is shown."


def resolve_image(model: ModelChoice, default: str = "") -> str:
    """Return the image key from the link, else the previous one, else the default of the page or of the model."""
    linked = query_params.take_value("image")
    if linked is not None and image_exists(linked):
        session_keys.get_control_values()["image"] = linked
        notices.clear_notice(session_keys.NOTICE)
    elif linked is not None:
        notices.store_notice(session_keys.NOTICE, _explain_missing(linked))
    image = session_keys.get_control_values().get("image")
    if isinstance(image, str) and not image_exists(image):
        notices.store_notice(session_keys.NOTICE, _explain_missing(image))
        del session_keys.get_control_values()["image"]
        image = None
    return image if isinstance(image, str) else default if image_exists(default) else _choose_default(model)


def _choose_default(model: ModelChoice) -> str:
    from vitviz.data.datasets import default_picture

    image = default_picture(model.trained_on, model.preparation.in_chans)
    if not image_exists(image):  # the file is damaged, and no longer listed
        image = default_picture(model.trained_on, model.preparation.in_chans)
    return image if image_exists(image) else f"{image.partition(':')[0]}:0"  # a file with fewer images


def _explain_missing(image: str) -> str:
    """Return why a well-formed image key of a link is unavailable, or ''."""
    from vitviz.data.dataset_cache import data_file
    from vitviz.data.datasets import DATASETS, has_images

    kind, _, name = image.partition(":")
    if _UPLOAD.fullmatch(image):
        return IMAGE_EXPIRED
    if kind == "sample" and _NAME.fullmatch(name):
        return SAMPLE_MISSING
    if kind in DATASETS and not has_images(kind) and _INDEX.fullmatch(name):
        if data_file(kind).exists():
            return f"The {catalogue.get_dataset_title(kind)} file on this server is damaged. Another image is shown."
        return f"{catalogue.get_dataset_title(kind)} is not on this server. Another image is shown."
    if has_images(kind) and _INDEX.fullmatch(name):
        title = catalogue.get_dataset_title(kind)
        return f"{title} has no test image no. {int(name):,} on this server. Another image is shown."
    return ""


def image_exists(image: str) -> bool:
    from vitviz.data.dataset import DatasetError
    from vitviz.data.datasets import has_images

    kind, _, name = image.partition(":")
    if kind == "upload":
        return uploads.STORE.get(name) is not None
    if kind == "sample":
        return name in catalogue.list_samples()
    if kind == "drawing":
        return is_drawing(name)
    if not has_images(kind) or not _INDEX.fullmatch(name):
        return False
    try:
        return int(name) < shared_cache.count_test_images(kind)
    except DatasetError:  # damaged file
        return False


def draw(model: ModelChoice, chosen: selection.Selection) -> None:
    """Draw the image as the model sees it, a suggested model, and the sources of other images."""
    st.fragment(_draw_thumbnail, key=selection.THUMBNAIL)(model, chosen)
    notices.draw_notice(session_keys.NOTICE)
    _draw_crop(shared_cache.load_image(chosen.image), model, chosen.whole)
    model_suggestion.draw(model, chosen.image)
    source = _draw_sources(chosen.image)
    if not model_suggestion.draw_offer(model, chosen.image) and source == "own":
        model_dialog.draw_published_button("nouns.imagenet")


def _draw_thumbnail(model: ModelChoice, chosen: selection.Selection) -> None:
    pixels = shared_cache.load_image(chosen.image)
    prepared = shared_cache.prepare_image(chosen.image, model.preparation, chosen.offset)
    redrawn = model.preparation.digit and pixels.shape[:2] != prepared.shown.shape[:2]
    pin = selection.get_current().pin if selection.is_pinned() and not redrawn else None
    element_cache.draw_cached(
        st.container(
            horizontal=_get_longer_side_px(pixels) != _WIDE_PX, vertical_alignment="center", gap="small"
        ),
        _draw_image,
        _encode_thumbnail(chosen.image, model.preparation, chosen.offset, pin, selection.get_theme()),
        max(1, round(_get_longer_side_px(pixels) * pixels.shape[1] / max(pixels.shape[:2]))),
        max(1, round(_get_longer_side_px(pixels) * pixels.shape[0] / max(pixels.shape[:2]))),
        selection.get_image_title(chosen.image),
        describe_crop(
            _get_original_size(chosen.image, pixels), pixels.shape[:2], prepared, redrawn, model.preparation
        ),
        private=chosen.image.startswith(shared_cache.UPLOAD),
    )


def _draw_image(small: str, width: int, height: int, title: str, text: str) -> None:
    with st.container(width=width, height=height, border=False, key="nouns-picture"):
        st.image(small, alt=f"The selected image: {title}", width=width)
    with st.container(gap="xxsmall"):
        st.markdown(f"**{title}**")
        st.caption(text)


def _get_longer_side_px(pixels: np.ndarray) -> int:
    """Return the thumbnail's longer side, which grows for elongated images."""
    height, width = pixels.shape[:2]
    return _WIDE_PX if width > 2 * height else _TALL_PX if height > 2 * width else _IMAGE_PX


@shared_cache.per_image(shared=256, upload=16)
def _encode_thumbnail(
    image: str, preparation: Preparation, offset: shared_cache.Offset, pin: Pin | None, mode: Mode
) -> str:
    pixels = shared_cache.load_image(image)
    box = shared_cache.prepare_image(image, preparation, offset).box
    drawn = thumbnails.draw_crop(pixels, box, pin, mode, _get_longer_side_px(pixels))
    return thumbnails.encode_image(drawn, is_photo=max(pixels.shape) > _SQUARES_PX)


def _get_original_size(image: str, pixels: np.ndarray) -> tuple[int, int]:
    """Return (height, width) of the file, before a large upload was reduced."""
    size = uploads.get_file_size(image) if image.startswith(shared_cache.UPLOAD) else None
    return size or (pixels.shape[0], pixels.shape[1])


def describe_crop(
    size: tuple[int, int],
    stored: tuple[int, ...],
    prepared: Prepared,
    redrawn: bool,
    preparation: Preparation,
) -> str:
    """Describe how the image is resized, cropped and normalised for the model.

    Args:
        size: (height, width) of the file.
        stored: (height, width) that the crop box refers to.
        prepared: the model's input.
        redrawn: True if the image is redrawn as a digit.
        preparation: of the model.
    """
    height, width = prepared.shown.shape[:2]
    original, resized = _format_size(size[1], size[0]), _format_size(width, height)
    if redrawn:
        return f"{original}, redrawn as a digit of {resized}"
    resized_height, resized_width = preparation.resized_shape
    square = resized_height == resized_width
    short = unbroken(f"{resized_height} px") if square else _format_size(resized_width, resized_height)
    if preparation.resize == "squash":
        resizing = f"{'both sides ' if square else ''}resized to {short}"
        if preparation.crop_fraction != 1:
            resizing += f", then cropped to {resized}"
    elif preparation.resize != "shorter":
        fit = f"longer side resized to {short}" if square else f"resized to fit into {short}"
        resizing = fit if preparation.resize == "longer" else "not resized"
        resizing += f", then cropped or padded to {resized}"
    elif prepared.box[2] < stored[0] - 0.5 or prepared.box[3] < stored[1] - 0.5:
        resizing = (
            f"shorter side resized to {short}, then cropped to {resized} (the bright square)"
            if square
            else f"resized to cover {short}, then cropped to {resized} (the bright part)"
        )
    elif tuple(size) == (height, width):
        return f"{original} (original size)"
    else:
        resizing = f"resized to {resized}"
    mean, std = (
        ", ".join(f"{channel:g}" for channel in values) for values in (preparation.mean, preparation.std)
    )
    return f"{original}; {resizing}; mean {mean}; std {std}"


def _format_size(width: int, height: int) -> str:
    """Return '32 × 32 px' with non-breaking spaces."""
    return unbroken(f"{width:,} × {height:,} px")


def explain_crop(model: ModelChoice) -> str:
    """Return why a model cannot read an image in its own proportions; '' if it can."""
    from vitviz.models.whole_image import explain_fixed_shape

    return explain_fixed_shape(model.config, model.preparation)


def _draw_crop(pixels: np.ndarray, model: ModelChoice, whole: bool | None) -> None:
    """Draw the position of the crop, and the choice of the whole image, where the model does not see all of it."""
    if not whole:
        _draw_crop_slider(pixels, model)
    rows, cols = (model.native or model).preparation.image_shape
    if whole is None or model.preparation.digit or pixels.shape[1] * rows == pixels.shape[0] * cols:
        return
    st.session_state["nouns.whole"] = whole  # a link may have changed it
    reason = explain_crop(model)
    st.toggle(
        "Whole image",
        key="nouns.whole",
        help=reason
        or "Resizes the image in its own proportions to whole patches, and the model's positions to their grid.",
        disabled=bool(reason),
        on_change=lambda: session_keys.get_control_values().update(whole=st.session_state["nouns.whole"]),
    )


def _draw_crop_slider(pixels: np.ndarray, model: ModelChoice) -> None:
    rows, cols = model.preparation.image_shape
    overhang = pixels.shape[1] * rows - pixels.shape[0] * cols  # above 0: the crop moves to the right
    if model.preparation.digit or not overhang:
        return
    st.session_state["nouns.crop"] = selection.get_current().crop  # a link or an image may have changed it
    st.slider(
        "Crop, left to right" if overhang > 0 else "Crop, top to bottom",
        0.0,
        1.0,
        step=0.05,
        key="nouns.crop",
        format="%.2f",
        help="Position of the part that the model sees.",
        on_change=lambda: session_keys.get_control_values().update(crop=st.session_state["nouns.crop"]),
    )


def _draw_sources(image: str) -> str:
    """Draw the choice of a source and the source's controls, and return the source."""
    kind = image.partition(":")[0]
    source = {"sample": "sample", "upload": "own"}.get(kind, "dataset")
    if st.session_state.get("nouns.shown_image") != image:  # selected by a link or a page
        st.session_state["nouns.shown_image"] = image
        st.session_state["nouns.source"] = source
    if st.session_state.get("nouns.source") not in _SOURCES:  # a browser that mounts it again may send None
        st.session_state["nouns.source"] = source
    selected = st.segmented_control(
        "Image source",
        list(_SOURCES),
        default=st.session_state["nouns.source"],
        key="nouns.source",
        required=True,
        format_func=_SOURCES.__getitem__,
        label_visibility="collapsed",
        width="stretch",
    )
    {"sample": _draw_samples, "dataset": _draw_test_images, "own": _draw_own_image}[str(selected)](image)
    return str(selected)


def _select_image(image: str) -> None:
    model_suggestion.keep_model(image)
    session_keys.get_control_values().update(image=image, crop=selection.Selection.crop, own=False)
    notices.clear_notice(session_keys.NOTICE)


def _select_own_image(image: str) -> None:
    """Select an upload or a sample, and suggest a model that fits it."""
    model_suggestion.suggest_for_image(image)
    _select_image(image)


def _draw_samples(image: str) -> None:
    names = catalogue.list_samples()
    name = image.removeprefix("sample:")
    if st.session_state.get("nouns.sample") not in names or image.startswith("sample:"):
        st.session_state["nouns.sample"] = name if name in names else None
    st.selectbox(
        "Sample",
        names,
        key="nouns.sample",
        placeholder="Select an image",
        format_func=lambda sample: shared_cache.get_image_title(f"sample:{sample}"),
        label_visibility="collapsed",
        on_change=lambda: _select_own_image(f"sample:{st.session_state['nouns.sample']}"),
    )


def _draw_test_images(image: str) -> None:
    titles = catalogue.list_datasets()
    kind, _, index = image.partition(":")
    if kind in titles:
        st.session_state["nouns.dataset"] = kind
    st.session_state.setdefault("nouns.dataset", next(iter(titles)))

    def select_first() -> None:
        _select_image(f"{st.session_state['nouns.dataset']}:0")

    def select_index() -> None:
        _select_image(f"{st.session_state['nouns.dataset']}:{st.session_state['nouns.index']}")

    name = st.selectbox(
        "Dataset", list(titles), key="nouns.dataset", format_func=titles.__getitem__, on_change=select_first
    )
    if name != kind:
        st.button("Show the first test image", on_click=select_first, width="stretch")
        return
    st.session_state["nouns.index"] = int(index)
    count = shared_cache.count_test_images(name)
    st.number_input(
        f"Test image no., 0 to {count - 1:,}",
        0,
        count - 1,
        key="nouns.index",
        step=1,
        help="Number of the image in the test set; the page's URL and Python use the same number.",
        on_change=select_index,
    )


def _draw_own_image(image: str) -> None:
    shows_upload = image.startswith("upload:")
    is_owner = shows_upload and uploads.is_owner(session.get_current(), image)
    camera = bool(st.session_state.get("nouns.camera_on"))
    draw_upload("nouns", camera=camera, note="" if is_owner else uploads.PRIVACY)
    st.toggle("Use the camera", key="nouns.camera_on")
    if shows_upload:
        st.button(
            "Delete my image" if is_owner else "Hide this image",
            icon=":material/delete:" if is_owner else ":material/close:",
            on_click=_remove_image,
            args=(image,),
            width="stretch",
            help=uploads.PRIVACY if is_owner else "Opened by a link; only its owner can delete it.",
        )


def draw_upload(
    place: str,
    select: Callable[[str], None] = _select_own_image,
    *,
    camera: bool = False,
    note: str = uploads.PRIVACY,
) -> None:
    """Draw the file uploader or the camera, and store what it delivers.

    Args:
        place: a prefix of the widget's key.
        select: receives the key of the stored image.
        camera: True for the camera, False for the uploader.
        note: what happens to the image.
    """
    # Any type: an unsupported file is refused with a reason.
    options: dict[str, Any] = {} if camera else {"type": "image", "max_upload_size": IMAGE_BYTES >> 20}
    key, label = (f"{place}.camera", "Camera") if camera else (f"{place}.upload", "Your image")
    receive = partial(_store_file, place, select)
    upload.draw_uploader(key, label, receive, camera=camera, label_visibility="collapsed", **options)
    notices.draw_notice(f"{place}._upload_notice")
    if note:
        st.caption(note)


def _store_file(place: str, select: Callable[[str], None], file: upload.UploadedFile) -> None:
    from vitviz.data.image_decoding import ImageError

    try:
        select(uploads.store_image(session.get_current(), file.data))
        notices.clear_notice(f"{place}._upload_notice")
    except ImageError as error:
        notices.store_notice(f"{place}._upload_notice", str(error))
    st.session_state["nouns.camera_on"] = False


def _remove_image(image: str) -> None:
    uploads.remove_image(session.get_current(), image)
    for key in ("image", "crop"):
        session_keys.get_control_values().pop(key, None)
