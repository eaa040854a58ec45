"""What a question can ask: a closed list of named measures, each computed from the model at hand when it is asked.

A file names one and its parameters; nothing else of a file is ever run, and no file holds an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vitviz.lessons import (
    convolution_measures,
    cost_measures,
    experiment_measures,
    formula_measures,
    model_measures,
    result_measures,
    transfer_measures,
    weight_measures,
)
from vitviz.lessons.question_kinds import Measure
from vitviz.lessons.typed_tables import LessonError, build, listed
from vitviz.text import cut

MEASURES: dict[str, type[Any]] = {
    "accuracy": weight_measures.Accuracy,
    "answer": model_measures.Answer,
    "attention_over_convolutions": convolution_measures.AttentionOverConvolutions,
    "blocks_to_reach": formula_measures.BlocksToReach,
    "data_leader": result_measures.DataLeader,
    "knob_best": experiment_measures.KnobBest,
    "longer_branch": model_measures.LongerBranch,
    "looks_at": model_measures.LooksAt,
    "masked_pairs": formula_measures.MaskedPairs,
    "mass_on_self": model_measures.MassOnSelf,
    "more_multiply_adds": cost_measures.MoreMultiplyAdds,
    "nearest_layer": model_measures.NearestLayer,
    "neighbours_alike": weight_measures.NeighboursAlike,
    "patch_count": formula_measures.PatchCount,
    "patches_reached": formula_measures.PatchesReached,
    "race_accuracy": weight_measures.RaceAccuracy,
    "readable_in_corner": formula_measures.ReadableInCorner,
    "settling_layer": model_measures.SettlingLayer,
    "share_of_e": weight_measures.ShareOfE,
    "shuffled": model_measures.Shuffled,
    "sinusoid_similarity": formula_measures.SinusoidSimilarity,
    "slip_cost": experiment_measures.SlipCost,
    "slower_here": cost_measures.SlowerHere,
    "tokens_share": model_measures.TokensShare,
    "transfer_leader": transfer_measures.TransferLeader,
    "truest_map": model_measures.TruestMap,
    "variance_held": weight_measures.VarianceHeld,
    "weakest_gradient": experiment_measures.WeakestGradient,
    "window_cost": formula_measures.WindowCost,
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
