"""Draw the form that opens a user's own weights."""

from __future__ import annotations

import streamlit as st

from pages.controls import session_keys
from pages.frame import page
from pages.selection import selection, upload
from pages.stores import own_weights, session
from vitviz.text import plain

_ERROR, _UPLOADER = "own_weights._error", "own_weights._turn"
_CONVERT = "own_weights._convert"  # code that converts another format to safetensors
_TYPES = ("safetensors", "pth", "pt", "bin", "ckpt")  # all but the first need a conversion


def get_upload_limit_mb() -> int:
    return int(st.get_option("server.maxUploadSize"))


def draw(chosen: str) -> None:
    st.markdown("**Your own weights**")
    key = f"own_weights._file.{st.session_state.setdefault(_UPLOADER, 0)}"
    st.file_uploader(
        "A .safetensors file of a ViT or Swin",
        type=list(_TYPES),
        key=key,
        max_upload_size=get_upload_limit_mb(),
        on_change=_open_file,
        args=(key,),
        help="From timm, transformers, torchvision, open_clip or vit-pytorch; the architecture is recognised.",
    )
    error = st.session_state.pop(_ERROR, None)
    if error:
        st.warning(plain(error), icon=":material/info:")  # it may contain a tensor name from the file
    if lines := st.session_state.pop(_CONVERT, None):
        page.source(lines)
    if chosen.startswith(own_weights.KEY):
        st.button(
            "Delete my weights",
            icon=":material/delete:",
            on_click=_remove_weights,
            args=(chosen,),
            width="stretch",
        )
    st.caption(own_weights.PRIVACY)


def _remove_weights(key: str) -> None:
    own_weights.remove_weights(key)
    session_keys.get_control_values().pop("model", None)
    st.session_state[session_keys.MODEL_DIALOG] = False


def _open_file(key: str) -> None:
    """Open the uploaded file and select its model, or store the error."""
    from vitviz.models.pretrained_list import PretrainedError

    file = upload.take_file(key)
    if file is None:
        return
    try:
        selection.set_model(own_weights.open_weights(session.get_current(), file.data, get_upload_limit_mb()))
        st.session_state[session_keys.MODEL_DIALOG] = False
    except PretrainedError as error:
        message = str(error)
        st.session_state[_ERROR] = f"{message[:1].upper()}{message[1:]}."
        st.session_state[_CONVERT] = getattr(error, "convert", None)
    finally:
        st.session_state[_UPLOADER] += 1
