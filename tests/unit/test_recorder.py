"""A recorded training is the same training, and its folder holds what the model computed."""

from __future__ import annotations

import copy
import errno
import json
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import vitviz
import vitviz.recorder as recorder_module
from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.pretrained_list import PretrainedError
from vitviz.models.zoo import create_model
from vitviz.recorded_run import RecordedRun, RecordedRunError, is_recorded_run
from vitviz.recorder import MOST_POINTS, RATIO

TINY = ViTConfig(
    image_size=16, patch_size=4, in_chans=3, num_classes=5, embed_dim=16, depth=2, num_heads=2, dropout=0.1
)
IMAGES = [np.random.default_rng(seed).integers(0, 256, (20, 24, 3), np.uint8) for seed in range(3)]


@pytest.fixture(autouse=True)
def without_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let moments take as long as they need, so that a busy machine leaves none out."""
    monkeypatch.setattr(recorder_module, "FREE_S", 1e9)
    monkeypatch.setattr(recorder_module, "AT_ONCE", 2)  # of three images: the last is a pass of its own


def make_model(config: ViTConfig | SwinConfig = TINY) -> nn.Module:
    torch.manual_seed(1)
    return create_model(config)


def train(model: nn.Module, steps: int, recorder: vitviz.Recorder | None = None) -> list[float]:
    torch.manual_seed(2)
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=0.01), []
    model.train()
    for step in range(steps):
        inputs, labels = torch.randn(8, 3, 16, 16), torch.randint(0, 5, (8,))
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if recorder is not None:
            recorder.step(step, loss=loss, accuracy=0.5)
    return losses


def test_a_training_is_bit_identical_with_and_without_a_recorder(tmp_path: Path) -> None:
    plain, recorded = make_model(), make_model()
    losses = train(plain, 12)
    random.seed(3)
    np.random.seed(3)
    with vitviz.record(recorded, IMAGES, tmp_path / "run") as recorder:
        assert train(recorded, 12, recorder) == losses
        assert recorded.training and all(
            p.requires_grad and p.grad is not None for p in recorded.parameters()
        )
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in recorded.modules())
    assert random.random() == random.Random(3).random()
    assert np.random.rand() == np.random.RandomState(3).rand()
    for own, other in zip(plain.state_dict().values(), recorded.state_dict().values(), strict=True):
        assert torch.equal(own, other) and own.dtype == other.dtype


def test_moments_hold_what_the_model_computes(tmp_path: Path) -> None:
    model = make_model()
    with vitviz.record(model, IMAGES, tmp_path / "run", pin=(0.9, 0.1)) as recorder:
        train(model, 3, recorder)
    run = RecordedRun(tmp_path / "run")
    moment, loaded = run.moment(2), vitviz.load(copy.deepcopy(model))
    patch = run.config.pin.token(run.config.layout)
    assert patch == 1 + 3  # the last patch of the first row, after [CLS]
    for number, image in enumerate(IMAGES):
        view = vitviz.inspect(loaded, image)
        for token in (0, patch):
            row = moment.attention(run.config, number, token)
            assert row is not None
            expected = np.stack(
                [[view.attention(layer, head, query=token) for head in range(2)] for layer in range(2)]
            )
            np.testing.assert_allclose(row[..., 1:].reshape(expected.shape), expected, atol=0.01)
        np.testing.assert_allclose(moment.outputs[number], logits_of(loaded, image), atol=2e-3)
    assert (
        moment.attention(run.config, 0, 7) is not None
    )  # a small model stores the whole attention of one image
    assert moment.attention(run.config, 1, 7) is None
    distances = [vitviz.inspect(loaded, image).distances() for image in IMAGES]
    np.testing.assert_allclose(moment.distance_px, distances, atol=5e-3)
    assert moment.positions is not None and moment.embedding is not None
    np.testing.assert_allclose(moment.positions, loaded.vit.pos_embed[0, 1:].numpy(), atol=2e-3)
    np.testing.assert_allclose(moment.embedding, loaded.vit.patch_embed.proj.weight.numpy(), atol=2e-3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_model_is_left_as_it_was(tmp_path: Path, dtype: torch.dtype) -> None:
    model = make_model().to(dtype)
    model.get_submodule("blocks.0").eval().requires_grad_(False)
    calls: list[int] = []
    model.get_submodule("blocks.1").register_forward_hook(lambda *_: calls.append(1))

    def describe() -> list[object]:
        parts = [(part.training, dict(part._forward_hooks)) for part in model.modules()]
        return [*parts, *((p.dtype, p.requires_grad, p.data_ptr(), p.grad) for p in model.parameters())]

    model.train()
    model.get_submodule("blocks.0").eval()
    before, state = describe(), torch.random.get_rng_state()
    recorder = vitviz.record(model, IMAGES, tmp_path / "run")
    calls.clear()
    for step in range(3):
        recorder.step(step)
    recorder.close()
    assert describe() == before and calls == []
    assert torch.equal(torch.random.get_rng_state(), state)
    assert recorder.run.steps() == [0, 1, 2] and recorder.run.moment(2).outputs.dtype == np.float32


def test_weights_are_stored_if_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_model()
    with vitviz.record(model, IMAGES, tmp_path / "run", title="mine", weights=True) as recorder:
        train(model, 3, recorder)
    run, kept = RecordedRun(tmp_path / "run"), copy.deepcopy(model).eval()
    opened = vitviz.load(run.weights_path(2))
    assert (opened.title, opened.step, opened.config) == ("mine", 2, run.config.model)
    for name, tensor in opened.model.state_dict().items():
        torch.testing.assert_close(tensor, kept.state_dict()[name], atol=2e-4, rtol=1e-3)
    assert [run.weights_path(step).is_file() for step in run.steps()] == [True, True, True]
    monkeypatch.setattr(recorder_module, "CHECKPOINT_BYTES", 1000)
    with pytest.raises(ValueError, match="more than the 0 MB that the app opens: record with weights=False"):
        vitviz.record(model, IMAGES, tmp_path / "large", weights=True)
    assert not (tmp_path / "large").exists()
    with vitviz.record(model, IMAGES, tmp_path / "without") as recorder:
        recorder.step(0)
    assert not (tmp_path / "without" / "weights").exists()


def test_whole_attention_is_stored_while_the_run_stays_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = 2 * 2 * 17**2 * recorder_module.USUAL_MOMENTS  # layers, heads, tokens
    for most, is_stored in ((whole, True), (whole - 1, False)):
        monkeypatch.setattr(recorder_module, "MOST_RUN_BYTES", most)
        with vitviz.record(make_model(), IMAGES, tmp_path / str(most)) as recorder:
            recorder.step(0)
        assert (recorder.run.moment(0).whole is not None) == is_stored


def test_hostile_records_and_states_are_left_out(tmp_path: Path) -> None:
    run = vitviz.record(make_model(), IMAGES, tmp_path / "run").run
    lines = [
        '{"step": 1, "loss": 2}',
        '{"step": "<b>"}',
        '{"step": 2, "loss": 1e999, "accuracy": "<i>"}',
        "[",
        "7",
    ]
    lines += [
        f'{{"step": 3, "loss": 1{"0" * 400}}}',
        '{"step": 4, "loss": 1' + "0" * 250 + "}",
        '{"step": 5, "lo',
    ]
    (run.directory / "records.jsonl").write_text("\n".join(lines))
    assert [(record["step"], record["loss"]) for record in run.records()] == [(1, 2.0), (2, None), (4, 1e250)]
    assert run.records()[1]["accuracy"] is None
    status = {"state": ["running"], "step": 10**400, "message": {"a": 1}, "heartbeat": "now"}
    (run.directory / "status.json").write_text(json.dumps(status))
    assert (run.status().state, run.status().step, run.status().heartbeat) == ("", 0, 0.0)


def logits_of(loaded: Any, image: np.ndarray) -> np.ndarray:
    prepared = vitviz.inspect(loaded, image).prepared.input
    with torch.no_grad():
        logits: np.ndarray = loaded.model(torch.from_numpy(prepared)[None])[0].numpy()
    return logits


def test_moments_are_spaced_by_a_factor_and_end_at_the_last_step(tmp_path: Path) -> None:
    model = make_model()
    with vitviz.record(model, IMAGES[:1], tmp_path / "run") as recorder:
        for step in range(50):
            recorder.step(step, loss=1.0)
    steps = RecordedRun(tmp_path / "run").steps()
    assert steps[:4] == [0, 1, 2, 3] and steps[-1] == 49
    assert all(
        late - early <= max(1, early * (RATIO - 1) + 1) for early, late in zip(steps, steps[1:], strict=False)
    )


def test_a_count_that_begins_again_is_continued(tmp_path: Path) -> None:
    with vitviz.record(make_model(), IMAGES[:1], tmp_path / "run") as recorder:
        for _ in range(2):
            for step in range(3):
                recorder.step(step, loss=float(step))
    records = RecordedRun(tmp_path / "run").records()
    assert [record["step"] for record in records] == [0, 1, 2, 3, 4, 5]
    assert [record["loss"] for record in records] == [0, 1, 2, 0, 1, 2]


def test_long_curves_are_thinned(tmp_path: Path) -> None:
    with vitviz.record(make_model(), IMAGES[:1], tmp_path / "run") as recorder:
        recorder._next_moment = 10**9  # curves only
        for step in range(3 * MOST_POINTS):
            recorder.step(step, loss=torch.tensor(float("nan") if step == 0 else 1.0))
    records = RecordedRun(tmp_path / "run").records()
    steps = [record["step"] for record in records]
    assert MOST_POINTS / 2 <= len(steps) <= MOST_POINTS + 1
    assert steps[0] == 0 and {*np.diff(steps).tolist()} <= {1, 2, 4}
    assert records[0]["loss"] is None and records[1]["loss"] == 1.0


@pytest.mark.parametrize("failure", ["disk", "weights"])
def test_a_failure_ends_the_recording_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    model = make_model()
    recorder = vitviz.record(model, IMAGES[:1], tmp_path / "run")
    if failure == "disk":
        full = OSError(errno.ENOSPC, "No space left on device")
        monkeypatch.setattr(RecordedRun, "write_moment", lambda *_: (_ for _ in ()).throw(full))
    else:
        with torch.no_grad():
            model.get_parameter("head.weight").fill_(float("nan"))
    with pytest.warns(UserWarning, match="the training goes on"):
        recorder.step(0, loss=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recorder.step(1, loss=1.0)
        recorder.close()
    status = recorder.run.status()
    assert status.state == "stopped"
    assert ("space" if failure == "disk" else "finite") in status.message


def test_a_training_that_fails_leaves_a_playable_run(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        vitviz.record(make_model(), IMAGES[:1], tmp_path / "run") as recorder,
    ):
        recorder.step(0, loss=1.0)
        raise ZeroDivisionError
    run = RecordedRun(tmp_path / "run")
    assert run.status().state == "stopped" and "ZeroDivisionError" in run.status().message
    assert run.steps() == [0]


def test_other_processes_of_a_data_parallel_training_record_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    with vitviz.record(make_model(), IMAGES[:1], tmp_path / "run") as recorder:
        recorder.step(0, loss=1.0)
    assert not (tmp_path / "run").exists()


def test_what_cannot_be_recorded_is_refused_before_the_training(tmp_path: Path) -> None:
    swin = SwinConfig(
        image_size=16, patch_size=2, in_chans=3, num_classes=5, embed_dim=8, depths=(2,), num_heads=(2,)
    )
    with pytest.raises(ValueError, match="cannot be recorded"):
        vitviz.record(make_model(swin), IMAGES, tmp_path / "swin")
    with pytest.raises(PretrainedError):
        vitviz.record(nn.Linear(3, 3), IMAGES, tmp_path / "linear")
    with pytest.raises(ValueError, match="1 to 64"):
        vitviz.record(make_model(), [], tmp_path / "none")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="new folder"):
        vitviz.record(make_model(), IMAGES, tmp_path / "full")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]


def test_images_are_stored_as_the_model_sees_them(tmp_path: Path) -> None:
    recorder = vitviz.record(make_model(), IMAGES, tmp_path / "run", title="Mine <b>")
    recorder.close()
    stored = [RecordedRun(tmp_path / "run").image(number) for number in range(3)]
    assert all(image.shape[0] == image.shape[1] for image in stored)
    assert recorder.run.config.name == "Mine <b>"  # pages escape it
    Image.new("RGB", (8, 8)).save(tmp_path / "run" / "images" / "0.png", "JPEG")
    with pytest.raises(RecordedRunError, match="image 1 cannot be read: it is no PNG"):
        RecordedRun(tmp_path / "run").image(0)


def change_config(run: Path, **values: Any) -> None:
    path = run / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize(
    "values",
    [
        {"kind": "run"},
        {"format": 3},
        {"images": 65},
        {"images": "all"},
        {"classes": ["a"]},
        {"pin": "nowhere"},
        {"model": {"kind": "vit", "depth": -1}},
        {"preparation": None},
        {"created": "1e999"},
    ],
)
def test_a_config_of_another_kind_is_refused(tmp_path: Path, values: dict[str, Any]) -> None:
    vitviz.record(make_model(), IMAGES, tmp_path / "run").close()
    change_config(tmp_path / "run", **values)
    if values == {"created": "1e999"}:
        assert RecordedRun(tmp_path / "run").config.created == float("inf")
        return
    with pytest.raises(RecordedRunError):
        RecordedRun(tmp_path / "run")


def test_damaged_moments_are_refused(tmp_path: Path) -> None:
    with vitviz.record(make_model(), IMAGES, tmp_path / "run") as recorder:
        recorder.step(0, loss=1.0)
    path = tmp_path / "run" / "moments" / "000000000.npz"
    with np.load(path) as file:
        arrays = dict(file)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RecordedRunError):
        recorder.run.moment(0)
    for changed in (
        arrays | {"rows": arrays["rows"][:, :, :1]},
        {name: array for name, array in arrays.items() if name != "norms"},
        arrays | {"distance_px": np.array(["much"])},
    ):
        np.savez(path, **changed)
        with pytest.raises(RecordedRunError):
            recorder.run.moment(0)


def test_an_older_version_does_not_take_it_for_its_own_run(tmp_path: Path) -> None:
    from vitviz.training.run_directory import Run, RunError

    vitviz.record(make_model(), IMAGES, tmp_path / "run").close()
    assert is_recorded_run(tmp_path / "run") and not is_recorded_run(tmp_path)
    with pytest.raises(RunError, match="invalid"):
        Run(tmp_path / "run").config()
