"""Models with images and their intermediates, written for the tests of the browser's engine."""

import json
import random
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import torch

from pages.start.map_messages import build_map
from tests.strokes import draw_digits
from vitviz.analysis import image_changes
from vitviz.checkpoint_header import read_header
from vitviz.checkpoints import Checkpoint, checkpoint_bytes, load_checkpoint, open_model
from vitviz.config import CNNConfig, ModelConfig, Preparation, SwinConfig, ViTConfig, to_dict
from vitviz.data import drawings
from vitviz.data.image_preprocessing import prepare
from vitviz.models.abilities import abilities
from vitviz.models.loaded_model import read_outputs
from vitviz.models.model_cost import multiply_adds, parameters
from vitviz.models.vit import VisionTransformer
from vitviz.models.zoo import create_model
from vitviz.plots.blob import pack
from vitviz.probe.embedding import without_positions
from vitviz.probe.forward_pass import record_journey
from vitviz.probe.robustness import inputs_of

ROOT = Path(__file__).resolve().parents[1]
A_FAMILY = 12
DRAWINGS = 60
FAMILIES = ("vit", "deit", "hybrid", "swin", "cnn")
LARGE = ("cifar10_cnn_wide", "dinov2_small_saliency")  # beyond the engine's limits

# Values of fields that are no choice among few; all others are drawn from their type.
_VALUES: dict[str, tuple[Any, ...]] = {
    "image_size": (12, 16, 24),
    "patch_size": (2, 3, 4, 6, 8),
    "in_chans": (1, 3),
    "num_classes": (0, 2, 5),
    "embed_dim": (8, 16, 24),
    "depth": (1, 2, 3),
    "num_heads": (1, 2, 4),
    "mlp_ratio": (1.0, 1.7, 4.0),
    "norm_eps": (1e-6, 1e-5, 1e-3),
    "num_registers": (0, 0, 1, 3),
    "layer_scale": (None, 0.1, 1.0),
    "head_dim": (0, 0, 4, 12),
    "projection": (0, 0, 7),
    "rope_theta": (100.0, 10.0),
    "dropout": (0.0, 0.1),
    "attention_dropout": (0.0, 0.1),
    "drop_path": (0.0, 0.1),
    "window_size": (2, 3, 4),
    "stem": ((),),
}
# Options that the engine lacks: a model that uses one is left to the server.
LACKING: dict[str, tuple[Any, ...]] = {
    "readout": ("map",),
    "norm": ("res_post",),
    "class_output": ("sigmoid", "raw"),
    "rotary_beside": (True,),
    "positions_align_corners": (True,),
    "rope_type": ("cat", "mixed"),
    "rope_interleaved": (True,),
    "rope_columns_first": (True,),
    "rope_offset": (0.5,),
    "rope_reference": (16,),
    "norm_layer": ("rms",),
    "attn_norm": (True,),
    "mlp_norm": (True,),
    "patch_norm": (True,),
    "pool_prefix": (True,),
    "pool_heads": (2,),
    "pool_activation": ("relu",),
    "pool_ratio": (2.0,),
}
LACKING_SWIN: dict[str, tuple[Any, ...]] = {
    "class_output": ("sigmoid", "raw"),
    "cosine": (True,),
    "pretrained_windows": ((4, 4), (0, 8)),
}
_OF_SWIN = {"num_heads": ((1, 2), (2, 4), (4, 2, 8)), "depths": ((1, 2), (2, 2), (2, 1, 2))}
_OF_CNN = {
    "num_classes": (2, 5),
    "widths": ((8, 12), (4, 8, 6), (24, 16), (8, 8)),
    "blocks": ((1, 1), (1, 2, 1), (0, 1), (2, 1)),
}
_STEMS = ((6,), (4, 6), (4, 6, 8), (5, 4, 6, 8))


@cache
def option_values(cls: type[ModelConfig], name: str) -> tuple[Any, ...]:
    """Return the values of a field that random configs draw from."""
    if name in (LACKING_SWIN if cls is SwinConfig else LACKING) and name not in ("readout", "norm"):
        return (next(field.default for field in fields(cls) if field.name == name),)
    special = {SwinConfig: _OF_SWIN, CNNConfig: _OF_CNN}.get(cls, {})
    if name in special or name in _VALUES:
        return special.get(name, _VALUES.get(name, ()))
    kind = get_type_hints(cls)[name]
    options = (False, True) if kind is bool else get_args(kind)
    return tuple(option for option in options if option not in LACKING.get(name, ()))


def draw_config(family: str, dice: random.Random) -> ModelConfig:
    """Return a valid config of a family, every field drawn at random."""
    cls = {"swin": SwinConfig, "cnn": CNNConfig}.get(family, ViTConfig)
    names = [field.name for field in fields(cls)]
    while True:
        values = {name: dice.choice(option_values(cls, name)) for name in names}
        if cls is ViTConfig:
            values["distilled"] = family == "deit"
            values["stem"] = dice.choice(_STEMS) if family == "hybrid" else ()
        try:
            config = cls(**values)
            _check_runs(config)
        except (ValueError, RuntimeError):  # a combination that no model has
            continue
        return config


def _check_runs(config: ModelConfig) -> None:
    if isinstance(config, ViTConfig) and config.head_input == "slice" and config.head_dim:
        raise ValueError("a head that reads a slice has the slice's width")
    model = create_model(config).eval()
    with torch.no_grad():
        model(torch.zeros(2, config.in_chans, config.image_size, config.image_size))


def random_checkpoint(config: ModelConfig, seed: int) -> bytes:
    """Return a checkpoint of random weights, stored as fp16; no bias or gain is left at its initial value."""
    dice = torch.Generator().manual_seed(seed)
    state = create_model(config, seed).state_dict()
    for name, tensor in state.items():
        if name.endswith("running_var"):
            tensor.copy_(torch.rand(tensor.shape, generator=dice) + 0.5)
        elif tensor.is_floating_point():
            tensor += 0.1 * torch.randn(tensor.shape, generator=dice)
    preparation = Preparation(config.image_size, (0.5,) * config.in_chans, (0.5,) * config.in_chans)
    classes = tuple(str(index) for index in range(config.num_classes))
    return checkpoint_bytes(Checkpoint(config, preparation, None, classes, snapshots={0: state}), half=True)


def one_step(path: Path) -> bytes:
    """Return a shipped checkpoint with its last step alone."""
    loaded = load_checkpoint(path)
    return checkpoint_bytes(
        Checkpoint(loaded.config, loaded.preparation, None, loaded.classes, snapshots=loaded.snapshots),
        half=True,
    )


def expected_record(raw: bytes, seed: int, masked: bool) -> bytes:
    """Return an image, masks and all intermediates without the batch's axis, as a message."""
    loaded = open_model(raw)
    config, dice = loaded.config, torch.Generator().manual_seed(seed)
    image = torch.randn(1, config.in_chans, config.image_size, config.image_size, generator=dice)
    arrays, options = {"image": image[0].numpy()}, {}
    if masked and not isinstance(config, CNNConfig):
        if isinstance(config, SwinConfig):
            shape: tuple[int, ...] = (sum(config.depths), max(config.num_heads))
        else:
            shape = (config.depth, config.num_heads)
            grid = config.grid[0] * config.grid[1]
            options["token_mask"] = torch.arange(grid) % 3 > 0
            arrays["token_mask"] = options["token_mask"].numpy().astype(np.uint8)
        options["head_mask"] = torch.randint(0, 3, shape, generator=dice) / 2
        arrays["head_mask"] = options["head_mask"].numpy()
    with torch.no_grad():
        _, record = loaded.model(image, record=True, **options)
        if isinstance(loaded.model, VisionTransformer) and abilities(config).positions and not options:
            logits = without_positions(loaded.model)(image)
            arrays["without_positions"] = read_outputs(config, logits[0].numpy()).astype(np.float32)
    whole = getattr(loaded.model, "unbatched_records", ())
    named = {
        name: tensor.numpy() if name.endswith((".window_index", ".mask")) and whole else tensor[0].numpy()
        for name, tensor in record.items()
    }
    for name, array in named.items():
        array = array.astype(np.int32) if array.dtype == np.int64 else array
        # JSON has no infinity: -inf stays inside the bytes.
        arrays[f"record/{name}"] = np.ascontiguousarray(array)
    return pack({}, **arrays)


def cases() -> Iterator[tuple[str, bytes, bool]]:
    """Yield (name, checkpoint, with masks) of every shipped checkpoint and of random configs of each family."""
    for path in sorted((ROOT / "checkpoints").glob("*.safetensors")):
        if path.stem not in LARGE:
            yield path.stem, one_step(path), False
    for family in FAMILIES:
        dice = random.Random(family)
        for index in range(A_FAMILY):
            yield f"{family}_{index}", random_checkpoint(draw_config(family, dice), index), index % 2 == 1


def write_cases(folder: Path) -> None:
    """Write NAME.safetensors and NAME.record of every case, and costs.json: sizes of all configs."""
    write_drawings(folder)
    write_changes(folder)
    costs = []
    for seed, (name, raw, masked) in enumerate(cases()):
        (folder / f"{name}.safetensors").write_bytes(raw)
        (folder / f"{name}.record").write_bytes(expected_record(raw, seed, masked))
    for path in sorted(folder.glob("*.safetensors")):
        config = read_header(path).config
        costs.append(_costs(config))
    for path in (ROOT / "checkpoints" / f"{name}.safetensors" for name in LARGE):
        costs.append(_costs(read_header(path).config))
    (folder / "costs.json").write_text(json.dumps(costs))
    plain = to_dict(ViTConfig())
    window = to_dict(SwinConfig())
    lacking = [
        {**base, name: value}
        for base, options in ((plain, LACKING), (window, LACKING_SWIN))
        for name, values in options.items()
        for value in values
    ]
    (folder / "lacking.json").write_text(json.dumps([[plain, window], lacking]))


def write_drawings(folder: Path) -> None:
    """Write drawings.json: strokes, what the models of digits see, and their classes; and two drawings' maps."""
    texts = [*draw_digits(DRAWINGS), drawings.FIRST, ""]
    stored: dict[str, Any] = {"strokes": texts}
    for name in ("mnist_vit", "digits_vit"):
        model = open_model(one_step(ROOT / "checkpoints" / f"{name}.safetensors"))
        prepared = [prepare(drawings.draw_strokes(text), model.preparation) for text in texts]
        with torch.no_grad():
            logits = model.model(torch.from_numpy(np.stack([image.input for image in prepared])))
        stored[name] = {
            "preparation": to_dict(model.preparation),
            "shown": [image.shown[..., 0].ravel().tolist() for image in prepared],
            "frames": [drawings.find_frame(text, model.preparation) for text in texts],
            "classes": logits.argmax(dim=1).tolist(),
        }
        if name == "mnist_vit":
            for index in (0, 1):
                values, shown = prepared[index].input, prepared[index].shown
                message = build_map(model, record_journey(model, values), shown)
                (folder / f"map_{index}.bin").write_bytes(message)
    (folder / "drawings.json").write_text(json.dumps(stored))


def write_changes(folder: Path) -> None:
    """Write changes.bin: an image, covered, rearranged, turned and blurred, and as the CIFAR-10 ViT's input."""
    model = open_model(ROOT / "checkpoints" / "cifar10_vit.safetensors")
    image = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    border = image_changes.border_colour(image)
    hands: list[dict[str, Any]] = [
        {"change": "occlude", "at": at, "place": place}
        for at, place in ((1, (0.25, 0.25)), (3, (0.013, 0.5)), (6, (1.0, 0.984)), (2, (0.328, 0.141)))
    ]
    hands.append({"change": "pieces", "at": 1, "pieces": np.random.default_rng(1).permutation(16).tolist()})
    hands += [{"change": change, "at": at} for change in ("rotate", "blur") for at in (1, 7, 14, 16)]
    hands.append({"change": "rotate", "at": 18})  # a quarter turn
    arrays = {"whole": image}
    for index, hand in enumerate(hands):
        setting = image_changes.ChangeSetting(
            place=hand.get("place", (0.5, 0.5)), pieces=tuple(hand.get("pieces", range(16)))
        )
        change = image_changes.CHANGES[hand["change"]]
        hand["values"] = list(change.values)
        arrays[f"changed{index}"] = change.apply(image, change.values[hand["at"]], setting)
        arrays[f"input{index}"] = inputs_of(model, arrays[f"changed{index}"][None])[0]
    header = {
        "hands": hands,
        "border": [round(float(level)) for level in border],
        "preparation": to_dict(model.preparation),
    }
    (folder / "changes.bin").write_bytes(pack(header, **arrays))


def _costs(config: ModelConfig) -> dict[str, Any]:
    try:
        products = sum(multiply_adds(config, config.image_size).values())
    except ValueError:  # windows that do not tile the grid
        products = None
    if isinstance(config, SwinConfig):
        smallest = config.image_size // config.patch_size / 2 ** (len(config.depths) - 1)
        products = products if smallest >= config.window_size else None  # the closed form pads no window
    return {
        "config": to_dict(config),
        "parameters": sum(parameters(config).values()),
        "products": products,
    }


if __name__ == "__main__":
    import sys

    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    write_cases(target)
