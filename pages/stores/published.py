"""Published weights as models: those that are on this machine, and a way to fetch the others."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import streamlit as st

from vitviz.models.download import weights_file, weights_folder
from vitviz.models.pretrained_list import PRETRAINED, Pretrained, PretrainedError

KEY = "pretrained:"


@dataclass
class Fetch:
    """A download under way or ended; written by its thread, read by pages."""

    name: str
    done_bytes: int = 0
    total_bytes: int | None = None
    error: str = ""
    finished: bool = False
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Fetches the file; what goes wrong becomes one sentence."""
        from vitviz.models.pretrained import fetch

        try:
            fetch(PRETRAINED[self.name], self._progress, self.stop.is_set)
        except (PretrainedError, OSError) as error:
            said = str(error)
            self.error = "" if self.stop.is_set() else f"{said[:1].upper()}{said[1:]}."
        finally:
            self.finished = True

    def _progress(self, done: int, total: int | None) -> None:
        self.done_bytes, self.total_bytes = done, total


_fetches: dict[str, Fetch] = {}  # by name: two visits that want one file wait for one download
_lock = threading.Lock()


def here() -> list[Pretrained]:
    """The published weights whose file is on this machine."""
    folder = weights_folder()
    if not folder.is_dir():  # asked many times in a run: the usual answer is quick
        return []
    found = [PRETRAINED[path.name] for path in sorted(folder.iterdir()) if path.name in PRETRAINED]
    return [entry for entry in found if weights_file(entry).is_file()]


def start(name: str) -> None:
    """Begins to fetch a file, unless it is being fetched."""
    with _lock:
        running = _fetches.get(name)
        if running is not None and not running.finished:
            return
        _fetches[name] = Fetch(name)
        threading.Thread(target=_fetches[name].run, name=f"fetch-{name}", daemon=True).start()


def draw() -> None:
    """Fetches one of the listed weights; it then stands in the list of models."""
    present = {entry.name for entry in here()}
    missing = [name for name in PRETRAINED if name not in present]
    st.markdown("**Published weights**")
    if not missing:
        st.caption("All listed weights are here: choose them in the list of models.")
        return
    name = st.selectbox(
        "Model", missing, format_func=lambda key: PRETRAINED[key].title, key="published._name"
    )
    _progress(name)
    st.caption("As their authors published them; fetched once and kept on this machine.")


def _progress(name: str) -> None:
    running = _fetches.get(name)
    active = running is not None and not running.finished
    st.fragment(_watch, run_every=0.5 if active else None)(name, active)


def _watch(name: str, was_active: bool) -> None:
    fetch = _fetches.get(name)
    if fetch is None or fetch.finished:
        if (
            was_active
        ):  # it ended since the page ran: run it once more, so that polling stops and the list is new
            st.rerun()
        if fetch is not None and fetch.error:
            st.warning(fetch.error, icon=":material/cloud_off:")
        st.button("Fetch", icon=":material/download:", on_click=start, args=(name,), key="published._fetch")
        return
    if not was_active:  # it began since the page ran, which decides whether this part looks again by itself
        st.rerun()
    done, total = fetch.done_bytes / 1e6, (fetch.total_bytes or 0) / 1e6
    words = f"{done:,.0f} of {total:,.0f} MB" if total else f"{done:,.0f} MB"
    st.progress(min(1.0, done / total) if total else 0.0, words)
    st.button("Cancel", icon=":material/close:", on_click=fetch.stop.set, key="published._cancel")
