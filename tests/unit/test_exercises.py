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

from tests.rows import rows
from vitviz.exercises import (
    BY_SLUG,
    EXERCISES,
    EXPLAIN,
    GIVEN,
    ROOT,
    Exercise,
    create_notebook,
    zip_exercises,
)

# Slug -> (named mistake, replaced code of the solution, replacement): at least eight wrong solutions an exercise.
MISTAKES: dict[str, list[tuple[str, str, str]]] = {
    "patchify": [
        ("reshape instead of patchify", "cut.permute(0, 2, 4, 1, 3, 5)", "images"),
        ("columns before rows", "permute(0, 2, 4, 1, 3, 5)", "permute(0, 4, 2, 1, 3, 5)"),
        ("channels last", "permute(0, 2, 4, 1, 3, 5)", "permute(0, 2, 4, 3, 5, 1)"),
        ("rows and columns swapped inside a patch", "permute(0, 2, 4, 1, 3, 5)", "permute(0, 2, 4, 1, 5, 3)"),
        ("batch and patches mixed up", "permute(0, 2, 4, 1, 3, 5)", "permute(2, 4, 0, 1, 3, 5)"),
        ("missing return: patchify returns None", "return cut", "cut"),
        ("patchify returns 2 values", "return cut", "return images, cut"),
        ("wrong shape: patchify returns (2, 4, 1, 14, 14)", "n_patches**2, channels * rows * cols)",
         "n_patches**2, channels, rows, cols)"),
        ("a reshape must keep the number of values; patchify stops in line", "height // n_patches, width",
         "n_patches, width"),
        ("is not written yet", "batch, channels, height, width = images.shape", "raise NotImplementedError"),
    ],
    "positions": [
        ("exponent k/D", "return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()",
         "k = torch.arange(d); a = position / 10000 ** (k / d); return torch.where(k % 2 == 0, a.sin(), a.cos())"),
        ("sine and cosine swapped", "[angle.sin(), angle.cos()]", "[angle.cos(), angle.sin()]"),
        ("positions from 1", "torch.arange(sequence_length, dtype=", "torch.arange(1, sequence_length + 1, dtype="),
        ("exponent i/D", "torch.arange(0, d, 2, dtype=torch.float64)", "torch.arange(d // 2, dtype=torch.float64)"),
        ("all sines, then all cosines", "torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)",
         "torch.cat([angle.sin(), angle.cos()], dim=1)"),
        ("sines only", "angle.cos()", "angle.sin()"),
        ("multiplied by 10000^(2i/d)", "position / 10000", "position * 10000"),
        ("missing return", "return torch.stack", "torch.stack"),
        ("wrong shape: get_positional_embeddings returns (50, 4, 2)", ".flatten(1)", ""),
        ("get_positional_embeddings returns 50 values", ".float()",
         ".tolist()"),
    ],
    "one_head": [
        ("softmax over the wrong axis", "softmax(dim=-1)", "softmax(dim=-2)"),
        ("missing scale", " / q.shape[-1] ** 0.5", ""),
        ("scale by d", "q.shape[-1] ** 0.5", "q.shape[-1]"),
        ("value product transposed", "weights @ v", "weights.mT @ v"),
        ("swapped return values", "return weights @ v, weights", "return weights, weights @ v"),
        ("missing return: attention returns None", "return weights @ v, weights", "weights @ v, weights"),
        ("missing return value", "return weights @ v, weights", "return weights @ v"),
        ("queries and keys swapped", "q @ k.transpose(-2, -1)", "k @ q.transpose(-2, -1)"),
        ("keys instead of values", "weights @ v, weights", "weights @ k, weights"),
        ("transpose one factor; attention stops in line", "k.transpose(-2, -1)", "k"),
        ("no softmax", "scores.softmax(dim=-1)", "scores"),
    ],
    "multi_head": [
        ("shared heads", "nn.ModuleList(nn.Linear(self.width, self.width) for _ in range(n_heads))",
         "nn.ModuleList([nn.Linear(self.width, self.width)] * n_heads)"),
        ("heads not on slices", "x.split(self.width, dim=-1)", "(x + x.mean(-1, keepdim=True)).split(self.width, -1)"),
        ("missing scale", " / self.width**0.5", ""),
        ("scale by the width d", "self.width**0.5", "(self.width * len(self.q))**0.5"),
        ("softmax over the wrong axis", "softmax(dim=-1)", "softmax(dim=-2)"),
        ("missing return: MultiHead returns None", "return torch.cat", "torch.cat"),
        ("only an nn.ModuleList is trained", "nn.ModuleList(nn.Linear(self.width, self.width) for _ in range(n_heads))",
         "[nn.Linear(self.width, self.width) for _ in range(n_heads)]"),
        ("heads joined in reverse", "for h, part in enumerate(slices)]",
         "for h, part in reversed([*enumerate(slices)])]"),
        ("transpose one factor; MultiHead stops in line", "k.mT", "k"),
        ("call super().__init__() first", "super().__init__()", "pass"),
        ("wrong shape: MultiHead returns (2, 21, 4), expected (2, 7, 12)", "for h, part in enumerate(slices)], dim=-1)",
         "for h, part in enumerate(slices)], dim=1)"),
    ],
    "block": [
        ("post-norm", "z = z + self.attn(self.norm1(z))\n        return z + self.mlp(self.norm2(z))",
         "z = self.norm1(z + self.attn(z))\n        return self.norm2(z + self.mlp(z))"),
        ("no residual", "z = z + self.attn(self.norm1(z))\n        return z + ",
         "z = self.attn(self.norm1(z))\n        return "),
        ("no GELU", "nn.GELU()", "nn.ReLU()"),
        ("no LayerNorm before the MLP", "self.mlp(self.norm2(z))", "self.mlp(z)"),
        ("the second residual addition is missing", "return z + ", "return "),
        ("no LayerNorm before attention", "self.attn(self.norm1(z))", "self.attn(z)"),
        ("MLP before attention", "z = z + self.attn(self.norm1(z))\n        return z + self.mlp(self.norm2(z))",
         "z = z + self.mlp(self.norm2(z))\n        return z + self.attn(self.norm1(z))"),
        ("missing return: Block returns None", "return z + self.mlp", "z + self.mlp"),
        ("MLP ratio 4", "nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)",
         "nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)"),
        ("no MLP: the second branch is missing", "return z + self.mlp(self.norm2(z))", "return z"),
        ("Block stops in line", "nn.Linear(4 * d, d)", "nn.Linear(d, d)"),
    ],
    "vit": [
        ("E is not a parameter", "self.embed = nn.Linear(", "self.embed = frozen("),
        ("softmax before the cross-entropy", "self.head(self.norm(z[:, 0]))",
         "self.head(self.norm(z[:, 0])).softmax(-1)"),
        ("logits not read from [CLS]", "z[:, 0]", "z[:, 1]"),
        ("no positions", "z], dim=1) + self.positions", "z], dim=1)"),
        ("missing return: ViT returns None", "return self.head", "self.head"),
        ("[CLS] is not a parameter", "nn.Parameter(torch.randn(1, 1, d) * 0.02)", "torch.randn(1, 1, d) * 0.02"),
        ("the blocks are not registered", "nn.ModuleList(Block(d, n_heads) for _ in range(n_blocks))",
         "[Block(d, n_heads) for _ in range(n_blocks)]"),
        ("no LayerNorm before the head", "self.head(self.norm(z[:, 0]))", "self.head(z[:, 0])"),
        ("all other sizes must agree; ViT stops in line", "self.class_token.expand(len(z), -1, -1)",
         "self.class_token"),
        ("wrong shape: ViT returns (3, 50, 10), expected (3, 10)", "self.norm(z[:, 0])", "self.norm(z)"),
    ],
    "trainable_positions": [
        ("requires_grad on a buffer", "model.positions = nn.Parameter(start)",
         "model.register_buffer('positions', start.requires_grad_())"),
        ("positions are reinitialised", "nn.Parameter(start)", "nn.Parameter(torch.randn_like(start))"),
        ("missing return", "    return model", "    model"),
        ("returns a Parameter, expected the model", "return model", "return model.positions"),
        ("positions is not a parameter",
         "model.positions = nn.Parameter(start)", "model.register_buffer('positions', start)"),
        ("requires_grad is False", "nn.Parameter(start)", "nn.Parameter(start, requires_grad=False)"),
        (
            "wrap the tensor in nn.Parameter; make_positions_trainable stops in line",
            "del model.positions\n    model.positions = nn.Parameter(start)",
            "model.positions = start.numpy()",
        ),
        ("model.positions is missing", "model.positions = nn.Parameter(start)", "model.table = nn.Parameter(start)"),
        ("wrong shape: positions are (1, 50, 8), expected (50, 8)", "nn.Parameter(start)", "nn.Parameter(start[None])"),
        ("parameters that are no longer trained", "    return model",
         "    model.head.weight.requires_grad_(False)\n    return model"),
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
        ("[CLS] is still a parameter", "del self.class_token", "pass"),
        ("wrong number of positions: expected 49 rows, received 50",
         "get_positional_embeddings(self.n_patches**2, ", "get_positional_embeddings(self.n_patches**2 + 1, "),
        ("no LayerNorm before the head", "self.norm(z).mean(dim=1)", "z.mean(dim=1)"),
        ("no positions: add them to the patches", "patchify(images, self.n_patches)) + self.positions",
         "patchify(images, self.n_patches))"),
        ("missing return: WithoutCLS returns None", "return self.head", "self.head"),
        ("wrong shape: WithoutCLS returns (3, 49, 10), expected (3, 10)", ".mean(dim=1)", ""),
        ("the blocks are not used", "for block in self.blocks:", "for block in []:"),
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
    files = {Path(name).stem: (ROOT / name).read_text("utf-8") for name in (EXPLAIN, *exercise.given)}
    files |= {Path(name).stem: text for name, text in exercise.files().items()}
    files["task"] = solution
    before = {name: sys.modules.get(name) for name in files}
    try:
        order = ["explain", *(Path(name).stem for name in GIVEN), "budget", "task", "test_task"]
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


@pytest.mark.parametrize(  # "accuracy" trains for half a minute
    "exercise", rows(EXERCISES, lambda one: one.slug != "accuracy"), ids=lambda one: one.slug
)
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
            mistakes = [name for name, _, _ in MISTAKES[exercise.slug]]
            assert len(mistakes) >= 8 and tuple(mistakes[: len(exercise.mistakes)]) == exercise.mistakes


@pytest.mark.parametrize(
    ("sentence", "old", "new"),
    [
        ("too many parameters", "d=32", "d=64"),
        ("images of the budget are left", "d=32", "d=32"),
        ("softmax before the cross-entropy", "model = ViT(", "model = Shares("),
        (
            "ask for at most `budget.left` images; train stops",
            "budget.left // 64",
            "1 + 0 * len(budget.batch(10**6))",
        ),
        ("missing return: train returns None", "return model", "model"),
        ("train returns a Parameter, expected the trained model", "return model", "return model.positions"),
        (
            "frozen parameters: head.weight",
            "return model",
            "model.head.weight.requires_grad_(False); return model",
        ),
        (
            "wrong shape: the model returns (360, 9), expected (360, 10)",
            "n_heads=4)",
            "n_heads=4, n_classes=9)",
        ),
        ("create the attribute in __init__", "model.positions.clone()", "model.position.clone()"),
    ],
)
def test_a_mistake_of_the_free_training_is_named(sentence: str, old: str, new: str) -> None:
    solution = BY_SLUG["accuracy"].solution()
    idle = solution.replace("for step in range(steps)", "for step in range(0)")
    messages = failures(BY_SLUG["accuracy"], idle.replace(old, new) + SHARES)
    assert any(sentence in message for message in messages), messages


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
    assert empty.returncode == 1 and "is not written yet: replace `raise NotImplementedError`" in empty.stdout
    assert (
        "Traceback" not in empty.stdout and "AssertionError" not in empty.stdout and "..." not in empty.stdout
    )
    (folder / "task.py").write_text(BY_SLUG[slug].solution(), "utf-8")
    solved = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert solved.returncode == 0, solved.stdout + solved.stderr


@pytest.mark.slow  # a kernel of its own
def test_the_notebook_names_a_mistake_and_passes_the_solutions(tmp_path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    book = nbformat.reads(create_notebook(tuple(BY_SLUG)).decode(), as_version=4)
    nbformat.validate(book)
    nbclient.NotebookClient(book, kernel_name="python3", allow_errors=True).execute(cwd=str(tmp_path))
    returned = ["".join(out.get("text", "") for out in cell.get("outputs", [])) for cell in book.cells]
    assert all("is not written yet" in text for text in returned[4:-1:3]), returned
    for cell, slug in zip(book.cells[3::3], BY_SLUG, strict=True):
        cell.source = BY_SLUG[slug].solution()
    nbclient.NotebookClient(book, kernel_name="python3").execute(cwd=str(tmp_path))
    for cell in book.cells[4::3]:
        lines = cell.outputs[0]["text"].splitlines()
        assert lines and all(line.endswith(": passed") for line in lines), lines
