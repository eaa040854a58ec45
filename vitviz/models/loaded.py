"""A model ready to be looked at, with everything a page must say about it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from vitviz.config import ModelConfig, Preparation


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A frozen model in evaluation mode, how its pictures are prepared, and where its weights come from."""

    model: nn.Module
    config: ModelConfig
    preparation: Preparation
    classes: tuple[str, ...]
    title: str
    trained_on: str | None  # None: random weights, and every page must say so
    step: int
    digest: str

    def __post_init__(self) -> None:
        self.model.eval().requires_grad_(False)
