"""A visitor's own weights of a known architecture: a model of this visit, in the server's memory, under an id that
nobody can guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from pages.shell import state
from pages.stores import uploads

if TYPE_CHECKING:
    from pages.stores.catalogue import ModelChoice
    from vitviz.models.loaded import LoadedModel

KEY = "weights:"
PRIVACY = (
    "Your file is read into this server's memory for this visit and never written to disk; whoever has its link sees"
    " the model too, and can remove it."
)
_FIRST = "vit_tiny_patch16_224.augreg_in21k_ft_in1k"
_ERROR, _TURN, _NAME = "own_weights._error", "own_weights._turn", "own_weights._name"


@dataclass(frozen=True, eq=False)
class Entry:
    """An opened model and what it holds."""

    model: LoadedModel
    nbytes: int


STORE: uploads.Store[Entry] = uploads.Store(per_visit=2, total_bytes=512 * 2**20)
uploads.STORES.append(STORE)


def limit_mb() -> int:
    """The largest file in MB that the server takes."""
    return int(st.get_option("server.maxUploadSize"))


def architectures() -> list[str]:
    """Names whose weights can come in a file that the server takes, 16 bits a weight."""
    from pages.stores.catalogue import millions
    from vitviz.models.pretrained_list import PRETRAINED

    return [name for name, entry in PRETRAINED.items() if 2 * millions(entry.config) <= limit_mb()]


def mine() -> list[str]:
    """Ids of this visit's weights, newest first; what had to make room drops out."""
    found = tuple(name for name in st.session_state.get(state.OWN_WEIGHTS, ()) if STORE.get(name) is not None)
    st.session_state[state.OWN_WEIGHTS] = found
    return list(found)


def adopt(name: str) -> bool:
    """Adds weights whose unguessable id a link holds to this visit."""
    known = st.session_state.get(state.OWN_WEIGHTS, ())
    if name in known or STORE.get(name) is None:
        return name in known
    st.session_state[state.OWN_WEIGHTS] = (name, *known)
    return True


def model(key: str) -> LoadedModel:
    """The model of a key 'weights:ID'.

    Raises:
        KeyError: if it is not, or no longer, there.
    """
    entry = STORE.get(key.removeprefix(KEY))
    if entry is None:
        raise KeyError(key)
    return entry.model


def keep(architecture: str, data: bytes) -> str:
    """Opens a safetensors file as this architecture and keeps the model; returns its key.

    Raises:
        vitviz.models.pretrained_list.PretrainedError: if the file is too large or not these weights.
    """
    from vitviz.models.pretrained import PretrainedError, open_own

    if len(data) > limit_mb() * 2**20:
        raise PretrainedError(
            f"the file has {len(data) / 2**20:,.0f} MB, more than the {limit_mb()} MB taken; 16-bit weights are half"
            " as large"
        )
    opened = open_own(architecture, data)
    size = sum(tensor.nbytes for tensor in opened.model.state_dict().values())
    name = STORE.add(Entry(opened, size), uploads.visit())
    adopt(name)
    return f"{KEY}{name}"


def remove(key: str) -> None:
    """Forgets weights at once; their visitor asked for it, so nothing says that they are gone."""
    STORE.remove(key.removeprefix(KEY))
    st.session_state[state.KEPT].pop("model", None)


def choices() -> tuple[ModelChoice, ...]:
    """This visit's own weights as models to choose; those that the link names join the visit."""
    said = st.session_state.get(state.INCOMING, {}).get("model", "")
    if said.startswith(KEY):
        adopt(said.removeprefix(KEY))
    held = ((name, STORE.get(name)) for name in mine())  # another visit's upload may just have taken the room
    return tuple(_choice(name, entry) for name, entry in held if entry is not None)


def _choice(name: str, entry: Entry) -> ModelChoice:
    from pages.stores.catalogue import ModelChoice

    opened = entry.model
    classes = len(opened.classes)
    head = f"{classes:,} classes" if classes else "no head"
    return ModelChoice(
        f"{KEY}{name}",
        opened.title,
        f"Your own weights, {head}; what they were trained on, their file does not say.",
        opened.config,
        opened.preparation,
        opened.trained_on,
        (0,),
    )


def gone(key: object) -> bool:
    """Whether a key names weights that were uploaded once and are no longer here."""
    return isinstance(key, str) and key.startswith(KEY) and STORE.get(key.removeprefix(KEY)) is None


def draw(chosen: str) -> None:
    """The part of a popover that opens a visitor's file, and forgets it again."""
    names = architectures()
    st.markdown("**Your own weights**")
    st.selectbox("Architecture", names, index=names.index(_FIRST) if _FIRST in names else 0, key=_NAME)
    key = f"own_weights._file.{st.session_state.setdefault(_TURN, 0)}"
    st.file_uploader(
        "A .safetensors file with timm's names",
        type="safetensors",
        key=key,
        max_upload_size=limit_mb(),
        on_change=_received,
        args=(key,),
        help="Its tensors must have the names and shapes of this architecture; its head may name any classes.",
    )
    error = st.session_state.pop(_ERROR, None)
    if error:
        st.warning(error, icon=":material/info:")
    if chosen.startswith(KEY):
        st.button(
            "Remove my weights", icon=":material/delete:", on_click=remove, args=(chosen,), width="stretch"
        )
    st.caption(PRIVACY)


def _received(key: str) -> None:
    """A file has come: open it and choose it, or say why not and keep the model that is shown."""
    from pages.shell import nouns
    from vitviz.models.pretrained_list import PretrainedError

    file = st.session_state.get(key)
    if file is None:
        return
    try:
        nouns.set_model(keep(st.session_state[_NAME], file.getvalue()))
    except PretrainedError as error:
        said = str(error)
        st.session_state[_ERROR] = f"{said[:1].upper()}{said[1:]}."
    finally:
        uploads.forget_file(file)
        st.session_state[_TURN] += 1
