"""Start HAProxy with the operator's configuration, deploy/haproxy.cfg."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from tests.browser.conftest import ROOT, stop_server

# Where the tests' programs are required, a missing one is a failure.
needs_haproxy = pytest.mark.skipif(
    shutil.which("haproxy") is None and os.environ.get("VITVIZ_REQUIRE_BROWSER") != "1",
    reason="no HAProxy on this machine",
)


def start_proxy(
    port: int, a: int, b: int, log: Path, base: str = "", **settings: str
) -> subprocess.Popen[bytes]:
    """Start HAProxy as an operator does, before the servers on ports `a` and `b`; return when it answers."""
    addresses = {name: f"127.0.0.1:{at}" for name, at in (("BIND", port), ("A", a), ("B", b))}
    with log.open("wb") as out:
        proxy = subprocess.Popen(
            ["haproxy", "-f", str(ROOT / "deploy/haproxy.cfg")],
            env=os.environ
            | {f"VITVIZ_{name}": at for name, at in addresses.items()}
            | {"VITVIZ_BASE": base}
            | settings,
            stdout=out,
            stderr=out,
        )
    end = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}{base}/", timeout=5).close()
            return proxy
        except OSError:
            if proxy.poll() is not None or time.monotonic() > end:
                stop_server(proxy)
                raise RuntimeError(f"the proxy does not answer:\n{log.read_text()}") from None
            time.sleep(0.1)
