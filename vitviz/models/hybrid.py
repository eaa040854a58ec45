"""The hybrid's convolutional stem: early convolutions instead of one large patch projection."""

from __future__ import annotations

from torch import Tensor, nn


class ConvStem(nn.Module):
    """3 x 3 convolutions down to the patch grid, then a 1 x 1 map to D (Xiao et al. 2021).

    The last log2(P) convolutions halve the picture, those before them keep its size.
    """

    def __init__(self, in_chans: int, widths: tuple[int, ...], embed_dim: int, patch_size: int) -> None:
        super().__init__()
        halvings = patch_size.bit_length() - 1
        layers: list[nn.Module] = []
        channels = in_chans
        for index, width in enumerate(widths):
            stride = 2 if index >= len(widths) - halvings else 1
            layers += [
                nn.Conv2d(channels, width, 3, stride, padding=1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(),
            ]
            channels = width
        self.stem = nn.Sequential(*layers)
        self.proj = nn.Conv2d(channels, embed_dim, 1)
        self.patch_size = patch_size

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.proj(self.stem(x))
        return y.flatten(2).mT  # (B, D, rows, cols) -> (B, N, D)
