"""Measure answers from a formula, a window layout or an attention mask, and the cost of models."""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from vitviz.lessons.question_kinds import (
    AnswerKind,
    BaseMeasure,
    Choose,
    Drag,
    MeasuredAnswer,
    QuestionSubject,
    check_range,
)
from vitviz.models.presets import PRESETS, Preset
from vitviz.text import percent, plural, signed

MAX_GRID = 16
MAX_BLOCKS = 16
MAX_COUNT = 1_000_000  # patches


def choose_scale_end(answer: float) -> float:
    """Return the first power of ten that is at least twice the answer, so that the scale does not reveal it."""
    return 10.0 ** math.ceil(math.log10(2 * answer))


@dataclass(frozen=True)
class SinusoidSimilarity(BaseMeasure):
    """The cosine similarity of two 1-D sinusoidal positional encodings (Vaswani et al. 2017)."""

    first: Annotated[int, 0, 255]
    second: Annotated[int, 0, 255]
    dim: Annotated[int, 2, 512] = 64
    kind = Drag(-1.0, 1.0, 0.01)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim % 2:
            raise ValueError(f"expected an even dim, received {self.dim}")

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        from vitviz.analysis.position_similarity import cosine_similarity
        from vitviz.sinusoids import sincos_1d

        table = cosine_similarity(sincos_1d(1 + max(self.first, self.second), self.dim))
        cosine = float(table[self.first, self.second])
        return MeasuredAnswer(
            cosine,
            f"Positions {self.first} and {self.second} have a cosine of {signed(cosine, 4)} at width {self.dim}; it"
            f" depends only on their distance, {abs(self.first - self.second)}.",
        )


@dataclass(frozen=True)
class PatchCount(BaseMeasure):
    """The number of patches of a square image, N = (S / P)²."""

    image_px: Annotated[int, 4, 1024]
    patch_px: int
    kind = Drag(0, MAX_COUNT, 1, "patches", tolerance=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("patch_px", self.patch_px, 1, self.image_px)
        if self.image_px % self.patch_px:
            raise ValueError(
                f"expected patch_px to divide image_px, received {self.patch_px} and {self.image_px}"
            )

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        side = self.image_px // self.patch_px
        return MeasuredAnswer(
            side * side,
            f"{self.image_px} / {self.patch_px} = {side} patches along a side, so N = {side} × {side} ="
            f" {plural(side * side, 'patch', 'patches')}.",
        )


@dataclass(frozen=True)
class _Windows(BaseMeasure):
    """A square grid of patches that is rolled by a shift and split into windows."""

    grid: Annotated[int, 2, MAX_GRID]
    window: int
    shift: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("window", self.window, 2, self.grid)
        check_range("shift", self.shift, 0, self.window - 1)
        if self.grid % self.window:
            raise ValueError(f"expected window to divide grid, received {self.window} and {self.grid}")

    def _layout(self) -> Any:
        from vitviz.analysis.window_attention import create_layout

        return create_layout((self.grid, self.grid), self.window, self.shift)

    def _arrival_blocks(self) -> NDArray[np.int64]:
        """Return the block after which patch 1 has reached each patch, without those it never reaches."""
        from vitviz.analysis import token_reach

        windows, tokens = self._layout(), self.grid**2
        plain = token_reach.window_links(windows.plain, None, tokens)
        rolled = token_reach.window_links(windows.index, windows.mask, tokens)
        hops = token_reach.first_block(token_reach.alternate(plain, rolled, MAX_BLOCKS))[:, 0]
        return np.asarray(hops[hops != token_reach.NEVER])


@dataclass(frozen=True)
class MaskedPairs(_Windows):
    """The share of query–key pairs that a shifted block masks (Swin paper, figure 4)."""

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        windows = self._layout()
        share = windows.masked_pairs / windows.mask.size
        return MeasuredAnswer(
            share,
            f"{windows.masked_pairs:,} of {windows.mask.size:,} pairs are masked ({percent(share)}), in"
            f" {windows.masked_windows} of {plural(len(windows.index), 'window')}.",
        )


@dataclass(frozen=True)
class ReadableInCorner(_Windows):
    """The number of patches that patch 1 may attend to in a shifted block: those of its own region."""

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Drag(1, self.window**2, 1, "patches", tolerance=0)

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        windows = self._layout()
        window, slot = (int(indices[0]) for indices in np.nonzero(windows.index == 0))
        unmasked = int((windows.mask[window, slot] == 0).sum())
        if not self.shift:
            return MeasuredAnswer(
                unmasked,
                f"Without a shift, patch 1 may attend to all {self.window**2} patches of its window.",
            )
        return MeasuredAnswer(
            unmasked,
            f"Rolled by {self.shift}, patch 1 shares its window of {self.window**2} with patches from opposite edges;"
            f" the mask leaves {plural(unmasked, 'patch', 'patches')}: itself and its true neighbours.",
        )


@dataclass(frozen=True)
class BlocksToReach(_Windows):
    """The number of blocks, every second one shifted, after which patch 1 has reached the whole image."""

    kind = Drag(1, MAX_BLOCKS, 1, "blocks", tolerance=0)

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        arrivals, tokens = self._arrival_blocks(), self.grid**2
        start = f"With windows of {self.window} and a shift of {self.shift}, information from patch 1"
        if len(arrivals) < tokens:
            return MeasuredAnswer(
                MAX_BLOCKS, f"{start} never reaches more than {len(arrivals)} of {tokens} patches."
            )
        count = int(arrivals.max())
        return MeasuredAnswer(count, f"{start} reaches all {tokens} patches after {plural(count, 'block')}.")


@dataclass(frozen=True)
class PatchesReached(_Windows):
    """The number of patches that patch 1 has reached after some blocks, every second one shifted."""

    blocks: Annotated[int, 1, MAX_BLOCKS] = MAX_BLOCKS

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Drag(1, self.grid**2, 1, "patches", tolerance=0)

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        arrivals, tokens = self._arrival_blocks(), self.grid**2
        count = int((arrivals <= self.blocks).sum())
        shift = f"a shift of {self.shift}" if self.shift else "no shift"
        # If neither kind of block added a patch in the last two blocks, no later block will.
        stuck = count < tokens and not (arrivals > self.blocks - 2).any()
        return MeasuredAnswer(
            count,
            f"With windows of {self.window} and {shift}, information from patch 1 reaches"
            f" {plural(count, 'patch', 'patches')} of {tokens} after {plural(self.blocks, 'block')}"
            f"{' and no more' if stuck else ''}.",
        )


@dataclass(frozen=True)
class WindowCost(BaseMeasure):
    """The cost of global attention over that of window attention (Swin paper, equations 1 and 2)."""

    side: Annotated[int, 2, 256]  # patches along a side of the image
    window: int
    dim: Annotated[int, 8, 4096] = 96

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("window", self.window, 2, self.side)

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        every, local = self._costs()
        return Drag(1, choose_scale_end(every / local), 1, "times")

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        every, local = self._costs()
        return MeasuredAnswer(
            every / local,
            f"At {self.side} × {self.side} patches of width {self.dim}, global attention takes {every / 1e6:,.0f}"
            f" million multiply-adds and windows of {self.window} take {local / 1e6:,.0f} million.",
        )

    def _costs(self) -> tuple[float, float]:
        """Return the multiply-adds of global and of window attention."""
        from vitviz.shifted_windows import global_attention_cost, window_attention_cost

        return (
            global_attention_cost(self.side, self.side, self.dim),
            window_attention_cost(self.side, self.side, self.dim, self.window),
        )


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
        from vitviz.models import model_cost

        presets = self._presets()
        costs = [
            sum(model_cost.multiply_adds(preset.config, preset.preparation.image_size).values())
            for preset in presets
        ]
        counts = [sum(model_cost.parameters(preset.config).values()) for preset in presets]
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
