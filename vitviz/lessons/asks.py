"""What a question can ask: a closed list of named measures, each computed from the model at hand when it is asked.

A file names one and its parameters; nothing else of a file is ever run, and no file holds an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vitviz.lessons import (
    of_convolutions,
    of_costs,
    of_experiments,
    of_formulas,
    of_models,
    of_results,
    of_transfer,
    of_weights,
)
from vitviz.lessons.kinds import Measure
from vitviz.lessons.typed_tables import LessonError, build, listed
from vitviz.words import cut

MEASURES: dict[str, type[Any]] = {
    "accuracy": of_weights.Accuracy,
    "answer": of_models.Answer,
    "attention_over_convolutions": of_convolutions.AttentionOverConvolutions,
    "blocks_to_reach": of_formulas.BlocksToReach,
    "data_leader": of_results.DataLeader,
    "knob_best": of_experiments.KnobBest,
    "longer_branch": of_models.LongerBranch,
    "looks_at": of_models.LooksAt,
    "masked_pairs": of_formulas.MaskedPairs,
    "mass_on_self": of_models.MassOnSelf,
    "more_multiply_adds": of_costs.MoreMultiplyAdds,
    "nearest_layer": of_models.NearestLayer,
    "neighbours_alike": of_weights.NeighboursAlike,
    "patch_count": of_formulas.PatchCount,
    "patches_reached": of_formulas.PatchesReached,
    "race_accuracy": of_weights.RaceAccuracy,
    "readable_in_corner": of_formulas.ReadableInCorner,
    "settling_layer": of_models.SettlingLayer,
    "share_of_e": of_weights.ShareOfE,
    "shuffled": of_models.Shuffled,
    "sinusoid_similarity": of_formulas.SinusoidSimilarity,
    "slip_cost": of_experiments.SlipCost,
    "slower_here": of_costs.SlowerHere,
    "tokens_share": of_models.TokensShare,
    "transfer_leader": of_transfer.TransferLeader,
    "truest_map": of_models.TruestMap,
    "variance_held": of_weights.VarianceHeld,
    "weakest_gradient": of_experiments.WeakestGradient,
    "window_cost": of_formulas.WindowCost,
}
NAMES = {measure: name for name, measure in MEASURES.items()}


def read_measure(name: str, given: Mapping[str, Any], place: str) -> Measure:
    """A measure from a file's name and parameters.

    Raises:
        LessonError: if it is none of `MEASURES`, or the parameters are not its own.
    """
    if name not in MEASURES:
        raise LessonError(f"{place}: measure is one of {listed(MEASURES)}, received {cut(name, 40)!r}")
    measure: Measure = build(MEASURES[name], given, f"{place}, with")
    return measure
