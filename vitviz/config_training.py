"""Frozen, validated description of a training: its data, optimisation and bookkeeping."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from vitviz.config_fields import Condition, check_fields, declare

_SOFT = Condition("distillation", ("soft",), "hard distillation has weight 0.5 and no temperature")


@dataclass(frozen=True)
class TrainConfig:
    """A training run's data, optimisation and bookkeeping; everything but the model."""

    kind: ClassVar[str] = "train"

    dataset: str = declare("digits", "Dataset")
    train_fraction: float = declare(
        1.0, "Training fraction", "Fraction of training images used.", "(0, 1]", step=0.1
    )
    a_class: int | None = declare(None, "Images per class")  # None: as many as the fraction gives
    validation_fraction: float = declare(
        0.1, "Validation fraction", "Fraction of training images held out.", "(0, 0.5]", step=0.05
    )
    epochs: float | None = declare(10.0, "Epochs", within="(0, 10000]")
    seconds: float | None = declare(None, "Seconds", within="(0, 604800]")
    stop_accuracy: float | None = declare(
        None,
        "Stop at accuracy, 0 to 1",
        "Validation accuracy that ends training: 0.9 for 90 %; 0: off. The learning rate's schedule keeps its length.",
        "(0, 1]",
        step=0.01,
    )
    patience: float | None = declare(
        None,
        "Patience",
        "Epochs without improvement that end training; 0: off.",
        "(0, 10000]",
        unit="epochs",
    )
    batch_size: int = declare(64, "Batch size", "Images per step.", top=4096)
    optimizer: Literal["adamw", "adam", "sgd", "muon"] = declare(
        "adamw",
        "Optimizer",
        "AdamW decouples weight decay from the gradient; Muon orthogonalises updates of hidden matrices.",
        options={"adamw": "AdamW", "adam": "Adam (L2)", "sgd": "SGD", "muon": "Muon"},
    )
    learning_rate: float = declare(1e-3, "Learning rate", "Peak value of the schedule.", "(0, 10]", step=5e-4)
    weight_decay: float = declare(
        0.05, "Weight decay", "Rate at which weights decay towards zero.", "[0, 10]", step=0.01
    )
    # Muon's matrices are a CNN's filters, each layer's of one norm; biases and head learn by SGD (Jordan 2024).
    fixed_norms: bool = declare(False, "Fixed norms of filters")
    momentum: float = declare(
        0.9,
        "Momentum",
        "Fraction of the previous update added to the next.",
        "[0, 1)",
        step=0.05,
        only=Condition("optimizer", ("sgd",), "only SGD uses this setting"),
    )
    schedule: Literal["constant", "warmup_cosine", "one_cycle"] = declare(
        "warmup_cosine",
        "Schedule",
        "Learning rate over the course of training.",
        options={
            "constant": "constant",
            "warmup_cosine": "warm-up, then cosine",
            "one_cycle": "one cycle",
        },
    )
    warmup_fraction: float = declare(
        0.1,
        "Warm-up fraction",
        "Fraction of training spent on warm-up; at least 0.3 with one cycle.",
        "[0, 1)",
        step=0.05,
        only=Condition(
            "schedule", ("warmup_cosine", "one_cycle"), "a constant learning rate does not warm up"
        ),
    )
    label_smoothing: float = declare(
        0.0, "Label smoothing", "Fraction of the target spread evenly over all classes.", "[0, 1)", step=0.05
    )
    gradient_clip: float | None = declare(
        None, "Gradient clipping norm", "Largest L2 norm; 0 turns clipping off.", "(0, inf)", step=0.5
    )
    ema_decay: float | None = declare(  # shown, evaluated and saved are the averaged weights
        None, "EMA decay", "Decay of the weights' moving average; 0: off.", "(0, 1)", step=0.01
    )
    flip: bool = declare(False, "Horizontal flip", "Flips half of the images; unsuitable for digits.")
    # Of each image in every other epoch (Jordan 2024).
    alternate_flip: bool = declare(False, "Alternating flip")
    shift_px: int = declare(0, "Largest shift", "Random shift of each image.", "[0, 64]", unit="px", top=16)
    erase_px: int = declare(
        0,
        "Cutout",
        "Side of an erased square (DeVries and Taylor 2017); 0: off.",
        "[0, 64]",
        unit="px",
        top=28,
    )
    mixup_alpha: float = declare(
        0.0, "Mixup α", "Blends two images (Zhang et al. 2018); 0: off.", "[0, 64]", step=0.1
    )
    cutmix_alpha: float = declare(
        0.0, "CutMix α", "Pastes part of another image (Yun et al. 2019); 0: off.", "[0, 64]", step=0.1
    )
    # Parameter-name prefixes outside the optimizer (recipe A's patch_embed).
    frozen: tuple[str, ...] = declare(
        (), "Frozen parameters", options={"patch_embed": "patch embedding", "pos_embed": "positions"}
    )
    stays_in_eval: bool = declare(  # after the first validation nobody calls model.train()
        False, "Stays in eval mode", "A common bug: dropout stays off after the first validation."
    )
    start_from: str | None = declare(None, "Initial weights")  # name; None: random
    start_digest: str | None = declare(None, "Digest of the initial weights")
    # Peak of the new head; None: as the backbone's.
    head_learning_rate: float | None = declare(None, "Learning rate of the head", within="(0, 10]")
    # Each layer's learning rate as a fraction of the next one's.
    layer_decay: float = declare(1.0, "Layer-wise learning-rate decay", within="(0, 1]")
    distill_from: str | None = declare(None, "Teacher")  # a checkpoint's path
    distillation: Literal["hard", "soft"] = declare(
        "hard",
        "Target",
        "Hard: the teacher's predicted class is the target. Soft: its probabilities are.",
        options={"hard": "hard: predicted class", "soft": "soft: probabilities"},
    )
    distillation_weight: float = declare(
        0.1,
        "Distillation weight",
        "Weight λ of the teacher's loss; the labels get 1 - λ.",
        "[0, 1]",
        step=0.05,
        only=_SOFT,
    )
    distillation_temperature: float = declare(
        3.0,
        "Temperature",
        "Divides the logits by τ; a higher value gives more uniform teacher probabilities.",
        "[0.1, 100]",
        step=0.5,
        only=_SOFT,
    )
    precision: Literal["auto", "fp32"] = declare(  # auto: bf16 where the processor has it
        "auto",
        "Precision",
        "Precision of training; input images are always fp32.",
        options={"auto": "bf16 if supported", "fp32": "fp32"},
    )
    threads: int = (
        declare(  # each computes a part of every batch; 0: as many as are free when the run is made
            1,
            "Threads",
            "CPU threads per batch; 0 uses all free cores, or one thread with BatchNorm.",
            "[0, inf)",
            top=64,
        )
    )
    # core: of the processor's own time, the same on a busy machine
    clock: Literal["wall", "core"] = declare("wall", "Clock")
    seed: int = declare(
        0,
        "Seed",
        "The same seed, thread count and machine give identical results.",
        "(-inf, inf)",
        top=1_000_000,
    )
    snapshots: int = declare(
        12, "Snapshots", "Number of snapshots on the timeline; they are denser at the start.", top=120
    )

    def __post_init__(self) -> None:
        check_fields(self)
        _check_start(self)
        if self.alternate_flip and not self.flip:
            raise ValueError("alternate_flip needs flip=True, received flip=False")
        if self.a_class is not None and self.train_fraction != 1:
            raise ValueError(
                "a_class has no train_fraction beside it,"
                f" received {self.a_class!r} and {self.train_fraction!r}"
            )
        if (self.epochs is None) == (self.seconds is None):
            raise ValueError(
                f"state exactly one of epochs and seconds, received {self.epochs!r} and {self.seconds!r}"
            )


def _check_start(config: TrainConfig) -> None:
    if (config.start_from is None) != (config.start_digest is None):
        raise ValueError(
            "start_from and start_digest go together,"
            f" received {config.start_from!r} and {config.start_digest!r}"
        )
    if any(
        text is not None and not 0 < len(text) <= 200 for text in (config.start_from, config.start_digest)
    ):
        raise ValueError("start_from and start_digest must be of 1 to 200 characters")
    if config.optimizer == "muon" and (config.head_learning_rate is not None or config.layer_decay != 1):
        raise ValueError(
            "muon has one learning rate: head_learning_rate and layer_decay need another optimizer"
        )
