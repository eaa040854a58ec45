"""Draws the nouns: for each what is chosen, as a small picture, and the one control that changes it."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import streamlit as st

from pages.shell import (
    controls,
    follow,
    link,
    nouns,
    own_weights_form,
    pictures,
    published_form,
    received,
    state,
)
from pages.stores import cached, catalogue, own_sets, own_weights, runs, uploads, visit
from pages.stores.choice import ModelChoice
from vitviz.pin import Pin

_UPLOAD = re.compile(r"upload:[\w-]{20,32}")
_SOURCES = {"sample": "Samples", "dataset": "Data sets", "own": "Yours"}
_MODEL_PX = 72
_IMAGE_PX = 112
GONE_MODEL = "Those weights are gone: an upload lives as long as its visit. Here is another model."
GONE = "That picture is gone: an upload lives as long as its visit. Here is another one."


def draw() -> None:
    """Model, step, image, from top to bottom; settles what they are in this run."""
    here = visit.current()
    uploads.stay(here)
    own_sets.stay(here)
    _join(here)
    model, step = _model()
    image = _settled_image(model)
    pin = _settled("pin", Pin.parse)
    crop = _settled_crop()
    chosen = nouns.settle(model.key, step, image, pin if isinstance(pin, Pin) else Pin(), crop)
    _image(model, chosen)


def _join(here: visit.Visit) -> None:
    """A run, or weights, that the link names join the visit that opened it."""
    said = st.session_state.get(state.INCOMING, {}).get("model", "")
    kind, _, name = said.partition(":")
    if kind == "run":
        runs.adopt(here, name)
    elif kind == "weights":
        own_weights.adopt(here, name)


def _kept() -> dict[str, object]:
    kept: dict[str, object] = st.session_state.setdefault(state.KEPT, {})
    return kept


def _settled(key: str, parse: Callable[[str], object | None]) -> object | None:
    """What the link newly says about a key if it can be read, else what is kept."""
    said = link.take(key)
    parsed = None if said is None else parse(said)
    if parsed is not None:
        _kept()[key] = parsed
    return _kept().get(key)


def _settled_crop() -> float:
    def parse(text: str) -> float | None:
        try:
            value = float(text)
        except ValueError:
            return None
        return value if 0 <= value <= 1 else None

    crop = _settled("crop", parse)
    return crop if isinstance(crop, float) else 0.5


# ---------------------------------------------------------------- model and step


def _model() -> tuple[ModelChoice, int]:
    choices = nouns.models()
    # What the link says, else what was shown: either may be weights that have gone since.
    before = st.session_state.get(state.INCOMING, {}).get("model", _kept().get("model"))
    if own_weights.gone(before):
        st.warning(GONE_MODEL, icon=":material/info:")
    key = controls.select(
        "model",
        "Model",
        list(choices),
        catalogue.default_model(),
        format_func=lambda name: (
            choices[name].title + ("" if choices[name].trained_on is not None else " · untrained")
        ),
    )
    choice = choices[key]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        # Drawn once the step is known, which stands below it.
        slot = st.container(width=_MODEL_PX)
        words = st.container(gap="xxsmall")
    step = _step(choice)
    with words:
        if catalogue.is_random(choice, step):
            st.badge("random weights", icon=":material/casino:", color="orange")
        st.caption(_note(choice, step))
    with st.popover("More models", icon=":material/add:", width="stretch"):
        published_form.draw()
        st.divider()
        own_weights_form.draw(key)
    slot.image(_model_picture(choice, step), alt=f"{choice.title}, in small", width=_MODEL_PX)
    return choice, step


def _note(model: ModelChoice, step: int) -> str:
    """What the model is at this step: how well it does is known of the last one."""
    last = model.steps[-1]
    if step == last or model.trained_on is None:
        return model.note
    if step == 0:
        return f"Before its training on {catalogue.data_title(model.trained_on)}."
    return f"Step {step:,} of {last:,} of its training on {catalogue.data_title(model.trained_on)}."


def _model_picture(choice: ModelChoice, step: int) -> np.ndarray:
    filters = catalogue.filters(choice, step)
    if filters is not None:
        return pictures.filters_picture(filters, side_px=_MODEL_PX)
    return pictures.shape_picture(choice.config, nouns.mode(), side_px=_MODEL_PX)


def _step(model: ModelChoice) -> int:
    steps = model.steps
    if len(steps) == 1:
        _kept()["step"] = steps[0]
        link.take("step")
        follow.draw(model)
        return steps[0]
    followed = follow.follows(model)
    step = controls.select_slider(
        "step",
        "Step",
        steps,
        steps[-1],
        format_func=lambda at: f"{at:,}",
        help="The moment in its training: the newest while it is followed."
        if followed
        else "The moment in its training.",
        disabled=followed,
    )
    st.image(
        pictures.curve_picture(model.curve, steps, step, nouns.mode()),
        alt=f"Step {step:,} of {steps[-1]:,} on the training curve",
        width="stretch",
    )
    follow.draw(model)
    return step


# ---------------------------------------------------------------- image


def _default_image(model: ModelChoice) -> str:
    available = catalogue.datasets()
    if model.trained_on in available:
        return f"{model.trained_on}:0"
    return "digits:0" if model.preparation.digit else "sample:cat"


def _settled_image(model: ModelChoice) -> str:
    said = link.take("image")
    if said is not None and _UPLOAD.fullmatch(said) and not _exists(said):
        st.session_state[state.NOTICE] = GONE
    elif said is not None and _exists(said):
        _kept()["image"] = said
    image = _kept().get("image")
    if isinstance(image, str) and not _exists(image):
        if image.startswith("upload:"):
            st.session_state[state.NOTICE] = GONE
        del _kept()["image"]
        image = None
    return image if isinstance(image, str) else _default_image(model)


def _exists(image: str) -> bool:
    kind, _, name = image.partition(":")
    if kind == "upload":
        return uploads.STORE.get(name) is not None
    if kind == "sample":
        return name in catalogue.samples()
    if kind not in catalogue.datasets() or not re.fullmatch(r"0|[1-9][0-9]{0,5}", name):
        return False
    return int(name) < cached.examples(kind)


def _image(model: ModelChoice, chosen: nouns.Nouns) -> None:
    picture = cached.picture(chosen.image)
    prepared = cached.prepared(chosen.image, model.preparation, chosen.offset)
    redrawn = model.preparation.digit and picture.shape[:2] != prepared.shown.shape[:2]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.container(width=_IMAGE_PX).image(
            pictures.seen_picture(
                picture, prepared.box, None if redrawn else chosen.pin, nouns.mode(), _IMAGE_PX
            ),
            alt=f"The chosen picture: {describe(chosen.image)}",
            width=max(1, round(_IMAGE_PX * picture.shape[1] / max(picture.shape[:2]))),
        )
        with st.container(gap="xxsmall"):
            st.markdown(f"**{describe(chosen.image)}**")
            st.caption(_seen(picture, prepared.shown, redrawn))
    notice = st.session_state.pop(state.NOTICE, None)
    if notice:
        st.warning(notice, icon=":material/info:")
    _crop(picture, model)
    _source(chosen.image)


def describe(image: str) -> str:
    """What a picture is, in a few words."""
    kind, _, name = image.partition(":")
    if kind == "upload":
        return "Your picture"
    if kind == "sample":
        return catalogue.sample_title(name)
    data = cached.dataset(kind)
    title = f"{catalogue.datasets()[kind]} {int(name):,}"
    if data.test_labels is None:
        return title
    return f"{title}: {data.classes[int(data.test_labels[int(name)])]}"


def _seen(picture: np.ndarray, shown: np.ndarray, redrawn: bool) -> str:
    """What becomes of the picture on its way into the model."""
    height, width = picture.shape[:2]
    side = shown.shape[0]
    if redrawn:
        return f"{width} × {height} px, redrawn as a digit of {side} × {side} px"
    if (height, width) == (side, side):
        return f"{width} × {height} px, seen whole"
    return f"{width} × {height} px; the model sees the bright square at {side} × {side} px"


def _crop(picture: np.ndarray, model: ModelChoice) -> None:
    if model.preparation.digit or picture.shape[0] == picture.shape[1]:
        return
    st.session_state.setdefault("nouns.crop", nouns.current().crop)
    st.slider(
        "Crop",
        0.0,
        1.0,
        step=0.05,
        key="nouns.crop",
        format="%.2f",
        help="Where the square that the model sees lies on the picture.",
        on_change=lambda: _kept().update(crop=st.session_state["nouns.crop"]),
    )


def _source(image: str) -> None:
    kind = image.partition(":")[0]
    source = {"sample": "sample", "upload": "own"}.get(kind, "dataset")
    if st.session_state.get("nouns.shown_image") != image:  # chosen elsewhere: by a link, by a page
        st.session_state["nouns.shown_image"] = image
        st.session_state["nouns.source"] = source
    st.session_state.setdefault("nouns.source", source)
    picked = st.segmented_control(
        "Picture from",
        list(_SOURCES),
        key="nouns.source",
        required=True,
        format_func=_SOURCES.__getitem__,
        label_visibility="collapsed",
        width="stretch",
    )
    {"sample": _samples, "dataset": _examples, "own": _own}[str(picked)](image)


def _choose(image: str) -> None:
    _kept()["image"] = image


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
        format_func=lambda value: describe(f"sample:{value}"),
        label_visibility="collapsed",
        on_change=lambda: _choose(f"sample:{st.session_state['nouns.sample']}"),
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
    turn = st.session_state.setdefault("nouns.turn", 0)
    if image.startswith("upload:"):
        st.button(
            "Remove my picture", icon=":material/delete:", on_click=_remove, args=(image,), width="stretch"
        )
    camera = st.toggle("Use the camera", key="nouns.camera_on")
    key = f"nouns.{'camera' if camera else 'upload'}.{turn}"
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

    file = received.take(key)
    if file is None:
        return
    try:
        _choose(uploads.keep(visit.current(), file.data))
    except ImageError as error:
        st.session_state[state.NOTICE] = str(error)
    st.session_state["nouns.turn"] += 1
    st.session_state["nouns.camera_on"] = False


def _remove(image: str) -> None:
    uploads.remove(image)
    _kept().pop("image", None)
