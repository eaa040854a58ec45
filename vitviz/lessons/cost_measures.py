"""Measure the cost of models: multiply-adds by formula, and seconds on this machine."""

from dataclasses import dataclass

from vitviz.lessons.question_kinds import AnswerKind, BaseMeasure, Choose, MeasuredAnswer, QuestionSubject
from vitviz.models.presets import PRESETS, Preset


@dataclass(frozen=True)
class _PresetComparison(BaseMeasure):
    """A comparison of two architectures, named by their presets."""

    first: str
    second: str

    def __post_init__(self) -> None:
        for name in (self.first, self.second):
            if name not in PRESETS:
                raise ValueError(f"expected the name of a preset, received {name[:40]!r}")

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Choose(tuple(preset.title for preset in self._presets()))

    def _presets(self) -> tuple[Preset, Preset]:
        return PRESETS[self.first], PRESETS[self.second]


@dataclass(frozen=True)
class MoreMultiplyAdds(_PresetComparison):
    """The architecture that needs more multiply-adds for one image at its own resolution."""

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        from vitviz.models import parameter_count

        presets = self._presets()
        costs = [
            sum(parameter_count.multiply_adds(preset.config, preset.preparation.image_size).values())
            for preset in presets
        ]
        counts = [sum(parameter_count.parameters(preset.config).values()) for preset in presets]
        numbers = "; ".join(
            f"{preset.title}: {count / 1e6:,.1f} million parameters, {cost / 1e9:,.2f} billion multiply-adds"
            for preset, count, cost in zip(presets, counts, costs, strict=True)
        )
        return MeasuredAnswer(
            int(costs[1] > costs[0]), f"{numbers}. Each weight is used once per token that passes through it."
        )


@dataclass(frozen=True)
class SlowerModel(_PresetComparison):
    """The architecture that takes longer for one image on this machine, with random weights."""

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        from vitviz.models.zoo import create_model
        from vitviz.probe.stopwatch import time_model

        presets = self._presets()
        times = [
            time_model(
                create_model(preset.config, seed=0).eval(),
                preset.config.in_chans,
                preset.preparation.image_size,
                random=True,
            )
            for preset in presets
        ]
        numbers = " and ".join(
            f"{preset.title} takes {1000 * time.median_s:.2f} ms"
            f" ({1000 * time.low_s:.2f} to {1000 * time.high_s:.2f})"
            for preset, time in zip(presets, times, strict=True)
        )
        return MeasuredAnswer(int(times[1].median_s > times[0].median_s), f"{numbers}, with random weights.")
