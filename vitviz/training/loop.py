"""Train a model as a generator of events, independent of interface, files and processes.

All randomness of an update is a function of (seed, update), so a resumed run equals an uninterrupted one, and
runs that share a process do not disturb each other.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitviz.analysis.mistakes import confusion_counts
from vitviz.config import CNNConfig, ModelConfig, Preparation, TrainConfig
from vitviz.models.backbone_transfer import create_initialised_model
from vitviz.models.cnn import ConvNet
from vitviz.models.zoo import create_model
from vitviz.training.augmentation import augment, mix
from vitviz.training.batches import PreparedImages, TrainingData, make_normaliser
from vitviz.training.early_stopping import StoppingRule
from vitviz.training.optimizers import load_optimizer_tensors, make_optimizers, optimizer_tensors
from vitviz.training.records import Ended, Evaluation, Event, Snapshot, StepRecord
from vitviz.training.schedule import learning_rate_factor, snapshot_marks
from vitviz.training.training_step import ThreadPool
from vitviz.training.weights import Weights

MAX_RECORDS = 5000  # of a run's steps; longer runs record means over several steps
QUICK_VALIDATION = 2048  # images at most while training; all of them at the end
VALIDATION_SPACING = 8  # trained images per validated one: about 4 % of the time
WHITENING_IMAGES = 5000  # whose patches decide the stem of a whitened CNN
VALIDATIONS = 10  # at least, of a run of known length: a short run on few images has a curve too
EVALUATION_BATCH = 256
Each = Callable[[Callable[[int], Tensor], Iterable[int]], Iterable[Tensor]]


class Diverged(Exception):
    """The loss or the gradient is not finite; the trained parameters are those before this update."""


class Trainer:
    """A model in training: `advance` makes one update; `train` yields the events.

    Args:
        teacher: the distillation teacher, made for the same preparation; required by `config.distill_from`.
        start: the weights to begin with, as `models.transfer` makes them; required by `config.start_from`.

    Raises:
        ValueError: if model, splits and config do not fit together.
    """

    def __init__(
        self,
        model_config: ModelConfig,
        config: TrainConfig,
        splits: TrainingData,
        device: str = "cpu",
        teacher: nn.Module | None = None,
        start: Mapping[str, Tensor] | None = None,
    ) -> None:
        self.device = torch.device(device)
        _check(model_config, config, splits, teacher, start)
        self.model_config, self.config, self.splits = model_config, config, splits
        fast = config.precision == "auto" and bf16_is_fast(self.device)
        self.dtype = torch.bfloat16 if fast else torch.float32
        self.precision = "bf16" if fast else "fp32"
        model = create_initialised_model(model_config, config.seed, start).to(self.device)
        if isinstance(model, ConvNet) and model.config.whitened and start is None:
            normalise, _ = make_normaliser(splits.preparation, torch.float32, self.device)
            model.whiten(normalise(splits.train.images[:WHITENING_IMAGES].to(self.device)))
        self.weights = Weights(model, config.frozen, self.dtype, config.ema_decay, resting=start is not None)
        self.optimizers = make_optimizers(self.weights, config)
        self.thread_pool = ThreadPool(self.weights, config, self.device, teacher)
        self.normalise, self.fill = make_normaliser(splits.preparation, self.dtype, self.device)
        self.train_images = splits.train.to(self.device)
        self.step = 0
        self.seconds = 0.0
        self.learning_rate, self.weight_decay = config.learning_rate, config.weight_decay
        self._rate = config.learning_rate  # of the last update, where no scale applies
        count, batch = len(splits.train), config.batch_size
        self.total_steps = (
            None if config.epochs is None else max(1, -(-round(config.epochs * count) // batch))
        )
        self.record_every = 1 if self.total_steps is None else -(-self.total_steps // MAX_RECORDS)
        self.record_all = False  # somebody watches single updates
        spaced = min(len(splits.validation), QUICK_VALIDATION) * VALIDATION_SPACING // batch
        self.validate_every = max(1, min(spaced, (self.total_steps or spaced * VALIDATIONS) // VALIDATIONS))
        self._snapshot_marks = snapshot_marks(config.snapshots, self.total_steps)
        self.early_stopping = StoppingRule(config)
        self._accuracy = 0.0
        self._order: tuple[int, Tensor] = (-1, torch.empty(0))
        self._pending: list[tuple[float, float]] = []  # (loss, gradient norm) since the last record
        self._speed: deque[float] = deque(maxlen=20)

    @property
    def epoch(self) -> float:
        """Number of passes over the training images so far."""
        return self.step * self.config.batch_size / len(self.train_images)

    @property
    def progress(self) -> float:
        """Completed share of the run, in [0, 1]."""
        if self.total_steps is not None:
            return self.step / self.total_steps
        return min(1.0, self.seconds / (self.config.seconds or 1.0))

    @property
    def finished(self) -> bool:
        """True if the run has made all its updates or used all its seconds."""
        return self.progress >= 1.0

    @property
    def has_news(self) -> bool:
        """True if updates were made since the last record."""
        return bool(self._pending)

    def change(self, learning_rate: float | None = None, weight_decay: float | None = None) -> None:
        """Set the peak learning rate or weight decay from the next update on; the schedule's shape stays.

        Raises:
            ValueError: if a value is not one that a TrainConfig allows.
        """
        if learning_rate is not None:
            if not 0 < learning_rate <= 10:
                raise ValueError(f"learning_rate must lie in (0, 10], received {learning_rate!r}")
            self.learning_rate = float(learning_rate)
        if weight_decay is not None:
            if not 0 <= weight_decay <= 10:
                raise ValueError(f"weight_decay must lie in [0, 10], received {weight_decay!r}")
            self.weight_decay = float(weight_decay)

    def advance(self) -> None:
        """Make one update.

        Raises:
            Diverged: if loss or gradient are not finite; of the model only batch norm's statistics have moved then.
        """
        started = perf_counter()
        generator = torch.Generator().manual_seed(_seed(self.config.seed, self.step))
        if self.config.stays_in_eval and self.step >= self.validate_every:
            self.weights.model.eval()
        chosen = self._batch()
        flipped = self._alternately_flipped(chosen) if self.config.alternate_flip else None
        images = self.train_images.images.index_select(0, chosen)
        images = augment(images, self.config, self.fill, generator, flipped)
        inputs, targets = mix(
            self.normalise(images), self.train_images.labels[chosen], self.config, generator
        )
        # What is dropped is a function of the update too.
        logits, loss, parts = self.thread_pool.learn(inputs, targets, _seed(self.config.seed, -1 - self.step))
        norm = self.weights.collect_gradient(parts)
        if not (np.isfinite(loss) and np.isfinite(norm)):
            raise Diverged(
                f"The {'loss' if not np.isfinite(loss) else 'gradient'} is NaN or infinite at step {self.step + 1}:"
                " use a smaller learning rate"
            )
        self._update(norm)
        hits = (logits.argmax(dim=1) == targets.labels).float().mean().item()
        keep = min(self.step / (self.step + 1), 0.95)
        self._accuracy = keep * self._accuracy + (1 - keep) * hits
        self.step += 1
        self._pending.append((loss, norm))
        self._speed.append(perf_counter() - started)

    def _batch(self) -> Tensor:
        """Return the indices of the next images, from the concatenated shuffled orders of the epochs."""
        count, batch = len(self.train_images), self.config.batch_size
        first = self.step * batch
        parts = []
        while batch:
            epoch, start = divmod(first, count)
            if self._order[0] != epoch:
                generator = torch.Generator().manual_seed(_seed(self.config.seed + 1, epoch))
                self._order = (epoch, torch.randperm(count, generator=generator))
            parts.append(self._order[1][start : start + batch])
            first, batch = first + len(parts[-1]), batch - len(parts[-1])
        return torch.cat(parts).to(self.device)

    def _alternately_flipped(self, chosen: Tensor) -> Tensor:
        """Return which images (B,) of the next batch are flipped: a random half in even epochs, the others in odd."""
        count = len(self.train_images)
        generator = torch.Generator().manual_seed(_seed(self.config.seed + 2, 0))
        first = torch.rand(count, generator=generator) < 0.5
        seen = self.step * self.config.batch_size + torch.arange(len(chosen))
        return first[chosen.cpu()] ^ (seen // count % 2 == 1)

    def _update(self, norm: float) -> None:
        clip = self.config.gradient_clip
        if clip is not None and norm > clip:
            self.weights.gradient.mul_(clip / norm)
        self._rate = self.learning_rate * self._factor()
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self._rate * group["scale"]
                if group["decays"]:
                    group["weight_decay"] = self.weight_decay / group.get("decay_divisor", 1.0)
            optimizer.step()
        self.weights.publish(self.step)

    def _factor(self) -> float:
        # Update s uses the schedule at s - 1/2: neither the first nor the last is lost.
        progress = self.progress if self.total_steps is None else (self.step + 0.5) / self.total_steps
        return learning_rate_factor(self.config.schedule, progress, self.config.warmup_fraction)

    def record(self) -> StepRecord:
        """Return the means over the updates since the last record."""
        loss, norm = np.mean(self._pending, axis=0).tolist()
        self._pending.clear()
        speed = self.config.batch_size * len(self._speed) / max(sum(self._speed), 1e-9)
        seen = self.step * self.config.batch_size
        return StepRecord(
            step=self.step,
            epoch=self.epoch,
            seen=seen,
            loss=loss,
            accuracy=self._accuracy,
            learning_rate=self._rate,
            weight_decay=self.weight_decay,
            gradient_norm=norm,
            images_per_second=speed,
            seconds=self.seconds,
        )

    def snapshot(self) -> Snapshot:
        """Return the weights now, on the CPU and not shared."""
        return Snapshot(self.step, self.epoch, self.seconds, self.weights.state())

    @torch.no_grad()
    def evaluate(self, split: str, limit: int | None = None, exact: bool = False) -> Evaluation:
        """Return the accuracy on the validation or the test images.

        Args:
            split: 'validation' or 'test'.
            limit: at most so many images.
            exact: fp32 and with the confusion matrix, as the saved weights will be used.
        """
        images = self.splits.validation if split == "validation" else self.splits.test
        images = PreparedImages(images.images[:limit], images.labels[:limit])
        return _evaluation(self, split, self.logits(images, exact), images.labels, exact)

    def logits(self, images: PreparedImages, exact: bool = False) -> Tensor:
        """Return logits (N, classes) in the training precision; `exact`: fp32, as the saved weights will be used."""
        each = self.thread_pool.map_parts
        if exact:
            state, preparation = self.weights.state(), self.splits.preparation
            return predict_exactly(self.model_config, state, preparation, images, self.device, each)
        with self.weights.use_for_evaluation() as shown:
            return predict(shown, images, self.normalise, self.device, each)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return (tensors, JSON values) for a bit-identical resume by `load_state`."""
        tensors = {f"weights.{name}": tensor for name, tensor in self.weights.tensors().items()}
        remembered = optimizer_tensors(self.optimizers)
        tensors |= {f"optimizer.{name}": tensor for name, tensor in remembered.items()}
        values = {
            "step": self.step,
            "seconds": self.seconds,
            "learning_rate": self.learning_rate,
            "weight_decay": self.weight_decay,
            "accuracy": self._accuracy,
            "best": self.early_stopping.best,
        }
        return tensors, values

    def load_state(self, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
        """Restore from `state`."""
        parts: dict[str, dict[str, Tensor]] = {"weights": {}, "optimizer": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = tensor
        self.weights.load_tensors(parts["weights"])
        load_optimizer_tensors(self.optimizers, parts["optimizer"])
        self.step, self.seconds = int(values["step"]), float(values["seconds"])
        self.learning_rate, self.weight_decay = float(values["learning_rate"]), float(values["weight_decay"])
        self._accuracy = float(values["accuracy"])
        self.early_stopping.best = values.get("best", self.early_stopping.best)  # old runs have none

    def snapshot_due(self, before: float) -> bool:
        """Return True if the run passed a snapshot's moment since progress was `before`."""
        return any(before < mark <= self.progress + 1e-12 for mark in self._snapshot_marks)


def train(trainer: Trainer) -> Iterator[Event]:
    """Yield the events of a training to its end; the clock (`seconds`) stops while the consumer holds an event."""
    if trainer.step == 0:
        yield trainer.snapshot()
    while True:
        events = make_update(trainer)
        yield from events
        if events and isinstance(events[-1], Ended):
            return


def make_update(trainer: Trainer) -> list[Event]:
    """Make one update with the evaluations and snapshots that are due after it."""
    mark = (clock := process_time if trainer.config.clock == "core" else perf_counter)()

    def tick() -> None:
        nonlocal mark
        time_s = clock()
        trainer.seconds += time_s - mark
        mark = time_s

    before = trainer.progress
    if not trainer.finished:  # time may run out in an evaluation, and a finished run may be resumed
        try:
            trainer.advance()
        except Diverged as error:
            return [Ended("diverged", trainer.step, str(error))]
    tick()
    events: list[Event] = []
    last = trainer.finished
    if trainer.has_news and (last or trainer.record_all or trainer.step % trainer.record_every == 0):
        events.append(trainer.record())
    why, exact = "", None
    if not last and trainer.step % trainer.validate_every == 0:
        evaluation = trainer.evaluate("validation", QUICK_VALIDATION)
        events.append(evaluation)
        if trainer.early_stopping.check(evaluation):  # decided by the saved weights on all images
            exact = trainer.evaluate("validation", exact=True)
            why = trainer.early_stopping.check(exact)
    if last := last or bool(why):
        events.append(exact or trainer.evaluate("validation", exact=True))
    if last or trainer.snapshot_due(before):
        events.append(trainer.snapshot())
    if last:
        events.append(trainer.evaluate("test", exact=True))
        events.append(Ended("done", trainer.step, why))
    tick()
    return events


def predict(
    model: nn.Module, images: PreparedImages, normalise: Any, device: torch.device, each: Each = map
) -> Tensor:
    """fp32 logits (N, classes) of images, in batches, without gradients; `each` maps a function over the batches."""

    @torch.inference_mode()
    def logits(start: int) -> Tensor:
        batch = images.images[start : start + EVALUATION_BATCH]
        shown: Tensor = model(normalise(batch.to(device)))
        return shown.float().cpu()

    return torch.cat(list(each(logits, range(0, len(images), EVALUATION_BATCH))))


def predict_exactly(
    config: ModelConfig,
    state: Mapping[str, Tensor],
    preparation: Preparation,
    images: PreparedImages,
    device: torch.device,
    each: Each = map,
) -> Tensor:
    """Return the logits of images by saved weights, in fp32, as `predict`."""
    model = create_model(config)
    model.load_state_dict(state)
    normalise, _ = make_normaliser(preparation, torch.float32, device)
    return predict(model.to(device).eval(), images, normalise, device, each)


def _evaluation(trainer: Trainer, split: str, logits: Tensor, labels: Tensor, exact: bool) -> Evaluation:
    guesses = logits.argmax(dim=1)
    classes = logits.shape[1]
    return Evaluation(
        split="test" if split == "test" else "validation",
        step=trainer.step,
        epoch=trainer.epoch,
        accuracy=(guesses == labels).double().mean().item(),
        loss=F.cross_entropy(logits, labels).item(),
        images=len(labels),
        seconds=trainer.seconds,
        confusion=confusion_counts(labels.numpy(), guesses.numpy(), classes).tolist() if exact else [],
    )


def _seed(seed: int, index: int) -> int:
    """Return a well mixed 63-bit seed of a pair (splitmix64's finisher), so that neighbours are not alike."""
    z = (seed * 0x9E3779B97F4A7C15 + index * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB) & (2**64 - 1)
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
    return (z ^ (z >> 31)) >> 1


def _check(
    model_config: ModelConfig,
    config: TrainConfig,
    splits: TrainingData,
    teacher: nn.Module | None,
    start: Mapping[str, Tensor] | None,
) -> None:
    for name, has, needs in (
        ("image_size", splits.preparation.image_size, model_config.image_size),
        ("in_chans", splits.preparation.in_chans, model_config.in_chans),
        ("num_classes", len(splits.classes), model_config.num_classes),
    ):
        if has != needs:
            raise ValueError(f"{name} of model and images must match, received {needs} and {has}")
    if config.fixed_norms and (config.optimizer != "muon" or not isinstance(model_config, CNNConfig)):
        raise ValueError(
            f"fixed_norms needs a CNN and the optimizer muon, received a {model_config.kind} and {config.optimizer}"
        )
    if config.batch_size > len(splits.train):
        raise ValueError(
            f"batch_size {config.batch_size} is larger than the {len(splits.train)} training images"
        )
    if teacher is not None and getattr(model_config, "softmax_output", False):
        raise ValueError("a student must output logits, received a model with softmax_output")
    if (config.distill_from is None) != (teacher is None):
        raise ValueError("distill_from and a teacher must be given together, received only one of them")
    if (config.start_from is None) != (start is None):
        raise ValueError("start_from and initial weights must be given together, received only one of them")


def bf16_is_fast(device: torch.device) -> bool:
    """Return True if bf16 matrix products have hardware: any CUDA device here, or a CPU with AVX-512 bf16 or AMX."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    checks = (
        getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    )
    return device.type == "cpu" and any(check is not None and check() for check in checks)
