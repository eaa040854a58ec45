"""Compute beside other threads what was computed alone, as thirty users' script threads do in one process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from time import sleep
from unittest.mock import MagicMock

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import vitviz
from vitviz.checkpoints import open_model
from vitviz.experiments.gradients import deep
from vitviz.models.abilities import abilities
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.zoo import create_model
from vitviz.probe import logits, robustness, stopwatch
from vitviz.probe.capture import capture
from vitviz.probe.embedding import read_position_table, stretch_positions
from vitviz.probe.explanation_maps import Recipe, method_maps_of, predict_ablated
from vitviz.probe.forward_pass import record_journey
from vitviz.probe.gradients import measure_gradient_norms
from vitviz.probe.layers import read_layer_outputs

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"


def compute_pages(model: LoadedModel, index: int) -> dict[str, object]:
    """Return what the pages show of one model and of two studies' networks."""
    random = np.random.default_rng(index)
    able, size, channels = abilities(model.config), model.preparation.image_size, model.preparation.in_chans
    image = random.normal(size=(channels, size, size)).astype(np.float32)
    records = capture(model.model, image[None])
    shown: dict[str, object] = {
        "capture": records,
        "layers": read_layer_outputs(model, records.arrays, (size, size)),
        "journey": [part.content for part in record_journey(model, image).parts],
        "sweep": robustness.sweep(model, random.integers(0, 256, (2, size, size, 3), np.uint8)),
    }
    if able.heads_over_all:
        shown["maps"] = method_maps_of(model, image, Recipe(1, "mean", 0.5))
        shown["ablated"] = predict_ablated(model, image, [(0, 1)], [2], blanked=False)
    if able.logit_shares:
        shown["attributed"] = logits.attribute(model, records, 1)
    if able.learned_positions:
        table = read_position_table(model.vit)
        shown["positions"] = stretch_positions(table, model.vit.config.grid, (9, 9))
    if index == 0:
        deep_vit = create_model(deep("pre", 2), seed=0)
        batch = torch.from_numpy(random.normal(size=(2, *image.shape)).astype(np.float32))
        shown["gradients"] = measure_gradient_norms(deep_vit, batch, torch.tensor([0, 1]))
    return shown


def list_arrays(shown: object) -> Iterator[bytes]:
    if isinstance(shown, np.ndarray):
        yield shown.tobytes()
    elif isinstance(shown, dict | list | tuple):
        for part in shown.values() if isinstance(shown, dict) else shown:
            yield from list_arrays(part)
    elif is_dataclass(shown):
        yield from list_arrays([getattr(shown, field.name) for field in fields(shown)])


def test_four_threads_compute_the_same_bits_as_one() -> None:
    names = ("digits_vit", "cifar10_deit_soft", "digits_swin", "digits_cnn")
    models = [open_model(CHECKPOINTS / f"{name}.safetensors") for name in names]
    weights = [tensor.clone() for model in models for tensor in model.model.state_dict().values()]
    alone = [list(list_arrays(compute_pages(model, index))) for index, model in enumerate(models)]
    assert min(map(len, alone)) > 20
    with ThreadPoolExecutor(4) as threads:
        found = threads.map(compute_pages, models * 2, [0, 1, 2, 3] * 2)
        for index, shown in zip([0, 1, 2, 3] * 2, found, strict=True):
            assert list(list_arrays(shown)) == alone[index]
    after = [tensor for model in models for tensor in model.model.state_dict().values()]
    assert all(map(torch.equal, weights, after))


class _ReadThreads(nn.Module):
    """A model that reads PyTorch's number of threads in its own thread and in a new one."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.counts = nn.Parameter(torch.zeros(1)), list[int]()

    def forward(self, x: Tensor, record: object) -> tuple[Tensor, dict[str, Tensor]]:
        self.counts.append(torch.get_num_threads())
        other = threading.Thread(target=lambda: self.counts.append(torch.get_num_threads()))
        other.start()
        other.join()
        return x, {}


@pytest.mark.parametrize("name", ["relevance", "distances", "rollout", "tokens"])
def test_every_number_of_a_view_keeps_to_the_thread_limit(name: str) -> None:
    """Two threads took 8 to 16 times as long as one on a busy machine."""
    before, counts = torch.get_num_threads(), []
    view = vitviz.inspect("digits_vit", np.zeros((40, 40), np.uint8))
    block = view.model.vit.block(0)
    handle = block.register_forward_hook(lambda *_: counts.append(torch.get_num_threads()))
    torch.set_num_threads(2)
    try:
        getattr(view, name)()
        assert set(counts) == {1} and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
        handle.remove()


def test_a_small_capture_leaves_the_threads_of_others_as_they_are() -> None:
    """A page's thread that began beside a capture computed with one thread to its end."""
    before, model = torch.get_num_threads(), _ReadThreads()
    torch.set_num_threads(2)
    try:
        capture(model, np.zeros((1, 3, 8, 8), np.float32))
        assert model.counts == [1, 2] and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_one_thread_profiles_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class that compared two models' times at once ended the server: PyTorch's profiler crashed."""
    active, most = threading.Semaphore(0), []

    @contextmanager
    def watch(**options: object) -> Iterator[MagicMock]:
        active.release()
        most.append(active._value)
        sleep(0.01)
        yield MagicMock()
        active.acquire()

    monkeypatch.setattr(torch.profiler, "profile", watch)
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(stopwatch.measure_held_bytes, [int] * 3))
    assert most == [1, 1, 1]
