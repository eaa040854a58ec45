"""Measure a model without an image: its weights and its test accuracy."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from vitviz.checkpoint_header import CheckpointError, read_header
from vitviz.experiments.result_file import ResultError
from vitviz.lessons.question_kinds import BaseMeasure, Drag, MeasuredAnswer, QuestionSubject, StoredMeasure
from vitviz.text import percent, plural, signed

SHIPPED = Path(__file__).parents[2] / "checkpoints"
RACE_FILE = SHIPPED / "positions_race.json"
RACE_DATASETS = ("shapes", "digits", "mnist")
_FILE = re.compile(r"[a-z0-9_]{1,64}")
RACE_ENCODINGS = ("none", "sincos_1d", "sincos_2d_sum", "sincos_2d_concat", "learned")


@dataclass(frozen=True)
class ExplainedVariance(BaseMeasure):
    """The share of the variance of E's filters that the first principal components explain."""

    needs = ("embedding",)
    components: Annotated[int, 1, 64] = 5

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        from vitviz.analysis.filters import principal_components

        weight = subject.model.model.patch_embed.proj.weight
        config = subject.model.config
        filters = weight.detach().float().numpy()
        filters = filters.reshape(-1, config.in_chans, config.patch_size, config.patch_size)
        explained = principal_components(filters).explained
        share = float(explained[: self.components].sum())
        first = min(self.components, len(explained))
        return MeasuredAnswer(
            share,
            f"The first {first} of {plural(len(explained), 'component')} explain {percent(share)} of the variance of"
            f" E's {len(filters)} filters; equal components would explain {percent(first / len(explained))}.",
        )


@dataclass(frozen=True)
class EmbeddingShare(BaseMeasure):
    """The share of the model's parameters in E's weights, without its bias or a following LayerNorm."""

    needs = ("embedding",)

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        count = subject.model.model.patch_embed.proj.weight.numel()
        total = sum(parameter.numel() for parameter in subject.model.model.parameters())
        return MeasuredAnswer(
            count / total, f"E has {count:,} of the model's {total:,} parameters: {percent(count / total)}."
        )


@dataclass(frozen=True)
class NeighbourSimilarity(BaseMeasure):
    """The mean cosine similarity of adjacent learned position embeddings."""

    needs = ("learned_positions",)
    kind = Drag(-1.0, 1.0, 0.01)

    def why_not(self, subject: QuestionSubject) -> str:
        single = getattr(subject.model.config, "grid", None) == (1, 1)
        return super().why_not(subject) or "A single patch has no neighbour." * single

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        from vitviz.analysis import position_similarity

        grid = subject.layout.grid
        table = subject.model.vit.pos_embed.detach().float().numpy()
        cosines = position_similarity.cosine_similarity(position_similarity.patch_rows(table, grid))
        rows, cols = position_similarity.offsets(grid)
        steps = np.abs(rows) + np.abs(cols)
        near, far = (cosines[mask] for mask in (steps == 1, steps > max(grid) // 2))
        distance = plural(max(grid) // 2, "step")
        apart = f"; those more than {distance} apart {signed(float(far.mean()))}" if far.size else ""
        return MeasuredAnswer(
            float(near.mean()),
            f"Adjacent position embeddings have a mean cosine of {signed(float(near.mean()))}{apart}. The"
            " model was not told which patches are neighbours.",
        )


@dataclass(frozen=True)
class Accuracy(BaseMeasure):
    """A model's test accuracy as stored in its checkpoint.

    model: the file name of a shipped checkpoint; '' for the subject's model.
    """

    model: str = ""

    def __post_init__(self) -> None:
        if self.model and not _FILE.fullmatch(self.model):
            raise ValueError(f"expected the name of a shipped checkpoint, received {self.model[:40]!r}")

    def why_not(self, subject: QuestionSubject) -> str:
        return (
            "" if self._read_accuracy(subject)[1] is not None else "This model's accuracy was not measured."
        )

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        title, accuracy = self._read_accuracy(subject)
        if accuracy is None:
            raise ValueError("expected a model with a measured accuracy, received one without")
        return MeasuredAnswer(accuracy, f"{title} has a test accuracy of {percent(accuracy, 2)}.")

    def _read_accuracy(self, subject: QuestionSubject) -> tuple[str, float | None]:
        if not self.model:
            return subject.choice.title, subject.choice.accuracy
        try:
            card = read_header(SHIPPED / f"{self.model}.safetensors").card
        except CheckpointError:
            return self.model, None
        accuracy = card.get("test_accuracy")
        return str(card.get("title", self.model)), float(accuracy) if isinstance(
            accuracy, int | float
        ) else None


@dataclass(frozen=True)
class RaceAccuracy(StoredMeasure):
    """The stored test accuracy of one of five positional encodings that were trained with the same recipe."""

    missing = "No comparison of positional encodings is stored on this server."
    dataset: Annotated[str, RACE_DATASETS]
    positions: Annotated[str, RACE_ENCODINGS]

    def find_answer(self) -> MeasuredAnswer:
        races = json.loads(RACE_FILE.read_text("utf-8"))["races"] if RACE_FILE.is_file() else {}
        race = races.get(self.dataset, {"runs": ()})
        accuracies = {run["positions"]: float(run["measured"]["accuracy"]) for run in race["runs"]}
        if self.positions not in accuracies:
            raise ResultError(f"{RACE_FILE.name} lacks {self.positions} on {self.dataset}")
        accuracy, best = accuracies[self.positions], max(accuracies.values())
        return MeasuredAnswer(
            accuracy,
            f"Test accuracy after {race['train']['epochs']:g} epochs: {percent(accuracy)}; best of the"
            f" {len(accuracies)} encodings: {percent(best)} (one seed).",
        )
