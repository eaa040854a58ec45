"""Compute receptive fields of a CNN, and of a hybrid's convolutional stem, from kernels and strides."""

from dataclasses import dataclass

from vitviz.config import CNNConfig, ViTConfig


@dataclass(frozen=True)
class Field:
    """A receptive field: a square of `side_px` that moves by `step_px` per feature, the first centred at `first_px`.

    `first_px` counts pixel centres: 0 is the middle of the first pixel.
    """

    side_px: int = 1
    step_px: int = 1
    first_px: float = 0.0

    def apply_layer(self, kernel: int, stride: int, padding: int) -> "Field":
        """Return the field after a layer (Araujo, Norris and Sim 2019): r + (k - 1) j, j s, c + ((k - 1)/2 - p) j."""
        return Field(
            self.side_px + (kernel - 1) * self.step_px,
            self.step_px * stride,
            self.first_px + ((kernel - 1) / 2 - padding) * self.step_px,
        )

    def box(self, row: int, col: int, image_px: int) -> tuple[int, int, int]:
        """Return (top, left, side) of a feature's field in px, moved inside the image if it crosses the edge.

        A field at least as large as the image is the image.
        """
        side = min(self.side_px, image_px)
        corners = (
            round(self.first_px + at * self.step_px - (self.side_px - 1) / 2 + (self.side_px - side) / 2)
            for at in (row, col)
        )
        top, left = (min(max(corner, 0), image_px - side) for corner in corners)
        return top, left, side


def block_fields(config: CNNConfig) -> dict[str, Field]:
    """Return the field after the stem and after every block of a CNN, by the names of their records."""
    field = Field().apply_layer(*((2, 1, 0) if config.whitened else (3, 1, 1)))
    fields = {"stem": field}
    for stage, count in enumerate(config.blocks):
        for block in range(count):
            stride = 2 if stage and not block else 1
            if config.pooled:  # convolution, maximum over stride x stride, convolution
                field = field.apply_layer(3, 1, 1).apply_layer(stride, stride, 0).apply_layer(3, 1, 1)
            else:  # the first convolution has the stride; the shortcut reads less than both
                field = field.apply_layer(3, stride, 1).apply_layer(3, 1, 1)
            fields[f"layers.{stage}.blocks.{block}"] = field
    return fields


def enlarging(config: ViTConfig) -> float:
    """Return the factor by which an image is enlarged before the stem: 1 for patches of a power of 2 px."""
    return float(2 ** (config.patch_size - 1).bit_length() / config.patch_size)


def stem_strides(config: ViTConfig) -> list[int]:
    """Return the stride of each of a stem's 3 x 3 convolutions: the last ones halve the resolution."""
    first_halving = len(config.stem) - (config.patch_size - 1).bit_length()
    return [2 if index >= first_halving else 1 for index in range(len(config.stem))]


def stem_fields_px(config: ViTConfig) -> list[float]:
    """Return the side of the receptive field after each of a stem's 3 x 3 convolutions, in px of the image.

    Where the image is enlarged first, a side is as much of it as it is of the enlarged one; that the enlarging
    itself mixes neighbouring px, less than one at each edge, is left out.
    """
    field, sides = Field(), []
    for stride in stem_strides(config):
        field = field.apply_layer(3, stride, 1)
        sides.append(field.side_px / enlarging(config))
    return sides
