"""The site: one file for each page, and the weights of the models that run beside them."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path

from pages.frame import static_site
from pages.stores import registry
from vitviz.browser.html import render_html, render_weights
from vitviz.checkpoints import open_model
from vitviz.plots.blob import name_files, open_blob, pack, read_files


def _read(page: str) -> tuple[list[bytes], list[str]]:
    """Return a page's messages and the names of its modules."""
    packed = re.findall(r"data-message>([^<]+)", page)
    (modules,) = re.findall(r'id="modules">([^<]+)', page)
    names = [name for name, _ in json.loads(gzip.decompress(base64.b64decode(modules)))]
    return [gzip.decompress(base64.b64decode(text)) for text in packed], names


def test_a_page_names_the_weights_of_every_step(tmp_path: Path) -> None:
    chosen = [page for page in static_site.PAGES if page.slug in ("home", "attention")]
    files = [*static_site.write_site(tmp_path / "site", chosen)]
    assert [file.name for file in files[:2]] == ["index.html", "attention.html"]
    attention = files[1].read_text("utf-8")
    links = re.findall(r'<a href="([^"]+)"( aria-current="page")?>', attention)
    assert links == [("index.html", ""), ("attention.html", ' aria-current="page"')]
    (message,), modules = _read(attention)
    assert {"vitviz/browser/explorer_live.js", "vitviz/browser/engine/worker.js"} <= {*modules}
    start = 4 + int.from_bytes(message[:4], "little")
    live = open_blob(message[start:])[0]["live"]
    assert (
        read_files(message)[0].endswith("explorer_live.js") and len(live["steps"]) == len(live["weights"]) > 0
    )
    for step, address in zip(live["steps"], live["weights"], strict=True):
        script = (tmp_path / "site" / address).read_text("utf-8")
        raw = gzip.decompress(base64.b64decode(script.split("'")[1]))
        assert script == render_weights(raw) and open_model(raw).step == step
    assert not re.search(r'(?:src|href)="(?:https?:|/)', attention)


def test_a_heading_stands_over_its_view_whatever_bytes_the_view_has() -> None:
    message = name_files(["vitviz/browser/explorer.js"]) + pack({})
    page = render_html("Page", [message, message], headings=["", "Second"])
    assert page.count("<h2>") == 1 and page.index("data-message>") < page.index("<h2>Second</h2>")


def test_the_site_starts_with_start_and_knows_its_pages() -> None:
    assert static_site.PAGES[0].slug == "home"
    assert all(page.slug in registry.BY_SLUG and page.lead.endswith((".", "?")) for page in static_site.PAGES)
