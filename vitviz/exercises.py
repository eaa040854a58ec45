"""List the exercises of exercises.toml: their tasks, the common mistakes that their tests name, and their files."""

import io
import json
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / "exercises"
SOLUTION = "solution.py"
EXPLAIN = "explain.py"  # turns a failure into one sentence
GIVEN = ("given_heads.py", "given_block.py", "given_vit.py")  # each imports the previous ones


@dataclass(frozen=True)
class Exercise:
    """One task in the folder `exercises/SLUG`.

    task: one sentence, plain text.
    call: the function or class to write, with shapes.
    mistakes: names of the mistakes that its tests detect, as in the lecture's notebooks.
    page: slug of the page about the same topic.
    """

    slug: str
    title: str
    task: str
    call: str
    mistakes: tuple[str, ...]
    page: str

    @property
    def folder(self) -> Path:
        return ROOT / self.slug

    def files(self) -> dict[str, str]:
        """Return the downloadable files by name."""
        names = sorted(path.name for path in self.folder.glob("*.py"))
        return {name: (self.folder / name).read_text("utf-8") for name in names if name != SOLUTION}

    @property
    def given(self) -> tuple[str, ...]:
        """Files with the results of earlier exercises that this one imports."""
        text = (self.folder / "task.py").read_text("utf-8")
        used = [i for i, name in enumerate(GIVEN, start=1) if name.removesuffix(".py") in text]
        return GIVEN[: max(used, default=0)]

    def solution(self) -> str:
        return (self.folder / SOLUTION).read_text("utf-8")


_STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
EXERCISES = tuple(
    Exercise(slug, **entry | {"mistakes": tuple(entry["mistakes"])})
    for slug, entry in _STATED["exercises"].items()
)
BY_SLUG = {exercise.slug: exercise for exercise in EXERCISES}


def zip_exercises(slugs: tuple[str, ...]) -> bytes:
    """Zip the files of some exercises, by slug, with the README.

    Raises:
        KeyError: if there is no such exercise.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        given = {name for slug in slugs for name in BY_SLUG[slug].given}
        for name in ("README.md", "pytest.ini", "conftest.py", EXPLAIN, *sorted(given)):
            archive.write(ROOT / name, f"exercises/{name}")
        for slug in slugs:
            for name, text in BY_SLUG[slug].files().items():
                archive.writestr(f"exercises/{slug}/{name}", text)
    return buffer.getvalue()


def create_notebook(slugs: tuple[str, ...]) -> bytes:
    """Create a notebook of some exercises, by slug, that holds their tests and needs no other file.

    Raises:
        KeyError: if there is no such exercise.
    """
    exercises = [BY_SLUG[slug] for slug in slugs]
    given = [EXPLAIN, *(name for name in GIVEN if any(name in exercise.given for exercise in exercises))]
    files = {name: (ROOT / name).read_text("utf-8") for name in given}
    for exercise in exercises:
        for name, text in exercise.files().items():
            if name == "test_task.py":
                files[f"{exercise.slug}/{name}"] = text
            elif name != "task.py":
                files[name] = text
    modules = [name.removesuffix(".py") for name in files if "/" not in name]
    hidden: dict[str, object] = {"cellView": "form", "jupyter": {"source_hidden": True}}
    setup = _STATED["notebook_setup"].format(files=json.dumps(files), given=modules)
    title = (
        "# vitviz exercises\n\nComplete a cell and run it; the cell below it names the mistake. Needs torch."
    )
    cells = [_cell("markdown", title), _cell("code", setup, hidden)]
    for number, exercise in enumerate(exercises, start=1):
        cells += [
            _cell("markdown", f"## {number}. {exercise.title}\n\n{exercise.task}"),
            _cell("code", exercise.files()["task.py"]),
            _cell("code", f'check("{exercise.slug}")'),
        ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    for index, cell in enumerate(cells):
        cell["id"] = f"cell-{index}"
    return json.dumps(book, indent=1).encode()


def _cell(kind: str, source: str, metadata: dict[str, object] | None = None) -> dict[str, object]:
    code: dict[str, object] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": metadata or {}, "source": source, **code}
