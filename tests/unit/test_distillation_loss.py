"""The distillation loss against sums worked out by hand."""

from __future__ import annotations

from math import exp, log

import pytest
import torch
from torch import Tensor, nn

from vitviz.config import TrainConfig
from vitviz.training.augmentation import Mixture
from vitviz.training.distillation_loss import distillation_loss

CLS, DIST, TEACHER = [2.0, 0.0], [0.0, 1.0], [0.0, 3.0]
LABEL = 0


class Says(nn.Module):
    """Always the same logits, and by name what each head says."""

    def __init__(self, logits: list[float], **heads: list[float]) -> None:
        super().__init__()
        self.logits = torch.tensor([logits])
        self.heads = {name: torch.tensor([values]) for name, values in heads.items()}

    def forward(self, x: Tensor, record: object = None) -> Tensor | tuple[Tensor, dict[str, Tensor]]:
        return self.logits if record is None else (self.logits, self.heads)


def cross_entropy(logits: list[float], label: int) -> float:
    return log(sum(exp(value) for value in logits)) - logits[label]


def divergence(teacher: list[float], student: list[float], temperature: float) -> float:
    """KL(p || q) = sum p log(p / q)."""
    p, q = (
        [exp(v / temperature) / sum(exp(w / temperature) for w in logits) for v in logits]
        for logits in (teacher, student)
    )
    return sum(a * log(a / b) for a, b in zip(p, q, strict=True))


def loss_of(kind: str, targets: Mixture, **heads: list[float]) -> float:
    config = TrainConfig(distill_from="teacher", distillation=kind, label_smoothing=0.0)  # type: ignore[arg-type]
    _, loss = distillation_loss(Says(CLS, **heads), Says(TEACHER), torch.zeros(1), targets, config)
    return loss.item()


TWO_HEADS = {"logits_cls": CLS, "logits_dist": DIST}
ONE, MIXED = Mixture(torch.tensor([LABEL])), Mixture(torch.tensor([0]), torch.tensor([1]), 0.7)
OWN, OTHER, FOLLOWED = cross_entropy(CLS, LABEL), cross_entropy(CLS, 1), cross_entropy(DIST, 1)


@pytest.mark.parametrize(
    ("kind", "targets", "heads", "expected"),
    [
        ("hard", ONE, TWO_HEADS, (OWN + FOLLOWED) / 2),  # of the label and of the teacher's answer
        ("soft", ONE, TWO_HEADS, 0.9 * OWN + 0.1 * 9 * divergence(TEACHER, DIST, 3.0)),
        ("hard", ONE, {}, (OWN + OTHER) / 2),  # a student with one head learns both with it
        ("hard", MIXED, TWO_HEADS, (0.7 * OWN + 0.3 * OTHER + FOLLOWED) / 2),  # the teacher's is not mixed
    ],
)
def test_the_loss_by_hand(
    kind: str, targets: Mixture, heads: dict[str, list[float]], expected: float
) -> None:
    assert loss_of(kind, targets, **heads) == pytest.approx(expected)


def test_weight_and_temperature_are_the_configs() -> None:
    config = TrainConfig(
        distill_from="teacher", distillation="soft", distillation_weight=0.6, distillation_temperature=2.0
    )
    targets = Mixture(torch.tensor([LABEL]))
    _, loss = distillation_loss(Says(CLS, **TWO_HEADS), Says(TEACHER), torch.zeros(1), targets, config)
    expected = 0.4 * cross_entropy(CLS, LABEL) + 0.6 * 4 * divergence(TEACHER, DIST, 2.0)
    assert loss.item() == pytest.approx(expected)
    for wrong in ({"distillation_weight": 1.5}, {"distillation_temperature": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            TrainConfig(**wrong)  # type: ignore[arg-type]
