"""Every number that a caption says of the grids of data sizes is computed anew here from the rows of their files.

Whatever cells there are: a grid in its first hour and a whole one are read alike.
"""

from __future__ import annotations

from statistics import mean, stdev

from tests.pages.conftest import OpenApp
from tests.pages.told import words
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result_file import RESULTS, read_result

SHIPPED = [name for name in GRIDS if (RESULTS / f"data_size_{name}.json").is_file()]
DATA, DEIT, WHICH = (
    f"pages/{name}/page.py" for name in ("studies/data", "lenses/distillation", "which_model")
)
Means = dict[str, dict[int, float]]  # by title and number of pictures, in percent


def test_the_guide_s_comparison(open_app: OpenApp) -> None:
    rows = [row for row in read_result("data_size_cifar10").rows if row["augmented"] and "test" in row]
    kinds = {"CNN": "cnn", "Hybrid": "hybrid", "ViT": "vit"}
    text = words(open_app(WHICH, **{"which_model.view": "guide"}))
    sizes = set.intersection(
        *({row["pictures"] for row in rows if row["model"] == name} for name in kinds.values())
    )
    line = next((line for line in text.splitlines() if "Accuracy by training images" in line), "")
    assert bool(line) == bool(sizes)
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    for name, cell in zip(kinds.values(), cells, strict=False):
        wanted = []
        for size in sorted({min(sizes), max(sizes)}):
            own = [100 * row["test"] for row in rows if row["model"] == name and row["pictures"] == size]
            more = f" ({len(own)} seeds, ± {stdev(own):.1f})" if len(own) > 1 else ""
            wanted.append(f"{mean(own):.1f} % with {size:,}{more}")
        assert cell == "; ".join(wanted)


def test_the_guide_s_word_on_teachers(open_app: OpenApp) -> None:
    """Hard labels and the chosen way of teaching are counted apart: they win at other sizes."""
    text = words(open_app(WHICH, **{"which_model.view": "guide"}))
    hard: list[list[float]] = []
    for name in SHIPPED:
        by = {
            (row["model"], row["pictures"], row["seed"]): row["test"]
            for row in read_result(f"data_size_{name}").rows
            if row["augmented"] and "test" in row
        }
        for size in GRIDS[name].sizes:
            own = [by["deit", size, s] - by["vit", size, s] for s in range(3) if ("deit", size, s) in by]
            hard += [own] if own else []
    chosen = []
    for name in (name for name in GRIDS if (RESULTS / f"teaching_{name}.json").is_file()):
        rows = read_result(f"teaching_{name}").rows
        for size in {row["pictures"] for row in rows}:
            at = {
                lesson: sorted(
                    (row["seed"], row["validation"], row["test"])
                    for row in rows
                    if row["pictures"] == size and row["lesson"] == lesson
                )
                for lesson in {row["lesson"] for row in rows}
            }
            alone = [test for _, _, test in at.pop("twin")]
            best = max(at.values(), key=lambda own: mean(validation for _, validation, _ in own))
            chosen.append([test - twin for (_, _, test), twin in zip(best, alone, strict=True)])
    won = [sum(len(g) > 1 and mean(g) > max(g) - min(g) for g in gains) or "none" for gains in (hard, chosen)]
    assert f"hard labels help by more than the seed spread at {won[0]} of {len(hard)} sizes" in text
    assert f"by more than the seed spread at {won[1]} of {len(chosen)} sizes." in text
