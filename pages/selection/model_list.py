"""Sort and label the models of the sidebar's list."""

from collections.abc import Iterable

from pages.stores import catalogue, own_weights, published_weights
from pages.stores.model_choice import ModelChoice
from vitviz.text import percent

_DATASETS = ("cifar10", "cifar100", "mnist", "fashion-mnist", "digits", "shapes")  # in the order of the list


def sort_models(choices: Iterable[ModelChoice]) -> list[str]:
    """Return keys: runs, own weights, ImageNet models, checkpoints by dataset, then untrained presets."""
    return [choice.key for choice in sorted(choices, key=_rank)]


def label_model(choice: ModelChoice) -> str:
    """Return a label such as 'CIFAR-10 · Hybrid, 85.8 %', with the accuracy of the last step."""
    accuracy = "" if choice.accuracy is None else f", {percent(choice.accuracy)}"
    kind = choice.key.partition(":")[0]
    if kind == "run":
        dataset = f" ({catalogue.get_dataset_title(choice.trained_on)})" if choice.trained_on else ""
        return f"Run · {choice.title}{dataset}{accuracy}"
    if choice.key.startswith(own_weights.KEY):
        return f"Your weights · {choice.title}"
    if choice.key.startswith(published_weights.KEY):
        return f"Photos · {choice.title}"
    if choice.trained_on is None:
        return f"Untrained · {choice.title}"
    dataset = catalogue.get_dataset_title(choice.trained_on)
    name = choice.title.removeprefix(dataset).strip()
    return f"{dataset[:1].upper()}{dataset[1:]} · {name[:1].upper()}{name[1:]}{accuracy}"


def _rank(choice: ModelChoice) -> tuple[int, int]:
    prefixes = ("run:", own_weights.KEY, published_weights.KEY)
    for rank, prefix in enumerate(prefixes):
        if choice.key.startswith(prefix):
            return rank, 0
    if choice.trained_on is None:
        return len(prefixes) + 1, 0
    return len(prefixes), _DATASETS.index(choice.trained_on) if choice.trained_on in _DATASETS else len(
        _DATASETS
    )
