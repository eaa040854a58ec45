"""Publish a model's weights for the engine in the browser (vitviz/browser/engine)."""

import streamlit as st
from streamlit import runtime

from pages.stores import shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.checkpoint_header import CheckpointError
from vitviz.config import CNNConfig, SwinConfig, ViTConfig
from vitviz.models.parameter_count import parameters

MOST_PARAMETERS = 3_000_000  # the engine's own limit; it also checks operations and options
_PUBLISHED = (
    "_model_weights"  # session key: the last model's digest and bytes, held by no cache that others share
)


def publish(choice: ModelChoice, step: int) -> str:
    """Return the address of a model's weights for this session; '' if the browser cannot run the model.

    The address ends in a hash of the content, and only this session's runs keep the file.
    """
    runs = isinstance(choice.config, ViTConfig | SwinConfig | CNNConfig)
    if not runs or sum(parameters(choice.config).values()) > MOST_PARAMETERS or not runtime.exists():
        return ""
    raw = _encode(choice, step)
    return runtime.get_instance().media_file_mgr.add(raw, "application/octet-stream", f"weights.{choice.key}")


def _encode(choice: ModelChoice, step: int) -> bytes:
    from vitviz.checkpoints import Checkpoint, checkpoint_bytes

    model = shared_cache.load_model(choice, step)
    digest, raw = st.session_state.get(_PUBLISHED, ("", b""))
    if digest == model.digest:
        return bytes(raw)
    snapshots = {model.step: model.model.state_dict()}
    checkpoint = Checkpoint(model.config, model.preparation, None, model.classes, snapshots=snapshots)
    try:
        raw = checkpoint_bytes(checkpoint, half=True)
    except CheckpointError:  # a weight beyond fp16
        raw = checkpoint_bytes(checkpoint)
    st.session_state[_PUBLISHED] = (model.digest, raw)
    return raw
