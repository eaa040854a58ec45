"""Find the CIFAR-10 image of which all shipped models are most confident: `python -m vitviz.clearest_image`.

Colour models open on this image, so models must classify it correctly and people must recognise it at 32 x 32 pixels.
"""

import json
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from vitviz.checkpoint_header import read_header
from vitviz.checkpoints import open_model
from vitviz.data import cifar10_few
from vitviz.data.image_preprocessing import prepare_batch

LEARNED = "cifar10"


def clearest(right: NDArray[np.float64]) -> int:
    """Return the index of the image whose least confident model is most confident.

    Args:
        right: (models, images) probability of each image's own class.
    """
    return int(right.min(axis=0).argmax())


def measure_confidences(folder: Path = cifar10_few.FOLDER) -> NDArray[np.float64]:
    """(models, images): what every model of the folder that learned from CIFAR-10 gives each image's own class."""
    dataset = cifar10_few.few_dataset(folder)
    labels = dataset.labels_of("test")
    confidences = []
    for path in sorted(folder.glob("*.safetensors")):
        if read_header(path).card.get("dataset") == LEARNED:
            model = open_model(path)
            with torch.inference_mode():
                logits = model.model(torch.from_numpy(prepare_batch(dataset.test_images, model.preparation)))
            confidences.append(model.probabilities(logits.double().numpy())[np.arange(len(labels)), labels])
    return np.stack(confidences)


def main() -> None:
    """Write the index of the image into the description of the 200 images."""
    right = measure_confidences()
    number = clearest(right)
    file = cifar10_few.FOLDER / cifar10_few.WORDS
    words = json.loads(file.read_text("utf-8")) | {"clearest": number}
    cifar10_few.write_words(file, words)
    print(
        f"{cifar10_few.NAME}:{number}: {len(right)} models give its class {right[:, number].min():.4f} or more"
    )


if __name__ == "__main__":
    main()
