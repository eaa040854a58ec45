"""A model that can be chosen, as plain facts: what its file or its shape says, without its weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vitviz.config import ModelConfig, Preparation
from vitviz.text import plain


@dataclass(frozen=True)
class ModelChoice:
    """A model that can be chosen: what its file or its shape says, without its weights."""

    key: str
    title: str
    note: str  # one line: what it was trained on and how well it does, or that its weights are random
    config: ModelConfig
    preparation: Preparation
    trained_on: str | None  # a dataset's name; None: random weights
    steps: tuple[int, ...]  # of its snapshots, ascending; (0,) where there is only one
    curve: tuple[tuple[int, float], ...] = ()  # (step, validation accuracy)
    path: Path | None = None
    accuracy: float | None = None  # on test pictures; of a run the best on its validation pictures

    @property
    def shown(self) -> str:
        """The title for Markdown, captions and labels: a run's or an upload's is a stranger's text."""
        return plain(self.title)

    @property
    def last_step(self) -> int:
        """The step of its newest snapshot."""
        return self.steps[-1]
