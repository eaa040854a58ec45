"""Collect the JavaScript modules and style sheets that views need, for files and notebooks without a server."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

BROWSER = Path(__file__).parent
ROOT = BROWSER.parents[1]  # holds vitviz, and pages in a checkout
_IMPORT = re.compile(r"(?<=\bfrom ')(\.[^']+)(?=')")


def collect_modules(files: Iterable[str]) -> str:
    """Return modules and all that they import as JSON [[name, source], …] for link.js, an imported one first.

    Args:
        files: addresses below the folder that holds `vitviz`.
    """
    sources: dict[str, str] = {}

    def visit(file: Path) -> str:
        name = file.relative_to(ROOT).as_posix()
        if name not in sources:
            source = _IMPORT.sub(
                lambda match: visit((file.parent / match[1]).resolve()), file.read_text("utf-8")
            )
            sources[name] = source
        return name

    for name in files:
        visit((ROOT / name).resolve())
    return json.dumps([*sources.items()]).replace("<", "\\u003c")  # no source may end a script element


def read_styles(files: Iterable[str]) -> str:
    """Return the text of style sheets, each once."""
    return "\n".join((ROOT / name).read_text("utf-8") for name in dict.fromkeys(files))


def read_linker() -> str:
    """Return the source of link.js."""
    return (BROWSER / "module_loader.js").read_text("utf-8")
