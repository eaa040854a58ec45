"""Checkpoints: one safetensors file with several moments of a training and everything needed to read them.

The file's `__metadata__` holds one JSON document under 'vitviz' (format, configs, classes, history, card, identities)
and a digest: sha256 over that document, the table of tensors and the tensors' bytes. Tensors are named
'step/parameter'; weights may be int8 with their rows' scales in 'step/parameter.scale', for files that are only read.
Nothing is ever unpickled, and a file that does not fit is refused whole.
"""

import hashlib
import json
import os
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse_tensors
from safetensors.torch import save as serialise_tensors
from torch import Tensor

from vitviz.checkpoint_header import FORMAT, KEY, CheckpointError, parse_header
from vitviz.config import ModelConfig, Preparation, TrainConfig, to_dict
from vitviz.int8_weights import LARGEST, SCALE, dequantise, quantise
from vitviz.models.zoo import create_model, empty_model
from vitviz.text import cut
from vitviz.training.atomic_files import write_whole
from vitviz.upload_limits import CHECKPOINT_BYTES, check_buildable
from vitviz.weight_identity import compute_identity

if TYPE_CHECKING:
    from vitviz.models.loaded_model import LoadedModel

_NAMED = 5  # of a list in a sentence
_FLOATS = {"F16", "BF16", "F32", "I8"}


@dataclass(frozen=True)
class Checkpoint:
    """A model's config and preparation, how it was trained, and its weights at several steps."""

    config: ModelConfig
    preparation: Preparation
    train: TrainConfig | None
    classes: tuple[str, ...]
    history: list[dict[str, Any]] = field(default_factory=list)
    snapshots: dict[int, dict[str, Tensor]] = field(default_factory=dict)
    card: dict[str, Any] = field(default_factory=dict)
    identity: str = ""  # of the step that was loaded


def checkpoint_bytes(
    checkpoint: Checkpoint, half: bool = False, int8_steps: Collection[int] = (), largest_code: int = LARGEST
) -> bytes:
    """Return the checkpoint as the bytes of a safetensors file.

    Args:
        checkpoint: its snapshots are written.
        half: store floats as fp16.
        int8_steps: steps whose matrices and filters are stored as int8; all else as `half` says.
        largest_code: of int8 weights; a smaller one makes a smaller file once it is compressed.

    Raises:
        CheckpointError: if a weight is not finite, or overflows fp16.
    """
    tensors, identities = {}, {}
    for step, state in checkpoint.snapshots.items():
        restored = {}
        for name, tensor in state.items():
            exact = tensor.detach().cpu().contiguous()
            stored = exact.half() if half and exact.is_floating_point() else exact
            _check_finite(name, step, stored)
            if step in int8_steps and name.endswith(".weight") and exact.dim() > 1:
                stored, scales = quantise(exact, largest_code)
                tensors[f"{step}/{name}{SCALE}"] = scales
                restored[name] = dequantise(stored, scales)
            else:
                restored[name] = stored.to(torch.float32) if stored.is_floating_point() else stored
            tensors[f"{step}/{name}"] = stored
        identities[str(step)] = _identity(checkpoint.config, checkpoint.preparation, restored)
    document = {
        "format": FORMAT,
        "config": to_dict(checkpoint.config),
        "preparation": to_dict(checkpoint.preparation),
        "train": None if checkpoint.train is None else to_dict(checkpoint.train),
        "classes": list(checkpoint.classes),
        "history": checkpoint.history,
        "card": checkpoint.card,
        "identities": identities,
    }
    text = json.dumps(document, sort_keys=True, allow_nan=False)
    raw = serialise_tensors(tensors)
    length = int.from_bytes(raw[:8], "little")
    table, tensor_bytes = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    header = _encode_header(table, text, _digest(text, table, tensor_bytes))
    return len(header).to_bytes(8, "little") + header + tensor_bytes


def pack_model(model: "LoadedModel", largest_code: int = 0) -> bytes:
    """Return a model as a checkpoint of one step without its history, in fp16 where its weights fit.

    Args:
        largest_code: if above 0, matrices and filters are stored as int8 up to this code.
    """
    return pack_checkpoint(as_checkpoint(model, {}), [model.step] if largest_code else [], largest_code)


def as_checkpoint(model: "LoadedModel", card: dict[str, Any]) -> Checkpoint:
    """Return a model as a checkpoint of its step, without its history."""
    snapshots = {model.step: model.model.state_dict()}
    return Checkpoint(model.config, model.preparation, None, model.classes, snapshots=snapshots, card=card)


def pack_checkpoint(
    checkpoint: Checkpoint, int8_steps: Collection[int] = (), largest_code: int = LARGEST
) -> bytes:
    """Return `checkpoint_bytes` in fp16, or in fp32 if a weight is beyond fp16."""
    try:
        return checkpoint_bytes(checkpoint, True, int8_steps, largest_code)
    except CheckpointError:
        return checkpoint_bytes(checkpoint)


def save_checkpoint(path: str | Path, checkpoint: Checkpoint, half: bool = False) -> None:
    """Write a checkpoint atomically."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, checkpoint_bytes(checkpoint, half))


def load_checkpoint(
    source: str | Path | bytes,
    step: int | None = None,
    allow_int8: bool = True,
) -> Checkpoint:
    """Return a checkpoint with the weights of one step in fp32.

    Args:
        source: a path, or a file's bytes.
        step: one of the header's steps; None for the last.
        allow_int8: False refuses a file with int8 weights, which no run is trained or resumed with.

    Raises:
        CheckpointError: if the file is truncated, tampered with, too large, of another version or not
            safetensors; if it does not fit its config (missing, unexpected and misshapen tensors are named);
            if a weight is not finite; if the weights are not those of the stated identity.
    """
    raw = _read(source)
    header, text, table, start = parse_header(raw, len(raw))
    # The digest covers what the header means; comparing its bytes leaves no second way to write the same.
    if _digest(text, table, raw[start:]) != header.digest or raw[8:start] != _encode_header(
        table, text, header.digest
    ):
        raise CheckpointError("the checkpoint's digest does not match: the file was modified or damaged")
    wanted = header.steps[-1] if step is None else step
    if wanted not in header.steps:
        known = ", ".join(map(str, header.steps))
        raise CheckpointError(f"expected one of the steps {known}, received {wanted}")
    expected = _expected_tensors(header.config, len(table))
    moments: dict[int, dict[str, Any]] = {moment: {} for moment in header.steps}
    for name, entry in table.items():
        written, _, parameter = name.partition("/")
        moments[int(written)][parameter if str(int(written)) == written else name] = entry  # '007/x' is none
    if not allow_int8 and any(entry["dtype"] == "I8" for entry in table.values()):
        raise CheckpointError("its weights are int8, which a run is not trained or resumed with")
    for moment, entries in moments.items():
        _check_fit(expected, _without_scales(entries, expected, moment), moment)
    try:
        tensors = parse_tensors(raw)
    except (SafetensorError, ValueError, RuntimeError, KeyError) as error:
        raise CheckpointError(f"the checkpoint's tensors cannot be read: {cut(str(error), 200)}") from error
    state, identity = _state(tensors, wanted, expected), header.identities[wanted]
    if header.is_identified and identity != _identity(header.config, header.preparation, state):
        raise CheckpointError(f"the weights of step {wanted} are not those of their stated identity")
    return Checkpoint(
        config=header.config,
        preparation=header.preparation,
        train=header.train,
        classes=header.classes,
        history=header.history,
        snapshots={wanted: state},
        card=header.card,
        identity=identity,
    )


def open_model(source: str | Path | bytes, step: int | None = None) -> "LoadedModel":
    """Return the model of a checkpoint at a step (None: the last), frozen and in evaluation mode.

    Raises:
        CheckpointError: as `load_checkpoint`.
    """
    from vitviz.models.loaded_model import LoadedModel

    checkpoint = load_checkpoint(source, step)
    ((moment, state),) = checkpoint.snapshots.items()
    model = create_model(checkpoint.config)
    model.load_state_dict(state)
    return LoadedModel(
        model=model,
        config=checkpoint.config,
        preparation=checkpoint.preparation,
        classes=checkpoint.classes,
        title=str(checkpoint.card.get("title", "a trained model")),
        trained_on=checkpoint.card.get("trained_on")
        if checkpoint.train is None
        else checkpoint.train.dataset,
        step=moment,
        digest=checkpoint.identity,
        began_with=None if checkpoint.train is None else checkpoint.train.start_from,
    )


def _read(source: str | Path | bytes) -> bytes:
    if isinstance(source, bytes):
        size = len(source)
    else:
        try:
            size = os.path.getsize(source)
        except OSError as error:
            raise CheckpointError(f"the checkpoint cannot be read: {error.strerror or error}") from error
    if size > CHECKPOINT_BYTES:
        raise CheckpointError(
            f"the checkpoint is too large: {size / 2**20:.1f} MB, the limit is {CHECKPOINT_BYTES / 2**20:g} MB"
        )
    return source if isinstance(source, bytes) else Path(source).read_bytes()


def _expected_tensors(config: ModelConfig, tensors: int) -> dict[str, Tensor]:
    """Return the config's state dict without storage; never built where the config is out of proportion."""
    try:
        check_buildable(config, tensors)
        return _empty_state(config)
    except (ValueError, RuntimeError, TypeError, OverflowError) as error:
        raise CheckpointError(
            f"no model can be built from the checkpoint's config: {cut(str(error), 300)}"
        ) from error


@lru_cache(maxsize=16)
def _empty_state(config: ModelConfig) -> dict[str, Tensor]:
    """Return a model's tensors without storage: laid out once for all snapshots of a run."""
    return empty_model(config).state_dict()


def _without_scales(entries: dict[str, Any], expected: dict[str, Tensor], step: int) -> dict[str, Any]:
    """Check the scales of int8 weights, and return the entries of a step without them."""
    int8 = {name for name, entry in entries.items() if entry["dtype"] == "I8"}
    for name in sorted(int8):
        shape, scales = entries[name]["shape"], entries.get(name + SCALE)
        if len(shape) < 2:
            raise CheckpointError(f"{cut(name)} at step {step} is int8, but it is no matrix")
        if scales is None:
            raise CheckpointError(f"{cut(name)} at step {step} is int8, but its scales are missing")
        if scales["dtype"] != "F32" or scales["shape"] != shape[:1]:
            raise CheckpointError(
                f"expected {shape[0]} scales of {cut(name)} at step {step} in F32, one per output row,"
                f" received {cut(repr(scales['shape']))} in {scales['dtype']}"
            )
    for name in sorted(set(entries) - set(expected)):
        if name.endswith(SCALE) and name.removesuffix(SCALE) not in int8:
            raise CheckpointError(f"{cut(name)} at step {step} belongs to no int8 weights")
    scale_names = {name + SCALE for name in int8}
    return {name: entry for name, entry in entries.items() if name not in scale_names}


def _check_fit(expected: dict[str, Tensor], tensors: dict[str, Any], step: int) -> None:
    missing = sorted(set(expected) - set(tensors))
    unexpected = sorted(set(tensors) - set(expected))
    misshapen = [
        f"{name} {tuple(tensors[name]['shape'])} instead of {tuple(expected[name].shape)}"
        for name in sorted(set(expected) & set(tensors))
        if tuple(tensors[name]["shape"]) != tuple(expected[name].shape)
        or (tensors[name]["dtype"] in _FLOATS) != expected[name].is_floating_point()
    ]
    parts = [
        f"{what}: {_join_names(names)}"
        for what, names in (("missing", missing), ("unexpected", unexpected), ("misshapen", misshapen))
        if names
    ]
    if parts:
        raise CheckpointError(f"the weights of step {step} do not fit the config; {'; '.join(parts)}")


def _join_names(names: list[str]) -> str:
    rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(cut(name) for name in names[:_NAMED]) + rest


def _state(tensors: dict[str, Tensor], step: int, expected: dict[str, Tensor]) -> dict[str, Tensor]:
    state = {}
    for name, like in expected.items():
        tensor = tensors[f"{step}/{name}"]
        if tensor.dtype == torch.int8:
            scales = tensors[f"{step}/{name}{SCALE}"]
            if not bool((scales.isfinite() & (scales > 0)).all()):
                raise CheckpointError(f"the scales of {name} at step {step} must be finite and above 0")
            tensor = dequantise(tensor, scales)
        tensor = tensor.to(like.dtype)
        _check_finite(name, step, tensor)
        state[name] = tensor
    return state


def _check_finite(name: str, step: int, tensor: Tensor) -> None:
    if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
        raise CheckpointError(f"{name} at step {step} holds values that are not finite numbers")


def _identity(config: ModelConfig, preparation: Preparation, state: dict[str, Tensor]) -> str:
    return compute_identity(config, preparation, ((name, tensor.numpy()) for name, tensor in state.items()))


def _encode_header(table: dict[str, Any], text: str, digest: str) -> bytes:
    header = json.dumps({**table, "__metadata__": {KEY: text, "digest": digest}}).encode()
    return header + b" " * (-len(header) % 8)


def _digest(text: str, table: dict[str, Any], tensor_bytes: bytes) -> str:
    layout = {
        name: [entry["dtype"], entry["shape"], entry["data_offsets"]]
        for name, entry in table.items()
        if name != "__metadata__"
    }
    running = hashlib.sha256(text.encode())
    running.update(json.dumps(layout, sort_keys=True).encode())
    running.update(tensor_bytes)
    return running.hexdigest()
