"""Compute the distillation loss of DeiT (Touvron et al. 2021)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitviz.config import TrainConfig
from vitviz.training.augmentation import Mixture


def distillation_loss(
    student: nn.Module, teacher: nn.Module, inputs: Tensor, targets: Mixture, config: TrainConfig
) -> tuple[Tensor, Tensor]:
    """Return (logits, loss) of a student distilled from a teacher.

    hard: L = 1/2 CE(cls, y) + 1/2 CE(dist, argmax teacher)
    soft: L = (1 - lambda) CE(cls, y) + lambda tau^2 KL(teacher/tau || dist/tau)

    lambda and tau are the config's `distillation_weight` and `distillation_temperature`, 0.1 and 3 in the paper

    A student without a distillation token uses its one head for both terms.
    """
    logits, record = student(inputs, record=("logits_cls", "logits_dist"))
    logits = logits.float()
    by_cls = record.get("logits_cls", logits).float()
    by_dist = record.get("logits_dist", logits).float()
    with torch.no_grad():
        teacher_logits = teacher(inputs).float()
    loss = targets.cross_entropy(by_cls, config.label_smoothing)
    if config.distillation == "hard":
        return logits, (loss + F.cross_entropy(by_dist, teacher_logits.argmax(dim=1))) / 2
    weight, temperature = config.distillation_weight, config.distillation_temperature
    divergence = F.kl_div(
        F.log_softmax(by_dist / temperature, dim=1),
        F.log_softmax(teacher_logits / temperature, dim=1),
        reduction="batchmean",
        log_target=True,
    )
    return logits, (1 - weight) * loss + weight * temperature**2 * divergence
