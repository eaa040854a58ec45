"""Measures of the model at hand that ask no picture: its weights, and how well it does."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vitviz.checkpoint_header import CheckpointError, read_header
from vitviz.lessons.formula_measures import within
from vitviz.lessons.question_kinds import AtHand, Drag, Kind, Measured, able_of
from vitviz.text import percent, plural, signed

SHIPPED = Path(__file__).parents[2] / "checkpoints"
RACES = SHIPPED / "positions_race.json"
RACED = ("shapes", "digits", "mnist")
_FILE = re.compile(r"[a-z0-9_]{1,64}")
RACED_CODES = ("none", "sincos_1d", "sincos_2d_sum", "sincos_2d_concat", "learned")


@dataclass(frozen=True)
class VarianceHeld:
    """The share of the variance of E's filters that their first components hold."""

    components: int = 5

    def __post_init__(self) -> None:
        within("components", self.components, 1, 64)

    def why_not(self, at: AtHand) -> str:
        """Where there is no E."""
        return able_of(at).embedding.why_not

    def kind(self, at: AtHand) -> Kind:
        """A share."""
        return Drag(0.0, 1.0, 0.01, "%")

    def measured(self, at: AtHand) -> Measured:
        """PCA of the filters."""
        from vitviz.analysis.filters import principal_components

        weight = at.model.model.patch_embed.proj.weight
        filters = weight.detach().float().numpy().reshape(-1, *_filter_shape(at.model.config))
        explained = principal_components(filters).explained
        share = float(explained[: self.components].sum())
        first = min(self.components, len(explained))
        return Measured(
            share,
            f"The first {first} of {plural(len(explained), 'component')} hold {percent(share)} of the variance of"
            f" E's {len(filters)} filters; if all held alike, they would hold {percent(first / len(explained))}.",
        )


def _filter_shape(config: Any) -> tuple[int, int, int]:
    return config.in_chans, config.patch_size, config.patch_size


@dataclass(frozen=True)
class ShareOfE:
    """Which share of the model's parameters is E."""

    def why_not(self, at: AtHand) -> str:
        """Where there is no E."""
        return able_of(at).embedding.why_not

    def kind(self, at: AtHand) -> Kind:
        """A share."""
        return Drag(0.0, 1.0, 0.01, "%")

    def measured(self, at: AtHand) -> Measured:
        """Counts parameters: E's weights alone, without the bias and, in a Swin, the LayerNorm behind them."""
        from vitviz.models.costs import count_parameters

        own = at.model.model.patch_embed.proj.weight.numel()
        every = sum(count_parameters(at.model.model).values())
        return Measured(
            own / every, f"E has {own:,} of the model's {every:,} parameters: {percent(own / every)}."
        )


@dataclass(frozen=True)
class NeighboursAlike:
    """The mean cosine of two learned positions that are one step apart."""

    def why_not(self, at: AtHand) -> str:
        """Where positions are not learned, or there is only one."""
        alone = "One patch has no neighbour." if getattr(at.model.config, "grid", None) == (1, 1) else ""
        return able_of(at).learned_positions.why_not or alone

    def kind(self, at: AtHand) -> Kind:
        """A cosine."""
        return Drag(-1.0, 1.0, 0.01)

    def measured(self, at: AtHand) -> Measured:
        """Compares the rows of the table."""
        from vitviz.analysis import position_similarity

        grid = at.layout.grid
        table = at.model.vit.pos_embed.detach().float().numpy()
        alike = position_similarity.cosine_similarity(position_similarity.patch_rows(table, grid))
        rows, cols = position_similarity.offsets(grid)
        steps = np.abs(rows) + np.abs(cols)
        near, far = (alike[which] for which in (steps == 1, steps > max(grid) // 2))
        apart = (
            f"; those more than {plural(max(grid) // 2, 'step')} apart {signed(float(far.mean()))}"
            if far.size
            else ""
        )
        return Measured(
            float(near.mean()),
            f"Learned positions one step apart have a mean cosine of {signed(float(near.mean()))}{apart}. Nobody told"
            " the model which patches touch.",
        )


@dataclass(frozen=True)
class Accuracy:
    """The share of its set's test pictures that a model gets right, as its file says since its training.

    model: a shipped one by its file's name, for beside the model at hand its accuracy stands; '' the one at hand.
    """

    model: str = ""

    def __post_init__(self) -> None:
        if self.model and not _FILE.fullmatch(self.model):
            raise ValueError(f"model is the name of a shipped checkpoint, received {self.model[:40]!r}")

    def why_not(self, at: AtHand) -> str:
        """Where it was not measured."""
        return "" if self._found(at)[1] is not None else "Nobody has measured this model's accuracy."

    def kind(self, at: AtHand) -> Kind:
        """A share."""
        return Drag(0.0, 1.0, 0.01, "%")

    def measured(self, at: AtHand) -> Measured:
        """Reads it."""
        title, share = self._found(at)
        if share is None:
            raise ValueError("the model's accuracy was not measured")
        return Measured(share, f"{title} gets {percent(share, 2)} of its test pictures right.")

    def _found(self, at: AtHand) -> tuple[str, float | None]:
        if not self.model:
            return at.choice.title, at.choice.accuracy
        try:
            card = read_header(SHIPPED / f"{self.model}.safetensors").card
        except CheckpointError:
            return self.model, None
        share = card.get("test_accuracy")
        return str(card.get("title", self.model)), float(share) if isinstance(share, int | float) else None


@dataclass(frozen=True)
class RaceAccuracy:
    """What one of five position codes reached when they were trained side by side, as measured and kept on disk."""

    dataset: str
    positions: str

    def __post_init__(self) -> None:
        if self.dataset not in RACED or self.positions not in RACED_CODES:
            raise ValueError(
                f"a race is on {', '.join(RACED)} with {', '.join(RACED_CODES)}, received {self.dataset!r} with"
                f" {self.positions!r}"
            )

    def why_not(self, at: AtHand) -> str:
        """Where no race lies on this server."""
        return (
            ""
            if self.positions in self._found()
            else "No measured race of position codes lies on this server."
        )

    def _race(self) -> Any:
        return json.loads(RACES.read_text("utf-8"))["races"].get(self.dataset) if RACES.is_file() else None

    def _found(self) -> dict[str, float]:
        race = self._race()
        return {run["positions"]: float(run["measured"]["accuracy"]) for run in race["runs"]} if race else {}

    def kind(self, at: AtHand) -> Kind:
        """A share."""
        return Drag(0.0, 1.0, 0.01, "%")

    def measured(self, at: AtHand) -> Measured:
        """Reads the race's file."""
        race, found = self._race(), self._found()
        own, best = found[self.positions], max(found.values())
        return Measured(
            own,
            f"After {race['train']['epochs']:g} epochs it gets {percent(own)} of the test pictures right; the best of"
            f" the {len(found)} gets {percent(best)}. Measured {race['measured']}, one seed.",
        )
