"""Identify weights by what they compute with: a model's config, its image preparation and its tensors in fp32.

The same weights have the same identity in every file: in fp32, in fp16 or beside other steps. Files of format 1 have
a digest of all their bytes instead; `identities.json` maps those of shipped files to identities.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.config import ModelConfig, Preparation

_TABLE = Path(__file__).with_name("identities.json")
_IDENTITY = re.compile(r"[0-9a-f]{64}")


def compute_identity(
    config: ModelConfig, preparation: Preparation, tensors: Iterable[tuple[str, NDArray[Any]]]
) -> str:
    """Return the identity of weights as 64 hexadecimal digits.

    Args:
        config: of the model.
        preparation: of its images.
        tensors: by name; floats in fp32.
    """
    running = hashlib.sha256(_encode([_list_settings(config), _list_settings(preparation)]))
    for name, tensor in sorted(tensors, key=lambda named: named[0]):
        running.update(_encode([name, str(tensor.dtype), list(tensor.shape)]))
        running.update(np.ascontiguousarray(tensor).data)
    return running.hexdigest()


def is_identity(value: object) -> bool:
    """Return True if a value has the form of an identity."""
    return isinstance(value, str) and _IDENTITY.fullmatch(value) is not None


def resolve_identity(name: str) -> str:
    """Return the identity for DIGEST:STEP, or DIGEST for the last step, of a shipped file of format 1.

    All else, such as an identity, is returned unchanged.
    """
    digest, _, step = name.partition(":")
    steps = _load_table().get(digest)
    if steps is None:
        return name
    return steps.get(step, name) if step else steps[max(steps, key=int)]


@cache
def _load_table() -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = json.loads(_TABLE.read_text("utf-8"))
    return table


def _list_settings(config: ModelConfig | Preparation) -> dict[str, Any]:
    """Return the settings that differ from their defaults, so that a new field changes no identity."""
    changed = {
        field.name: value
        for field in fields(config)
        if (value := getattr(config, field.name)) != field.default
    }
    return {"kind": config.kind, **changed}


def _encode(values: Any) -> bytes:
    return json.dumps(values, sort_keys=True).encode()
