"""Random links to every page; parameters and valid values are recorded while the pages run."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote, unquote_to_bytes, urlencode

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.util import patch_config_options
from streamlit.util import calc_hash

from pages.controls import popover, query_params, widgets
from pages.frame import startup
from pages.stores import catalogue, registry
from tests.robustness.fuzz.mutate import spoil
from tests.robustness.fuzz.watch import Entry

ROOT = Path(__file__).parents[3]
# A page may open two of the largest models: 335 MB and up to 3.5 s of processor time each, and for their activations
# 200 MB and 3.2 s each; with the libraries that the first page loads, 1,357 MB on an AMD EPYC.
LONGEST_S = 15.0
MOST_BYTES = 1500 * 2**20
_LARGEST = (  # pairs of models
    b"home?model=preset%3Aswin_base&home.beside=preset%3Adeit_base_distilled_16",
    b"layers?model=preset%3Avit_base_16&layers.other=preset%3Aswin_base",
)
_LONGEST_LINK = 60_000  # Streamlit drops a query string of 64 KiB
NUMBERS = (
    *("9" * digits for digits in (19, 30, 309, 400, 4301, 50_000)),
    *("-" + "9" * digits for digits in (19, 400, 4301)),
    *("1e400", "-1e400", "1e308", "1e-400", "nan", "-nan", "inf", "-Infinity", "-0", "-1", "0", "0x10"),
    *("1_0", " 1", "1\n", "\t1 ", "\u00a01", "+1", "1.", ".5", "0.5", "1.0", "٣", "１", "²", "½", "0.٥", "Ⅷ"),
    *("0" * 4301 + "1", "1." + "0" * 1000, "0." + "9" * 400, "1e" + "9" * 400),
)
WORDS = (
    *(
        b"",
        b"\x00",
        b"a\x00b",
        b"\xed\xa0\x80",
        b"\xed\xa0\xbd\xed\xb8\x80",
        b"\xff\xfe",
        b"\xf4\x90\x80\x80",
    ),
    *(
        word.encode()
        for word in ("\u202e", "\ud7ff", "😀" * 50, "<img src=x>", "../..", "%", "&", "\r\n", ":")
    ),
    *(
        b"," * 1000,
        b"[" * 500,
        b"{}",
        b"null",
        b"true",
        b"None",
        b"a" * 1024,
        b"a" * 50_000,
        b"\xc3\xa9" * 20_000,
    ),
)


class Parameters:
    """The query parameters of each page and their valid values, as the pages read and write them."""

    def __init__(self) -> None:
        self.values: dict[str, dict[str, set[str]]] = {}
        self._slug = ""

    @contextmanager
    def record(self, slug: str) -> Iterator[None]:
        """Record what the page reads from its link, writes into it and offers as options."""
        self._slug = slug
        take, put, settle = query_params.take_value, query_params.set_value, widgets.resolve_option

        def recorded_take(key: str) -> str | None:
            self.add(key)
            return take(key)

        def recorded_put(key: str, value: str) -> None:
            self.add(key, value)
            put(key, value)

        def recorded_settle(key: str, options: Sequence[Any], default: Any = None) -> Any:
            self.add(key, *map(widgets.encode_value, list(options)[:50]))
            return settle(key, options, default)

        with (
            patch.object(query_params, "take_value", recorded_take),
            patch.object(query_params, "set_value", recorded_put),
            patch.object(widgets, "resolve_option", recorded_settle),
        ):
            yield

    def add(self, key: str, *values: str) -> None:
        """Add a parameter to the recorded page."""
        known = self.values.setdefault(self._slug, {}).setdefault(key, set())
        if len(known) < 100:
            known.update(value for value in values if len(value) < 1000)

    def draw(self, dice: random.Random) -> bytes:
        """Return a link to a page: valid values, of which one, some or all are replaced by hostile ones."""
        slug = dice.choice(sorted(self.values))
        known = self.values[slug]
        query = {
            key: dice.choice(sorted(values)).encode("utf-8", "surrogatepass")
            for key, values in sorted(known.items())
            if values and dice.random() < 0.5
        }
        keys = sorted(known)
        count = dice.choice((1, 1, 1, 2, 3, len(keys)))
        parameters: list[tuple[str, bytes]] = list(query.items())
        one = hostile(dice, [b"1"])
        for key in dice.sample(keys, min(count, len(keys))):
            valid = [value.encode("utf-8", "surrogatepass") for value in sorted(known[key])] or [b"1"]
            value = one if count == len(keys) and dice.random() < 0.5 else hostile(dice, valid)
            repeated = dice.choice(([value], [value], [value], [value, dice.choice(valid)], [value] * 20))
            parameters = [
                (name, returned) for name, returned in parameters if name != key or dice.random() < 0.1
            ]
            parameters += [(key, returned) for returned in repeated]
        while len(urlencode(parameters)) > _LONGEST_LINK:
            parameters.remove(max(parameters, key=lambda returned: len(returned[1])))
        return f"{slug}?{urlencode(parameters)}".encode()


def hostile(dice: random.Random, valid: list[bytes]) -> bytes:
    """Return a value that no page has written: a number, a word, or a valid value with one of them in it."""
    kind = dice.randrange(4)
    if kind == 0:
        return dice.choice(NUMBERS).encode()
    if kind == 1:
        return dice.choice(WORDS)
    if kind == 2:
        return spoil(dice, dice.choice(valid), valid)
    parts = dice.choice(valid).replace(b":", b",").split(b",")
    value = dice.choice(valid)
    return value.replace(dice.choice(parts), dice.choice(NUMBERS).encode(), 1)


def links(folder: Path) -> Entry:
    """Return the entry that opens every page by links."""
    parameters = Parameters()
    return Entry(
        "links",
        [*page_links(), *_LARGEST],
        opener(folder, parameters),
        draw=parameters.draw,
        longest_s=LONGEST_S,
        most_bytes=MOST_BYTES,
    )


def opener(folder: Path, parameters: Parameters) -> Callable[[bytes], None]:
    """Return a function that opens a link, records its parameters and raises an error where the page shows one."""

    def take(data: bytes) -> None:
        slug, _, query = data.partition(b"?")
        with _server(folder), parameters.record(slug.decode()):
            app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
            app._page_hash = calc_hash(slug.decode())
            app.query_params.update(_parsed(query))
            app.run()
        if app.exception:
            error = app.exception[0]
            lines = [line.strip() for line in error.stack_trace if line.lstrip().startswith("File ")]
            raise AssertionError(f"{slug.decode()}: {error.message[:100]} {' '.join(lines[-1:])[-120:]}")

    return take


def _parsed(query: bytes) -> dict[str, Any]:
    """Return each parameter's values as bytes: AppTest encodes them again as they were, valid UTF-8 or not."""
    found: dict[str, Any] = {}
    for part in filter(None, query.split(b"&")):
        key, _, value = part.partition(b"=")
        found.setdefault(unquote(key.decode()), []).append(unquote_to_bytes(value.replace(b"+", b" ")))
    return found


def page_links() -> list[bytes]:
    """Return a link to every page without parameters, and the full links that people keep."""
    kept = json.loads((ROOT / "tests/pages/addresses.json").read_text("utf-8"))
    plain = [f"{entry.slug}?" for entry in registry.PAGES]
    full = [f"{returned['page']}?{urlencode(returned['query'])}" for returned in kept]
    return [link.encode() for link in (*plain, *full)]


@contextmanager
def _server(folder: Path) -> Iterator[None]:
    """Bound the app to presets and to a folder of its own, as the tests of the pages do."""
    environment = {"VITVIZ_RUNS": str(folder / "runs"), "VITVIZ_DATA": str(folder / "no_data")}
    nothing: Callable[[], list[Any]] = list
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, environment))
        stack.enter_context(patch.object(catalogue, "CHECKPOINTS", folder / "checkpoints"))
        stack.enter_context(patch.object(manifest_scanner, "scan_component_manifests", nothing))
        stack.enter_context(patch.object(startup, "start_background_thread", lambda: None))
        stack.enter_context(patch_config_options({"client.showErrorDetails": "full"}))
        stack.enter_context(patch.object(popover, "_read_open", lambda place: True))
        yield
