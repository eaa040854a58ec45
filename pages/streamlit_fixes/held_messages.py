"""Hash messages quickly, and bound how many of them a browser is told to keep.

Without this fix (Streamlit 1.67, no upstream issue found): a page's hundred messages take four times as long to hash,
and a browser reports each message that it keeps (34 bytes) with every request, however many there are.
"""

from base64 import urlsafe_b64encode
from hashlib import blake2b

from streamlit import config
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import forward_msg_cache
from streamlit.runtime.scriptrunner_utils import script_run_context

from pages.streamlit_fixes.installation import Replacement, apply

MAX_MESSAGES = 300
MAX_SMALL_MESSAGES = 150  # style sheets and lists come first; captions must not crowd out views
LARGE_BYTES = 4000
_HASH_BYTES = 9  # 10^21 values: no two elements of a page share one
_SMALLEST_BYTES = 1000  # below it the setting is not looked up
_populate_hash = forward_msg_cache.populate_hash_if_needed


def install() -> None:
    """Replace the function that hashes a message and marks it as cacheable."""
    apply(Replacement(script_run_context, "populate_hash_if_needed", "msg", _mark_message))


def hash_message(message: ForwardMsg) -> None:
    """Hash what is drawn, and mark it as cacheable if it is large. Streamlit's own hash is 20 bytes longer."""
    if message.hash or message.WhichOneof("type") != "delta":
        _populate_hash(message)
        return
    content = message.delta.SerializeToString(deterministic=True)
    message.hash = urlsafe_b64encode(blake2b(content, digest_size=_HASH_BYTES).digest()).decode()
    is_large = len(content) >= _SMALLEST_BYTES and len(content) >= int(
        config.get_option("global.minCachedMessageSize")
    )
    message.metadata.cacheable = is_large and message.delta.WhichOneof("type") == "new_element"


def _mark_message(msg: ForwardMsg) -> None:
    """Mark a message as cacheable if it is large, is not part of a poll, and the browser has room for it."""
    hash_message(msg)
    if not msg.metadata.cacheable:  # nine of ten
        return
    context = script_run_context.get_script_run_ctx(suppress_warning=True)
    if context is None or msg.hash in context.cached_message_hashes:
        return
    count = len(context.cached_message_hashes)
    is_small = msg.ByteSize() < LARGE_BYTES
    if context.fragment_ids_this_run or count >= MAX_MESSAGES or (count >= MAX_SMALL_MESSAGES and is_small):
        msg.metadata.cacheable = False
