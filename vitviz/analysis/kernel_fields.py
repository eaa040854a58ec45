"""Compute receptive fields of a CNN from its kernels and strides."""

from __future__ import annotations

from dataclasses import dataclass

from vitviz.config import CNNConfig


@dataclass(frozen=True)
class Field:
    """A square of the image: of `side_px`, moving by `step_px` from place to place, first centred at `first_px`.

    `first_px` counts pixel centres: 0 is the middle of the first pixel.
    """

    side_px: int = 1
    step_px: int = 1
    first_px: float = 0.0

    def through(self, kernel: int, stride: int, padding: int) -> Field:
        """The field after one more layer (Araujo, Norris and Sim 2019): r + (k - 1) j, j s, c + ((k - 1)/2 - p) j."""
        return Field(
            self.side_px + (kernel - 1) * self.step_px,
            self.step_px * stride,
            self.first_px + ((kernel - 1) / 2 - padding) * self.step_px,
        )

    def box(self, row: int, col: int, image_px: int) -> tuple[int, int, int]:
        """(top, left, side) of a place's field in px; moved inside the image where it would reach beyond its edge.

        A field as large as the image, or larger, is the image.
        """
        side = min(self.side_px, image_px)
        corners = (
            round(self.first_px + at * self.step_px - (self.side_px - 1) / 2 + (self.side_px - side) / 2)
            for at in (row, col)
        )
        top, left = (min(max(corner, 0), image_px - side) for corner in corners)
        return top, left, side


def fields(config: CNNConfig) -> list[Field]:
    """Return the field after the stem and after every block, in order."""
    now = Field().through(3, 1, 1)
    found = [now]
    for stage, count in enumerate(config.blocks):
        for block in range(count):
            stride = 2 if stage and not block else 1
            if config.pooled:  # convolution, maximum over stride x stride, convolution
                now = now.through(3, 1, 1).through(stride, stride, 0).through(3, 1, 1)
            else:  # the first convolution has the stride; the shortcut reads less than both
                now = now.through(3, stride, 1).through(3, 1, 1)
            found.append(now)
    return found
