"""A stranger's run whose every name is hostile, as its archive brings it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from vitviz.checkpoints import load_checkpoint, save_checkpoint
from vitviz.training.archive import export_run, import_run
from vitviz.training.runs import Run

# Pictures, links and signs as HTML has them, Markdown, and Plotly.
HOSTILE = (
    '<img src="//evil.test/x"> ![p](//evil.test/y) [link](//evil.test) **bold** $x$ :red[r]'
    ' <a href="//evil.test/z">a</a> <b>bold</b>'
)


def strangers_run(made: Run, root: Path) -> Run:
    """`made`, which is spoilt, with a hostile name, card and classes, as an archive of somebody else's brings it."""
    for path in (made.directory / "snapshots").glob("*.safetensors"):
        found = load_checkpoint(path)
        classes = tuple(f"{i} {HOSTILE}" for i in range(len(found.classes)))
        save_checkpoint(path, replace(found, classes=classes, card={**found.card, "title": HOSTILE}))
    made.rename(HOSTILE)
    root.mkdir(parents=True, exist_ok=True)
    return import_run(root, export_run(made), owner="somebody else's")
