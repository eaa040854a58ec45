"""Read and draw the accuracy of the shipped CIFAR-10 models at every strength of a change."""

import numpy as np

from pages.studies.study import Values
from vitviz.analysis.image_changes import ROBUSTNESS, UNCHANGED, collect_losses
from vitviz.analysis.study_numbers import Numbers
from vitviz.experiments.result_file import ResultError, read_result
from vitviz.plots.chart import Chart
from vitviz.plots.image_changes import strength_words
from vitviz.plots.robustness import robustness_figure
from vitviz.plots.theme import Mode

FAMILIES = {  # by checkpoint
    "cifar10_cnn_wide": "CNN",
    "cifar10_vit": "ViT",
    "cifar10_hybrid": "Hybrid",
    "cifar10_swin": "Swin",
    "cifar10_deit_soft": "DeiT",
}
IMAGE_PX = 32


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
    shares = np.array([*losses.accuracy.values()])
    error = 200 * float(np.sqrt(shares * (1 - shares) / int(stored.settings["pictures"])).max())
    rows = [*stored.where(change=UNCHANGED), *stored.where(change=change)]
    return Numbers(
        titles=dict(zip(accuracy, accuracy, strict=True)),
        values=accuracy,
        rows=dict.fromkeys(accuracy, ()),
        evidence=[(stored, rows)],
        images=int(stored.settings["pictures"]),
        extra={"strongest": names[-1], "error": error},
    )


def chart(values: Values, numbers: Numbers, mode: Mode) -> Chart:
    """Draw accuracy over the strengths of the change."""
    stored, _ = numbers.evidence[0]
    losses = collect_losses(stored, values["change"], FAMILIES)
    return robustness_figure(losses.accuracy, numbers.places, losses.neutral, mode)
