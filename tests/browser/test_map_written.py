"""Check that no text on the map is cut off."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Screens
from tests.browser.map_message import message, open_map

pytestmark = pytest.mark.browser
# Notes what is written on canvases from now on, and by how many px it leaves its canvas.
WRITING = """() => {
  const write = CanvasRenderingContext2D.prototype.fillText;
  window.written = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const { a, e } = this.getTransform();
    const share = { left: 0, start: 0, center: 0.5, right: 1, end: 1 }[this.textAlign];
    const wide = this.measureText(text).width * a, left = x * a + e - share * wide;
    window.written.push([text, Math.max(0, -left, left + wide - this.canvas.width) / a]);
    write.call(this, text, x, y);
  };
}"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [1000, 640, 390])
def test_what_is_written_is_whole(screens: Screens, site: str, width: int) -> None:
    page = open_map(screens, site, width)
    names = ["automobile", "airplane", "ship"]
    page.evaluate(WRITING)
    classes = {"names": names, "index": [0, 1, 2], "truth": 0}
    page.evaluate("(bytes) => show(bytes)", message(classes=classes, pin="0.875,0.625"))
    page.wait_for_function("() => written.length > 3")
    written = page.evaluate("written")
    assert {"automobile ✓", "airplane", "ship"} <= {text for text, _ in written}
    assert [text for text, beyond in written if beyond > 1 or "…" in text] == []
    screens.forget()
