"""What pages draw and say of experiments is in their files: those whose own tests do not look at each number.

On 'How much data?', Hybrids, On your picture and Experiments' knobs and slips see their pages' own tests.
"""

from __future__ import annotations

import re
from statistics import mean
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.messages import charts
from tests.pages.conftest import OpenApp
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result_file import RESULTS, Result, read_result
from vitviz.experiments.transfer_plan import PLAN_OF

SHIPPED = [name for name in GRIDS if (RESULTS / f"data_size_{name}.json").is_file()]
TAUGHT = [name for name in GRIDS if (RESULTS / f"teaching_{name}.json").is_file()]
FINE_TUNED = [source for source, plan in PLAN_OF.items() if (RESULTS / f"{plan.name}.json").is_file()]
NBSP = "\N{NO-BREAK SPACE}"
DEIT = {"model": "preset:deit_digits", "image": "digits:3", "distillation.view": "worth"}
ANSWERS = {
    "Mean of the logits": "test",
    "Sum of the softmaxes": "test_softmax_sum",
    "[CLS] only": "test_cls",
    "[DIST] only": "test_dist",
}


def captions(app: AppTest) -> str:
    return " ".join(caption.value for caption in app.main.caption).replace(NBSP, " ")


def lines(app: AppTest, within: list[str]) -> dict[str, list[tuple[Any, float]]]:
    """What is drawn under these names: places and heights of the points that are there."""
    figures = charts(app)
    found = {}
    for trace in (trace for figure in figures for trace in figure["data"]):
        if trace.get("name") in within and "markers" in trace["mode"]:
            points = zip(trace["x"], trace["y"], strict=True)
            found[trace["name"]] = [(x, y) for x, y in points if y is not None]
    return found


def pairs(found: Result, key: str) -> dict[int, list[float]]:
    """By size, student less twin of one seed, in points; read without the project's own means."""
    rows = [row for row in found.rows if row["augmented"]]
    twins = {(row["pictures"], row["seed"]): row["test"] for row in rows if row["model"] == "vit"}
    gained: dict[int, list[float]] = {}
    for row in rows:
        at = row["pictures"], row["seed"]
        if row["model"] == "deit" and at in twins:
            gained.setdefault(row["pictures"], []).append(100 * (row[key] - twins[at]))
    return dict(sorted(gained.items()))


def test_the_guide_s_numbers_are_in_the_grid_s_file(open_app: OpenApp) -> None:
    rows = [row for row in read_result("data_size_cifar10").rows if row["augmented"]]
    app = open_app("pages/which_model/page.py", **{"which_model.view": "guide"}, model="preset:vit_digits")
    told = "\n".join(part.value for part in app.main.markdown).replace(NBSP, " ")
    said = re.search(r"With ([\d,]+) training images, choose the (\w+), not the (\w+)", told)
    assert said is not None
    size = int(said[1].replace(",", ""))
    means = {
        kind: mean(row["test"] for row in rows if row["model"] == kind.lower() and row["pictures"] == size)
        for kind in ("CNN", "Hybrid", "ViT")
    }
    assert (said[2], said[3]) == (max(means, key=means.__getitem__), min(means, key=means.__getitem__))
    assert ", ".join(f"{kind} {100 * value:.1f} %" for kind, value in means.items()) in told
