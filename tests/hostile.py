"""A stranger's run and a stranger's images whose every name is hostile, as an archive or a zip brings them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.files import class_images, zipped
from vitviz.checkpoints import load_checkpoint, save_checkpoint
from vitviz.training.run_archive import export_run, import_run
from vitviz.training.run_directory import Run

# Images, links and signs as HTML has them, Markdown, and Plotly.
HOSTILE = (
    '<img src="//evil.test/x"> ![p](//evil.test/y) [link](//evil.test) **bold** $x$ :red[r]'
    ' <a href="//evil.test/z">a</a> <b>bold</b>'
)
# The same as a folder's name, which is a class: without a slash, and not longer than one may be.
CLASSES = tuple(f"{i}<img src=evil.test> **bold** $x$ :red[r] [link](evil.test)" for i in range(2))
TITLE = "<b>bold <img src=evil.test> **bold**"  # of a zip: what is longer is cut


def strangers_zip(images: int = 8) -> bytes:
    """Return a zip of images in two hostile folders, beside a file of a hostile name that is no image."""
    files = {f"{CLASSES[0]}/{CLASSES[1]}.txt": b"no picture"}
    files |= class_images(dict.fromkeys(CLASSES, (120, 120, 120)), images, side=16)
    return zipped({f"pictures/{name}": data for name, data in files.items()})


def strangers_run(made: Run, root: Path) -> Run:
    """`made`, which is spoilt, with a hostile name, card and classes, as an archive of somebody else's brings it."""
    for path in (made.directory / "snapshots").glob("*.safetensors"):
        found = load_checkpoint(path)
        classes = tuple(f"{i} {HOSTILE}" for i in range(len(found.classes)))
        save_checkpoint(path, replace(found, classes=classes, card={**found.card, "title": HOSTILE}))
    made.rename(HOSTILE)
    root.mkdir(parents=True, exist_ok=True)
    return import_run(root, export_run(made), owner="somebody else's")
