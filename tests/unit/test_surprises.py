"""Test the count of docs/surprises.md, and the sentences on the pages that state its measurements."""

from __future__ import annotations

import json
import re
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pages.views.register import RegisteredView
from vitviz.analysis.filters import principal_components
from vitviz.checkpoint_header import read_header
from vitviz.checkpoints import load_checkpoint
from vitviz.experiments.result_file import read_result, unpack_correct
from vitviz.plots.blob import pack

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "surprises.md").read_text("utf-8")
STATED: dict[str, list[float]] = json.loads((ROOT / "docs" / "surprises.json").read_text())
SENTENCES = {
    "lenses/attention/faithfulness.md": (("4 cifar10_vit",), 3),
    "lenses/attention/ablation.md": (("exchanged_tokens 2", "exchanged_tokens 6"), 1),
    "lenses/positions/resize.md": (("3 224 px",), 3),
    "lenses/swin/relative_position_bias.md": (("swin_sizes kept", "swin_sizes grown"), 1),
    "which_model/guide.md": (tuple(f"weight_bits {bits}" for bits in (8, 4, 2)), 1),
}


LOSSES: dict[
    str, tuple[dict[str, Any], dict[str, Any]]
] = {  # the rows before and after a change, by result and change
    **{
        f"exchanged_tokens {layer}": ({"layer": layer, "tokens": "none"}, {"layer": layer, "tokens": "cls"})
        for layer in (2, 6)
    },
    **{
        f"swin_sizes {way}": ({"windows": way, "size": 32}, {"windows": way, "size": 48})
        for way in ("kept", "grown")
    },
    **{
        f"weight_bits {bits}": ({"model": "ViT", "bits": 32}, {"model": "ViT", "bits": bits})
        for bits in (8, 4, 2)
    },
}


def read_loss(name: str) -> tuple[float, float, float]:
    """Return the points of accuracy that a change costs, with the ends of their paired 95 % interval."""
    stored = read_result(name.split()[0])
    before, after = (unpack_correct(stored.where(**rows)[0]["right"]) for rows in LOSSES[name])
    lost = 100 * (before.astype(float) - after)
    half = 1.96 * lost.std(ddof=1) / np.sqrt(len(lost))
    return float(lost.mean()), float(lost.mean() - half), float(lost.mean() + half)


def round_half_up(value: float, digits: int) -> str:
    """Return 69.9 for 69.85, which as a binary number is a little less."""
    return str(Decimal(str(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def test_the_head_names_each_measured_row_once() -> None:
    rows = re.findall(r"^\| (\d+[a-z]?)\. (.*)$", PAGE, re.MULTILINE)
    assert len(rows) == len({name for name, _ in rows}) and "not measured" not in PAGE.split("|---|")[1]
    total, *counted = re.match(
        r".*?Of (\d+) rows guessed by two people, (\d+) surprised both \((.*?)\), (\d+) one \((.*?)\) and (\d+) neither"
        r" \((.*?)\)\.",
        PAGE.replace("\n", " "),
    ).groups()  # type: ignore[union-attr]
    named: list[str] = []
    for count, names in zip(counted[::2], counted[1::2], strict=True):
        group = [name.split()[0] for name in names.split(", ")]
        assert len(group) == int(count)
        named += group
    assert len(named) == int(total)
    assert sorted(named) == sorted(name for name, _ in rows)


@pytest.mark.parametrize("file", SENTENCES)
def test_sentences_state_what_was_measured(file: str) -> None:
    rows, digits = SENTENCES[file]
    text = " ".join((ROOT / "pages" / file).read_text("utf-8").split())
    for row in rows:
        mean, low, high = (
            round_half_up(round(value, 6), digits).replace("-", "−")
            for value in (read_loss(row) if row in LOSSES else STATED[row])
        )
        interval = rf"{re.escape(low)} to {re.escape(high)}[;)]"
        assert re.search(rf"\b{re.escape(mean)}\b[^()]*\((95 % interval )?{interval}", text), row


def count_components(name: str, step: int | None = None) -> tuple[int, int]:
    """Return how many components of E hold 90 % of its variance, and how many it can have."""
    weight = load_checkpoint(ROOT / "checkpoints" / f"{name}.safetensors", step).snapshots.popitem()[1][
        "patch_embed.proj.weight"
    ]
    explained = principal_components(weight.float().numpy()).explained
    return int(np.searchsorted(np.cumsum(explained), 0.9)) + 1, min(len(weight), weight[0].numel())


def test_training_lowers_the_number_of_components() -> None:
    text = " ".join((ROOT / "pages" / "lenses" / "filters" / "components.md").read_text("utf-8").split())
    before, after, most, step, last, early = (
        int(number.replace(",", ""))
        for number in re.search(  # type: ignore[union-attr]
            r"from (\d+) to (\d+) of (\d+), but not before ([\d,]+) of its ([\d,]+) updates \((\d+)\)", text
        ).groups()
    )
    steps = read_header(ROOT / "checkpoints" / "cifar10_vit.safetensors").steps
    assert (steps[0], steps[-2:]) == (0, [step, last]) or (steps[0], tuple(steps[-2:])) == (0, (step, last))
    counts = [count_components("cifar10_vit", at) for at in (0, step, last)]
    assert counts == [(before, most), (early, most), (after, most)]
    assert "needs {} of {}".format(*count_components("dinov2_small_saliency")) in text


def test_components_of_samples_far_from_zero_are_those_of_centred_ones() -> None:
    """By scikit-learn's default solver, float32 samples like these have other components."""
    rng = np.random.default_rng(0)
    centred = rng.normal(size=(700, 1, 8, 8)) * np.linspace(1, 3, 8)
    far = (centred + 4096).astype(np.float32)
    components = [principal_components(samples, 3) for samples in (far.astype(np.float64) - 4096, far)]
    assert np.allclose(components[0].explained, components[1].explained, rtol=1e-6)


@pytest.mark.parametrize(
    "value",
    [np.float32(1), np.int64(1), np.bool_(True), Decimal(1), Path("a"), datetime(2026, 1, 1), {1}],
    ids=lambda value: type(value).__name__,
)
def test_a_message_refuses_values_that_streamlit_would_turn_into_text(value: Any) -> None:
    """Streamlit sends str(data) if one value is no JSON; np.float64 and np.str_ are numbers and text of Python."""
    with pytest.raises(TypeError, match=type(value).__name__):
        pack({"labels": ["a"], "value": value})
    with pytest.raises(TypeError):
        RegisteredView(b"pages/frame/x.js")({"value": value}, key="x")  # type: ignore[arg-type]
    assert pack({"value": np.float64(1)}) == pack({"value": 1.0})
