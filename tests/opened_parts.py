"""Open the parts of a map in node, as the browser does, from records of the server or of the browser's engine."""

import json
import subprocess
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pages.start.map_messages import build_map
from vitviz.checkpoints import pack_model
from vitviz.config import to_dict
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots.blob import open_blob, pack
from vitviz.probe.forward_pass import record_journey
from vitviz.probe.named_records import read_records

ROOT = Path(__file__).resolve().parents[1]
PIN = "0.300,0.700"
LIMIT_S = 120
Query = dict[str, Any]
Opened = dict[str, Any]


def read_values(written: dict[str, Any]) -> NDArray[np.float32]:
    """Return the values of an operation or a table."""
    values = written["values"]
    return np.array(values["data"], np.float32).reshape(values["shape"])


def encode(data: bytes) -> str:
    return b64encode(data).decode()


def open_queries(
    model: LoadedModel,
    values: NDArray[np.float32],
    queries: Sequence[Query] = (),
    engine: bool = False,
    masks: dict[str, list[float]] | None = None,
) -> list[Opened]:
    """Return an opened part per query {part, pin, head, class, channel}; without queries: every part that opens."""
    shown = np.zeros((*values.shape[1:], 3), np.uint8)
    message = build_map(model, record_journey(model, values), shown)
    opens = [part["id"] for part in open_blob(message)[0]["parts"] if part["opens"]]
    first: dict[str, Any] = {
        "map": encode(message),
        "queries": queries or [{"part": i, "pin": PIN} for i in opens],
    }
    if engine:
        first |= {"weights": encode(pack_model(model)), "input": encode(pack({}, input=values))}
        first |= {"masks": masks or {}}
    else:
        first |= {"config": to_dict(model.config), "classes": model.classes}
    opened = []
    with subprocess.Popen(
        ["node", "tests/engine/open_parts.js"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdin is not None and process.stdout is not None

        def send(request: dict[str, Any]) -> None:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()

        send(first)
        for line in process.stdout:
            written = json.loads(line)
            if "names" in written:
                records = read_records(model, values, written["names"])
                send(
                    {
                        "arrays": encode(
                            pack({}, **{str(i): records[n] for i, n in enumerate(written["names"])})
                        )
                    }
                )
            else:
                opened.append(written)
    assert process.returncode == 0 and len(opened) == len(first["queries"])
    return opened


def open_parts(model: LoadedModel, values: NDArray[np.float32], engine: bool = False) -> dict[str, Opened]:
    """Return every part that opens, by id, at `PIN`."""
    return {opened["part"]: opened for opened in open_queries(model, values, (), engine)}


def assert_equal(opened: Opened, other: Opened) -> None:
    """Assert that two opened parts say the same: words, and values to 1e-4 of their scale."""
    for kind in ("steps", "tables"):
        assert [each["title"] for each in opened[kind]] == [each["title"] for each in other[kind]]
        for one, two in zip(opened[kind], other[kind], strict=True):
            wanted = read_values(two)
            limit = 1e-4 * np.abs(wanted).max(initial=1e-9)
            np.testing.assert_allclose(read_values(one), wanted, rtol=0, atol=limit, err_msg=one["title"])
    for name in ("token", "token_name", "head", "class", "channel"):
        assert opened.get(name) == other.get(name)


needs_node = pytest.mark.skipif(
    subprocess.run(["which", "node"], capture_output=True, check=False).returncode != 0, reason="needs node"
)
