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

from pages.selection.attention_maps import build_live_view
from pages.selection.model_weights import SITE
from pages.stores import registry
from pages.stores.registry import PageEntry
from pages.streamlit_fixes.required.view_files import ROOT
from pages.views.register import MESSAGES
from vitviz.browser.html import render_html, render_weights
from vitviz.data.drawings import FIRST

_PAGE_S = 120.0
_DIGITS = {"model": "checkpoint:digits_vit", "image": "digits:3"}
_CIFAR = {"model": "checkpoint:cifar10_vit"}
_PAIR = _CIFAR | {
    "image": "sample:horse",
    "on_picture.models": "checkpoint:cifar10_cnn,checkpoint:cifar10_vit",
    "on_picture.guess": "shown",  # the answer to the page's question
}
_HEADINGS = {  # of views whose page writes them outside the view
    "positions.by_distance": "How alike two positions are on average, by their distance",
    "attention_distance.beside": "How far a CNN reaches, layer by layer, beside the mean of the heads",
}
_OMITTED = {
    "attention_distance.map",
    "attention_distance.distribution",
}  # of a head that only the app can change


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
        "In every layer a patch reads from other patches; how much it reads from each is its attention. Point at a"
        " patch to see it. Open or photograph an image, hide patches, or move the training step: the model runs in your"
        " browser. It knows only ten classes.",
        (_CIFAR,),
    ),
    SitePage(
        "positions",
        "A ViT receives an image as a list of patches, so it has to learn where each patch lies: every"
        " position has a list of numbers, its vector. Each small map belongs to one position and shows how"
        " alike its vector is to those of all other positions. Point at a small map to enlarge it, or press"
        " Play to watch the training. Compare the positions that a model has learned with a fixed formula of"
        " waves: are neighbours alike?",
        ({},),
    ),
    SitePage(
        "filters",
        "First, a ViT compares every patch of an image with patterns that it has learned in training, the"
        " filters of a matrix E. The tiles show the main patterns among these filters, and the bars how much"
        " each one explains. Point at a tile to enlarge it, or press Play to watch the training. Compare the"
        " trained models with random weights: which patterns has training made?",
        ({},),
    ),
    SitePage(
        "attention_distance",
        "A layer has several attention heads; each one lets patches read from other patches. Every dot is a"
        " head: the higher it lies, the farther away are the patches that it reads from, in pixels of the"
        " image. The dashed line is a head that reads from all patches alike. Point at a dot to see where its"
        " head reads, or press Play to watch the training. In which layers do heads read only nearby?",
        (_CIFAR,),
    ),
    SitePage(
        "on_your_picture",
        "Two kinds of models predict the class of an image: a convolutional network (CNN) and a Vision Transformer"
        " (ViT). Drag the grey square over the image, or open an image of your own; below, turn and blur it. When does"
        " each model change its prediction? Both run in your browser and know only ten classes, such as horse and dog.",
        (
            _PAIR | {"on_picture.kind": "occlude", "on_picture.at": "2"},
            _PAIR | {"on_picture.kind": "rotate"},
            _PAIR | {"on_picture.kind": "blur"},
        ),
    ),
    SitePage(
        "swin",
        "A Swin Transformer saves work: a patch reads only from the patches of its own window, a small square"
        " of patches. Every second layer shifts the windows, so that information also crosses their borders."
        " Press Play, or one step after the other, to see such a layer. Point at a patch: beside or below the"
        " windows, the small images show in colour the patches that it reads from (attends to).",
        ({},),
    ),
)


def write_site(folder: Path, pages: Sequence[SitePage] = PAGES) -> Iterator[Path]:
    """Write the pages and their weights; yield the files, Start as index.html."""
    (folder / "weights").mkdir(parents=True, exist_ok=True)
    links = [(_name_file(page.slug), registry.BY_SLUG[page.slug].title) for page in pages]
    weights: dict[str, bytes] = {}
    for page, (name, title) in zip(pages, links, strict=True):
        entry = registry.BY_SLUG[page.slug]
        views = [view for query in page.selections for view in _collect_messages(entry, query, weights)]
        messages = [message for _, message in views]
        headings = [_HEADINGS.get(key, "") for key, _ in views]
        html = render_html(
            page.title or title, messages, page.lead, pages=links, current=name, headings=headings
        )
        (folder / name).write_text(html, "utf-8")
        yield folder / name
    for address, raw in weights.items():
        (folder / address).write_text(render_weights(raw), "utf-8")
        yield folder / address


def _name_file(slug: str) -> str:
    return "index.html" if slug == "home" else f"{slug}.html"


def _collect_messages(
    entry: PageEntry, query: Mapping[str, str], weights: dict[str, bytes]
) -> list[tuple[str, bytes]]:
    """Return the messages of a page's views with their keys, and add the checkpoints that they name to `weights`.

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
        (key, message if isinstance(message, bytes) else _make_message(message, weights))
        for key, message in messages.items()
        if key not in _OMITTED
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
