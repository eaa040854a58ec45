"""Define the events of a training run, which are written as JSON lines."""

from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor


@dataclass(frozen=True)
class StepRecord:
    """One moment of the training; loss, gradient norm and speed are means since the record before."""

    step: int  # updates made so far
    epoch: float
    seen: int  # images
    loss: float
    accuracy: float  # on the training batches, a running mean; of mixed images the larger share counts
    learning_rate: float
    weight_decay: float
    gradient_norm: float  # before clipping
    images_per_second: float
    seconds: float  # spent training and evaluating, pauses left out


@dataclass(frozen=True)
class Evaluation:
    """Accuracy and mean cross-entropy on held-out images."""

    split: Literal["validation", "test"]
    step: int
    epoch: float
    accuracy: float
    loss: float
    images: int
    seconds: float
    confusion: list[list[int]] = field(default_factory=list)  # [true][predicted]; the final ones only


@dataclass(frozen=True)
class Snapshot:
    """The weights (averaged if the config says so) at a step, fp32, on the CPU."""

    step: int
    epoch: float
    seconds: float
    state: dict[str, Tensor]


@dataclass(frozen=True)
class Ended:
    """The last event: 'done' (with the reason of early stopping, if any) or 'diverged' (with the cause)."""

    reason: Literal["done", "diverged"]
    step: int
    message: str


Event = StepRecord | Evaluation | Snapshot | Ended
