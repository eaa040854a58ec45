"""Publish a model's weights for the engine in the browser (vitviz/browser/engine)."""

import gzip

import streamlit as st
from streamlit import runtime

from pages.stores import catalogue, shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.checkpoint_header import CheckpointError, take_step
from vitviz.models.model_cost import parameters
from vitviz.plots.live_explorer import name_script, runs_in_browser

SITE = "_site_weights"  # session key of `vitviz site`: script -> checkpoint; missing in the app
PUBLISHED = "_published_weights"  # session key: address -> weights that this session's page uses, as gzip
MOST_HALF = 500_000  # parameters that the site stores in fp16; matrices of a larger model have 7 bits
LARGEST_CODE = (
    63  # of them: 3 of 500 test images change their class in either CIFAR-10 model (benchmarks/site.md)
)
MOST_PRIVATE = 4  # weights that a session holds of its own models
MOST_PUBLISHED = 16  # addresses that a session remembers for a downloaded page
_PRIVATE = "_model_weights"  # session key: identity -> weights, in no cache that others share


def publish(choice: ModelChoice, step: int) -> str:
    """Return the address of a model's weights for this session; '' if the browser cannot run the model.

    The address ends in a hash of the content, and only this session's runs keep the file.
    """
    if choice.native is not None or not runs_in_browser(choice.config):
        return ""
    if SITE in st.session_state:
        is_large = sum(parameters(choice.config).values()) > MOST_HALF
        raw = _pack(choice, step, LARGEST_CODE if is_large else 0)
        file = name_script(raw)
        st.session_state[SITE][file] = raw
        return file
    if not runtime.exists():
        return ""
    raw = _encode(choice, step)
    place = f"weights.{choice.key}.{step}"
    # Kept for a browser that has not fetched it yet (pages/streamlit_fixes/optional/download_files.py).
    files = runtime.get_instance().media_file_mgr
    address = files.add(raw, "application/gzip", place, is_for_static_download=True)
    published: dict[str, bytes] = st.session_state.setdefault(PUBLISHED, {})
    published[address] = published.pop(address, raw)
    while len(published) > MOST_PUBLISHED:
        del published[next(iter(published))]
    return address


def _encode(choice: ModelChoice, step: int) -> bytes:
    identity = shared_cache.identify_weights(choice, step)
    if not catalogue.is_private(choice):
        return _encode_public(identity, choice, step)
    held: dict[str, bytes] = st.session_state.setdefault(_PRIVATE, {})
    held[identity] = held.pop(identity, b"") or _compress(choice, step)
    while len(held) > MOST_PRIVATE:
        del held[next(iter(held))]
    return held[identity]


@shared_cache.shared(max_entries=48)
def _encode_public(identity: str, _choice: ModelChoice, step: int) -> bytes:
    return _compress(_choice, step)


def _compress(choice: ModelChoice, step: int) -> bytes:
    """Return weights as gzip, because Streamlit sends files uncompressed."""
    return gzip.compress(_read(choice, step), 6, mtime=0)


def _read(choice: ModelChoice, step: int) -> bytes:
    """Return one step of a checkpoint as it is stored, so that a new server need not load torch for its first page."""
    path = catalogue.find_weights_file(choice, step)
    if path is not None:
        try:
            return take_step(path.read_bytes(), step)
        except (CheckpointError, OSError):  # weights in another project's format
            pass
    return _pack(choice, step)


def _pack(choice: ModelChoice, step: int, largest_code: int = 0) -> bytes:
    """Return loaded weights as a checkpoint."""
    from vitviz.checkpoints import pack_model

    return pack_model(shared_cache.load_model(choice, step), largest_code)
