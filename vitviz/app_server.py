"""Start the app of a checkout on one model."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import webbrowser
from dataclasses import replace
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from torch import nn

from vitviz.checkpoints import as_checkpoint, save_checkpoint
from vitviz.loading import list_shipped, load
from vitviz.models.formats.format_detection import UNSAID
from vitviz.models.loaded_model import LoadedModel
from vitviz.recorded_run import RecordedRun, is_recorded_run

_START_S = 60.0
OPENED_RUN = "recorded:opened"  # the app's name of the run that it was opened on


def run_app(root: Path, model: str | Path | nn.Module | LoadedModel, port: int = 0) -> None:
    """Run the app below `root` until it is stopped, and open it on the model, or on a recorded run's folder.

    Args:
        port: of 127.0.0.1; 0 is any free one.

    Raises:
        OSError: if the port is taken.
        PretrainedError: if the model cannot be opened.
        CheckpointError: if it is no finite model.
    """
    with tempfile.TemporaryDirectory() as folder:
        variables, page = _place_model(model, Path(folder))
        with socket.socket() as free:
            free.bind(("127.0.0.1", port))
            port = free.getsockname()[1]
        options = [f"--server.port={port}", "--server.address=127.0.0.1", "--server.headless=true"]
        command = [sys.executable, "-m", "streamlit", "run", "app.py", *options]
        server = subprocess.Popen(command, cwd=root, env={**os.environ, **variables})
        # A process that is terminated would leave its server behind. Only the main thread may heed signals.
        is_main = threading.current_thread() is threading.main_thread()
        previous = signal.signal(signal.SIGTERM, signal.default_int_handler) if is_main else None
        try:
            address = f"http://127.0.0.1:{port}"
            if _wait_until_ready(address, server):
                print(f"vitviz: {address}/{page}", flush=True)
                webbrowser.open(f"{address}/{page}")
            server.wait()
        except KeyboardInterrupt:
            pass
        finally:
            server.terminate()
            server.wait()
            if is_main:
                signal.signal(signal.SIGTERM, previous)


def _place_model(model: str | Path | nn.Module | LoadedModel, folder: Path) -> tuple[dict[str, str], str]:
    """Return the environment of an app with this model or recorded run, and the page to open."""
    if isinstance(model, str | Path) and is_recorded_run(Path(model)):
        directory = str(RecordedRun(model).directory.resolve())
        return {"VITVIZ_RECORDED": directory}, f"live_lab?model={OPENED_RUN}"
    name = str(model) if str(model) in list_shipped() else _write_model(load(model, device="cpu"), folder)
    return {"VITVIZ_CHECKPOINTS": str(folder)}, f"attention?model=checkpoint:{name}"


def _write_model(model: LoadedModel, folder: Path) -> str:
    """Write a model as a checkpoint that the app lists; returns its name there."""
    # The app takes step 0 of a training for random weights.
    step = 0 if model.trained_on is None else max(model.step, 1)
    trained_on = "unknown images" if model.trained_on == UNSAID else model.trained_on
    card = {"title": model.title, "trained_on": trained_on}
    save_checkpoint(folder / "your_model.safetensors", as_checkpoint(replace(model, step=step), card))
    return "your_model"


def _wait_until_ready(address: str, server: subprocess.Popen[bytes]) -> bool:
    """Return True once the server answers; False if it ends or takes longer than `_START_S`."""
    end = time.monotonic() + _START_S
    while time.monotonic() < end and server.poll() is None:
        try:
            with urlopen(address, timeout=1):
                return True
        except (URLError, OSError):
            time.sleep(0.2)
    return False
