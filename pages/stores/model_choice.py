"""Describe a selectable model by its metadata, without its weights."""

from dataclasses import dataclass
from pathlib import Path

from vitviz.config import ModelConfig, Preparation
from vitviz.text import plain


@dataclass(frozen=True)
class ModelChoice:
    """A selectable model: metadata from its file or preset, without its weights."""

    key: str
    title: str
    note: str  # one line: dataset and accuracy, or that its weights are random
    config: ModelConfig
    preparation: Preparation
    trained_on: str | None  # name of the dataset; None: random weights
    steps: tuple[int, ...]  # of its snapshots, ascending; (0,) for a single one
    curve: tuple[tuple[int, float], ...] = ()  # (step, validation accuracy)
    path: Path | None = None
    file_name: str = ""  # of uploaded weights
    assumptions: tuple[str, ...] = ()  # of uploaded weights, until they are confirmed or changed
    accuracy: float | None = None  # on test images; for a run, the best on validation images
    native: "ModelChoice | None" = (
        None  # the model at its own size, where this one is fitted to a whole image
    )

    @property
    def shown(self) -> str:
        """Return the title escaped for Markdown; titles of runs and uploads are untrusted text."""
        return plain(self.title)

    @property
    def last_step(self) -> int:
        return self.steps[-1]
