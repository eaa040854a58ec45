"""What Streamlit lets any visitor do to all others, taken back."""

from __future__ import annotations

from streamlit.runtime.app_session import AppSession


def install() -> None:
    """Ignores the message that empties every cache of the server.

    Any websocket may send `clear_cache`; Streamlit then drops `cache_data` and `cache_resource` for all visits, who
    would wait for every model again. Its menu entry is hidden already (`client.toolbarMode`).

    Raises:
        RuntimeError: if this Streamlit has no such handler: the guard must be looked at again.
    """
    if not hasattr(AppSession, "_handle_clear_cache_request"):
        raise RuntimeError(
            "Streamlit has no _handle_clear_cache_request: look at pages/shell/guards.py again"
        )
    AppSession._handle_clear_cache_request = _ignored  # type: ignore[method-assign, assignment]


def _ignored(session: AppSession) -> None:
    """Nothing: a cache belongs to all visits."""
