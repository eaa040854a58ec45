"""Serve the browser files of the views from Streamlit's route for component files.

Required: without it no view is drawn. Streamlit itself finds such a folder only in an installed distribution, and
would serve each file of it; here its route serves the .js and .css files of `pages` and `vitviz/browser`, and no other
file of the checkout. The address contains a hash of these files, so that no cache serves an older view; nothing is
copied or built, so a checkout may be read-only.
"""

import re
import threading
from hashlib import blake2b
from pathlib import Path

from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest
from streamlit.web.server.starlette import starlette_routes

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = (ROOT / "pages", ROOT / "vitviz" / "browser")
_SERVED = re.compile(
    r"(?:pages|vitviz/browser)/[\w/]+\.(?:js|css)"
)  # no dot but one: no way out of the folders
_find_any_file = starlette_routes.build_safe_abspath  # type: ignore[attr-defined]
_SERVING = threading.Lock()


def hash_files(*folders: Path) -> str:
    """Return a hash of all .js and .css files below the folders, names included: 16 hexadecimal digits."""
    digest = blake2b(digest_size=8)
    for folder in folders:
        for file in sorted(path for path in folder.rglob("*") if path.suffix in {".js", ".css"}):
            digest.update(f"{file.relative_to(folder).as_posix()}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


VERSION = hash_files(*FOLDERS)
COMPONENT = f"vitviz.{VERSION}"


def serve_files() -> None:
    """Let this server's runtime serve the views' files like those of an installed component.

    Every mount checks this, because AppTest creates one runtime per test. Streamlit itself finds the folder only in an
    installed distribution.
    """
    manager = get_bidi_component_manager()
    with _SERVING:
        if manager.get_component_asset_root(COMPONENT) is None:
            # First: the folder below is the whole checkout.
            starlette_routes.build_safe_abspath = _find_file  # type: ignore[attr-defined]
            files = ComponentConfig(name=VERSION, asset_dir=".")
            manager.register_from_manifest(ComponentManifest("vitviz", VERSION, [files]), ROOT)


def _find_file(component_root: str, relative_url_path: str) -> str | None:
    if Path(component_root).resolve() == ROOT and not _SERVED.fullmatch(relative_url_path):
        return None
    file: str | None = _find_any_file(component_root, relative_url_path)
    return file
