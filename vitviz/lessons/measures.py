"""Name the measures that a lesson's question may use, and read them from its file.

The list is closed: a file holds a measure's name and parameters, never code. Only questions of an author's own
(`authored_measures`) hold their answer.
"""

from collections.abc import Mapping
from typing import Any

from vitviz.lessons import (
    authored_questions,
    experiment_measures,
    formula_measures,
    model_measures,
    weight_measures,
)
from vitviz.lessons.question_kinds import Measure
from vitviz.lessons.typed_tables import LessonError, build_dataclass, list_names
from vitviz.text import cut

MEASURES: dict[str, type[Any]] = {
    "ablated": model_measures.AblatedProbability,
    "accuracy": weight_measures.Accuracy,
    "answer": model_measures.PredictedClass,
    "attention_over_convolutions": experiment_measures.AttentionOverConvolutions,
    "blocks_to_reach": formula_measures.BlocksToReach,
    "changed_images": experiment_measures.ChangedImageAccuracy,
    "choice": authored_questions.Choice,
    "data_leader": experiment_measures.DataLeader,
    "knob_best": experiment_measures.BestHyperparameterValue,
    "longer_branch": model_measures.LongerBranch,
    "looks_at": model_measures.MostAttendedPatch,
    "masked_pairs": formula_measures.MaskedPairs,
    "mass_on_self": model_measures.SelfAttentionShare,
    "more_multiply_adds": formula_measures.MoreMultiplyAdds,
    "nearest_layer": model_measures.MostLocalLayer,
    "neighbours_alike": weight_measures.NeighbourSimilarity,
    "number": authored_questions.Number,
    "order": authored_questions.Order,
    "patch_count": formula_measures.PatchCount,
    "patches_reached": formula_measures.PatchesReached,
    "place": authored_questions.Place,
    "race_accuracy": weight_measures.RaceAccuracy,
    "readable_in_corner": formula_measures.ReadableInCorner,
    "settling_layer": model_measures.SettlingLayer,
    "share_of_e": weight_measures.EmbeddingShare,
    "shuffled": model_measures.ShuffledPrediction,
    "sinusoid_similarity": formula_measures.SinusoidSimilarity,
    "slip_cost": experiment_measures.BugCost,
    "slower_here": formula_measures.SlowerModel,
    "text": authored_questions.FreeText,
    "tokens_share": model_measures.SharedAttention,
    "transfer_leader": experiment_measures.TransferLeader,
    "truest_map": model_measures.MostFaithfulMap,
    "variance_held": weight_measures.ExplainedVariance,
    "weakest_gradient": experiment_measures.WeakestGradient,
    "window_cost": formula_measures.WindowCost,
}
MEASURE_NAMES = {measure: name for name, measure in MEASURES.items()}


def read_measure(name: str, given: Mapping[str, Any], place: str) -> Measure:
    """Return the measure that a file names, with the file's parameters.

    Raises:
        LessonError: if the name is unknown or a parameter is wrong.
    """
    if name not in MEASURES:
        raise LessonError(
            f"{place}: expected measure to be one of {list_names(MEASURES)}, received {cut(name, 40)!r}"
        )
    measure: Measure = build_dataclass(MEASURES[name], given, f"{place}, with")
    return measure
