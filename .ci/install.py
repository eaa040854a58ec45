"""`python .ci/install.py uv==… requirements.txt`: what `pip install -r` would install here, in a tenth of its time.

uv unpacks side by side and compiles nothing that no test imports. It is told what pip's own configuration says of where
packages come from; a setting that it has no word for, or a failure, and pip does it.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

AS_UV_SAYS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "constraint": "UV_CONSTRAINT",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "proxy": "ALL_PROXY",
    "cert": "SSL_CERT_FILE",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
}
# These change what is said, kept or asked, never what is installed.
NEEDLESS = {
    *("cache-dir", "no-cache-dir", "retries", "disable-pip-version-check", "no-python-version-warning"),
    *("no-input", "progress-bar", "quiet", "verbose", "no-color", "root-user-action", "require-virtualenv"),
}
SECTIONS = ("global", "install", ":env:")  # as pip reads them: the last one holds


def settings(listed: str) -> dict[str, str]:
    """Return the settings of `pip config list`, `section.key='value'` a line, by the name of the key."""
    found: dict[str, tuple[int, str]] = {}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        if section in SECTIONS:
            said = (SECTIONS.index(section), str(ast.literal_eval(value)))
            found[key] = max(found.get(key, said), said, key=lambda pair: pair[0])
    return {key: value for key, (_, value) in found.items()}


def for_uv(said: dict[str, str]) -> dict[str, str] | None:
    """pip's settings as uv's variables; None where uv has no word for one."""
    if unknown := sorted(set(said) - set(AS_UV_SAYS) - NEEDLESS):
        print(f"pip is told {', '.join(unknown)}: uv has no word for it")
        return None
    told = {AS_UV_SAYS[key]: " ".join(value.split()) for key, value in said.items() if key in AS_UV_SAYS}
    # As pip: the best release of all indexes, not of the first that has one.
    return {"UV_INDEX_STRATEGY": "unsafe-best-match", **told}


def with_uv(tool: str, requirements: str) -> bool:
    """Whether `tool`, a release of uv, has installed them into this interpreter's environment."""
    pip = [sys.executable, "-m", "pip"]
    listed = subprocess.run([*pip, "config", "list"], check=True, capture_output=True, text=True).stdout
    told = for_uv(settings(listed))
    if told is None or subprocess.run([*pip, "install", "--quiet", "--no-compile", tool]).returncode:
        return False
    cache = tempfile.mkdtemp(dir=Path(sys.prefix).parent)  # on the same disk: files are linked, not copied
    try:
        install = [
            Path(sys.executable).with_name("uv"),
            "pip",
            "install",
            "--no-progress",
            "-r",
            requirements,
        ]
        env = {**os.environ, **told, "VIRTUAL_ENV": sys.prefix, "UV_CACHE_DIR": cache}
        return subprocess.run(install, env=env).returncode == 0
    finally:
        shutil.rmtree(cache, ignore_errors=True)


if __name__ == "__main__":
    tool, requirements = sys.argv[1:]
    if not with_uv(tool, requirements):
        subprocess.run([sys.executable, "-m", "pip", "install", "-r", requirements], check=True)
