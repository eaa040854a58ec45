"""SECURITY.md promises nothing that no test holds: every test that it names is there, and .ci/run runs it."""

from __future__ import annotations

import ast
import functools
import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)?(?:::(\w+))?`")


@functools.cache
def list_functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    return {part.name for part in ast.walk(tree) if isinstance(part, ast.FunctionDef)}


def test_every_test_that_it_names_exists() -> None:
    path, named = "", 0
    for line in (ROOT / "SECURITY.md").read_text().splitlines():
        for match in NAMED.finditer(line):
            path = match[1] or path
            assert (ROOT / path).is_file(), line
            assert match[2] is None or match[2] in list_functions(path), f"{path} has no {match[2]}"
            named += 1
    assert named > 25


def test_what_ci_leaves_out_is_reported() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    left_out = re.search(r"^left=\((.*?)^\)", script, re.MULTILINE | re.DOTALL)
    assert left_out
    page = (ROOT / "SECURITY.md").read_text()
    for test in shlex.split(left_out[1]):
        path, _, name = test.partition("::")
        if "[" in name:  # one case of a test whose other cases run
            continue
        # The whole file, where one of its tests is left out, or that test alone.
        named = f"`{re.escape(path)}(?:::{name})?`" if name else rf"`{re.escape(path)}(?:::\w+)?`"
        assert not re.search(named + r"(?! \(`--slow`\))", page), named


def test_every_line_of_its_tables_names_a_test() -> None:
    rows = [line for line in (ROOT / "SECURITY.md").read_text().splitlines() if line.startswith("| ")]
    promises = [row for row in rows if not row.startswith(("| Promise", "| Tried", "| Entry"))]
    assert promises and all("`tests/" in row for row in promises)


def test_ci_runs_every_test_once() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    first = re.search(r'^test_ -n \d -m "not alone" (.+) \|\|', script, re.MULTILINE)
    assert first and first[1] == 'tests/browser "${training[@]}"'
    assert '--ignore=tests/browser "${training[@]/#/--ignore=}" tests/pages tests/unit tests/parity' in script
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert folders == {"benchmarks", "browser", "pages", "parity", "robustness", "unit"}
    for folder, names in re.findall(r"(tests/\w+)/test_\{([\w,]+)\}\.py", script):
        assert all((ROOT / folder / f"test_{name}.py").is_file() for name in names.split(","))
    assert re.search(r"^test_ -n 0 -m alone tests/browser \|\|", script, re.MULTILINE)
    alone = [path for path in (ROOT / "tests").rglob("test_*.py") if "pytest.mark.alone" in path.read_text()]
    assert {path.parent.name for path in alone if path != Path(__file__)} == {"browser"}
