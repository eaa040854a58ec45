"""List the exercises: their tasks, the common mistakes that their tests name, and their files."""

from __future__ import annotations

import io
import json
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


EXERCISES = (
    Exercise(
        "patchify",
        "Patchify",
        "Cut images into square patches, row by row, and flatten each patch.",
        "patchify(images (B, C, H, W), n_patches) -> (B, n², C·(H/n)·(W/n))",
        ("reshape for patchify", "columns before rows", "channels last"),
        "patches",
    ),
    Exercise(
        "positions",
        "Sinusoidal positions",
        "Compute the table of sines and cosines that encodes positions.",
        "get_positional_embeddings(sequence_length, d) -> (sequence_length, d)",
        ("exponent k/D", "sine and cosine swapped", "positions from 1", "exponent i/D"),
        "positions",
    ),
    Exercise(
        "one_head",
        "One head",
        "Compare every query with every key, apply softmax, average the values.",
        "attention(q, k, v (B, N, d)) -> (B, N, d), (B, N, N)",
        ("softmax over the wrong axis", "missing scale", "scale by d", "value product transposed"),
        "attention",
    ),
    Exercise(
        "multi_head",
        "Heads on slices",
        "Run several heads in parallel, each on its own slice of the channels with its own linear maps.",
        "MultiHead(d, n_heads)(x (B, N, d)) -> (B, N, d)",
        ("shared heads", "heads not on slices", "missing scale", "scale by the width d", "softmax over the wrong axis"),
        "block",
    ),
    Exercise(
        "block",
        "The block",
        "LayerNorm, attention, residual addition; LayerNorm, MLP, residual addition.",
        "Block(d, n_heads)(z (B, N, d)) -> (B, N, d)",
        ("post-norm", "no residual", "no GELU", "no LayerNorm before the MLP"),
        "block",
    ),
    Exercise(
        "vit",
        "The whole ViT",
        "From images to logits: E, [CLS], positions, blocks, LayerNorm, head.",
        "ViT((C, H, W), n_patches=7, n_blocks=2, d=8, n_heads=2)(images) -> (B, 10)",
        ("E is not a parameter", "softmax before the cross-entropy", "logits not read from [CLS]", "no positions"),
        "home",
    ),
    Exercise(
        "trainable_positions",
        "Trainable positions",
        "Turn the computed position table into a trainable parameter.",
        "make_positions_trainable(model) -> model",
        ("requires_grad on a buffer", "positions are reinitialised"),
        "positions",
    ),
    Exercise(
        "without_cls",
        "ViT without [CLS]",
        "Remove [CLS] and classify the mean of all patch tokens.",
        "WithoutCLS((C, H, W))(images) -> (B, 10)",
        (
            *("[CLS] is still in the sequence", "only the first patch is read", "sum instead of mean"),
            "mean before LayerNorm",
        ),
        "attention",
    ),
    Exercise(
        "accuracy",
        "Improve the accuracy",
        "Reach 95 % test accuracy on digits with at most 30,000 parameters and 40,000 training images.",
        "train(budget) -> model of (B, 1, 8, 8)",
        ("too many parameters", "the image budget is used up", "softmax before the cross-entropy"),
        "live_lab",
    ),
)  # fmt: skip
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


_NOTEBOOK_SETUP = """\
#@title Set-up: run this cell first. It holds the tests, so that the notebook needs no other file and no network.
import linecache, sys, types
FILES = {files}

def load(name, text):
    module = sys.modules[name] = types.ModuleType(name)
    linecache.cache[f"{{name}}.py"] = (len(text), None, text.splitlines(True), f"{{name}}.py")
    exec(compile(text, f"{{name}}.py", "exec"), module.__dict__)
    return module

def check(exercise):
    \"\"\"Run the tests of an exercise on what the notebook defines and print a sentence for each.\"\"\"
    task = sys.modules["task"] = types.ModuleType("task")
    task.__dict__.update(globals())
    for name, test in vars(load("test_task", FILES[exercise + "/test_task.py"])).items():
        if name.startswith("test_"):
            sentence = "passed"
            try:
                test()
            except AssertionError as mistake:
                sentence = str(mistake)
            print(f"{{name}}: {{sentence}}")

for name in {given}:
    load(name, FILES[name + ".py"])
"""


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
    setup = _NOTEBOOK_SETUP.format(files=json.dumps(files), given=modules)
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
