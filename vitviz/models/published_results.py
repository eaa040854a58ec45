"""Read published accuracies and training costs, with their sources, from published_results.toml."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

TIMM = "timm, results/results-imagenet.csv at 0173a13"
TORCHVISION = "torchvision, its weights' own figures"
VIT_PAPER = "Dosovitskiy et al. 2021, table 2"


def cite_accuracy(name: str) -> str:
    """Return the source of an accuracy of `TOP1`; only timm's names contain a patch size."""
    return TIMM if "_patch" in name else TORCHVISION


@dataclass(frozen=True)
class Transfer:
    """One column of the ViT paper's table 2: accuracy in percent by test set, and TPUv3-core-days of pre-training.

    preset: the shape here, fine-tuned at `side_px` (section 4.2); empty for a network that is none of ours.
    """

    name: str
    family: str
    data: str
    core_days: float
    accuracy: dict[str, float]
    preset: str = ""
    side_px: int = 0


_STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
TRAINING_IMAGES: dict[str, int] = _STATED["training_images"]
TOP1: dict[str, float] = _STATED["top1"]
TEST_SETS: tuple[str, ...] = tuple(_STATED["test_sets"])
TRANSFERS = tuple(
    Transfer(**row | {"accuracy": dict(zip(TEST_SETS, row["accuracy"], strict=False))})
    for row in _STATED["transfers"]
)
