"""Record trainings of Lightning's and transformers' trainers: their callbacks around `vitviz.record`."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from vitviz.recorder import Recorder, record


@cache
def _create_lightning_recorder() -> type:
    """Return the class `LightningRecorder`, a callback of the installed Lightning.

    `Trainer(callbacks=[vitviz.LightningRecorder("net", images=..., out="run/")])` records the module's attribute
    `net`, its ViT, with the loss that `training_step` returns.

    Raises:
        ImportError: if neither lightning nor pytorch_lightning is installed.
    """
    callback: Any = _import_first("lightning.pytorch", "pytorch_lightning").Callback

    class LightningRecorder(callback):  # type: ignore[misc]
        """Records the ViT that a LightningModule holds under a name; `settings` are those of `vitviz.record`."""

        def __init__(self, attribute: str, **settings: Any) -> None:
            self._attribute, self._settings = attribute, settings
            self.recorder: Recorder | None = None

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            self.recorder = record(pl_module.get_submodule(self._attribute), **self._settings)

        def on_train_batch_end(
            self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
        ) -> None:
            loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
            if self.recorder is not None:
                self.recorder.step(trainer.global_step - 1, loss=loss)

        def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
            if self.recorder is not None:
                self.recorder.close()

    return LightningRecorder


@cache
def _create_trainer_recorder() -> type:
    """Return the class `TrainerRecorder`, a callback of the installed transformers.

    `Trainer(..., callbacks=[vitviz.TrainerRecorder(images=..., out="run/")])` records the trainer's model, with the
    loss that it logs.

    Raises:
        ImportError: if transformers is not installed.
    """
    callback: Any = _import_first("transformers").TrainerCallback

    class TrainerRecorder(callback):  # type: ignore[misc]
        """Records the model of a Trainer; `settings` are those of `vitviz.record`."""

        def __init__(self, **settings: Any) -> None:
            self._settings = settings
            self.recorder: Recorder | None = None

        def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **more: Any) -> None:
            self.recorder = record(model, **self._settings)

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            if self.recorder is not None and not control.should_log:  # the loss follows in `on_log`
                self.recorder.step(state.global_step)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
            if self.recorder is not None and logs and "loss" in logs:
                self.recorder.step(state.global_step, loss=logs["loss"])

        def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            if self.recorder is not None:
                self.recorder.close()

    return TrainerRecorder


def __getattr__(name: str) -> type:
    """Create a callback's class when it is first asked for, so that its framework is imported only then."""
    if name not in _CLASSES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _CLASSES[name]()


def _import_first(*names: str) -> Any:
    """Return the first of these modules that is installed.

    Raises:
        ImportError: if none is.
    """
    for name in names:
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if error.name not in (name, name.partition(".")[0]):
                raise
    raise ImportError(
        f"install {' or '.join(name.partition('.')[0] for name in names)} to record its trainings"
    )


_CLASSES = {"LightningRecorder": _create_lightning_recorder, "TrainerRecorder": _create_trainer_recorder}
