"""Load the accuracies of the robustness experiment, measured over test images under the same changes."""

from collections.abc import Mapping

import numpy as np

from pages.lenses.on_your_image.compared_models import Comparison
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.image_changes import CHANGES, ROBUSTNESS, UNCHANGED
from vitviz.analysis.verdict import Verdict, judge_difference, rank_leaders
from vitviz.experiments import result_file
from vitviz.plots.image_changes import StoredCurves
from vitviz.weight_identity import resolve_identity


def load_robustness() -> result_file.Result | None:
    """Return the stored experiment; None if there is none."""
    return result_file.read_result_if_any(ROBUSTNESS)


def find_stored_name(choice: ModelChoice, stored: result_file.Result) -> str:
    """Return a model's name in the experiment; '' if it is missing or has other weights."""
    if choice.path is None or not choice.key.startswith("checkpoint:"):
        return ""
    from pages.stores import catalogue

    name = choice.path.stem
    identity = resolve_identity(stored.settings["digests"].get(name, ""))
    return name if identity == catalogue.read_header(choice.path).identity else ""


def build_curve(compared: Comparison, change: str) -> StoredCurves | None:
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
    return StoredCurves(places, table, int(stored.settings["pictures"]))


def _read_accuracies(stored: result_file.Result, name: str, change: str) -> dict[float, float]:
    if not name:
        return {}
    rows = [*stored.where(change=UNCHANGED, model=name), *stored.where(change=change, model=name)]
    neutral = CHANGES[change].neutral
    return {
        neutral if row["change"] == UNCHANGED else float(row["value"]): float(row["right"]) for row in rows
    }


def load_change_rates(compared: Comparison, change: str, strength: float) -> dict[str, float]:
    """Return the share of test images whose predicted class changes, by the key of each stored model."""
    stored = load_robustness()
    if stored is None:
        return {}
    rows = {row["model"]: row for row in stored.where(change=change, value=strength)}
    names = {choice.key: find_stored_name(choice, stored) for choice in compared.choices}
    return {key: 1 - float(rows[name]["same"]) for key, name in names.items() if name in rows}


def find_change_leaders(rates: Mapping[str, float]) -> tuple[str, ...]:
    """Return the models whose rate of changed predictions is not shown to be below the highest one."""
    stored = load_robustness()
    assert stored is not None  # the rates are its
    images = int(stored.settings["pictures"])

    def compare_pair(first: str, second: str) -> Verdict:
        variance = sum(rates[name] * (1 - rates[name]) for name in (first, second)) / images
        return judge_difference(100 * (rates[first] - rates[second]), 100**2 * variance, images)

    return rank_leaders(rates, compare_pair)


def describe_provenance() -> str:
    """Return date, machine, commit and command of the stored experiment."""
    stored = load_robustness()
    if stored is None:
        return ""
    made = result_file.describe_provenance(stored.made)
    return f"{made[:1].upper()}{made[1:]} with `{stored.command}`."
