"""The house keeps its shape: imports point one way, and nothing unsafe slips in."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = sorted((ROOT / "vitviz").rglob("*.py"))
SOURCES = [*CORE, *sorted((ROOT / "pages").rglob("*.py")), ROOT / "app.py"]


def imported(path: Path) -> set[str]:
    """Every module that a file imports, at any depth of nesting."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def roots(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path)}


@pytest.mark.parametrize("path", CORE, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_core_knows_neither_streamlit_nor_the_pages(path: Path) -> None:
    assert not roots(path) & {"streamlit", "pages", "app"}


@pytest.mark.parametrize("folder", ["analysis", "plots"])
def test_analysis_and_plots_know_arrays_only(folder: str) -> None:
    for path in (ROOT / "vitviz" / folder).rglob("*.py"):
        assert "torch" not in roots(path), path
        assert not any(name.startswith("vitviz.models.vit") for name in imported(path)), path


def test_plots_do_not_compute_and_analysis_does_not_draw() -> None:
    for path in (ROOT / "vitviz" / "analysis").rglob("*.py"):
        assert not any(name.startswith(("plotly", "vitviz.plots")) for name in imported(path)), path


def calls(path: Path) -> set[str]:
    return {
        ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
    }


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_pickle_no_hooks_no_foreign_scripts(path: Path) -> None:
    assert not roots(path) & {"pickle", "dill", "joblib"}
    forbidden = ("torch.load", "register_forward_hook", "register_full_backward_hook", "components.v1")
    assert not [call for call in calls(path) if call.endswith(forbidden)]


def test_importing_vitviz_loads_nothing_heavy() -> None:
    heavy = ("torch", "plotly", "pandas")
    code = f"import sys, vitviz.config; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
