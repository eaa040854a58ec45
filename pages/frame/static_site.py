"""Write Start and the lenses as a gallery that any web host serves; `vitviz site FOLDER` runs this file."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from pages.frame import foot, registry
from pages.frame.registry import PageEntry
from pages.stores import catalogue
from pages.views.register import MESSAGES, ROOT
from vitviz.browser.html import render_index
from vitviz.models.abilities import abilities

_PAGE_S = 120.0
_LENSES = ("lenses", "start")  # folders of pages


def write_site(folder: Path) -> Iterator[Path]:
    """Write a file for Start, for each lens on its default model, and for the attention of each shipped model.

    Yields the files, index.html last; a page without views has no file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    links = []
    for entry, model, title in _list_views():
        html = _render_page(entry, model)
        if html is not None:
            file = folder / f"{entry.slug}{'_' + model.partition(':')[2] if model else ''}.html"
            file.write_text(html, "utf-8")
            links.append((file.name, title, entry.question))
            yield file
    (folder / "index.html").write_text(render_index("vitviz", links), "utf-8")
    yield folder / "index.html"


def _list_views() -> Iterator[tuple[PageEntry, str, str]]:
    """List pages with a model's key (empty: the page's default) and the title of their link."""
    for entry in registry.PAGES:
        if entry.folder.startswith(_LENSES):
            yield entry, "", entry.title
    for choice in catalogue.list_checkpoints():
        if abilities(choice.config).attention:
            yield registry.BY_SLUG["attention"], choice.key, f"Attention of {choice.title}"


def _render_page(entry: PageEntry, model: str) -> str | None:
    """Return a page's views as HTML; None if it has none.

    Raises:
        RuntimeError: if the page fails.
    """
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=_PAGE_S)
    app._page_hash = calc_hash(entry.slug)
    if model:
        app.query_params["model"] = model
    app.run()
    if app.exception:
        raise RuntimeError(f"the page {entry.slug} failed: {app.exception[0].message}")
    messages = app.session_state[MESSAGES] if MESSAGES in app.session_state else {}
    return foot.render_views(entry, messages) if messages else None


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # AppTest has no browser, which Streamlit warns of
    for path in write_site(Path(sys.argv[1])):
        print(path)
