"""Read and draw the accuracy of the shipped CIFAR-10 models at every strength of a change."""

from pages.questions.prediction_gate import Prediction, ask_highest
from pages.studies.study import Values
from vitviz.analysis.image_changes import CHANGES, ROBUSTNESS, UNCHANGED, Losses, collect_losses
from vitviz.analysis.study_numbers import Numbers
from vitviz.experiments.result_file import ResultError, read_result
from vitviz.plots.chart import Chart
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


def read(values: Values, numbers: None) -> Numbers:
    """Return the accuracy by family and strength."""
    change, stored = values["change"], read_result(ROBUSTNESS)
    losses = collect_losses(stored, change, FAMILIES)
    if losses.accuracy.keys() != {*FAMILIES.values()} or len(losses.strengths) < 2:
        raise ResultError("the results are incomplete for this change")
    names = [strength_words(change, strength, IMAGE_PX) for strength in losses.strengths]
    accuracy = {
        family: {name: {0: share} for name, share in zip(names, shares, strict=True)}
        for family, shares in losses.accuracy.items()
    }
    images = int(stored.settings["pictures"])
    rows = [*stored.where(change=UNCHANGED), *stored.where(change=change)]
    return Numbers(
        titles=dict(zip(accuracy, accuracy, strict=True)),
        values=accuracy,
        rows=dict.fromkeys(accuracy, ()),
        evidence=[(stored, rows)],
        images=images,
        extra={"strongest": names[-1], "finding": describe_losses(losses, images)},
    )


def ask(values: Values, numbers: Numbers) -> Prediction | None:
    """Ask for the model that keeps the largest share of its accuracy; None if all are at chance."""
    change, (stored, _) = values["change"], numbers.evidence[0]
    losses = collect_losses(stored, change, FAMILIES)
    kept = losses.kept(CHANCE, numbers.images)
    title, strongest = CHANGES[change].title, numbers.extra["strongest"]
    prompt = f"{title}, up to {strongest}: which model keeps the largest share of its accuracy?"
    leaders = losses.find_leaders(CHANCE, numbers.images)
    return ask_highest(GUESS, change, prompt, kept, percent, leaders=leaders)


def chart(values: Values, numbers: Numbers, mode: Mode) -> Chart:
    """Draw accuracy over the strengths of the change."""
    stored, _ = numbers.evidence[0]
    losses = collect_losses(stored, values["change"], FAMILIES)
    ends = {
        family: [numbers.get_interval(family, place) for place in numbers.places] for family in numbers.titles
    }
    return robustness_figure(losses.accuracy, ends, numbers.places, losses.neutral, mode)


def describe_losses(losses: Losses, images: int) -> str:
    """Describe the families that keep the largest and the smallest share of their accuracy, over the curve."""
    kept = losses.kept(CHANCE, images)
    if not kept:
        return "All models are at chance at every strength."
    most, least = max(kept, key=kept.__getitem__), min(kept, key=kept.__getitem__)
    strengths = len(losses.above_floor(CHANCE, images))
    floor = len(losses.strengths) - 1 - strengths
    excluded = f"; {plural(floor, 'strength')} excluded, where all models are at chance" if floor else ""
    level = [name for name in losses.find_leaders(CHANCE, images) if name != most]
    tied = f" No difference from {join_words(level)} is shown." if level else ""
    return (
        f"{most} keeps the largest share of its accuracy, {percent(kept[most])} on average over"
        f" {plural(strengths, 'strength')}, and {least} the smallest, {percent(kept[least])}{excluded}.{tied}"
        " One trained model each: this compares these models, not their architectures."
    )
