"""No view of an experiment depends on which of its cells were measured: any few of them, one, or none."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.pages.conftest import OpenApp
from vitviz.experiments import result_file as results
from vitviz.experiments.result_file import RESULTS, read_result, write_result

VIEWS = {
    "pages/studies/data/page.py": (
        "data",
        ("sizes", "time", "augmented"),
        ("guess", "time_guess", "gain_guess"),
    ),
    "pages/lenses/distillation/page.py": ("distillation", ("worth",), ("teaching_guess", "teaching_method")),
    "pages/train/fine_tuning/page.py": ("fine_tuning", ("grown", "ways"), ("grown_guess", "way_guess")),
    "pages/lenses/hybrids/page.py": ("hybrids", ("asked",), ("question",)),
    "pages/which_model/page.py": ("which_model", ("guide",), ()),
    "pages/lenses/on_your_image/page.py": ("on_picture", ("parts",), ("guess",)),
    "pages/train/experiments/page.py": (
        "experiments",
        ("knob", "slip", "spot", "gradient", "positions"),
        ("knob_guess", "slip_guess", "gradient_guess", "positions_guess"),
    ),
}
SHIPPED = sorted(path.stem for path in RESULTS.glob("*.json"))


@pytest.mark.parametrize("kept", [0.0, 0.02, 0.1, 0.4])
@pytest.mark.parametrize("page", VIEWS)
def test_a_view_opens_on_any_few_cells(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, kept: float
) -> None:
    chosen, folder = random.Random(f"{page} {kept}"), tmp_path / "results"
    for name in SHIPPED:
        whole = read_result(name, RESULTS)
        count = round(kept * len(whole.rows)) if kept else 0
        rows = tuple(sorted(chosen.sample(whole.rows, max(count, int(kept > 0))), key=whole.rows.index))
        missing = whole.missing + len(whole.rows) - len(rows)
        write_result(replace(whole, rows=rows, missing=missing), folder)
    monkeypatch.setattr(results, "RESULTS", folder)
    slug, views, guesses = VIEWS[page]
    for view in views:
        for shown in (True, False):
            asked = {f"{slug}.{key}": "shown" for key in guesses if shown}
            app = open_app(
                page, model="preset:vit_digits", image="digits:3", **{f"{slug}.view": view, **asked}
            )
            assert not app.exception, (view, shown)
