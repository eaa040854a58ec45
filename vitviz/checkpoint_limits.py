"""How large a model a stranger's config may ask for, checked before anything is built from it."""

from __future__ import annotations

from vitviz.config import ModelConfig, SwinConfig, ViTConfig

MAX_IMAGE_PX = 2048
MAX_WIDTH = 8192
MAX_TABLE = 2**23  # values of a table of positions, or of the offsets in the windows of all layers
MAX_LAYERS = 512  # each takes half a millisecond to lay out


def check_buildable(config: ModelConfig, most_layers: int) -> None:
    """Refuse a config whose model would not even be worth laying out.

    Args:
        config: of the model, from a file or a form.
        most_layers: how many it may have; a file's tensors, of which every layer has at least one.

    Raises:
        ValueError: stating what is out of proportion.
    """
    widths = [config.image_size, config.in_chans, config.num_classes]
    layers = 1
    if isinstance(config, ViTConfig):
        widths += [config.embed_dim, *config.stem]
        layers = config.depth + len(config.stem)
        rows, cols = config.grid
        if rows * cols * config.embed_dim > MAX_TABLE:
            raise ValueError(
                f"{rows} x {cols} positions of width {config.embed_dim} are more than {MAX_TABLE} values"
            )
        if config.mlp_ratio > 64:
            raise ValueError(f"mlp_ratio must be at most 64, received {config.mlp_ratio:g}")
    elif isinstance(config, SwinConfig):
        widths += [config.embed_dim * 2 ** min(len(config.depths), 64), config.window_size]
        layers = sum(config.depths)
        if layers * config.window_size**4 > MAX_TABLE:
            raise ValueError(
                f"windows of {config.window_size} x {config.window_size} tokens in {layers} layers have more than"
                f" {MAX_TABLE} offsets"
            )
        if config.mlp_ratio > 64:
            raise ValueError(f"mlp_ratio must be at most 64, received {config.mlp_ratio:g}")
    else:
        widths += [*getattr(config, "widths", ()), getattr(config, "channels", 1)]
        layers = sum(getattr(config, "blocks", (1,)))
    if config.image_size > MAX_IMAGE_PX:
        raise ValueError(f"image_size must be at most {MAX_IMAGE_PX}, received {config.image_size}")
    if max(widths) > MAX_WIDTH:
        raise ValueError(f"widths must be at most {MAX_WIDTH}, received {max(widths)}")
    most_layers = min(most_layers, MAX_LAYERS)
    if layers > most_layers:
        raise ValueError(f"there can be at most {most_layers} layers here, received {layers}")
