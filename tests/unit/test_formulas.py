"""Formulas in drawers: what Streamlit's Markdown would not set, or would set in red, is found in the sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGES = Path(__file__).resolve().parents[2] / "pages"
FILES = sorted([*PAGES.rglob("*.py"), *PAGES.rglob("*.md")])


def texts(source: str) -> Iterator[str]:
    """Every string with a dollar among words, but for docstrings; an x stands for what an f-string fills in."""
    tree = ast.parse(source)
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "x" for part in node.values)
            text = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner | docs:
            text = node.value
        if "$" in text and re.search("[A-Za-z]", text):
            yield text


def faults(text: str) -> list[str]:
    """Where a `$$` shares its line or touches a paragraph, is not closed, or a paragraph has an odd number of `$`."""
    found, inside = [], False
    lines = ["", *text.strip("\n").split("\n"), ""]
    prose: list[str] = []
    for number, line in enumerate(lines[1:-1], start=1):
        if "$$" not in line:
            prose.append("" if inside else line)
        elif line.strip() != "$$":
            found.append(f"$$ shares its line: {line}")
        else:
            inside = not inside
            if (lines[number - 1] if inside else lines[number + 1]).strip():
                found.append(f"$$ needs an empty line beside it: {lines[number - 1]} / {lines[number + 1]}")
            prose.append("")
    if inside:
        found.append("a $$ is not closed")
    for paragraph in re.split(r"\n\s*\n", "\n".join(prose)):
        if paragraph.replace(r"\$", "").count("$") % 2:
            found.append(f"an odd number of $: {paragraph}")
    return found


def test_every_formula_stands_as_markdown_wants_it() -> None:
    found = {}
    for path in FILES:
        source = path.read_text()
        formulas = [source] if path.suffix == ".md" else texts(source)
        found[path.relative_to(PAGES)] = [fault for text in formulas for fault in faults(text)]
    assert {path: broken for path, broken in found.items() if broken} == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("\n$$\na + b\n$$\n\nwith $a$ and\n$b$.", None),
        ("one $a$ of :small[two $b$]", None),
        ("\n$$a,\nb$$\n\nwith $a$.", "shares its line"),
        ("costs:\n$$\na\n$$\n", "needs an empty line"),
        ("\n$$\na\n$$\nwith $a$", "needs an empty line"),
        ("\n$$\na\n", "is not closed"),
        ("$a and\n\n$b", "odd number"),
    ],
)
def test_the_check_sees_what_is_broken(text: str, fault: str | None) -> None:
    found = faults(text)
    assert found == [] if fault is None else any(fault in one for one in found), found


def test_docstrings_are_nobody_s_markdown() -> None:
    assert list(texts('"""Costs $."""\na = "b $c$"\nd = f"$$ {a} $"\n')) == ["b $c$", "$$ x $"]
