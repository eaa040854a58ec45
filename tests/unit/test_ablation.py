"""Encoding of ablated patches and heads in a link."""

from __future__ import annotations

import pytest

from pages.lenses.attention.ablation import AblatableParts, Ablation

SMALL = AblatableParts((8, 8), (4, 4, 4, 4))
LARGE = AblatableParts((56, 56), (3, 3, 6, 6, 12, 12, 12, 12, 12, 12, 24, 24))  # Swin-T at 224 px


@pytest.mark.parametrize("sizes", [SMALL, LARGE])
@pytest.mark.parametrize("every", [1, 2, 7, 10_000])
def test_a_code_says_what_was_left_out(sizes: AblatableParts, every: int) -> None:
    pairs = [(layer, head) for layer, many in enumerate(sizes.heads) for head in range(many)]
    left_out = Ablation(tuple(range(0, sizes.patches, every)), tuple(pairs[::every]))
    assert Ablation.parse(left_out.encode(sizes), sizes) == left_out


def test_a_code_is_short_and_by_hand() -> None:
    assert Ablation().encode(SMALL) == "64..16."
    assert Ablation((0, 1, 8), ((1, 0),)).encode(SMALL) == "64.DE.16.Q"  # bits 0 and 1; 8 = 6 + 2; 4
    full = Ablation(tuple(range(LARGE.patches)), ())
    assert len(full.encode(LARGE)) == 5 + 523 + 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "64..16",
        "64.D.16.Q.",
        "64.D=.16.",
        "36.D.16.",  # of another grid
        "64.D.12.",  # of other heads
        "64." + 12 * "A" + ".16.",  # longer than 64 bits
        "64.AAAAAAAAAAQ.16.",  # patch 64 of 0 to 63
        "64..16.AAQ",  # head 16
        "٦٤..16.",
        "64.D.16.\n",
    ],
)
def test_nothing_else_is_a_code(text: str) -> None:
    assert Ablation.parse(text, SMALL) is None


def test_what_a_view_says_is_checked() -> None:
    returned = {"patches": [3, -1, 64, 3], "heads": [[0, 4], [4, 0], [3, 3]]}
    assert Ablation.from_view(returned, SMALL) == Ablation((3,), ((3, 3),))
