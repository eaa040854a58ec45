"""Every number that a caption says of the grids of data sizes is computed anew here from the rows of their files.

Whatever cells there are: a grid in its first hour and a whole one are read alike.
"""

from __future__ import annotations

from statistics import mean, stdev

from tests.pages.conftest import OpenApp
from tests.pages.told import words
from tests.verdicts import Pair, holm, recompute
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result_file import RESULTS, TEST_IMAGES, read_result

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
    better, sizes = 0, 0
    for name in SHIPPED:
        rows = [row for row in read_result(f"data_size_{name}").rows if row["augmented"] and "test" in row]
        pairs: list[Pair] = [
            (
                [r for r in at if r["model"] == "deit"],
                [r for r in at if r["model"] == "vit"],
                TEST_IMAGES[name],
            )
            for size in GRIDS[name].sizes
            if (at := [row for row in rows if row["pictures"] == size])
        ]
        outcomes = holm([pair for pair in pairs if recompute(*pair)])
        better, sizes = better + outcomes.count("higher"), sizes + len(outcomes)
    assert f"hard labels are shown to help at {better or 'none'} of {sizes} sizes" in text
    chosen = []
    for name in (name for name in GRIDS if (RESULTS / f"teaching_{name}.json").is_file()):
        rows = list(read_result(f"teaching_{name}").rows)
        for size in {row["pictures"] for row in rows}:
            at = {
                lesson: [row for row in rows if row["pictures"] == size and row["lesson"] == lesson]
                for lesson in {row["lesson"] for row in rows}
            }
            alone = at.pop("twin")
            best = max(at.values(), key=lambda own: mean(row["validation"] for row in own))
            chosen += holm([(best, alone, TEST_IMAGES[name])])
    assert f"without a teacher at {chosen.count('higher') or 'none'} of {len(chosen)} sizes." in text
