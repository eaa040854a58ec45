"""Hold what the sections of Two images compute of a pair: matches, components, patched runs and segments."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.token_colours import Components
from vitviz.analysis.token_similarity import Matches
from vitviz.probe.capture import FloatArray


@dataclass(frozen=True, eq=False)
class MatchedPair:
    """The cosines (N, M) between both images' patches in one layer, and their mutual nearest neighbours."""

    cosines: NDArray[np.float64]
    matches: Matches


@dataclass(frozen=True, eq=False)
class ColouredPair:
    """The components, where they were fitted, and both images' foreground (rows, cols)."""

    components: Components
    fitted_on: str
    foregrounds: tuple[NDArray[np.bool_], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class PatchedRuns:
    """The probability of one class in runs on the second image with parts of the first.

    part: 'head' or 'token'. layer: whose tokens are replaced. grid: of the tokens. prefix: names of prefix tokens.
    target: the class. first, second: its probability for each image alone. after: (layers, heads) or (tokens,).
    """

    part: str
    layer: str
    grid: tuple[int, int]
    prefix: tuple[str, ...]
    target: str
    first: float
    second: float
    after: FloatArray

    @property
    def points(self) -> NDArray[np.float32]:
        """Return the change of the probability, in points."""
        return np.asarray(100 * (self.after - self.second), np.float32)


@dataclass(frozen=True, eq=False)
class SegmentedPair:
    """The first image's foreground, and both images' segments (rows, cols), counted from 0."""

    foreground: NDArray[np.bool_]
    by_attention: bool
    first: NDArray[np.intp]
    second: NDArray[np.intp]
