"""The list of models: in groups by what they were made for, each with how well it does."""

from __future__ import annotations

from collections.abc import Iterable

from pages.stores import catalogue, own_weights, published
from pages.stores.model_choice import ModelChoice
from vitviz.text import percent

_SETS = ("cifar10", "cifar100", "mnist", "fashion-mnist", "digits", "shapes")  # in the list's order


def ordered(choices: Iterable[ModelChoice]) -> list[str]:
    """Keys: runs, your weights, photos, then shipped ones set by set, then those without training."""
    return [choice.key for choice in sorted(choices, key=_rank)]


def label(choice: ModelChoice) -> str:
    """A model's line in the list: 'CIFAR-10 · Hybrid, 85.8 %'; how well it does is of its last step."""
    does = "" if choice.accuracy is None else f", {percent(choice.accuracy)}"
    kind = choice.key.partition(":")[0]
    if kind == "run":
        made_for = f" ({catalogue.data_title(choice.trained_on)})" if choice.trained_on else ""
        return f"Run · {choice.title}{made_for}{does}"
    if choice.key.startswith(own_weights.KEY):
        return f"Your weights · {choice.title}"
    if choice.key.startswith(published.KEY):
        return f"Photos · {choice.title}"
    if choice.trained_on is None:
        return f"Untrained · {choice.title}"
    data = catalogue.data_title(choice.trained_on)
    name = choice.title.removeprefix(data).strip()
    return f"{data} · {name[:1].upper()}{name[1:]}{does}"


def _rank(choice: ModelChoice) -> tuple[int, int]:
    kinds = ("run:", own_weights.KEY, published.KEY)
    for place, kind in enumerate(kinds):
        if choice.key.startswith(kind):
            return place, 0
    if choice.trained_on is None:
        return len(kinds) + 1, 0
    return len(kinds), _SETS.index(choice.trained_on) if choice.trained_on in _SETS else len(_SETS)
