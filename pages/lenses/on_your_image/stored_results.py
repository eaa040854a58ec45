"""Load the accuracies of the robustness experiment, measured over test images under the same changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pages.frame import page
from pages.lenses.on_your_image.comparison import Comparison
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.changes import CHANGES
from vitviz.analysis.recipes import describe_recipe_differences
from vitviz.experiments import result
from vitviz.experiments.result import Result
from vitviz.plots.image_changes import Curve, strength_words
from vitviz.text import percent, plain

NAME = "robustness"
NONE = "none"


def load_robustness() -> Result | None:
    """Return the stored experiment; None if there is none."""
    return result.read_result_if_any(NAME)


def find_stored_name(choice: ModelChoice, stored: Result) -> str:
    """Return a model's name in the experiment; '' if it is missing or has other weights."""
    if choice.path is None or not choice.key.startswith("checkpoint:"):
        return ""
    from pages.stores import catalogue

    digests = stored.settings["digests"]
    name = choice.path.stem
    return name if digests.get(name) == catalogue.read_header(choice.path).digest else ""


def build_curve(compared: Comparison, change: str) -> Curve | None:
    """Return the stored accuracies of the compared models; None if there are none for this change."""
    stored = load_robustness()
    if stored is None or not stored.where(change=change):
        return None
    rows = [_read_accuracies(stored, find_stored_name(choice, stored), change) for choice in compared.choices]
    strengths = CHANGES[change].values
    shared = sorted({strength for row in rows for strength in row})
    if not shared:
        return None
    table = np.array([[row.get(strength, np.nan) for strength in shared] for row in rows])
    places = np.interp(shared, strengths, np.arange(len(strengths)))
    return Curve(places, table, int(stored.settings["pictures"]))


def _read_accuracies(stored: Result, name: str, change: str) -> dict[float, float]:
    if not name:
        return {}
    rows = [*stored.where(change=NONE, model=name), *stored.where(change=change, model=name)]
    neutral = CHANGES[change].neutral
    return {neutral if row["change"] == NONE else float(row["value"]): float(row["right"]) for row in rows}


def load_change_rates(compared: Comparison, change: str, strength: float) -> dict[str, float]:
    """Return the share of test images whose predicted class changes, by the key of each stored model."""
    stored = load_robustness()
    if stored is None:
        return {}
    rows = {row["model"]: row for row in stored.where(change=change, value=strength)}
    names = {choice.key: find_stored_name(choice, stored) for choice in compared.choices}
    return {key: 1 - float(rows[name]["same"]) for key, name in names.items() if name in rows}


def draw_accuracies(compared: Comparison, change: str) -> None:
    """Draw a caption on the models that lose least and most accuracy at the strongest stored change."""
    stored = build_curve(compared, change)
    if stored is None:
        return
    known = [i for i in range(len(compared.choices)) if np.isfinite(stored.accuracy[i]).all()]
    start = int(np.flatnonzero(stored.at == CHANGES[change].start)[0])
    if len(known) < 2:
        return
    at = len(stored.at) - 1
    lost = {i: float(stored.accuracy[i, start] - stored.accuracy[i, at]) for i in known}
    least, most = min(lost, key=lost.__getitem__), max(lost, key=lost.__getitem__)
    strength = strength_words(change, CHANGES[change].values[round(float(stored.at[at]))], compared.input_px)

    def format_loss(i: int) -> str:
        return f"{percent(stored.accuracy[i, start])} → {percent(stored.accuracy[i, at])}"

    condition = "" if len(known) == len(compared.choices) else f" of the {len(known)} measured models"
    page.caption(
        f"Over {stored.pictures:,} test images, at {strength}:{condition} {plain(compared.names[least])} loses least"
        f" accuracy ({format_loss(least)}), {plain(compared.names[most])} most ({format_loss(most)})."
        f" {describe_error(stored.accuracy[known], stored.pictures)}"
    )
    page.provenance(f"{describe_provenance()} {describe_recipes(compared, known)}")


def describe_recipes(compared: Comparison, known: Sequence[int]) -> str:
    """Return the differences between the compared models' training recipes; '' if there are none."""
    from pages.stores import catalogue

    recipes = {
        compared.names[i]: catalogue.read_header(path).train
        for i in known
        if (path := compared.choices[i].path)
    }
    differences = describe_recipe_differences(
        {plain(name): recipe for name, recipe in recipes.items() if recipe is not None}
    )
    if not differences:
        return ""
    return f"The training recipes differ ({differences}), so this does not compare architectures alone."


def describe_provenance() -> str:
    """Return date, machine, commit and command of the stored experiment."""
    stored = load_robustness()
    if stored is None:
        return ""
    made = result.describe_provenance(stored.made)
    return f"{made[:1].upper()}{made[1:]} with `{stored.command}`."


def describe_error(shares: NDArray[np.floating], images: int) -> str:
    """Return a sentence with the sampling error of shares counted over this many images."""
    error = 2 * float(np.sqrt(shares * (1 - shares) / images).max())
    return f"Two standard errors are at most {100 * error:.1f} points; one training per model."
