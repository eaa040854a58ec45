"""Read a checkpoint's header without its tensors and without torch, so that the first page can list files.

The file is safetensors: 8 bytes of header length, a JSON table of tensors, the tensors. Its `__metadata__` holds one
JSON document under 'vitviz' and a digest of the file. Format 2 adds the identity of every step to the document, and
tensors in int8 with their scales beside them.
"""

import json
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from vitviz.config import ModelConfig, Preparation, TrainConfig, config_of, model_from_dict, to_dict
from vitviz.text import cut
from vitviz.weight_identity import is_identity, resolve_identity

FORMAT = 2
READ_FORMATS = (1, 2)
MAX_HEADER_BYTES = 2**20  # the shipped ones have up to 150 kB
MOST_SIDES = 8  # of a tensor's shape
KEY = "vitviz"
# Current texts of shipped checkpoints whose stored cards have earlier ones.
CARD_TEXTS: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("model_card_texts.toml").read_text("utf-8")
)


class CheckpointError(ValueError):
    """A file that cannot be used as a checkpoint."""


@dataclass(frozen=True)
class Header:
    """Metadata of a checkpoint, read without its tensors, so that its digest is not verified yet."""

    config: ModelConfig
    preparation: Preparation
    train: TrainConfig | None
    classes: tuple[str, ...]
    history: list[dict[str, Any]]
    card: dict[str, Any]
    steps: tuple[int, ...]
    digest: str  # of the file's bytes; `identities` say which weights they are
    identities: dict[int, str]
    is_identified: bool  # True if the file states the identities, False if they stand for its digest

    @property
    def identity(self) -> str:
        """The identity of the last step."""
        return self.identities[self.steps[-1]]


def read_header(source: str | Path | bytes) -> Header:
    """Return the configs, history, card and steps of a checkpoint, without reading its tensors.

    Raises:
        CheckpointError: if the file is not a checkpoint of this project.
    """
    if isinstance(source, bytes):
        return parse_header(source[: 8 + MAX_HEADER_BYTES], len(source))[0]
    try:
        with open(source, "rb") as file:
            return parse_header(_head(file), os.fstat(file.fileno()).st_size)[0]
    except OSError as error:
        raise CheckpointError(f"the checkpoint cannot be read: {error.strerror or error}") from error


def _head(file: BinaryIO) -> bytes:
    lead = file.read(8)
    length = int.from_bytes(lead, "little")
    return lead + (file.read(length) if length <= MAX_HEADER_BYTES else b"")


def parse_header(raw: bytes, size: int) -> tuple[Header, str, dict[str, Any], int]:
    """Return (header, its JSON text, the table of tensors, where their bytes start) of a file's beginning."""
    length = int.from_bytes(raw[:8], "little")
    if len(raw) < 8 or not 2 <= length <= size - 8:
        raise CheckpointError("the file is not safetensors, or it is truncated")
    if length > MAX_HEADER_BYTES:
        raise CheckpointError(
            f"the checkpoint's header is too large: {length} bytes, the limit is {MAX_HEADER_BYTES}"
        )
    try:
        table = json.loads(raw[8 : 8 + length])
        metadata = table.pop("__metadata__")
        text, digest = metadata[KEY], metadata["digest"]
        document = json.loads(text)
        version = document["format"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(
            "the file is not a checkpoint of this project: its header has no valid 'vitviz' entry"
        ) from error
    if version not in READ_FORMATS:
        known = " or ".join(map(str, READ_FORMATS))
        raise CheckpointError(f"expected checkpoint format {known}, received {cut(repr(version))}")
    _check_table(table, size - 8 - length, version)
    steps = tuple(sorted({int(name.split("/", 1)[0]) for name in table}))
    try:
        header = Header(
            config=model_from_dict(document["config"]),
            preparation=config_of(Preparation, document["preparation"]),
            train=None if document["train"] is None else config_of(TrainConfig, document["train"]),
            classes=_classes(document["classes"], document["config"]),
            history=list(document["history"]),
            card={
                name: CARD_TEXTS.get(text, text) if isinstance(text, str) else text
                for name, text in document["card"].items()
            },
            steps=steps,
            digest=str(digest),
            identities={step: resolve_identity(f"{digest}:{step}") for step in steps}
            if version == 1
            else _identities(document["identities"], steps),
            is_identified=version > 1,
        )
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise CheckpointError(f"the checkpoint's header cannot be used: {cut(str(error), 300)}") from error
    return header, text, table, 8 + length


def take_step(raw: bytes, step: int) -> bytes:
    """Return a checkpoint with the weights of one step alone, as they are stored, for the browser's engine.

    Neither history nor card comes along, and no digest: vitviz/browser/engine/weights.js checks every size itself.

    Raises:
        CheckpointError: if the file is not a checkpoint, or does not hold this step.
    """
    header, _, table, start = parse_header(raw, len(raw))
    entries = {name: entry for name, entry in table.items() if name.partition("/")[0] == str(step)}
    if not entries:
        raise CheckpointError(f"the checkpoint does not hold step {step}")
    parts, end = [], 0
    for entry in entries.values():
        low, high = entry["data_offsets"]
        parts.append(raw[start + low : start + high])
        entry["data_offsets"] = [end, end + high - low]
        end += high - low
    document = {  # every field of the config, also those that an older file leaves out
        "format": FORMAT,
        "config": to_dict(header.config),
        "preparation": to_dict(header.preparation),
        "classes": list(header.classes),
    }
    text = json.dumps({**entries, "__metadata__": {KEY: json.dumps(document)}}).encode()
    return len(text).to_bytes(8, "little") + text + b"".join(parts)


def _check_table(table: dict[str, Any], data_bytes: int, version: int) -> None:
    """Check that the tensors fill the data without gaps."""
    sizes = {"F16": 2, "BF16": 2, "F32": 4, "I64": 8} | ({"I8": 1} if version > 1 else {})
    end = 0
    try:
        if not table:
            raise CheckpointError("the checkpoint holds no weights")
        for name, entry in sorted(table.items(), key=lambda named_entry: named_entry[1]["data_offsets"]):
            count = 1
            if len(entry["shape"]) > MOST_SIDES:
                raise ValueError
            for side in entry["shape"]:
                if not isinstance(side, int) or not 0 <= side < 2**48:
                    raise ValueError
                count *= side
            start, stop = entry["data_offsets"]
            step, _, parameter = name.partition("/")
            if not (step.isdecimal() and len(step) < 16 and parameter):
                raise ValueError
            if start != end or stop - start != count * sizes[entry["dtype"]]:
                raise ValueError
            end = stop
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError("the checkpoint's tensor table is inconsistent") from error
    if end != data_bytes:
        raise CheckpointError(
            f"the checkpoint is truncated: expected {end} bytes of weights, received {data_bytes}"
        )


def _identities(values: Any, steps: tuple[int, ...]) -> dict[int, str]:
    """Return the stated identities by step."""
    if not isinstance(values, dict) or set(values) != set(map(str, steps)):
        raise ValueError("identities must name every step of the file, and no other")
    if not all(map(is_identity, values.values())):
        raise ValueError("an identity must have 64 hexadecimal digits")
    return {step: values[str(step)] for step in steps}


def _classes(names: Any, config: dict[str, Any]) -> tuple[str, ...]:
    """Return the class names, one per output; a model without a head keeps those of its dataset."""
    if not isinstance(names, list) or not all(isinstance(name, str) and len(name) <= 200 for name in names):
        raise ValueError("classes must be a list of names of up to 200 characters")
    outputs = config.get("num_classes")
    if outputs and len(names) != outputs:
        raise ValueError(f"expected {outputs} class names, one per output, received {len(names)}")
    return tuple(names)
