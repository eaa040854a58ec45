"""Torch is imported before its parts, wherever that is."""

from __future__ import annotations

import ast

import pytest

from tests.unit.test_architecture import SOURCES


def parts_before_torch(source: str) -> list[str]:
    """Parts of torch that a file imports before torch itself.

    Two sessions' first imports of torch then wait for each other: one holds the part's lock and wants torch, the other
    holds torch and wants the part. Python ends that with an error in both, and torch stays half imported for good.
    """
    found, whole = [], False
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        for name in names:
            whole = whole or name == "torch"
            found += [name] if name.startswith("torch.") and not whole else []
    return found


@pytest.mark.slow
def test_torch_is_imported_before_its_parts() -> None:
    assert {str(path): found for path in SOURCES if (found := parts_before_torch(path.read_text()))} == {}


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("import torch.nn.functional as F\nimport torch", True),
        ("from torch.nn import functional", True),
        ("import torch\nimport torch.nn.functional as F", False),
        ("from torch import nn\nfrom torch.nn import functional", False),
    ],
)
def test_a_part_before_torch_is_seen(line: str, seen: bool) -> None:
    assert bool(parts_before_torch(line)) is seen
