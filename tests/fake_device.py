"""A second device without a GPU: its tensors are computed on the CPU and refuse to meet the CPU's.

    python tests/fake_device.py   runs models of each kind on it

A process of its own, because the device stays registered as the machine's accelerator.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import (
    _DummyBackendModule,
    _setup_privateuseone_for_python_backend,
)

import vitviz
from tests.unit.training_helpers import MODEL, TRAIN, toy_data
from vitviz import loading
from vitviz.models.formats import source
from vitviz.training.loop import Trainer
from vitviz.view import METHODS

NAME = "faraway"
COPIES = (torch.ops.aten.copy_, torch.ops.aten._to_copy, torch.ops.aten.to)


class FarTensor(Tensor):
    """A tensor of the fake device around one of the CPU."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> FarTensor:
        far = Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), dtype=inner.dtype, device=f"{NAME}:0"
        )
        far.inner = inner
        return far

    def numpy(self, **_: Any) -> Any:
        raise TypeError("a tensor of another device has no array")

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError(f"{func} ran outside the fake device")


class FarDevice(TorchDispatchMode):
    """Computes on the CPU, and refuses operations on tensors of two devices as a real device does."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        leaves = tree_leaves((args, kwargs or {}))
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        devices = [leaf for leaf in leaves if isinstance(leaf, torch.device)]
        far = any(isinstance(tensor, FarTensor) for tensor in tensors)
        if (
            far
            and func.overloadpacket not in COPIES
            and any(t.dim() and not isinstance(t, FarTensor) for t in tensors)
        ):
            raise RuntimeError(f"expected all tensors on one device: {func}")
        far = devices[0].type == NAME if devices else far
        self.operations[func.overloadpacket.__name__] += far
        inner_args, inner_kwargs = tree_map(_unwrap, (args, kwargs or {}))
        given = {id(tensor.inner): tensor for tensor in tensors if isinstance(tensor, FarTensor)}
        result = func(*inner_args, **inner_kwargs)
        with torch.inference_mode(False):  # PyTorch takes no views of subclasses that are made inside it
            return tree_map(lambda t: _wrap(t, far, given), result)


def _unwrap(value: Any) -> Any:
    if isinstance(value, torch.device) and value.type == NAME:
        return torch.device("cpu")
    return value.inner if isinstance(value, FarTensor) else value


def _wrap(value: Any, far: bool, given: dict[int, FarTensor]) -> Any:
    if not isinstance(value, Tensor) or not far:
        return value
    return given[id(value)] if id(value) in given else FarTensor(value)


class _Backend(_DummyBackendModule):
    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16]


def check_model(name: str, image: np.ndarray, folder: Path) -> None:
    """Compare everything that a view and a batch return on the fake device with the CPU's results."""
    near = vitviz.inspect(name, image, device="cpu")
    far = vitviz.inspect(name, image)  # the machine's accelerator
    weights = [*far.model.model.parameters(), *far.model.model.buffers()]
    assert {(t.device.type, t.dtype) for t in weights} <= {(NAME, torch.float32), (NAME, torch.int64)}
    assert all(tensor.device.type == "cpu" for tensor in near.model.model.parameters())
    assert vitviz.load(far.model).model is far.model.model  # None: where it is
    assert vitviz.load(far.model.model).model.get_parameter(_first(far)).device.type == NAME
    assert vitviz.load(far.model, device="cpu").model.get_parameter(_first(far)).device.type == "cpu"
    is_vit = "swin" not in name
    calls = ["tokens", "distances", *(["attention", "rollout", "relevance"] if is_vit else [])]
    for call in calls:
        result, expected = getattr(far, call)(), getattr(near, call)()
        assert isinstance(result, np.ndarray) and result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, atol=1e-5, rtol=1e-4)
    assert [kind for kind, _ in far.prediction] == [kind for kind, _ in near.prediction]
    for file in ("heads.png", "explorer.html"):
        assert far.save(folder / file).stat().st_size > 10_000
    batches = [vitviz.inspect(view.model, [image] * 3) for view in (far, near)]
    np.testing.assert_allclose(*(batch.distances() for batch in batches), atol=1e-5, rtol=1e-4)
    kept = [batch.tokens(out=folder / f"{place}.npz") for place, batch in enumerate(batches)]
    np.testing.assert_allclose(*(np.load(file)["tokens"] for file in kept), atol=1e-5, rtol=1e-4)
    if is_vit:
        maps = [batch.attention(folder / f"{name}{place}")[0] for place, batch in enumerate(batches)]
        np.testing.assert_allclose(*maps, atol=0.02)
    half = vitviz.inspect(name, image, dtype="bfloat16")
    assert {tensor.dtype for tensor in half.model.model.parameters()} == {torch.bfloat16}
    assert half.tokens().dtype == np.float32 and half.attention(0).dtype == np.float32
    for method in METHODS if is_vit else ():
        assert np.abs(far.explain(method) - near.explain(method)).max() < 1e-3 * near.explain(method).max()
        assert half.explain(method).shape == near.explain(method).shape
    np.testing.assert_allclose(half.attention(0), near.attention(0), atol=0.02)


def check_recorder(image: np.ndarray, folder: Path) -> None:
    """Record a module of the fake device there, and the same on the CPU."""
    model = vitviz.load("digits_vit").model
    for place, device in enumerate((None, "cpu")):
        with vitviz.record(model, [image], folder / str(place), device=device) as recorder:
            before = mode.operations["softmax"], mode.operations["_softmax"]
            recorder.step(0, loss=1.0)
            ran_far = (mode.operations["softmax"], mode.operations["_softmax"]) != before
            assert ran_far == (device is None)
        assert recorder.run.steps() == [0], recorder.run.status()
    assert next(model.parameters()).device.type == NAME


def check_trainer() -> None:
    """Train a toy run on both devices: the same first loss, and images, weights and gradients on the device.

    Later losses differ: `parameter.data = …` does not reach the tensor inside a subclass.
    """
    losses: list[list[float]] = []
    for device in (NAME, "cpu"):
        trainer = Trainer(MODEL, TRAIN, toy_data(48), device=device)
        losses.append([])
        for _ in range(4):
            trainer.advance()
            losses[-1].append(trainer.record().loss)
        weights = [*trainer.weights.model.parameters(), trainer.weights.master, trainer.weights.gradient]
        weights += [trainer.train_images.images, trainer.train_images.labels]
        assert {tensor.device.type for tensor in weights} == {device}
        assert trainer.evaluate("test").images == 40
    assert abs(losses[0][0] - losses[1][0]) < 1e-5 and np.isfinite(losses).all()


def _first(view: Any) -> str:
    return str(next(name for name, _ in view.model.model.named_parameters()))


if __name__ == "__main__":
    source.check_plain = loading.check_plain = lambda state: None  # it refuses subclasses of Tensor
    _setup_privateuseone_for_python_backend(NAME, backend_module=_Backend())
    image = np.random.default_rng(0).integers(0, 256, (40, 48, 3), np.uint8)
    with FarDevice() as mode, tempfile.TemporaryDirectory() as folder:
        for name in ("digits_vit", "cifar10_swin"):
            (Path(folder) / name).mkdir()
            check_model(name, image, Path(folder) / name)
        check_recorder(image, Path(folder))
        check_trainer()
        print(f"{mode.operations.total()} operations")
