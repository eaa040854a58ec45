"""Write the new lens and the new study of CONTRIBUTING.md into a copy of the project, and run their tests there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAST = "[live_lab]\n"
# In the order of CONTRIBUTING's blocks.
FILES = (
    "vitviz/analysis/brightness.py",
    "vitviz/plots/brightness.py",
    "pages/lenses/brightness/page.py",
    "pages/lenses/brightness/brightness_view.py",
    "pages/lenses/brightness/brightness_view.js",
    "pages/lenses/brightness/brightness_view.css",
    "tests/unit/test_brightness.py",
    "tests/unit/test_brightness_plots.py",
    "tests/pages/test_brightness.py",
)


def walk(start: str = "**A new lens**", end: str = "**A new study**") -> list[str]:
    """Return the code blocks of a part, in order."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    part = text[text.index(start) : text.index(end)]
    return re.findall(r"```(?:python|js|css|text|toml)\n(.*?)```", part, re.S)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the lens in it."""
    made = tmp_path_factory.mktemp("project")
    for name in ("app.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, made / name)
    for name in ("vitviz", "pages", "tests", "static", ".streamlit"):
        shutil.copytree(ROOT / name, made / name, ignore=shutil.ignore_patterns("__pycache__"))
    *texts, entry = walk()
    for name, text in zip(FILES, texts, strict=True):
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text(text, "utf-8")
    registry = made / "pages/stores/registry.toml"
    entries = registry.read_text("utf-8")
    assert entries.count(LAST) == 1
    registry.write_text(entries.replace(LAST, f"{entry}\n{LAST}"), "utf-8")
    (study,) = walk("**A new study**", "## Train from the shell")
    assert len(study.splitlines()) <= 40
    (made / "pages/studies/one_seed.toml").write_text(study, "utf-8")
    return made


@pytest.mark.slow  # pytest in a process of its own
def test_one_file_is_a_study(copy: Path) -> None:
    shutil.copytree(ROOT / "checkpoints/results", copy / "checkpoints/results")
    tests = ("tests/pages/test_studies.py", "-k", "one_seed or gallery")
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *tests]
    ran = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    assert ran.returncode == 0 and re.search(r"[1-9]\d* passed", ran.stdout), ran.stdout + ran.stderr


@pytest.mark.slow  # pytest in a process of its own
def test_nine_files_in_five_folders_and_one_entry_are_a_lens(copy: Path) -> None:
    assert len(FILES) == 9 and len({Path(name).parent for name in FILES}) == 5
    tests = [name for name in FILES if name.startswith("tests/")]
    tests.append("tests/unit/test_architecture.py::test_imports_point_one_way")
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *tests]
    ran = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    assert ran.returncode == 0 and re.search(r"[1-9]\d* passed", ran.stdout), ran.stdout + ran.stderr


def test_contributing_has_a_place_for_everything_and_every_place_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    table = text[text.index("## Where do I put") : text.index("**A new lens**")]
    named = {place.rstrip("/") for place in re.findall(r"`([\w/.]+/[\w.]*)`", table)} - {"pages/GROUP/LENS"}
    folders = {
        f"vitviz/{path.name}" for path in (ROOT / "vitviz").iterdir() if (path / "__init__.py").is_file()
    }
    folders |= {
        f"pages/{name}"
        for name in (
            "classroom",
            "controls",
            "frame",
            "lessons",
            "questions",
            "selection",
            "stores",
            "streamlit_fixes",
            "views",
        )
    }
    assert folders <= named and all((ROOT / place).exists() for place in named)
