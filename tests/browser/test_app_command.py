"""`vitviz app --model FOLDER` opens the app on the model in the user's browser; a stop ends its server, too."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import vitviz
from tests.browser.conftest import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def _heed_interrupts() -> None:
    """Undo what a shell sets for a command in the background: to ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_the_app_opens_on_a_folders_model(browser: Browser, tmp_path: Path, stop: signal.Signals) -> None:
    folder = vitviz.export("digits_vit", tmp_path / "my-finetune")
    address, script = tmp_path / "address", tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$1" > {address}\n')
    script.chmod(0o755)
    with (tmp_path / "log").open("wb") as log:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "vitviz", "app", "--model", str(folder), f"--port={port}"]
        env = {**os.environ, "BROWSER": str(script), "VITVIZ_RUNS": str(tmp_path / "runs")}
        app = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=log, stderr=log, preexec_fn=_heed_interrupts
        )
    try:
        end = time.monotonic() + 120
        while not address.exists() or not address.read_text().strip():
            assert time.monotonic() < end and app.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.2)
        assert address.read_text().startswith(f"http://127.0.0.1:{port}/")
        page = browser.new_page()
        page.goto(address.read_text().strip())
        model = page.get_by_role("combobox", name="Model", exact=True)
        expect(model).to_have_value(re.compile("Unknown images · Timm ViT, 4 layers of width 64"))
        expect(page.locator("[data-component=explorer][data-ready=true]")).to_be_visible()
        assert not page.get_by_text("random weights").count()
        page.close()
    finally:
        app.send_signal(stop)
        assert app.wait(30) == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
