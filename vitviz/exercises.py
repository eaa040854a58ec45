"""The exercises: what each asks, which slips its tests name, and its files to take away."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / "exercises"
SOLUTION = "solution.py"
GIVEN = ("given_heads.py", "given_block.py", "given_vit.py")  # each builds on those before it


@dataclass(frozen=True)
class Exercise:
    """One task; its folder is `exercises/SLUG`.

    asks: one sentence, plain text.
    call: what is written, with its shapes.
    slips: what its tests name, in the order of the lecture's notebooks.
    page: the slug of the page that shows the same.
    """

    slug: str
    title: str
    asks: str
    call: str
    slips: tuple[str, ...]
    page: str

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        return ROOT / self.slug

    def files(self) -> dict[str, str]:
        """Name -> text of what a learner takes away."""
        names = sorted(path.name for path in self.folder.glob("*.py"))
        return {name: (self.folder / name).read_text("utf-8") for name in names if name != SOLUTION}

    @property
    def given(self) -> tuple[str, ...]:
        """The files beside its folder that hold what exercises before it ask for."""
        task = (self.folder / "task.py").read_text("utf-8")
        used = [place for place, name in enumerate(GIVEN, start=1) if name.removesuffix(".py") in task]
        return GIVEN[: max(used, default=0)]

    def solution(self) -> str:
        """One way to do it."""
        return (self.folder / SOLUTION).read_text("utf-8")


EXERCISES = (
    Exercise(
        "patchify",
        "Patchify",
        "Cut pictures into squares, row by row, and flatten each.",
        "patchify(images (B, C, H, W), n_patches) -> (B, n², C·(H/n)·(W/n))",
        ("reshape for patchify", "columns before rows", "channels last"),
        "patches",
    ),
    Exercise(
        "positions",
        "Sinusoidal positions",
        "Compute the table of sines and cosines that says where a token stands.",
        "get_positional_embeddings(sequence_length, d) -> (sequence_length, d)",
        ("exponent k/D", "sine and cosine swapped", "positions from 1", "exponent i/D"),
        "positions",
    ),
    Exercise(
        "one_head",
        "One head",
        "Hold every query against every key, share out, and mix the values.",
        "attention(q, k, v (B, N, d)) -> (B, N, d), (B, N, N)",
        ("softmax over the wrong axis", "missing scale", "scale by d", "value product transposed"),
        "attention",
    ),
    Exercise(
        "multi_head",
        "Heads on slices",
        "Several heads side by side, each on its own slice of the channels with maps of its own.",
        "MultiHead(d, n_heads)(x (B, N, d)) -> (B, N, d)",
        ("shared heads", "heads not on slices", "missing scale", "scale by the width d", "softmax over the wrong axis"),
        "block",
    ),
    Exercise(
        "block",
        "The block",
        "LayerNorm, attention, sum; LayerNorm, MLP, sum.",
        "Block(d, n_heads)(z (B, N, d)) -> (B, N, d)",
        ("post-norm", "no residual", "no GELU", "no LayerNorm before the MLP"),
        "block",
    ),
    Exercise(
        "vit",
        "The whole ViT",
        "From pictures to logits: E, [CLS], positions, blocks, LayerNorm, head.",
        "ViT((C, H, W), n_patches=7, n_blocks=2, d=8, n_heads=2)(images) -> (B, 10)",
        ("E is outside the optimiser", "softmax before the cross-entropy", "not read from [CLS]", "no positions"),
        "home",
    ),
    Exercise(
        "trainable_positions",
        "Positions that learn",
        "Turn the computed table into one that training changes.",
        "make_positions_trainable(model) -> model",
        ("requires_grad on a buffer", "positions start anew"),
        "positions",
    ),
    Exercise(
        "without_cls",
        "[CLS] removed",
        "Take [CLS] out and read the mean of all patches instead.",
        "WithoutCLS((C, H, W))(images) -> (B, 10)",
        (
            *("[CLS] is still in the sequence", "the first patch is read", "a sum instead of a mean"),
            "mean before LayerNorm",
        ),
        "attention",
    ),
    Exercise(
        "accuracy",
        "Bring the accuracy up",
        "At most 30,000 parameters and 40,000 pictures seen: name 95 % of the test digits.",
        "train(budget) -> model of (B, 1, 8, 8)",
        ("over the budget", "the budget is spent", "softmax before the cross-entropy"),
        "live_lab",
    ),
)  # fmt: skip
BY_SLUG = {exercise.slug: exercise for exercise in EXERCISES}


def zipped(chosen: tuple[str, ...]) -> bytes:
    """The files of some exercises, by slug, as one zip: a folder each, and how to run them.

    Raises:
        KeyError: if there is no such exercise.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        given = {name for slug in chosen for name in BY_SLUG[slug].given}
        for name in ("README.md", "pytest.ini", *sorted(given)):
            archive.write(ROOT / name, f"exercises/{name}")
        for slug in chosen:
            for name, text in BY_SLUG[slug].files().items():
                archive.writestr(f"exercises/{slug}/{name}", text)
    return packed.getvalue()
