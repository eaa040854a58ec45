"""A file's name says what it is about: it stands twice only for one subject in several layers, or for one role in
several lenses."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# One subject: what it is, what computes it, what draws it, what keeps it, the page that shows it.
SUBJECTS = set(
    """activation_patching augmentation changed_tokens channels cka class_question cost data_size distance distillation
    experiment explanation_methods faces faithfulness filters fine_tuning flip_book forward_pass gradients
    image_changes image_pair image_sets logits norms patches positions
    presets published_weights race robustness scoreboard shuffled_patches sinks swin token_similarity""".split()
)
# One role, in each lens for its own image.
ROLES = set("captions page".split())
# Two things by one name, and why they keep it.
EXCEPTIONS = {
    "layers": "building blocks in models, as in timm; what a model's layers say in probe and plots",
    "registry": "the list of pages in stores; in frame its name for tools outside the project",
}


def homes() -> Counter[str]:
    """How many folders have a file of each name."""
    files = (path for folder in ("vitviz", "pages") for path in (ROOT / folder).rglob("*.py"))
    return Counter(path.stem for path in files if path.stem != "__init__")


def test_a_file_s_name_means_one_thing() -> None:
    twice = {name for name, count in homes().items() if count > 1}
    known = SUBJECTS | ROLES | EXCEPTIONS.keys()
    assert sorted(twice - known) == [], (
        "give the second file a name of its own, or say that it is the same subject"
    )
    assert sorted(known - twice) == [], "stands once now: take it out of the list"
