"""Check the exercises: solutions pass, and each common mistake is named."""

from __future__ import annotations

import io
import subprocess
import sys
import types
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from vitviz.exercises import BY_SLUG, EXERCISES, GIVEN, ROOT, Exercise, zip_exercises

# Slug -> (named mistake, replaced code of the solution, replacement). `accuracy` is tested below.
MISTAKES: dict[str, list[tuple[str, str, str]]] = {
    "patchify": [
        ("reshape for patchify", "cut.permute(0, 2, 4, 1, 3, 5)", "images"),
        ("columns before rows", "permute(0, 2, 4, 1, 3, 5)", "permute(0, 4, 2, 1, 3, 5)"),
        ("channels last", "permute(0, 2, 4, 1, 3, 5)", "permute(0, 2, 4, 3, 5, 1)"),
    ],
    "positions": [
        (
            "exponent k/D",
            "return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()",
            "k = torch.arange(d); a = position / 10000 ** (k / d); return torch.where(k % 2 == 0, a.sin(), a.cos())",
        ),
        ("sine and cosine swapped", "[angle.sin(), angle.cos()]", "[angle.cos(), angle.sin()]"),
        ("positions from 1", "torch.arange(sequence_length, dtype=", "torch.arange(1, sequence_length + 1, dtype="),
        ("exponent i/D", "torch.arange(0, d, 2, dtype=torch.float64)", "torch.arange(d // 2, dtype=torch.float64)"),
    ],
    "one_head": [
        ("softmax over the wrong axis", "softmax(dim=-1)", "softmax(dim=-2)"),
        ("missing scale", " / q.shape[-1] ** 0.5", ""),
        ("scale by d", "q.shape[-1] ** 0.5", "q.shape[-1]"),
        ("value product transposed", "weights @ v", "weights.mT @ v"),
    ],
    "multi_head": [
        ("shared heads", "nn.ModuleList(nn.Linear(self.width, self.width) for _ in range(n_heads))",
         "nn.ModuleList([nn.Linear(self.width, self.width)] * n_heads)"),
        ("heads not on slices", "x.split(self.width, dim=-1)", "(x + x.mean(-1, keepdim=True)).split(self.width, -1)"),
        ("missing scale", " / self.width**0.5", ""),
        ("scale by the width d", "self.width**0.5", "(self.width * len(self.q))**0.5"),
        ("softmax over the wrong axis", "softmax(dim=-1)", "softmax(dim=-2)"),
    ],
    "block": [
        ("post-norm", "z = z + self.attn(self.norm1(z))\n        return z + self.mlp(self.norm2(z))",
         "z = self.norm1(z + self.attn(z))\n        return self.norm2(z + self.mlp(z))"),
        ("no residual", "z = z + self.attn(self.norm1(z))\n        return z + ",
         "z = self.attn(self.norm1(z))\n        return "),
        ("no GELU", "nn.GELU()", "nn.ReLU()"),
        ("no LayerNorm before the MLP", "self.mlp(self.norm2(z))", "self.mlp(z)"),
    ],
    "vit": [
        ("E is not a parameter", "self.embed = nn.Linear(", "self.embed = frozen("),
        ("softmax before the cross-entropy", "self.head(self.norm(z[:, 0]))",
         "self.head(self.norm(z[:, 0])).softmax(-1)"),
        ("logits not read from [CLS]", "z[:, 0]", "z[:, 1]"),
        ("no positions", "z], dim=1) + self.positions", "z], dim=1)"),
    ],
    "trainable_positions": [
        ("requires_grad on a buffer", "model.positions = nn.Parameter(start)",
         "model.register_buffer('positions', start.requires_grad_())"),
        ("positions are reinitialised", "nn.Parameter(start)", "nn.Parameter(torch.randn_like(start))"),
    ],
    "without_cls": [
        ("[CLS] is still in the sequence", "z = self.embed(patchify(images, self.n_patches)) + self.positions\n"
         "        for block in self.blocks:\n            z = block(z)\n        return self.head(self.norm(z).mean",
         "z = self.embed(patchify(images, self.n_patches)) + self.positions\n"
         "        z = torch.cat([z[:, :1], z], dim=1)\n"
         "        for block in self.blocks:\n            z = block(z)\n        return self.head(self.norm(z).mean"),
        ("only the first patch is read", "self.norm(z).mean(dim=1)", "self.norm(z[:, 0])"),
        ("sum instead of mean", "self.norm(z).mean(dim=1)", "self.norm(z).sum(dim=1)"),
        ("mean before LayerNorm", "self.norm(z).mean(dim=1)", "self.norm(z.mean(dim=1))"),
    ],
}  # fmt: skip
FROZEN = """
def frozen(inputs, outputs):
    weight = torch.randn(inputs, outputs)
    layer = nn.Identity()
    layer.forward = lambda x: x @ weight
    layer.out_features = outputs
    return layer
"""
SHARES = """
class Shares(ViT):
    def forward(self, images):
        return super().forward(images).softmax(-1)
"""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small models are quicker with one thread, above all where several processes share the cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def failures(exercise: Exercise, solution: str) -> list[str]:
    """Run an exercise's tests on a solution in this process and return the message of every failing test."""
    messages = []
    files = {Path(name).stem: (ROOT / name).read_text("utf-8") for name in exercise.given}
    files |= {Path(name).stem: text for name, text in exercise.files().items()}
    files["task"] = solution
    before = {name: sys.modules.get(name) for name in files}
    try:
        order = [*(Path(name).stem for name in GIVEN), "budget", "task", "test_task"]
        for name in sorted(files, key=order.index):
            module = types.ModuleType(name)
            sys.modules[name] = module
            exec(compile(files[name], f"{exercise.slug}/{name}.py", "exec"), module.__dict__)
        for name, check in vars(sys.modules["test_task"]).items():
            if name.startswith("test_"):
                try:
                    check()
                except AssertionError as error:
                    messages.append(str(error))
    finally:
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
    return messages


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda one: one.slug)
def test_the_solution_passes(exercise: Exercise) -> None:
    assert failures(exercise, exercise.solution()) == []


@pytest.mark.parametrize(
    ("slug", "name", "old", "new"),
    [(slug, *mistake) for slug, mistakes in MISTAKES.items() for mistake in mistakes],
)
def test_a_mistake_is_named(slug: str, name: str, old: str, new: str) -> None:
    solution = BY_SLUG[slug].solution()
    assert solution.count(old) == 1, f"{old!r} stands {solution.count(old)} times in {slug}"
    mistaken = f"import torch\nfrom torch import nn\n{solution.replace(old, new)}"
    messages = failures(BY_SLUG[slug], mistaken + (FROZEN if "frozen(" in new else ""))
    assert any(name in one for one in messages), messages


def test_every_listed_mistake_is_tested() -> None:
    for exercise in EXERCISES:
        if exercise.slug != "accuracy":
            assert tuple(name for name, _, _ in MISTAKES[exercise.slug]) == exercise.mistakes


def test_the_budget_is_kept() -> None:
    accuracy = BY_SLUG["accuracy"]
    idle = accuracy.solution().replace("for step in range(steps)", "for step in range(0)")
    wide = failures(accuracy, idle.replace("d=32", "d=64"))
    assert any("too many parameters" in one for one in wide) and any(
        "images of the budget are left" in one for one in wide
    )
    shares = failures(accuracy, idle.replace("model = ViT(", "model = Shares(") + SHARES)
    assert any("softmax before the cross-entropy" in one for one in shares)
    with pytest.raises(RuntimeError, match="the image budget is used up"):
        failures(
            accuracy,
            idle.replace("for step in range(0)", "for step in range(0 * budget.batch(10**6)[0].ndim)"),
        )


@pytest.mark.parametrize("slug", ["patchify", "accuracy"])
def test_the_files_to_take_away_are_a_task_and_its_tests(slug: str) -> None:
    archive = zipfile.ZipFile(io.BytesIO(zip_exercises((slug,))))
    names = set(archive.namelist())
    assert {f"exercises/{slug}/task.py", f"exercises/{slug}/test_task.py", "exercises/README.md"} <= names
    assert not any("solution" in name for name in names)


def test_an_exercise_gives_no_answer_of_its_own_away() -> None:
    held = {
        one.slug: set(zipfile.ZipFile(io.BytesIO(zip_exercises((one.slug,)))).namelist()) for one in EXERCISES
    }
    assert held["block"] & {"exercises/given_block.py", "exercises/given_vit.py"} == set()
    assert "exercises/given_vit.py" not in held["vit"] and "exercises/given_vit.py" in held["accuracy"]


@pytest.mark.slow  # a process of its own
@pytest.mark.parametrize("slug", ["patchify", "without_cls"])
def test_pytest_itself_runs_a_downloaded_exercise(tmp_path: Path, slug: str) -> None:
    zipfile.ZipFile(io.BytesIO(zip_exercises((slug,)))).extractall(tmp_path)
    folder = tmp_path / "exercises" / slug
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    empty = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert empty.returncode == 1 and "NotImplementedError" in empty.stdout
    (folder / "task.py").write_text(BY_SLUG[slug].solution(), "utf-8")
    solved = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert solved.returncode == 0, solved.stdout + solved.stderr
