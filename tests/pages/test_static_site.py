"""The static gallery: a file for each page with views, and an index that links them."""

from __future__ import annotations

import base64
import gzip
import re
from pathlib import Path

import pytest

from pages.frame import registry, static_site

ROOT = Path(__file__).parents[2]


def test_the_gallery_has_pages_and_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [(registry.BY_SLUG[slug], "preset:vit_digits", slug) for slug in ("attention", "words")]
    monkeypatch.setattr(static_site, "_list_views", lambda: iter(chosen))
    files = [*static_site.write_site(tmp_path / "site")]
    assert [file.name for file in files] == ["attention_vit_digits.html", "index.html"]
    index = files[-1].read_text("utf-8")
    assert re.findall(r'<a href="([^"]+)">(\w+)</a>', index) == [("attention_vit_digits.html", "attention")]
    page = files[0].read_text("utf-8")
    (modules,) = re.findall(r'id="modules">([^<]+)', page)
    assert page.count("data-message>") >= 2
    assert b"vitviz/browser/explorer_layers.js" in gzip.decompress(base64.b64decode(modules))


def test_the_gallery_lists_start_every_lens_and_every_model_with_attention() -> None:
    views = [(entry.slug, model) for entry, model, _ in static_site._list_views()]
    assert {"home", "patches", "swin", "layers"} <= {slug for slug, model in views if not model}
    assert all(slug == "attention" for slug, model in views if model)
