"""Record a training in any loop: curves at every call, and what the model does to a few images as it learns."""

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil, isfinite
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from vitviz.analysis.distance import DistanceStream
from vitviz.analysis.position_similarity import patch_rows
from vitviz.analysis.sinks import summarise_norms
from vitviz.checkpoints import as_checkpoint, pack_checkpoint
from vitviz.data.image_preprocessing import prepare, seen_crop
from vitviz.devices import Device, DType, choose_device, choose_dtype, find_device, place_model
from vitviz.growth import pack_rows
from vitviz.loading import load, open_shared
from vitviz.malloc import give_back
from vitviz.models.abilities import abilities, as_vit
from vitviz.models.formats.format_detection import UNSAID
from vitviz.models.loaded_model import LoadedModel
from vitviz.pin import Pin
from vitviz.probe.capture import as_array
from vitviz.probe.embedding import read_filters
from vitviz.recorded_run import MOST_IMAGES, Moment, RecordedConfig, RecordedRun
from vitviz.training.atomic_files import append_lines, write_whole
from vitviz.training.run_config import clean_name
from vitviz.upload_limits import CHECKPOINT_BYTES
from vitviz.view_inputs import read_image

RATIO = 1.26  # between the steps of two moments: ten for every factor of ten
FREE_S, SHARE = 1.0, 0.015  # moments take at most one second and 1.5 % of the training's time
FLUSH_S = 1.0  # between two writes of the curves
MOST_POINTS = 5000  # of the curves
MOST_RUN_BYTES, USUAL_MOMENTS = 48 * 10**6, 40  # whole attention is stored up to this size of a run
AT_ONCE = 4  # images in one forward pass
SHOWN_PX = 320  # longest side of a stored image


@dataclass
class _Curves:
    """The points of a run's curves; every second one is dropped when they are too many."""

    points: list[dict[str, Any]] = field(default_factory=list)
    stride: int = 1
    calls: int = 0
    written: int = 0

    def add(self, point: dict[str, Any]) -> None:
        if self.calls % self.stride == 0:
            self.points.append(point)
        self.calls += 1

    def write(self, path: Path) -> None:
        """Append the new points, or write all again after every second one was dropped.

        Raises:
            OSError: if the file cannot be written.
        """
        for point in self.points[self.written :]:
            point.update({name: _to_number(point[name]) for name in ("loss", "accuracy") if name in point})
        while len(self.points) > MOST_POINTS:
            self.points, self.stride = self.points[::2], 2 * self.stride
            write_whole(path, b"")
            self.written = 0
        append_lines(path, self.points[self.written :])
        self.written = len(self.points)


class Recorder:
    """Writes the recorded run of one training; a context manager. See `record`."""

    def __init__(
        self,
        model: nn.Module,
        images: Sequence[str | Path | Image.Image | NDArray[Any]],
        out: str | Path,
        *,
        title: str = "",
        pin: tuple[float, float] = (0.5, 0.5),
        weights: bool = False,
        device: Device = None,
        dtype: DType = None,
        **settings: Any,
    ) -> None:
        self._is_off = _is_other_rank()
        if self._is_off:
            return
        if isinstance(images, str | os.PathLike) or not 1 <= len(images) <= MOST_IMAGES:
            raise ValueError(f"images must be a list of 1 to {MOST_IMAGES} images")
        self._device = None if device is None else choose_device(device)
        self._dtype = choose_dtype(dtype)
        loaded = _open_checked(model, settings)
        if weights:
            _check_size(loaded)
        self._module, self._settings, self._classes = model, settings, loaded.classes
        self._with_weights = weights
        vit = as_vit(loaded.config)
        sources = [read_image(image) for image in images]
        self._inputs = torch.from_numpy(np.stack([prepare(s, loaded.preparation).input for s in sources]))
        config = RecordedConfig(
            name=clean_name(title or loaded.title),
            model=vit,
            preparation=loaded.preparation,
            classes=loaded.classes if vit.num_classes else (),
            images=len(sources),
            pin=Pin(pin),
            created=time.time(),
        )
        shown = [seen_crop(source, loaded.preparation, most_px=SHOWN_PX) for source in sources]
        self.run = RecordedRun.create(Path(out), config, shown)
        self._curves = _Curves()
        self._last_step, self._offset, self._next_moment, self._measured = -1, 0, 0, -1
        self._begun_s, self._flushed_s, self._spent_s = time.monotonic(), 0.0, 0.0
        size = vit.depth * vit.num_heads * config.layout.num_tokens**2
        self._with_whole = size * USUAL_MOMENTS <= MOST_RUN_BYTES

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close("" if kind is None else f"The training ended with {kind.__name__}.")

    def step(
        self, step: int, *, loss: float | Tensor | None = None, accuracy: float | Tensor | None = None
    ) -> None:
        """Add a point to the curves, and measure the model if its time has come.

        A failure ends the recording with one warning; the training goes on.

        Args:
            step: number of the update; a count that begins again, as in a new epoch, is continued.
            loss: a number or a tensor of one value.
            accuracy: as `loss`, in [0, 1].

        Example:
            >>> import tempfile, numpy as np, vitviz
            >>> model = vitviz.load("digits_vit").model
            >>> recorder = vitviz.record(model, [np.eye(16)], tempfile.mkdtemp())
            >>> for step in range(3):
            ...     recorder.step(step, loss=2.3 / (1 + step), accuracy=0.5)
            >>> recorder.close()
            >>> [record["step"] for record in recorder.run.records()]
            [0, 1, 2]
        """
        if self._is_off:
            return
        try:
            self._add_step(step, loss, accuracy)
        except Exception as error:  # noqa: BLE001  (a recording must never end a training)
            self._give_up(error)

    def close(self, message: str = "") -> None:
        """Measure the model a last time and end the recording; a second call does nothing.

        Example:
            >>> import tempfile, numpy as np, vitviz
            >>> model = vitviz.load("digits_vit").model
            >>> recorder = vitviz.record(model, [np.eye(16)], tempfile.mkdtemp())
            >>> recorder.close("The loss was not finite.")
            >>> recorder.run.status().state
            'stopped'
        """
        if self._is_off:
            return
        try:
            if self._measured < self._last_step:
                self._measure(self._last_step)
            self._flush("stopped" if message else "done", message)
        except Exception as error:  # noqa: BLE001  (as in `step`)
            self._give_up(error)
        self._is_off = True

    def _add_step(self, step: int, loss: float | Tensor | None, accuracy: float | Tensor | None) -> None:
        step = int(step) + self._offset
        if step <= self._last_step:  # counted from 0 again
            self._offset += self._last_step + 1 - step
            step = self._last_step + 1
        now_s = time.monotonic()
        seconds = now_s - self._begun_s
        given = {"loss": loss, "accuracy": accuracy}
        # A tensor on an accelerator is read when the curves are written, so that this call waits for nothing.
        values = {name: v.detach().clone() if isinstance(v, Tensor) else v for name, v in given.items()}
        self._curves.add({"kind": "step", "step": step, "seconds": round(seconds, 3), **values})
        self._last_step = step
        if step >= self._next_moment and self._spent_s <= FREE_S + SHARE * seconds:
            self._measure(step)
            self._next_moment = max(step + 1, ceil(step * RATIO))
            self._spent_s += time.monotonic() - now_s
        if now_s - self._flushed_s > FLUSH_S:
            self._flush("running")

    def _flush(self, state: str, message: str = "") -> None:
        self._curves.write(self.run.directory / "records.jsonl")
        self._flushed_s = time.monotonic()
        self.run.write_status(state, max(self._last_step, 0), self._flushed_s - self._begun_s, message)

    def _give_up(self, error: Exception) -> None:
        self._is_off = True
        reason = " ".join(str(error).split()) or type(error).__name__
        warnings.warn(f"the recording stopped, the training goes on: {reason}", stacklevel=3)
        try:
            self.run.write_status("stopped", max(self._last_step, 0), 0.0, reason[:200])
        except OSError:  # the disk that stopped it
            pass

    def _measure(self, step: int) -> None:
        model = open_shared(self._module, self._classes, self._settings)
        config = self.run.config
        if self._with_weights:
            path = self.run.weights_path(step)
            path.parent.mkdir(exist_ok=True)
            card = {"title": config.name, "trained_on": UNSAID}
            write_whole(path, pack_checkpoint(as_checkpoint(replace(model, step=step), card)))
        if self._device is not None or self._dtype is not None:
            model = place_model(model, self._device or find_device(model.model), self._dtype)
        first = next(model.model.parameters())
        with torch.inference_mode(), torch.autocast(first.device.type, enabled=False):
            moment = _measure_moment(model, self._inputs.to(first), config, self._with_whole)
        self.run.write_moment(step, moment)
        self._measured = step


def record(
    model: nn.Module,
    images: Sequence[str | Path | Image.Image | NDArray[Any]],
    out: str | Path,
    *,
    title: str = "",
    pin: tuple[float, float] = (0.5, 0.5),
    weights: bool = False,
    device: Device = None,
    dtype: DType = None,
    **settings: Any,
) -> Recorder:
    """Return a recorder that writes a training of a ViT to a folder, which `vitviz app FOLDER` plays.

    The recorder reads the module's own weights: it copies none, registers no hook, draws no random number, and
    leaves mode, gradients and dtype as they are. Under data parallelism only the first process records.

    Args:
        model: a live module of timm, transformers, torchvision, open_clip or vit-pytorch, or this project's.
        images: 1 to 64 images whose attention is stored, as `inspect` takes them.
        out: a new folder.
        title: the run's name; empty: the model's.
        pin: (x, y) in [0, 1], the patch whose attention is stored beside that of [CLS].
        weights: True stores the weights of every measured step too, in half precision: the app then opens each of
            these steps as a model.
        device: where a copy of the weights is measured, as `load` takes it; None: the module itself, without a copy.
        dtype: of that copy, as `load` takes it; None: the module's.
        settings: as `load` takes them, e.g. labels or mean.

    Raises:
        TypeError, PretrainedError: as `load`; nothing is recorded then.
        ValueError: if the model has no attention over all patches, there are no images, the weights to store are more
            than the app opens, or as `load`.
        FileExistsError: if the folder already holds files.

    Example:
        >>> import tempfile, numpy as np, vitviz
        >>> model = vitviz.load("digits_vit").model
        >>> with vitviz.record(model, [np.zeros((16, 16), np.uint8)], tempfile.mkdtemp()) as recorder:
        ...     recorder.step(0, loss=2.3)
        >>> recorder.run.steps()
        [0]
    """
    choices: dict[str, Any] = {"weights": weights, "device": device, "dtype": dtype}
    return Recorder(model, images, out, title=title, pin=pin, **choices, **settings)


def _measure_moment(model: LoadedModel, inputs: Tensor, config: RecordedConfig, with_whole: bool) -> Moment:
    """Run the model on the images, a few at once, and keep what a moment stores, block by block."""
    vit, layout, queries = config.model, config.layout, config.queries
    stream = DistanceStream(vit.depth, layout.grid, layout.patch_px, False, False, False)
    shape = len(inputs), len(queries), vit.depth, vit.num_heads
    rows, peaks = np.zeros((*shape, layout.num_tokens), np.uint8), np.zeros(shape, np.float32)
    lengths = np.zeros((vit.depth, len(inputs), layout.num_tokens), np.float32)
    whole: dict[int, tuple[NDArray[np.uint8], NDArray[np.float16]]] = {}
    tables: dict[str, NDArray[Any]] = {}
    start = 0

    def on_record(name: str, tensor: Tensor) -> None:
        part = name.split(".")
        if name == "pos_embed":
            tables[name] = as_array(tensor)[-1]
        elif part[0] != "blocks" or part[2:] not in ([], ["attn"]):
            return
        elif part[2:]:
            layer, weights = int(part[1]), as_array(tensor)
            stream.add(layer, weights)
            chosen = np.s_[start : start + len(weights)]
            packed = pack_rows(weights[:, :, queries].swapaxes(1, 2))
            rows[chosen, :, layer], peaks[chosen, :, layer] = packed
            if with_whole and start == 0:
                whole[layer] = pack_rows(weights[0])
        else:
            lengths[int(part[1]), start : start + len(tensor)] = as_array(tensor.norm(dim=-1))

    outputs = []
    for start in range(0, len(inputs), AT_ONCE):  # noqa: B007  (read by on_record)
        outputs.append(as_array(model.model(inputs[start : start + AT_ONCE], record=on_record)[0]))
    stored = [whole[layer] for layer in range(vit.depth)] if whole else []
    return Moment(
        positions=patch_rows(tables["pos_embed"], layout.grid) if "pos_embed" in tables else None,
        embedding=read_filters(model),
        distance_px=stream.result().distance_px,
        norms=np.stack([summarise_norms(layer, vit.prefix_tokens) for layer in lengths]),
        outputs=np.concatenate(outputs),
        rows=rows,
        peaks=peaks,
        whole=np.stack([codes for codes, _ in stored]) if stored else None,
        whole_peaks=np.stack([top for _, top in stored]) if stored else None,
    )


def _open_checked(model: nn.Module, settings: dict[str, Any]) -> LoadedModel:
    """Open a copy of a live module that can be recorded.

    Raises:
        TypeError, PretrainedError: as `load`.
        ValueError: if it has no attention over all patches.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch module, received {type(model).__name__}")
    loaded = load(model, device="cpu", **settings)
    give_back()  # the copies that `load` compared
    if not (able := abilities(loaded.config).heads_over_all):
        raise ValueError(f"the attention of this model cannot be recorded: {able.why_not}")
    return loaded


def _check_size(model: LoadedModel) -> None:
    """Check that the app opens a step's weights.

    Raises:
        ValueError: if they are too large.
    """
    size = 2 * sum(tensor.numel() for tensor in model.model.state_dict().values())
    if size > CHECKPOINT_BYTES:
        raise ValueError(
            f"the weights of a step have {size / 2**20:,.0f} MB in half precision, more than the"
            f" {CHECKPOINT_BYTES >> 20} MB that the app opens: record with weights=False"
        )


def _to_number(value: Any) -> float | None:
    """Return a point's value as a finite number; None if there is none."""
    if value is None:
        return None
    number = float(value)
    return number if isfinite(number) else None


def _is_other_rank() -> bool:
    distributed = torch.distributed
    return distributed.is_available() and distributed.is_initialized() and distributed.get_rank() != 0
