"""Compare the predictions of a teacher, both heads of its student, and a baseline without a teacher.

For every shipped student whose teacher is shipped: accuracy on all test images, the share of images that each pair
predicts differently (DeiT paper, table 4), and how often each model repeats the teacher's mistakes. Writes
checkpoints/distillation.json for the page *DeiT*; needs the students' dataset on this machine.

    python benchmarks/distillation.py
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from vitviz.analysis.distillation import combine_heads, disagreement, repeated_mistake_share  # noqa: E402
from vitviz.checkpoint_header import Header, read_header  # noqa: E402
from vitviz.checkpoints import open_model  # noqa: E402
from vitviz.config import TrainConfig, ViTConfig  # noqa: E402
from vitviz.data.datasets import default_pictures, load_dataset  # noqa: E402
from vitviz.data.image_preprocessing import prepare_batch  # noqa: E402
from vitviz.probe.capture import capture  # noqa: E402
from vitviz.weight_identity import resolve_identity  # noqa: E402

CHECKPOINTS = ROOT / "checkpoints"
BATCH = 250


def twin_of(header: Header, shipped: dict[str, Header]) -> str | None:
    """Return the shipped model with the student's config and training, but without the token and the teacher."""
    if not isinstance(header.config, ViTConfig) or header.train is None:
        return None
    config = replace(header.config, distilled=False)
    train = replace(
        header.train,
        distill_from=None,
        distillation=TrainConfig.distillation,
        distillation_weight=TrainConfig.distillation_weight,
        distillation_temperature=TrainConfig.distillation_temperature,
    )
    return next(
        (name for name, other in shipped.items() if (other.config, other.train) == (config, train)), None
    )


def logits(path: Path, images: np.ndarray) -> dict[str, np.ndarray]:
    """'logits', and a student's 'logits_cls' and 'logits_dist', of all pictures."""
    loaded = open_model(path)
    parts: list[dict[str, np.ndarray]] = []
    for start in range(0, len(images), BATCH):
        inputs = prepare_batch(images[start : start + BATCH], loaded.preparation)
        found = capture(loaded.model, inputs, record=("logits_cls", "logits_dist"))
        parts.append({"logits": found.logits, **found.arrays})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def measure(name: str, shipped: dict[str, Header], small: bool) -> dict[str, Any]:
    """Return one student against its teacher and its twin; `small`: on pictures that are always here."""
    header = shipped[name]
    assert header.train is not None and header.train.distill_from is not None
    teacher, twin = Path(header.train.distill_from).stem, twin_of(header, shipped)
    if resolve_identity(header.card["teacher"]) != shipped[teacher].identity:
        raise SystemExit(
            f"{name} learnt from {header.card['teacher'][:16]}, which is not the {teacher} that lies here"
        )
    trained_on, channels = header.train.dataset, header.preparation.in_chans
    dataset = load_dataset(default_pictures(trained_on, channels) if small else trained_on)
    student = logits(CHECKPOINTS / f"{name}.safetensors", dataset.test_images)
    voices = {
        "teacher": logits(CHECKPOINTS / f"{teacher}.safetensors", dataset.test_images)["logits"],
        "[CLS] head": student["logits_cls"],
        "[DIST] head": student["logits_dist"],
        "both heads": student["logits"],
        "both, added": combine_heads(student["logits_cls"], student["logits_dist"])["sum"],
    }
    if twin is not None:
        voices["twin"] = logits(CHECKPOINTS / f"{twin}.safetensors", dataset.test_images)["logits"]
    decisions = np.stack([values.argmax(axis=1) for values in voices.values()])
    labels = dataset.labels_of("test")
    decided = dict(zip(voices, decisions, strict=True))
    return {
        "digests": {other: shipped[other].identity for other in (name, teacher, twin) if other is not None},
        "teacher": teacher,
        "taught": header.train.distillation,
        "twin": twin,
        "pictures": len(labels),
        "names": list(voices),
        "accuracy": [round(float((made == labels).mean()), 4) for made in decisions],
        "differs": disagreement(decisions).round(4).tolist(),
        "discordant": None
        if twin is None
        else round(float(((decided["both heads"] == labels) != (decided["twin"] == labels)).mean()), 4),
        "repeats": [round(repeated_mistake_share(made, decisions[0], labels), 4) for made in decisions],
    }


def main() -> None:
    """Measure every shipped student whose teacher is shipped."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=CHECKPOINTS / "distillation.json")
    parser.add_argument("--small", action="store_true", help="the few shipped images; writes nothing")
    given = parser.parse_args()
    torch.set_num_threads(1)
    shipped = {path.stem: read_header(path) for path in sorted(CHECKPOINTS.glob("*.safetensors"))}
    students = {
        name: measure(name, shipped, given.small)
        for name, header in shipped.items()
        if header.train is not None
        and header.train.distill_from is not None
        and Path(header.train.distill_from).stem in shipped
    }
    found = {"command": "python benchmarks/distillation.py", "measured": time.strftime("%Y-%m-%d")}
    if not given.small:
        given.out.write_text(json.dumps({**found, "students": students}, separators=(",", ":")) + "\n")
    for name, entry in students.items():
        print(name, {k: entry[k] for k in ("names", "accuracy", "repeats")})


if __name__ == "__main__":
    main()
