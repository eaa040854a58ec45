"""Add pages to the reference when it is built: the tables in docs/, and one page per script in findings/."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

DOCS = Path(__file__).parent
TABLES = ("config_keys", "library_models", "surprises", "timm_models", "verdicts")


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for name in TABLES:
        files.append(
            File.generated(config, f"{name}.md", content=_link_sources((DOCS / f"{name}.md").read_text()))
        )
    scripts = sorted((DOCS.parent / "findings").glob("*.sh"))
    pages = {path.stem: write_finding(path) for path in scripts}
    for name, page in pages.items():
        files.append(File.generated(config, f"findings/{name}.md", content=page))
    titles = {name: page.partition("\n")[0].removeprefix("# ") for name, page in pages.items()}
    lead = "# Surprises of libraries\n\nEach page is one script of findings/, which fails if the behaviour changes.\n"
    listed = [f"- [{title}](findings/{name}.md)" for name, title in titles.items()]
    files.append(File.generated(config, "findings.md", content="\n".join([lead, *listed, ""])))
    return files


def write_finding(path: Path) -> str:
    """Return a script's page: its comment as text, its first sentence as the title's explanation, and its code."""
    lines = path.read_text("utf-8").splitlines()[1:]
    size = next(number for number, line in enumerate(lines) if not line.startswith("#"))
    text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines[:size])
    title = path.stem.replace("_", " ").capitalize()
    code = "\n".join(lines[size:])
    return f"# {title}\n\n{text}\n\n```bash\n{code}\n```\n"


def _link_sources(text: str) -> str:
    """Return a page of docs/ whose links to files of the project are plain names, since the reference lacks them."""
    return re.sub(r"\[([^\]]+)\]\((?!https?:|#)[^)]+\)", r"\1", text)
