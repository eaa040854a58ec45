"""Study the accuracy of the shipped CIFAR-10 models on changed test images."""

from functools import partial

import numpy as np

from pages.controls import widgets
from pages.questions.prediction_gate import ask_highest
from pages.selection import selection
from pages.stores import catalogue
from pages.studies.study import Choice, Evidence, Study, Table, View
from vitviz.analysis.image_changes import (
    CHANGES,
    ROBUSTNESS,
    UNCHANGED,
    Losses,
    collect_losses,
    describe_error,
)
from vitviz.analysis.run_comparison import describe_recipe_differences
from vitviz.analysis.verdict import compare_family
from vitviz.experiments.result_file import read_result, read_result_if_any
from vitviz.plots.image_changes import strength_words
from vitviz.plots.robustness import robustness_figure
from vitviz.plots.theme import Mode
from vitviz.text import join_words, percent, plural

FAMILIES = {  # by checkpoint
    "cifar10_cnn_wide": "CNN",
    "cifar10_vit": "ViT",
    "cifar10_hybrid": "Hybrid",
    "cifar10_swin": "Swin",
    "cifar10_deit_soft": "DeiT",
}
IMAGE_PX = 32
CHANCE = 0.1
GUESS = "studies.robust_guess"
DEFAULT = "noise"  # it separates the models most


def list_changes() -> dict[str, str]:
    stored = read_result_if_any(ROBUSTNESS)
    return {
        name: change.title
        for name, change in CHANGES.items()
        if stored is not None and stored.where(change=name)
    }


def build(mode: Mode, change: str) -> View:
    stored = read_result(ROBUSTNESS)
    losses, images = collect_losses(stored, change, FAMILIES), int(stored.settings["pictures"])
    names = [strength_words(change, strength, IMAGE_PX) for strength in losses.strengths]
    shares = np.array([*losses.accuracy.values()])
    return View(
        picture=robustness_figure(losses.accuracy, names, losses.neutral, mode),
        caption=describe_losses(losses, images),
        prediction=ask_highest(
            GUESS,
            change,
            f"{CHANGES[change].title}, up to {names[-1]}: which model keeps the largest share of its accuracy?",
            losses.kept(CHANCE, images),
            percent,
        ),
        evidence=(
            Evidence(
                stored,
                [*stored.where(change=UNCHANGED), *stored.where(change=change)],
                f"the first {images:,} test images of CIFAR-10, one run per model",
            ),
        ),
        notes=f"{describe_error(shares, images)} {describe_recipes()}".strip(),
        table=Table(
            {"strength": names, **losses.accuracy}, dict.fromkeys(losses.accuracy, percent), "robustness.csv"
        ),
        below=partial(_draw_link, change),
    )


def describe_losses(losses: Losses, images: int) -> str:
    """Describe the families that keep the largest and the smallest share of their accuracy, over the curve."""
    kept = losses.kept(CHANCE, images)
    if not kept:
        return "All models are at chance at every strength."
    most, least = max(kept, key=kept.__getitem__), min(kept, key=kept.__getitem__)
    strengths = len(losses.above_floor(CHANCE, images))
    floor = len(losses.strengths) - 1 - strengths
    excluded = f"; {plural(floor, 'strength')} excluded, where all models are at chance" if floor else ""
    others = [name for name in kept if name != most]
    family = compare_family([losses.compare_kept(most, name, CHANCE, images) for name in others])
    level = [name for name, verdict in zip(others, family, strict=True) if not verdict.shown]
    tied = f" No difference from {join_words(level)} is shown." if level else ""
    return (
        f"{most} keeps the largest share of its accuracy, {percent(kept[most])} on average over"
        f" {plural(strengths, 'strength')}, and {least} the smallest, {percent(kept[least])}{excluded}.{tied}"
        " One trained model each: this compares these models, not their architectures."
    )


def describe_recipes() -> str:
    """Return the differences between the models' training recipes; '' if there are none."""
    recipes = {}
    for name, family in FAMILIES.items():
        path = catalogue.CHECKPOINTS / f"{name}.safetensors"
        train = catalogue.read_header(path).train if path.is_file() else None
        if train is not None:
            recipes[family] = train
    differences = describe_recipe_differences(recipes)
    if not differences:
        return ""
    return f"The training recipes differ ({differences}), so this does not compare architectures alone."


def _draw_link(change: str) -> None:
    selection.link_to(
        "on_your_picture",
        "Change your own image",
        **{"on_picture.view": "change", "on_picture.kind": change},
    )


STUDY = Study(
    "robustness",
    "Changed test images",
    "Which model keeps its accuracy when images change?",
    3,
    (ROBUSTNESS,),
    build=build,
    choices=(Choice("studies.robust_change", "Change", list_changes, DEFAULT, widgets.select),),
    keys=(GUESS,),
    code=("vitviz.probe.robustness:answers", CHANGES[DEFAULT].apply),
)
