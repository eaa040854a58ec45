"""Measure which model or method leads when training data is scarce, from stored experiments."""

from dataclasses import dataclass

from vitviz.analysis.data_size import Lead, find_leads, group_curves
from vitviz.analysis.transfer import describe_lead, group_method_curves
from vitviz.experiments.data_size import GRIDS, TITLES
from vitviz.experiments.result import ResultError, read_result
from vitviz.experiments.transfer_plan import PLAN_OF, Plan
from vitviz.lessons.question_kinds import AnswerKind, BaseMeasure, Choose, MeasuredAnswer, QuestionSubject
from vitviz.text import percent, plural

MODELS = tuple(TITLES)


@dataclass(frozen=True)
class DataLeader(BaseMeasure):
    """The model with the highest mean test accuracy at the smallest dataset size of an experiment."""

    kind = Choose(tuple(TITLES.values()))
    dataset: str
    augmented: bool = True

    def __post_init__(self) -> None:
        if self.dataset not in GRIDS:
            raise ValueError(f"expected dataset to be one of {', '.join(GRIDS)}, received {self.dataset!r}")

    def why_not(self, subject: QuestionSubject) -> str:
        return (
            "" if self._load_lead() is not None else "No results for this dataset are stored on this server."
        )

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        lead = self._load_lead()
        assert lead is not None
        first, second = lead.first, lead.second
        best, next_best = (float(curve.mean[curve.pictures == lead.pictures][0]) for curve in (first, second))
        return MeasuredAnswer(
            MODELS.index(first.name),
            f"With {plural(lead.pictures, 'training image')} {first.title} reaches {percent(best)} test accuracy,"
            f" {second.title} is next with {percent(next_best)}: {lead.certainty}.",
        )

    def _load_lead(self) -> Lead | None:
        try:
            rows = read_result(f"data_size_{self.dataset}").rows
        except ResultError:
            return None
        by_size = find_leads(group_curves(rows, TITLES, self.augmented))
        return by_size[0] if by_size else None


@dataclass(frozen=True)
class TransferLeader:
    """The fine-tuning method with the highest mean test accuracy with the fewest images per class, or the most."""

    source: str
    fewest: bool = True

    def __post_init__(self) -> None:
        if self.source not in PLAN_OF:
            raise ValueError(f"expected source to be one of {', '.join(PLAN_OF)}, received {self.source!r}")

    def why_not(self, subject: QuestionSubject) -> str:
        return (
            "" if self._load_lead() is not None else "No results for this backbone are stored on this server."
        )

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Choose(tuple(self._plan.methods.values()))

    def measure_answer(self, subject: QuestionSubject) -> MeasuredAnswer:
        lead = self._load_lead()
        assert lead is not None
        return MeasuredAnswer(list(self._plan.methods).index(lead.first.name), describe_lead(lead))

    @property
    def _plan(self) -> Plan:
        return PLAN_OF[self.source]

    def _load_lead(self) -> Lead | None:
        try:
            rows = read_result(self._plan.name).rows
        except ResultError:
            return None
        by_size = find_leads(group_method_curves(rows, self.source, self._plan.methods))
        return by_size[0 if self.fewest else -1] if by_size else None
