"""Measure which model or method leads when training data is scarce, from stored experiments."""

from dataclasses import dataclass
from typing import Annotated

from vitviz.analysis.data_size import find_leads, group_curves
from vitviz.analysis.transfer import describe_lead, group_method_curves
from vitviz.experiments.data_size import GRIDS, TITLES
from vitviz.experiments.result_file import read_result_if_any
from vitviz.experiments.transfer_plan import PLAN_OF
from vitviz.lessons.question_kinds import AnswerKind, Choose, MeasuredAnswer, QuestionSubject, StoredMeasure
from vitviz.text import percent, plural

MODELS = tuple(TITLES)


@dataclass(frozen=True)
class DataLeader(StoredMeasure):
    """The model with the highest mean test accuracy at the smallest dataset size of an experiment."""

    kind = Choose(tuple(TITLES.values()))
    missing = "No results for this dataset are stored on this server."
    dataset: Annotated[str, GRIDS]
    augmented: bool = True

    def find_answer(self) -> MeasuredAnswer | None:
        stored = read_result_if_any(f"data_size_{self.dataset}")
        by_size = find_leads(group_curves(stored.rows, TITLES, self.augmented)) if stored else []
        if not by_size:
            return None
        lead = by_size[0]
        first, second = lead.first, lead.second
        best, next_best = (float(curve.mean[curve.pictures == lead.pictures][0]) for curve in (first, second))
        return MeasuredAnswer(
            MODELS.index(first.name),
            f"With {plural(lead.pictures, 'training image')} {first.title} reaches {percent(best)} test accuracy,"
            f" {second.title} is next with {percent(next_best)}: {lead.certainty}.",
        )


@dataclass(frozen=True)
class TransferLeader(StoredMeasure):
    """The fine-tuning method with the highest mean test accuracy with the fewest images per class, or the most."""

    missing = "No results for this backbone are stored on this server."
    source: Annotated[str, PLAN_OF]
    fewest: bool = True

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Choose(tuple(PLAN_OF[self.source].methods.values()))

    def find_answer(self) -> MeasuredAnswer | None:
        plan = PLAN_OF[self.source]
        stored = read_result_if_any(plan.name)
        by_size = find_leads(group_method_curves(stored.rows, self.source, plan.methods)) if stored else []
        if not by_size:
            return None
        lead = by_size[0 if self.fewest else -1]
        return MeasuredAnswer(list(plan.methods).index(lead.first.name), describe_lead(lead))
