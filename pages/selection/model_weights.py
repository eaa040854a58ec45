"""Publish a model's weights for the engine in the browser (vitviz/browser/engine)."""

import streamlit as st
from streamlit import runtime

from pages.stores import catalogue, shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.checkpoint_header import CheckpointError, take_step
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
    identity = shared_cache.identify_weights(choice, step)
    held, raw = st.session_state.get(_PUBLISHED, ("", b""))
    if held != identity:
        raw = _read(choice, step)
        st.session_state[_PUBLISHED] = (identity, raw)
    return bytes(raw)


def _read(choice: ModelChoice, step: int) -> bytes:
    """Return one step of a checkpoint as it is stored, so that a new server need not load torch for its first page."""
    path = catalogue.find_weights_file(choice, step)
    if path is not None:
        try:
            return take_step(path.read_bytes(), step)
        except (CheckpointError, OSError):  # weights in another project's format
            pass
    return _pack(choice, step)


def _pack(choice: ModelChoice, step: int) -> bytes:
    """Return loaded weights as a checkpoint."""
    from vitviz.checkpoints import Checkpoint, checkpoint_bytes

    model = shared_cache.load_model(choice, step)
    snapshots = {model.step: model.model.state_dict()}
    checkpoint = Checkpoint(model.config, model.preparation, None, model.classes, snapshots=snapshots)
    try:
        return checkpoint_bytes(checkpoint, half=True)
    except CheckpointError:  # a weight beyond fp16
        return checkpoint_bytes(checkpoint)
