"""Draw the form that opens a user's own weights, and the one that changes their labels and preprocessing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.controls import listing, notices, session_keys
from pages.selection import selection, upload
from pages.stores import own_weights, session
from vitviz.config import Interpolation, Preparation
from vitviz.config_fields import format_size
from vitviz.models.pretrained_list import HALF, IMAGENET_MEAN, IMAGENET_STD
from vitviz.text import plain

_RESIZED = {
    "shorter": "shorter side resized",
    "longer": "longer side resized, padded",
    "squash": "both sides resized",
    "none": "not resized",
}
_ERROR = "own_weights._error"
_OPENED = "own_weights._opened"
_CONVERT = "own_weights._convert"  # code that converts another format to safetensors
_SETTINGS = ("labels", "normalisation", "interpolation", "crop", "heads", "size")
_TYPES = "safetensors zip pth pt bin ckpt h5 npz onnx".split()  # all after 'zip' are refused with a reason
_AS_NOW = "As now"
_NORMALISATIONS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "ImageNet": (IMAGENET_MEAN, IMAGENET_STD),
    "0.5": (HALF, HALF),
    "CLIP": ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
}


def get_upload_limit_mb() -> int:
    return int(st.get_option("server.maxUploadSize"))


def draw() -> None:
    if st.session_state.pop(_OPENED, False):
        st.rerun()  # of the whole app: this dialog alone would keep the model that was selected before
    st.markdown("**Your own weights**")
    upload.draw_uploader(
        "own_weights._file",
        "A .safetensors file of a ViT or Swin, or a zip of its folder",
        _open_file,
        type=_TYPES,
        max_upload_size=get_upload_limit_mb(),
        help="From timm, transformers, torchvision, open_clip or vit-pytorch; the architecture is recognised. With its"
        " folder (config.json, preprocessor_config.json, shards), labels and preprocessing are read too.",
    )
    notices.draw_notice(_ERROR)
    if _ERROR in st.session_state and (lines := st.session_state.get(_CONVERT)):
        listing.source(lines)


def draw_settings(chosen: str) -> None:
    """Draw the settings of the user's own model, if one is chosen, and what happens to uploads."""
    if chosen.startswith(own_weights.KEY) and own_weights.is_owner(session.get_current(), chosen):
        _draw_settings(chosen)
        st.button(
            "Delete my weights",
            icon=":material/delete:",
            on_click=_remove_weights,
            args=(chosen,),
            width="stretch",
        )
    st.caption(own_weights.PRIVACY)


def _draw_settings(chosen: str) -> None:
    """Draw what was assumed about the user's model, its preprocessing, and a form that changes both."""
    from vitviz.models.loaded_model import list_head_counts, list_image_sizes

    model = own_weights.get_model(chosen)
    keys = _name_widgets(chosen)
    st.markdown(f"{plain(model.title)}: {plain(describe_preparation(model.preparation))}")
    _draw_notes(chosen, model.notes)
    with st.form(f"own_weights._settings.{model.digest}", border=False):
        if model.classes:
            st.text_area("Labels, one per line", "\n".join(model.classes), key=keys["labels"], height=120)
        counts = list_head_counts(model.config)
        sizes = list_image_sizes(model)
        left, middle, right, *more = st.columns(3 + bool(counts) + bool(sizes))
        presets = _NORMALISATIONS if model.preparation.in_chans == 3 else {}
        left.selectbox("Mean and std", [_AS_NOW, *presets], key=keys["normalisation"])
        methods = list(get_args(Interpolation))
        middle.selectbox(
            "Interpolation",
            methods,
            methods.index(model.preparation.interpolation),
            key=keys["interpolation"],
        )
        right.number_input(
            "Crop",
            min(0.1, model.preparation.crop_fraction),
            max(1.0, model.preparation.crop_fraction),
            model.preparation.crop_fraction,
            0.05,
            key=keys["crop"],
            help="Share of the shorter side.",
        )
        if counts:
            _draw_heads(more[0], model.vit.config.num_heads, counts, keys["heads"])
        if sizes:
            more[-1].selectbox(
                "Image size",
                sizes,
                format_func=format_size,
                key=keys["size"],
                help="Height × width in pixels: the grids that as many patches have.",
            )
        st.form_submit_button("Apply", on_click=_change_model, args=(chosen,), width="stretch")


def _draw_heads(column: DeltaGenerator, current: int, counts: list[int], key: str) -> None:
    help = "Weights have the same shape for all of these numbers."
    column.selectbox("Heads", counts, counts.index(current), key=key, help=help)


def _draw_notes(chosen: str, notes: tuple[str, ...]) -> None:
    """Draw what was assumed or not read, and the button that confirms the assumptions."""
    from vitviz.models.loaded_model import list_assumptions

    for note in notes:
        st.caption(plain(note))
    if list_assumptions(notes):
        st.button(
            "Confirm what is assumed",
            icon=":material/check:",
            key=f"own_weights._confirm.{chosen}",
            on_click=_confirm,
            args=(chosen,),
        )


def _name_widgets(key: str) -> dict[str, str]:
    """Return keys of the form's widgets that no other model has, nor this one after a change."""
    digest = own_weights.get_model(key).digest
    return {name: f"own_weights._{name}.{key}.{digest}" for name in _SETTINGS}


def describe_preparation(preparation: Preparation) -> str:
    mean, std = (
        ", ".join(f"{channel:.3g}" for channel in values) for values in (preparation.mean, preparation.std)
    )
    return (
        f"images of {preparation.image_size} px, {_RESIZED[preparation.resize]}, {preparation.interpolation}, crop"
        f" {preparation.crop_fraction:.3g}, mean {mean}, std {std}."
    )


def _change_model(key: str) -> None:
    from vitviz.models.pretrained_list import PretrainedError

    try:
        preparation = own_weights.get_model(key).preparation
        values: dict[str, Any] = {
            name: st.session_state.get(widget) for name, widget in _name_widgets(key).items()
        }
        labels = tuple(line.strip() for line in (values["labels"] or "").splitlines() if line.strip())
        mean, std = _NORMALISATIONS.get(values["normalisation"], (preparation.mean, preparation.std))
        changed = replace(
            preparation,
            mean=mean,
            std=std,
            interpolation=values["interpolation"],
            crop_fraction=values["crop"],
        )
        own_weights.change_model(session.get_current(), key, labels, changed, values["heads"], values["size"])
        notices.clear_notice(_ERROR)
        st.session_state[session_keys.MODEL_DIALOG] = ""
    except KeyError:
        _store_error("the weights have expired: upload them again")
    except PretrainedError as error:
        _store_error(str(error))


def _confirm(key: str) -> None:
    try:
        own_weights.confirm_assumptions(session.get_current(), key)
    except KeyError:
        _store_error("the weights have expired: upload them again")


def _remove_weights(key: str) -> None:
    own_weights.STORE.remove(key.removeprefix(own_weights.KEY))
    session_keys.get_control_values().pop("model", None)
    st.session_state[session_keys.MODEL_DIALOG] = ""


def _open_file(file: upload.UploadedFile) -> None:
    user = session.get_current()
    select_opened(lambda: own_weights.open_weights(user, file.name, file.data, get_upload_limit_mb()))


def select_opened(open_weights: Callable[[], str]) -> None:
    """Select the model whose key `open_weights` returns, or store its error."""
    from vitviz.models.pretrained_list import PretrainedError

    try:
        name = open_weights()
        selection.set_model(name)
        notices.clear_notice(_ERROR)
        # It stays open where something was assumed that the user may know.
        opened_with_notes = bool(own_weights.get_model(name).notes)
        st.session_state[session_keys.MODEL_DIALOG] = "own" if opened_with_notes else ""
        st.session_state[_OPENED] = opened_with_notes
    except PretrainedError as error:
        _store_error(str(error))
        st.session_state[_CONVERT] = getattr(error, "convert", None)


def _store_error(message: str) -> None:
    notices.store_notice(_ERROR, f"{message[:1].upper()}{message[1:]}.")
