"""Build a map's message by hand for tests: an image of 4 × 4 patches through three blocks."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Page, expect

from pages.views.register import encode_address
from tests.browser.conftest import ROOT, Screens
from tests.random_models import random_model
from vitviz.config import ViTConfig, to_dict
from vitviz.plots.blob import pack
from vitviz.probe.named_records import read_records

CLASSES = ["cat", "dog", "ship"]
GRID, PREFIX, CHANNELS, LAYERS = [4, 4], ["cls"], 8, 3
PLACED = {
    "called": "position",
    "what": "The vector of its position",
    "why": "it tells attention where each patch lies",
}
TOKENS = len(PREFIX) + GRID[0] * GRID[1]
CONFIG = ViTConfig(16, 4, 3, len(CLASSES), embed_dim=CHANNELS, depth=LAYERS, num_heads=2)
MODEL = random_model(CONFIG, seed=0, classes=tuple(CLASSES), title="Drawn", digest="drawn")
IMAGE = np.random.default_rng(1).normal(size=(3, 16, 16)).astype(np.float32)
FILES = ("map", "map", "map_panel")  # as pages/start/map_session.py registers them
BESIDE = str(ROOT / "pages" / "start" / "page.py")
MOUNT = """async ([map, closed]) => {
  const mount = (await import('/pages/views/base.js')).default, at = (id) => document.querySelector(id);
  window.told = [];
  window.answer = (bytes) => mount({ parentElement: at('#part'), data: new Uint8Array(bytes) });
  window.show = (bytes) => mount({
    parentElement: at('#map'), data: new Uint8Array(bytes), setTriggerValue: (name, value) => told.push([name, value]),
  });
  answer(closed);
  show(map);
}"""


def part(id_: str, kind: str, title: str, shape: list[int], **more: Any) -> dict[str, Any]:
    """A part of the header, with what all parts have."""
    placed = {"grid": GRID, "prefix": PREFIX, "cell_px": 4}
    link = {"slug": "block", "label": "Every step", "href": "block?pin=0.5"}
    returned = {"title": title, "words": f"{title} in words.", "caption": "in short"}
    return {
        "id": id_,
        "kind": kind,
        **returned,
        **placed,
        "shape_out": shape,
        "opens": kind != "picture",
        "link": link,
        **more,
    }


def parts() -> list[dict[str, Any]]:
    sequence = [TOKENS, CHANNELS]
    blocks = [
        part(
            f"block.{n}",
            "block",
            f"Layer {n}",
            sequence,
            layer=n,
            stage=0,
            row_of="cls",
            window=None,
            pre_norm=True,
            stream_scale=1.0,
        )
        for n in range(1, LAYERS + 1)
    ]
    return [
        part("picture", "picture", "Image", [3, 16, 16], grid=None, prefix=[]),
        part("patches", "patches", "Patches", [16, 48], prefix=[]),
        part("embed", "embed", "Embedding E", [16, CHANNELS], prefix=[], scale=1.0),
        part("prefix", "prefix", "Prepend [CLS]", sequence, scale=1.0),
        part("positions", "positions", "Positions", sequence, on_prefix=True, scale=1.0, **PLACED),
        *blocks,
        part("norm", "norm", "Final LayerNorm", sequence, token=0),
        part("head", "head", "Head", [3], grid=None, shape_in=[CHANNELS], scale=1.0, names=PREFIX),
        part("classes", "classes", "Classes", [3], grid=None),
    ]


def header(**more: Any) -> dict[str, Any]:
    terms = [
        {"base": "x", "sub": "p", "sup": "1", "parts": ["patches"], "say": "one patch"},
        {"base": "E", "sub": "", "sup": "", "parts": ["embed"], "say": "the matrix"},
        " + ",
        {"base": "MLP", "sub": "", "sup": "", "parts": ["block.*/mlp"], "say": "two maps"},
    ]
    return {
        **{"map": "home.map", "subject": "cat", "config": to_dict(MODEL.config)},
        "family": "vit",
        "label": "A cat through a model",
        "pin": "0.375,0.625",
        "photo": {"kind": "image/png", "px": [16, 16]},
        **{
            "prefix": PREFIX,
            "grid": GRID,
            "readout": "cls",
            "patch_px": 4,
            "heads": 2,
            "depth": LAYERS,
            "parts": parts(),
        },
        "equations": [{"n": "1", "source": "a paper", "tokens": terms}],
        "classes": {"names": CLASSES, "index": [0, 1, 2], "truth": 0},
        **more,
    }


def arrays() -> dict[str, np.ndarray[Any, Any]]:
    draw = np.random.default_rng(0)
    file = io.BytesIO()
    Image.fromarray(draw.integers(0, 255, (16, 16, 3), dtype=np.uint8)).save(file, "PNG")

    def codes(*shape: int) -> np.ndarray[Any, Any]:
        return draw.integers(-127, 128, shape).astype(np.int8)

    made: dict[str, np.ndarray[Any, Any]] = {
        "photo": np.frombuffer(file.getvalue(), np.uint8),
        "embed.length": np.ones(16, np.float32),
        "embed.filters": draw.integers(0, 255, (4, 4, 4, 3), dtype=np.uint8),
        "embed.vectors": codes(16, CHANNELS),
        "prefix.vectors": codes(1, CHANNELS),
        "positions.cosine": codes(TOKENS, TOKENS),
        "positions.length": np.ones(TOKENS, np.float32),
        "positions.vectors": codes(TOKENS, CHANNELS),
        "norm.in_length": np.full(TOKENS, 9, np.float32),
        "norm.length": np.full(TOKENS, 2, np.float32),
        "head.vectors": codes(1, CHANNELS),
        "head.weights": codes(1, 3, CHANNELS),
        "logits": np.array([0.0, 1.0, -1.0], np.float32),
        "probabilities": np.array([0.245, 0.665, 0.09], np.float32),
        "lens": np.full((LAYERS + 1, 3), 1 / 3, np.float32),
    }
    for n in range(1, LAYERS + 1):
        made |= {
            f"block.{n}.row": draw.integers(0, 255, (1, TOKENS), dtype=np.uint8) * np.uint16(257),
            f"block.{n}.row_max": np.ones(1, np.float32),
            f"block.{n}.keys": np.tile(np.arange(5, dtype=np.uint8), (TOKENS, 1)),
            f"block.{n}.weights": np.tile(np.array([32768, 9000, 5000, 100, 0], np.uint16), (TOKENS, 1)),
            f"block.{n}.lengths": np.tile(
                np.array([3 * n, 2, 1.5, 3 * n + 1, 3 * n + 3], np.float32), (TOKENS, 1)
            ).astype(np.float32),
            f"block.{n}.stream": codes(2, TOKENS, CHANNELS),
        }
    return made


def message(**more: Any) -> list[int]:
    return list(encode_address(BESIDE, *FILES) + pack(header(**more), **arrays()))


def opened_part(name: str, **more: Any) -> list[int]:
    """Return the server's message about the open part; the empty name closes."""
    records = more.pop("records", {})
    head = {"map": "home.map", "part": name, **more}
    return list(encode_address(BESIDE, "map_part") + pack(head, **records))


def answer(page: Page, classes: Sequence[str] = CLASSES) -> None:
    """Answer the view's newest request for records as the server does."""
    part, *names = page.evaluate("told.findLast(([name]) => name === 'open')[1]").split(" ")
    read = read_records(MODEL, IMAGE, names)
    records = {str(i): read[name] for i, name in enumerate(names)}
    reply = opened_part(part, names=names, subject="cat", classes=classes, records=records)
    page.evaluate("(bytes) => answer(bytes)", reply)


def open_map(screens: Screens, site: str, width: int = 1000, calm: bool = False) -> Page:
    """A tab with the map; `told` are its events, `answer(page)` is the server."""
    page = screens.tab(width, 900, reduced_motion="reduce" if calm else "no-preference")
    page.route(
        f"{site}/",
        lambda route: route.fulfill(
            body="<body style='margin: 0; --st-font: sans-serif'><div id=map></div><div id=part></div>",
            content_type="text/html",
        ),
    )
    page.goto(f"{site}/")
    page.evaluate(MOUNT, [message(), opened_part("")])
    expect(page.locator(".vv[data-component=map][data-ready=true][data-photo]")).to_be_visible()
    return page
