"""What each normalisation averages, by hand and against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from vitviz.analysis.norms import NORMS, Norms, batch_influence, normalise
from vitviz.plots.normalisation import gradient_figure, norms_figure

RNG = np.random.default_rng(0)
TOKENS = RNG.normal(2.0, 3.0, (3, 5, 8))
AT = (1, 2, 3)


def theirs(norm: str) -> torch.Tensor:
    x = torch.from_numpy(TOKENS)
    if norm == "layer":
        return nn.functional.layer_norm(x, (8,), eps=1e-6)
    turned = x.transpose(1, 2)  # (B, D, N): channels are torch's second axis
    layer = {
        "batch": nn.BatchNorm1d(8, eps=1e-6, affine=False, dtype=torch.float64),
        "instance": nn.InstanceNorm1d(8, eps=1e-6, dtype=torch.float64),
        "group": nn.GroupNorm(4, 8, eps=1e-6, affine=False, dtype=torch.float64),
    }[norm]
    found: torch.Tensor = layer(turned)
    return found.transpose(1, 2)


@pytest.mark.parametrize(
    ("norm", "means", "members"), [("layer", 15, 8), ("batch", 8, 15), ("instance", 24, 5), ("group", 12, 10)]
)
def test_every_norm_is_torch_s(norm: str, means: int, members: int) -> None:
    found = normalise(TOKENS, norm, AT)
    np.testing.assert_allclose(found.values, theirs(norm).numpy(), atol=1e-9)
    assert (found.means, int(found.members.sum())) == (means, members) and found.members[AT]
    assert found.mean == pytest.approx(TOKENS[found.members].mean())
    assert found.deviation == pytest.approx(TOKENS[found.members].std())


def test_batch_norm_alone_mixes_images() -> None:
    others = RNG.normal(0.0, 1.0, TOKENS.shape)
    moves = {norm: batch_influence(TOKENS, norm, others) for norm in NORMS}
    assert moves.pop("batch") > 0.1 and set(moves.values()) == {0.0}
    assert batch_influence(TOKENS[..., :6], "group", others[..., :6], 3) == 0, (
        "4 groups do not divide 6 channels"
    )


def test_the_figures_pass_plotly_s_own_checks() -> None:
    members = {title: normalise(TOKENS, name, AT).members for name, title in NORMS.items()}
    drawn = norms_figure(TOKENS, members, AT).to_plotly()
    assert len(drawn.data) == 2 * len(NORMS) and len(drawn.data[0].z) == 15
    frame = drawn.layout.shapes[0]
    assert (frame.y0, frame.x0) == (6.5, 2.5) and drawn.data[0].z[7][3] == TOKENS[AT]
    ones = np.array([0.1, 1.0])
    lines = gradient_figure(
        [Norms("pre", "Before", ones, ones / 2, ones * 2, np.ones(3))], "dark"
    ).to_plotly()
    assert list(lines.data[0].y) == [0.1, 1.0]
