"""What nobody uses is not kept: names, what views export, files of tests without one; and views' files have an end."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = [*ROOT.joinpath("vitviz").rglob("*.py"), *ROOT.joinpath("pages").rglob("*.py"), ROOT / "app.py"]
VIEWS = sorted([*ROOT.joinpath("pages").rglob("*.js"), *ROOT.joinpath("vitviz").rglob("*.js")])
TESTS = sorted(ROOT.joinpath("tests").rglob("*.py"))
WORD = re.compile(r"\w+")
LINES = 600
KEPT = {  # by name: who uses it, if not this project's own code
    "_send_event": "Streamlit's own way, for a test that puts bundles beside it",
    "_repr_mimebundle_": "a notebook calls it",
    "process_ids": "tests look whether an executor leaves trainers behind",
    **dict.fromkeys(("on_train_start", "on_train_batch_end", "teardown"), "Lightning calls it"),
    **dict.fromkeys(("on_train_begin", "on_step_end", "on_train_end"), "transformers calls it"),
    "restore_rows": "the inverse of `quantise_rows` as the browser has it, for tests",
    "write_forward_msg": "Streamlit calls it",
}


def made(tree: ast.Module) -> set[str]:
    """Every function, class, method, field and constant that a module makes."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    for node in tree.body:
        if isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return {name for name in names if not name.startswith("__")}


def unused(sources: list[str], data: list[str] | None = None) -> set[str]:
    """Names that are made in these sources and said nowhere else in them, or in files of data."""
    returned = Counter(word for source in [*sources, *(data or [])] for word in WORD.findall(source))
    return {name for source in sources for name in made(ast.parse(source)) if returned[name] < 2}


@pytest.mark.slow
def test_every_name_is_used() -> None:
    data = [path.read_text() for path in ROOT.joinpath("pages").rglob("*.toml")]
    assert unused([path.read_text() for path in CODE], data) - KEPT.keys() == set()


def test_a_name_that_nobody_uses_is_found() -> None:
    source = "A = 1\n\n\nclass B:\n    c: int\n    d: int\n\n\nprint(B(A, 2).c)"
    assert unused([source, "def e(): ..."]) == {"d", "e"}


EXPORTED = re.compile(r"^export (?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE)


def test_what_a_view_exports_is_imported_by_another_by_python_or_by_a_test() -> None:
    texts = {path: path.read_text() for path in VIEWS}
    views = Counter(word for text in texts.values() for word in set(WORD.findall(text)))
    scripts = [*ROOT.glob("tests/engine/*.js"), ROOT / "tests/robustness/fuzz/engine.mjs"]
    callers = [*TESTS, *ROOT.glob("vitviz/browser/*.py"), *scripts]
    called = {word for path in callers for word in WORD.findall(path.read_text())}
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, text in texts.items()
        for name in EXPORTED.findall(text)
        if views[name] == 1 and name not in called
    ]
    assert found == []


def test_a_file_of_tests_has_tests() -> None:
    for path in TESTS:
        if path.name.startswith("test_"):
            assert re.search(r"^(?:async )?def test_", path.read_text(), re.MULTILINE), path


@pytest.mark.parametrize("kind", ["js", "css"])
def test_no_file_of_a_view_is_longer_than_a_reader_holds(kind: str) -> None:
    files = [file for folder in ("pages", "vitviz") for file in ROOT.joinpath(folder).rglob(f"*.{kind}")]
    long = {path.relative_to(ROOT).as_posix() for path in files if len(path.read_text().splitlines()) > LINES}
    assert files and long == set()
