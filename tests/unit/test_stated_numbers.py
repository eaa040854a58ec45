"""Numbers that stand in README, CONTRIBUTING and titles are those of the code and of the tables that they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pages.studies.study import list_studies
from vitviz.checkpoint_header import read_header
from vitviz.data import cifar10_few
from vitviz.data.datasets import load_dataset
from vitviz.exercises import EXERCISES
from vitviz.experiment import EXPERIMENTS
from vitviz.experiments import robustness
from vitviz.experiments.tuning_methods import WAYS
from vitviz.training.presets import TRAINING_PRESETS

ROOT = Path(__file__).resolve().parents[2]
README = " ".join(
    "".join((ROOT / f"{name}.md").read_text("utf-8") for name in ("README", "CONTRIBUTING")).split()
)
NEWEST = (ROOT / "benchmarks/time_to_accuracy.md").read_text("utf-8").partition("\n## ")[0]
FAST = ("mnist_90", "mnist_fast", "cifar10_fast")
COUNTS = {
    "twenty-five questions": [len(list_studies())],
    "five models on a thousand changed images": [len(robustness.MODELS)],
    "seven ways to fine-tune a backbone": [len(WAYS)],
    "five lessons": [len([*(ROOT / "lessons").glob("*.toml")])],
}
WORDS = {"five": 5, "seven": 7, "nine": 9, "twenty-five": 25}


@pytest.mark.parametrize("returned", COUNTS)
def test_readme_counts_what_there_is(returned: str) -> None:
    (word,) = re.findall("|".join(WORDS), returned.lower())
    assert returned in README
    assert {*COUNTS[returned]} == {WORDS[word]}


def test_the_exercises_are_nine() -> None:
    assert (
        "Nine programming tasks" in (ROOT / "exercises/README.md").read_text("utf-8") and len(EXERCISES) == 9
    )
    assert "a thousand changed images" in README and robustness.PICTURES == 1000


def test_readme_names_every_experiment() -> None:
    returned = README.partition("The experiments are:")[2]
    named: set[str] = set()
    for name in re.findall(r"`([a-z][a-z0-9_{},]+)`", returned):
        before, _, choices = name.partition("{")
        named |= {f"{before}{one}" for one in choices.rstrip("}").split(",")}
    assert named == set(EXPERIMENTS)


@pytest.mark.parametrize("name", FAST)
def test_times_and_accuracies_are_the_table_s(name: str) -> None:
    """README's row and the preset's title say what the newest run of the benchmark measured."""
    (row,) = [line for line in NEWEST.splitlines() if line.startswith("|") and f"`{name}`" in line]
    seconds, share = (
        float(found[1])
        for found in (re.search(rf"`{name}`: ([\d.]+) s", row), re.search(r"\| ([\d.]+) % \(", row))
        if found
    )
    (times,) = re.findall(r"\*\*(\d+) ×\*\*", row)
    assert re.search(
        rf"\| `{name}` \|[^|]+\|[^|]+\| {share:.1f} % \| {seconds:.1f} s \| {times} × as long \|", README
    )
    assert TRAINING_PRESETS[name].title.endswith(f"{share:.0f} % in {seconds:.0f} s")


@pytest.mark.parametrize(
    ("returned", "number", "lesson"), [("cat", 3, "explanation"), ("ship", 118, "lecture")]
)
def test_lessons_call_an_image_what_it_is(returned: str, number: int, lesson: str) -> None:
    text = (ROOT / f"lessons/{lesson}.toml").read_text("utf-8")
    assert f"image={cifar10_few.NAME}:{number}&" in text and re.search(rf"\b{returned}\b", text)
    data = load_dataset(cifar10_few.NAME)
    assert data.classes[data.labels_of("test")[number]] == returned


def test_lessons_open_shipped_models_at_their_last_step_or_the_first() -> None:
    for path in (ROOT / "lessons").glob("*.toml"):
        for name, step in re.findall(r"model=checkpoint:(\w+)&step=(\d+)", path.read_text("utf-8")):
            steps = read_header(ROOT / f"checkpoints/{name}.safetensors").steps
            assert int(step) in (steps[0], steps[-1]), (path.name, name, step)
