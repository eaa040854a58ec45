"""Write the site, whose pages run their models in the reader's browser; `vitviz site FOLDER` runs this file.

Start, Patches, Attention and CNN or ViT run; the other pages show stored arrays. A model's weights lie beside the
pages, one script per step, and are loaded when a page needs them.
"""

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from pages.frame import registry
from pages.frame.registry import PageEntry
from pages.selection.attention_maps import build_live_view
from pages.selection.model_weights import SITE
from pages.views.register import MESSAGES, ROOT
from vitviz.browser.html import render_html, render_weights
from vitviz.data.drawings import FIRST

_PAGE_S = 120.0
_DIGITS = {"model": "checkpoint:digits_vit", "image": "digits:3"}
_CIFAR = {"model": "checkpoint:cifar10_vit"}


@dataclass(frozen=True)
class SitePage:
    """A page of the site.

    lead: what its reader can do. selections: query parameters of the page, once for each group of its views.
    """

    slug: str
    lead: str
    selections: tuple[dict[str, str], ...]
    title: str = ""


PAGES = (
    SitePage(
        "home",
        "Draw a digit. A small Vision Transformer (ViT) reads it in your browser while you draw: patches, attention and"
        " the predicted class follow the pen. Nothing is sent anywhere.",
        ({"image": f"drawing:{FIRST}"},),
        "See what a Vision Transformer computes",
    ),
    SitePage(
        "patches",
        "A ViT cuts an image into patches and turns each one into a vector. Point at a patch; below, the patches are"
        " shuffled, and the model predicts with and without the positions of its patches.",
        (_DIGITS, _DIGITS | {"patches.view": "puzzle"}),
    ),
    SitePage(
        "attention",
        "Point at a patch to see which others it attends to. Open or photograph an image, hide patches, or move the"
        " training step: the model runs in your browser.",
        (_CIFAR,),
    ),
    SitePage("positions", "Compare how a ViT learns where its patches lie with a fixed encoding.", ({},)),
    SitePage("filters", "The patterns to which the patch embedding responds.", ({},)),
    SitePage("attention_distance", "How far each head attends, layer by layer.", (_CIFAR,)),
    SitePage(
        "on_your_picture",
        "Move the slider to turn the image, and compare when each model changes its prediction.",
        ({"on_picture.guess": "shown"},),  # the answer to the page's question
    ),
    SitePage("swin", "Step through the windows of a Swin Transformer.", ({},)),
)


def write_site(folder: Path, pages: Sequence[SitePage] = PAGES) -> Iterator[Path]:
    """Write the pages and their weights; yield the files, Start as index.html."""
    (folder / "weights").mkdir(parents=True, exist_ok=True)
    links = [(_name_file(page.slug), registry.BY_SLUG[page.slug].title) for page in pages]
    weights: dict[str, bytes] = {}
    for page, (name, title) in zip(pages, links, strict=True):
        entry = registry.BY_SLUG[page.slug]
        messages = [
            message for query in page.selections for message in _collect_messages(entry, query, weights)
        ]
        html = render_html(page.title or title, messages, page.lead, pages=links, current=name)
        (folder / name).write_text(html, "utf-8")
        yield folder / name
    for address, raw in weights.items():
        (folder / address).write_text(render_weights(raw), "utf-8")
        yield folder / address


def _name_file(slug: str) -> str:
    return "index.html" if slug == "home" else f"{slug}.html"


def _collect_messages(entry: PageEntry, query: Mapping[str, str], weights: dict[str, bytes]) -> list[bytes]:
    """Return the messages of a page's views, and add the checkpoints that they name to `weights`.

    Raises:
        RuntimeError: if the page fails.
    """
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=_PAGE_S)
    app._page_hash = calc_hash(entry.slug)
    app.session_state[SITE] = weights
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    if app.exception:
        raise RuntimeError(f"the page {entry.slug} failed: {app.exception[0].message}")
    messages = app.session_state[MESSAGES] if MESSAGES in app.session_state else {}
    return [
        message if isinstance(message, bytes) else _make_message(message, weights)
        for message in messages.values()
    ]


def _make_message(make: partial[bytes], weights: dict[str, bytes]) -> bytes:
    """Make the message of the explorer with every step of its model, whose checkpoints are added to `weights`."""
    if make.func is not build_live_view:
        return make()
    subject = make.args[0]
    return make(steps=subject.choice.steps, weights=weights)


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # AppTest has no browser, which Streamlit warns of
    for path in write_site(Path(sys.argv[1])):
        print(path)
