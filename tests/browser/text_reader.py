"""Read every text of an open page: what it shows, its labels and titles, canvas labels, help, options and tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Page, WebSocket, expect
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.conftest import settle
from tests.messages import chart_of, files

MOST_LOOKS = 40  # until two of them are the same
PROGRESS = '[data-testid="stProgress"]'
UNFINISHED = ("% done.", "% done", "progress")  # of a computation that runs behind the page
PAUSE_MS = 150  # between two looks
WIDE_PX, HIGH_PX = 1400, 4000  # high, so that what is drawn only once it is seen is drawn

# Texts drawn on a canvas since its last full clear, kept on the canvas itself.
RECORD_CANVAS = """() => {
  const kind = CanvasRenderingContext2D.prototype;
  for (const name of ['fillText', 'strokeText']) {
    const draw = kind[name];
    kind[name] = function (text, ...rest) {
      (this.canvas.drawnTexts ??= new Set()).add(String(text));
      return draw.call(this, text, ...rest);
    };
  }
  const clear = kind.clearRect;
  kind.clearRect = function (x, y, width, height) {
    if (width >= this.canvas.width * 0.9 / devicePixelRatio) this.canvas.drawnTexts?.clear();
    return clear.call(this, x, y, width, height);
  };
}"""

# One line a text block, in the document's order. Left out: icons, source code, Streamlit's own
# tools, tables and figures (their texts come from the server's messages), and the explanations of dotted words (the
# page of words has them).
READ = """(selector) => {
  const LEFT_OUT = 'script, style, noscript, [data-testid=stIconMaterial], [data-testid=stExpanderIcon], '
    + '[data-testid=stCode], .vv-listing, [data-testid=stElementToolbar], '
    + '[data-testid=stDataFrame], .ch-legend, [aria-hidden=true].katex-html';
  const lines = [];
  let line = '';
  const end = () => { lines.push(line); line = ''; };
  const label = (node, text) => {
    for (const name of ['aria-label', 'title', 'alt', 'placeholder', 'aria-roledescription', 'aria-valuetext']) {
      const said = node.getAttribute(name);
      if (said && said.trim() !== text && !node.matches('a[href^="#word-"]')) lines.push(`[${name}] ${said}`);
    }
  };
  const visit = (node) => {
    if (node.nodeType === Node.TEXT_NODE) { line += node.data; return; }
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches(LEFT_OUT)) return;
    if (node.matches('.katex')) {
      line += ` $${node.querySelector('annotation')?.textContent ?? ''}$ `;
      return;
    }
    const isOption = node.matches('option');
    const display = getComputedStyle(node).display;
    if (!isOption && display !== 'contents' && !node.checkVisibility({ visibilityProperty: true })) return;
    if (node.matches('span[role=img][aria-label$=" icon"]')) return;
    const isBlock = isOption || node.matches('text, br') || !/^(inline|contents|ruby)/.test(display);
    if (isBlock) end();
    else if (display !== 'inline') line += ' ';
    label(node, (node.textContent ?? '').trim());
    if (node.drawnTexts) for (const text of [...node.drawnTexts].sort()) lines.push(`[canvas] ${text}`);
    if (!node.matches('canvas')) [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes].forEach(visit);
    if (isBlock) end();
    else if (display !== 'inline') line += ' ';
  };
  for (const root of document.querySelectorAll(selector)) { visit(root); end(); }
  return lines;
}"""

_NUMBER = re.compile(
    r"(?<![A-Za-z_]-)(?<![A-Za-z_/.\d])[−+-]?\d+(?:[,\u202f]\d{3}\b)*(?:\.\d+)?(?:e[−+-]?\d+)?(?:k\b)?"
)
_MACHINE_DEPENDENT = (
    (re.compile(r"127\.0\.0\.1:\d+|localhost:\d+"), "HOST"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "DATE"),
    (re.compile(r"\d+(?:\.\d+)?\s?[·×]\s?10[⁻⁰¹²³⁴-⁹]+"), "0"),
    (re.compile(r"\btorch \d[\w.+]*"), "torch 0"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?:-dirty)?\b"), "ID"),
    (re.compile(r"(?:Intel|AMD|Apple|ARM)\b[^,;.]*?(?=, \d+ thread)"), "CPU"),
)


def normalise(text: str) -> str:
    """Return a text on one line, 0 for numbers, fixed words for what depends on the machine; '' for no words."""
    for pattern, word in _MACHINE_DEPENDENT:
        text = pattern.sub(word, text)
    text = _NUMBER.sub("0", text)
    text = " ".join(re.sub("[\u200b\u2060]", "", text).split())
    returned = re.sub(r"^\[[\w-]+\] ?", "", text)
    return text if re.search(r"[^\W\d_]{2,}", returned) else ""


class Reader:
    """What a page has reported so far; every text is written once, in the section in which it first stands."""

    def __init__(self, page: Page, known: list[str] | None = None, pause_ms: int = PAUSE_MS) -> None:
        self.page, self.lines, self._pause_ms = page, list[str](), pause_ms
        self._seen = set(known or ())
        self._messages: list[bytes] = []
        page.on("websocket", self._hear)

    def _hear(self, socket: WebSocket) -> None:
        socket.on(
            "framereceived", lambda frame: self._messages.append(frame) if isinstance(frame, bytes) else None
        )

    def read(self, title: str, selector: str, area: int | None = None) -> None:
        """Write a section of the texts below a selector that are new, then those that the server's messages add.

        Args:
            area: of the messages that are read: 0 the page, 1 the sidebar; None all.
        """
        texts = self._settled(selector)
        messages, self._messages = [ForwardMsg.FromString(data) for data in self._messages], []
        # In the order of the page's places: what is computed behind the page arrives sooner or later.
        for message in sorted(messages, key=lambda message: tuple(message.metadata.delta_path)):
            texts += texts_of_message(message, area)
        lines = dict.fromkeys(map(normalise, texts))
        new = [text for text in lines if text and text not in self._seen and not text.endswith(UNFINISHED)]
        self._seen.update(new)
        if new:
            self.lines += ["", title, *new]

    def _settled(self, selector: str) -> list[str]:
        """Return the texts once they stay the same and nothing below the selector reports progress."""
        before: list[str] | None = None
        for _ in range(MOST_LOOKS):
            settle(self.page)
            expect(self.page.locator(selector).locator(PROGRESS)).to_have_count(0, timeout=120_000)
            texts: list[str] = self.page.evaluate(READ, selector)
            if texts == before:
                return texts
            before = texts
            self.page.wait_for_timeout(self._pause_ms)
        raise AssertionError(f"{self.page.url} does not come to rest within {MOST_LOOKS} looks")


def texts_of_message(message: ForwardMsg, area: int | None) -> list[str]:
    """Return the texts of a server's message that a page shows only on hover or in a list: help, options, tables."""
    if message.WhichOneof("type") != "delta" or (area is not None and message.metadata.delta_path[0] != area):
        return []
    element = message.delta.new_element
    kind = element.WhichOneof("type")
    return [] if kind is None else list(_texts_of_element(kind, getattr(element, kind)))


def _texts_of_element(kind: str, element: Any) -> Iterator[str]:
    for name, mark in (("help", "help"), ("placeholder", "placeholder"), ("options", "option")):
        value = getattr(element, name, "")
        for text in [value] if isinstance(value, str) else value:
            if isinstance(text, str) and text:
                yield f"[{mark}] {text}"
    if kind == "arrow_data_frame":
        yield from _texts_of_table(element)
    elif kind == "bidi_component" and element.bytes and "pages/views/chart.js" in files(element.bytes):
        yield from (f"[figure] {text}" for text in _texts_of_figure(chart_of(element.bytes), ""))


def _texts_of_table(element: Any) -> Iterator[str]:
    frame = convert_arrow_bytes_to_pandas_df(element.data)
    yield from (f"[column] {name}" for name in frame.columns)
    for config in json.loads(element.columns or "{}").values():
        yield from (f"[column] {config[name]}" for name in ("label", "help") if (config or {}).get(name))
    for name in frame.columns:
        yield from (f"[cell] {text}" for text in frame[name] if isinstance(text, str))


_FIGURE_TEXTS = {"text", "name", "hovertemplate", "hovertext", "ticktext", "title"}


def _texts_of_figure(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, str):
        if name in _FIGURE_TEXTS:
            yield re.sub(r"%\{[^}]*\}", "0", value).replace("\n", " ")
    elif isinstance(value, list):
        for one in value:
            yield from _texts_of_figure(one, name)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _texts_of_figure(one, key)
