"""A training of two processes under DistributedDataParallel is recorded by the first one alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import vitviz
from tests.parity.test_recorder import IMAGES, timm_vit
from vitviz.recorded_run import RecordedRun

PROCESSES, STEPS = 2, 4


def train_in_process(rank: int, folder: str, compiled: bool) -> None:
    """Train without and with a recorder, and write the losses and the weights' sums of this process."""
    vitviz.recorder.FREE_S = 1e9  # a busy machine leaves no moment out
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", f"file://{folder}/join", rank=rank, world_size=PROCESSES)
    results = []
    for is_recorded in (False, True):
        torch.manual_seed(1)
        inner = timm_vit()
        model = DistributedDataParallel(torch.compile(inner, backend="eager") if compiled else inner)
        recorder = vitviz.record(model, IMAGES, Path(folder) / "run") if is_recorded else None
        torch.manual_seed(2 + rank)
        optimizer, losses = torch.optim.AdamW(model.parameters(), lr=1e-3), []
        for step in range(STEPS):
            loss = nn.functional.cross_entropy(model(torch.randn(4, 3, 32, 32)), torch.randint(0, 5, (4,)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if recorder is not None:
                recorder.step(step, loss=loss)
        if recorder is not None:
            recorder.close()
        sums = [parameter.double().sum().item() for parameter in inner.parameters()]
        results.append([losses, sums, recorder is not None and hasattr(recorder, "run")])
    Path(folder, f"{rank}.json").write_text(json.dumps(results))
    torch.distributed.destroy_process_group()


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
def test_two_processes_train_as_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: bool
) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    torch.multiprocessing.spawn(train_in_process, (str(tmp_path), compiled), nprocs=PROCESSES)
    ranks = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(PROCESSES)]
    for (losses, sums, _), (recorded_losses, recorded_sums, _) in ranks:
        assert recorded_losses == losses and recorded_sums == sums
    assert ranks[0][1][0] != ranks[1][1][0] and ranks[0][1][1] == ranks[1][1][1]  # other data, one model
    assert [recorded[2] for _, recorded in ranks] == [True, False]
    run = RecordedRun(tmp_path / "run")
    assert run.steps() == [*range(STEPS)] and run.status().state == "done"
    assert [record["loss"] for record in run.records()] == ranks[0][1][0]
