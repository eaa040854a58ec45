"""The part of a dialog that opens a visitor's own weights, and forgets them again."""

from __future__ import annotations

import streamlit as st

from pages.controls import session_keys
from pages.frame import page
from pages.selection import selection, upload
from pages.stores import own_weights, session
from vitviz.text import plain

_FIRST = "vit_tiny_patch16_224.augreg_in21k_ft_in1k"
_ERROR, _TURN, _NAME = "own_weights._error", "own_weights._turn", "own_weights._name"
_CONVERT = (
    "own_weights._convert"  # the lines that make a file of the kind that is opened here, of one that is not
)
_TYPES = ("safetensors", "pth", "pt", "bin", "ckpt")  # all but the first are only told how to become one


def limit_mb() -> int:
    """The largest file in MB that the server takes."""
    return int(st.get_option("server.maxUploadSize"))


def draw(chosen: str) -> None:
    """The part that opens a visitor's file, and forgets it again."""
    names = own_weights.architectures(limit_mb())
    st.markdown("**Your own weights**")
    st.selectbox("Architecture", names, index=names.index(_FIRST) if _FIRST in names else 0, key=_NAME)
    key = f"own_weights._file.{st.session_state.setdefault(_TURN, 0)}"
    st.file_uploader(
        "A .safetensors file with timm's names",
        type=list(_TYPES),
        key=key,
        max_upload_size=limit_mb(),
        on_change=_received,
        args=(key,),
        help="Its tensors must have the names and shapes of this architecture; its head may name any classes.",
    )
    error = st.session_state.pop(_ERROR, None)
    if error:
        st.warning(plain(error), icon=":material/info:")  # it may name a tensor as its file does
    if lines := st.session_state.pop(_CONVERT, None):
        page.source(lines)
    if chosen.startswith(own_weights.KEY):
        st.button(
            "Remove my weights", icon=":material/delete:", on_click=_remove, args=(chosen,), width="stretch"
        )
    st.caption(own_weights.PRIVACY)


def _remove(key: str) -> None:
    """Forgets weights; their visitor asked for it, so nothing says that they are gone."""
    own_weights.remove(key)
    session_keys.kept().pop("model", None)
    st.session_state[session_keys.MORE] = False


def _received(key: str) -> None:
    """A file has come: open it and choose it, or say why not and keep the model that is shown."""
    from vitviz.models.pretrained_list import PretrainedError

    file = upload.take(key)
    if file is None:
        return
    try:
        selection.set_model(
            own_weights.keep(session.current(), st.session_state[_NAME], file.data, limit_mb())
        )
        st.session_state[session_keys.MORE] = False
    except PretrainedError as error:
        said = str(error)
        st.session_state[_ERROR] = f"{said[:1].upper()}{said[1:]}."
        st.session_state[_CONVERT] = getattr(error, "convert", None)
    finally:
        st.session_state[_TURN] += 1
