"""Study the patch size of a ViT by the number of training images: is CIFAR-10 too small for patches?"""

from pages.questions.prediction_gate import ask_highest
from pages.studies import data_size_results
from pages.studies.data_size import create_stopped_evidence
from pages.studies.study import Study, View, create_curve_table
from vitviz.analysis.data_size import Curve, describe_missing_sizes, describe_seeds, group_curves
from vitviz.experiments.data_size import PATCH_SIZES
from vitviz.experiments.result_file import read_result_if_any
from vitviz.plots.data_size import size_figure
from vitviz.plots.theme import Mode
from vitviz.text import gained, percent, percent_difference, plural

EXPERIMENTS = ("patch_size_cifar10", "early_stopping_cifar10")
GUESS = "studies.patch_guess"
TITLES = {f"patch_{side_px}": f"{side_px} × {side_px} px" for side_px in (2, 4, 8)}


def build(mode: Mode) -> View | None:
    """Return test accuracy over the number of images for each patch size."""
    sides, usual = map(read_result_if_any, EXPERIMENTS)
    if sides is None or usual is None:
        return None
    patch_4 = usual.where(model="vit", seed=0, augmented=True)
    curves = group_curves([*sides.rows, *({**row, "model": "patch_4"} for row in patch_4)], TITLES, True)
    fewest = PATCH_SIZES.sizes[0]
    at_fewest = {
        curve.name: float(curve.mean[place])
        for curve in curves
        if (place := curve.find_size(fewest)) is not None
    }
    return View(
        size_figure(curves, PATCH_SIZES.sizes, data_size_results.CHANCE, "test accuracy", mode=mode),
        f"{describe_change(curves)} {describe_seeds(curves)}",
        ask_highest(
            GUESS,
            "patches",
            f"With {plural(fewest, 'image')} of CIFAR-10, which patch size has the highest test accuracy?",
            at_fewest,
            percent,
            TITLES,
        ),
        (create_stopped_evidence(sides, sides.rows), create_stopped_evidence(usual, patch_4)),
        describe_missing_sizes(curves, PATCH_SIZES.sizes, TITLES),
        create_curve_table(curves, "images", "patch_size.csv"),
    )


def describe_change(curves: list[Curve]) -> str:
    """Describe by how much the smaller of the two most measured patch sizes is better, with few and many images."""
    small, large = sorted(
        sorted(curves, key=lambda curve: -len(curve.pictures))[:2], key=lambda curve: curve.name
    )
    shared = sorted({*small.pictures.tolist()} & {*large.pictures.tolist()})
    gaps = {size: _measure_gap(small, large, size) for size in dict.fromkeys((shared[0], shared[-1]))}
    words = " and ".join(f"{gained(gap)} points with {plural(size, 'image')}" for size, gap in gaps.items())
    return f"Patches of {small.title} instead of {large.title} change the test accuracy by {words}."


def _measure_gap(small: Curve, large: Curve, size: int) -> float:
    places = small.find_size(size), large.find_size(size)
    return percent_difference(float(small.mean[places[0] or 0]), float(large.mean[places[1] or 0]))


STUDY = Study(
    "patch_size",
    "Patch size and data size",
    "Is CIFAR-10 too small for small patches?",
    3,
    EXPERIMENTS,
    build,
    keys=(GUESS,),
)
