"""Limit the size of a model that an untrusted config may ask for, before anything is built from it."""

from functools import singledispatch

from vitviz.config import ModelConfig, SwinConfig, ViTConfig

MAX_IMAGE_PX = 2048
MAX_WIDTH = 8192
MAX_TABLE = 2**23  # values of a table of positions, or of the offsets in the windows of all layers
MAX_LAYERS = 512  # each takes half a millisecond to lay out


def check_buildable(config: ModelConfig, most_layers: int) -> None:
    """Check that a config is small enough to build.

    Args:
        config: of the model, from a file or a form.
        most_layers: how many it may have; a file's tensors, of which every layer has at least one.

    Raises:
        ValueError: stating what is out of proportion.
    """
    layers, own_width = _layers_and_widths(config)
    widths = [config.image_size, config.in_chans, config.num_classes, *own_width]
    if config.image_size > MAX_IMAGE_PX:
        raise ValueError(f"image_size must be at most {MAX_IMAGE_PX}, received {config.image_size}")
    if max(widths) > MAX_WIDTH:
        raise ValueError(f"expected widths of at most {MAX_WIDTH}, received {max(widths)}")
    most_layers = min(most_layers, MAX_LAYERS)
    if layers > most_layers:
        raise ValueError(f"there can be at most {most_layers} layers here, received {layers}")


@singledispatch
def _layers_and_widths(config: ModelConfig) -> tuple[int, list[int]]:
    """Return a model's number of layers and its inner widths; refuse other numbers that are out of proportion."""
    widths = [*getattr(config, "widths", ()), getattr(config, "channels", 1)]
    return sum(getattr(config, "blocks", (1,))), widths


@_layers_and_widths.register
def _(config: ViTConfig) -> tuple[int, list[int]]:
    rows, cols = config.grid
    if rows * cols * config.embed_dim > MAX_TABLE:
        raise ValueError(
            f"{rows} x {cols} positions of width {config.embed_dim} are more than {MAX_TABLE} values"
        )
    _check_mlp(config.mlp_ratio)
    return config.depth + len(config.stem), [config.embed_dim, *config.stem]


@_layers_and_widths.register
def _(config: SwinConfig) -> tuple[int, list[int]]:
    layers = sum(config.depths)
    if layers * config.window_size**4 > MAX_TABLE:
        raise ValueError(
            f"windows of {config.window_size} x {config.window_size} tokens in {layers} layers have more than"
            f" {MAX_TABLE} offsets"
        )
    _check_mlp(config.mlp_ratio)
    return layers, [config.embed_dim * 2 ** min(len(config.depths), 64), config.window_size]


def _check_mlp(ratio: float) -> None:
    if ratio > 64:
        raise ValueError(f"mlp_ratio must be at most 64, received {ratio:g}")
