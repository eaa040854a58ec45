"""Client views: a picture drawn in the browser, which follows the pointer without asking the server.

A view is a module beside the Python that mounts it, with a style sheet of its name where it needs one. `swatch.py`:

    from pages.views.register import register
    from vitviz.plots.blob import pack

    _swatch = register(__file__, "swatch")

    def swatch(values: np.ndarray, *, key: str) -> int | None:
        \"""A heat map of values (rows, cols) float32; returns the cell that was picked in this run.\"""
        payload = pack({"label": "Similarity", "lo": -1.0, "hi": 1.0}, values=values)
        return _swatch(payload, key=key, triggers=("pick",)).pick

and `swatch.js`, with what it needs from the kit (pages/views/kit: one subject a file):

    import { canvas, live, tooltip } from '../../views/kit/dom.js';
    import { gridNavigation } from '../../views/kit/grid.js';
    import { blit, heat } from '../../views/kit/pixels.js';
    import { DIVERGING_LUT } from '../../views/kit/ramp.js';

    export default function swatch({ root, trigger }) {
      const map = canvas(root), tip = tooltip(root), say = live(root);
      let now = null;                                    // the newest message
      gridNavigation(map.node, {
        label: 'Similarity map',
        rows: () => now.arrays.values.shape[0],
        cols: () => now.arrays.values.shape[1],
        hover(i, event) {
          if (i < 0) return tip.hide();
          say(`cell ${i}: ${now.arrays.values.data[i].toFixed(2)}`);
          if (event) tip.show(event.offsetX, event.offsetY, now.arrays.values.data[i].toFixed(2));
        },
        pick: (i) => trigger('pick', i),
      });
      return (message) => {                              // {header, arrays, colors, width}
        now = message;
        const { data, shape: [rows, cols] } = now.arrays.values, side = Math.min(now.width, 320);
        const ctx = map.size(side, (side * rows) / cols);
        blit(ctx, heat(data, rows, cols, DIVERGING_LUT, now.header.lo, now.header.hi), 0, 0, map.width, map.height);
      };
    }

Rules: one `bytes` payload, an explicit key, text only through `el`, `tip` and `say` (never innerHTML), `trigger` and
`send` only from what the visitor does. The root carries `data-component` and, once drawn, `data-ready="true"`.

No code travels in a message. Streamlit would put a component's JavaScript and CSS into each of them; here all views are
one component whose code is base.js, and a message begins with the address of the view that it is for. The browser
fetches base.js, the view and what they import once a visit, from Streamlit's own route for components' files. The
address holds a hash of all that is written here, so that no cache shows an older view; nothing is copied or built, so
a checkout may be read-only. The route serves any file of `pages`, Python included: keep no secret there.
"""

from __future__ import annotations

import json
import re
import struct
import threading
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, Protocol

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

_PAGES = Path(__file__).resolve().parents[1]
_SERVING = threading.Lock()
Height = int | Literal["stretch", "content"]
_HEIGHTS = Path(__file__).with_name("heights.json")


class View(Protocol):
    """Mounts a registered view; the result has an attribute per state and per trigger (None where nothing came)."""

    def __call__(
        self,
        data: bytes,
        *,
        key: str,
        height: Height = "content",
        states: tuple[str, ...] = (),
        triggers: tuple[str, ...] = (),
        on_change: Callable[[], None] | None = None,
    ) -> Any: ...


def fingerprint(folder: Path) -> str:
    """A hash of every .js and .css below a folder, names included: 16 hexadecimal digits."""
    digest = blake2b(digest_size=8)
    for file in sorted(path for path in folder.rglob("*") if path.suffix in {".js", ".css"}):
        digest.update(f"{file.relative_to(folder).as_posix()}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


_VERSION = fingerprint(_PAGES)
COMPONENT = f"vitviz.{_VERSION}"


def address(beside: str, name: str, *styles: str) -> bytes:
    """What a message begins with: uint32 length | the files of a view below `pages`, padded to 8 bytes together.

    Raises:
        ValueError: if the view has no such module or style sheet.
    """
    folder = Path(beside).resolve().parent
    own = [name] if (folder / f"{name}.css").exists() else []
    files = [folder / f"{name}.js", *(folder / f"{style}.css" for style in styles or own)]
    missing = [file.name for file in files if not file.exists()]
    if missing:
        raise ValueError(f"a view's files must stand beside {beside}, missing: {', '.join(missing)}")
    text = " ".join(file.relative_to(_PAGES).as_posix() for file in files).encode()
    text += b" " * (-(4 + len(text)) % 8)
    return struct.pack("<I", len(text)) + text


def register(beside: str, name: str, *styles: str) -> View:
    """The view NAME.js beside a file, with NAME.css where there is one, or with STYLE.css of each that is named."""
    files = address(beside, name, *styles)

    def show(
        data: bytes,
        *,
        key: str,
        height: Height = "content",
        states: tuple[str, ...] = (),
        triggers: tuple[str, ...] = (),
        on_change: Callable[[], None] | None = None,
    ) -> Any:
        callbacks: dict[str, Any] = {
            f"on_{event}_change": on_change or _nothing for event in (*states, *triggers)
        }
        _serve()
        room = reserved(key) if height == "content" else height
        return _component()(data=files + data, key=key, height=room, **callbacks)

    return show


def reserved(key: str) -> Height:
    """The height in px that a view is given until it has drawn (base.js): it came to that on a first visit.

    benchmarks/layout_shift.py measures them, on a screen of 1280 px and on a phone; of another view nothing is known.
    """
    known = heights().get(re.sub(r"[^\w-]", "-", key))
    if known is None:
        return "content"
    wide, phone = known
    return phone if st.context.headers.get("Sec-Ch-Ua-Mobile") == "?1" else wide


@cache
def heights() -> dict[str, list[int]]:
    """Of a view by its key, as a style sheet has it: px on a wide screen and on a phone."""
    found: dict[str, list[int]] = json.loads(_HEIGHTS.read_text("utf-8"))
    return found


def _serve() -> None:
    """Lets this server's runtime serve the views' files, as it would an installed component's.

    A server has one runtime; AppTest makes one a test, so every mount asks. Streamlit would find the folder by itself
    only in an installed distribution.
    """
    manager = get_bidi_component_manager()
    with _SERVING:
        if manager.get_component_asset_root(COMPONENT) is None:
            files = ComponentConfig(name=_VERSION, asset_dir=_PAGES.name)
            manager.register_from_manifest(ComponentManifest("vitviz", _VERSION, [files]), _PAGES.parent)


@cache
def _component() -> Any:
    return st.components.v2.component(COMPONENT, js="views/base.js")


def _nothing() -> None:
    """A component announces its values only where they have a callback."""
