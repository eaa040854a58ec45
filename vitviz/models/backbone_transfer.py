"""Transfer a trained backbone to a new head: kept, new and resized weights."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from torch import Tensor, nn

from vitviz.config import ModelConfig, Preparation, ViTConfig
from vitviz.config_fields import Size, format_size
from vitviz.models.vit import resize_positions
from vitviz.models.zoo import create_model, empty_model

Fate = Literal["kept", "new", "resized"]
HEADS = ("head", "head_dist")
POSITIONS = "pos_embed"
# New heads are drawn far from the seeds that models are trained with. With one seed for both, the new head of seed 0
# was the head that the backbone had begun with: MNIST's backbone then knew scikit-learn's digits before any update.
HEAD_SEEDS = 1 << 20


@dataclass(frozen=True)
class Piece:
    """One tensor of the new model: its shape in the old one (None where that had none) and in the new one."""

    name: str
    before: tuple[int, ...] | None
    after: tuple[int, ...]
    fate: Fate


def fitted(source: ModelConfig, classes: int, image_size: Size | None = None) -> ModelConfig:
    """Return the config of a model with this backbone and a head of `classes` classes.

    Args:
        source: of the trained model; a softmax after its head goes with the head.
        image_size: of the images in px; None: as before.

    Raises:
        ValueError: if the backbone cannot read images of another size, or patches do not divide it.
    """
    changes: dict[str, object] = {"num_classes": classes}
    if hasattr(source, "softmax_output"):
        changes["softmax_output"] = False
    if hasattr(source, "class_output"):
        changes["class_output"] = "softmax"
    if image_size is not None and image_size != source.image_size:
        if not isinstance(source, ViTConfig):
            raise ValueError(
                f"only a ViT is taken to another resolution here, received a {source.kind} for"
                f" {format_size(source.image_size)} px and {format_size(image_size)} px"
            )
        changes["image_size"] = image_size
    return replace(source, **changes)  # type: ignore[arg-type]


def fitted_preparation(source: Preparation, image_size: Size, drawn: bool) -> Preparation:
    """Return how the new images are brought to what the backbone reads: its channels, mean and std.

    Images are changed and weights are not: grey images are repeated into three channels, coloured ones become
    their luminance.

    Args:
        source: the backbone's own.
        image_size: of the new model, in px.
        drawn: whether the images are drawn digits, which a model of digits centres by their mass; others are cut.
    """
    return replace(source, image_size=image_size, digit=source.digit and drawn)


def pieces(source: ModelConfig, target: ModelConfig) -> tuple[Piece, ...]:
    """Return every tensor of the new model, in its order, and what becomes of the old one's.

    Raises:
        ValueError: if the backbones differ in more than positions and heads.
    """
    old, new = (_shapes(config) for config in (source, target))
    target_pieces = tuple(
        Piece(name, old.get(name), shape, _fate(name, old.get(name), shape)) for name, shape in new.items()
    )
    lost = sorted(name for name in set(old) - set(new) if name.partition(".")[0] not in HEADS)
    if lost:
        raise ValueError(f"the new model lacks the parameters {', '.join(lost[:3])}")
    return target_pieces


def transferred(
    state: Mapping[str, Tensor], source: ModelConfig, target: ModelConfig, seed: int
) -> dict[str, Tensor]:
    """Return the new model's weights: the old backbone, a head drawn with `seed`, positions resized to the new grid.

    Args:
        state: the old model's.
        source, target: shapes of the old model and of the new one.

    Raises:
        ValueError: if the backbones differ in more than positions and heads.
    """
    fresh = create_model(target, HEAD_SEEDS + seed).state_dict()
    made: dict[str, Tensor] = {}
    for piece in pieces(source, target):
        if piece.fate == "new":
            made[piece.name] = fresh[piece.name]
        elif piece.fate == "kept":
            made[piece.name] = state[piece.name].detach().to(fresh[piece.name].dtype, copy=True)
        else:
            assert isinstance(source, ViTConfig) and isinstance(target, ViTConfig)
            options = source.positions_antialias, source.positions_align_corners
            table = state[piece.name].detach().float()
            made[piece.name] = resize_positions(table, source.grid, target.grid, *options)
    return made


def create_initialised_model(
    config: ModelConfig, seed: int, start: Mapping[str, Tensor] | None = None
) -> nn.Module:
    """Return a new model with weights that were made for it, or with random ones."""
    model = create_model(config, seed)
    if start is not None:
        model.load_state_dict(start)
    return model


def body_names(config: ModelConfig) -> tuple[str, ...]:
    """Return the name prefixes of all parameters outside the head, to freeze the backbone."""
    names = (name.partition(".")[0] for name in _shapes(config))
    return tuple(dict.fromkeys(name for name in names if name not in HEADS))


@lru_cache(maxsize=64)
def _shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in empty_model(config).state_dict().items()}


def _fate(name: str, before: tuple[int, ...] | None, after: tuple[int, ...]) -> Fate:
    if name.partition(".")[0] in HEADS:
        return "new"
    if before == after:
        return "kept"
    if name == POSITIONS and before is not None and before[-1] == after[-1]:
        return "resized"
    raise ValueError(f"{name} must be {after} in the new model, and the old one has {before}")
