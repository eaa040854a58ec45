"""The hybrid's convolutional stem: early convolutions instead of one large patch projection."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ConvStem(nn.Module):
    """3 x 3 convolutions down to the patch grid, then a 1 x 1 map to D (Xiao et al. 2021).

    The last h = ceil(log2(P)) convolutions halve the image, those before them keep its size. Where P is no power
    of 2 the image is enlarged first, so that every patch has 2^h px: 28 px in patches of 7 become 32.
    """

    def __init__(self, in_chans: int, widths: tuple[int, ...], embed_dim: int, patch_size: int) -> None:
        super().__init__()
        halvings = (patch_size - 1).bit_length()
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
        self.stride = 2**halvings

    def enlarged(self, x: Tensor) -> Tensor:
        """Return the image as the first convolution reads it."""
        if self.stride != self.patch_size:
            rows, cols = (side // self.patch_size for side in x.shape[-2:])
            x = F.interpolate(x, size=(rows * self.stride, cols * self.stride), mode="bilinear")
        return x.contiguous(memory_format=torch.channels_last)  # oneDNN's kernels are faster so

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.proj(self.stem(self.enlarged(x)))
        return y.flatten(2).mT  # (B, D, rows, cols) -> (B, N, D)

    def maps(self, x: Tensor) -> list[Tensor]:
        """(B, width, rows, cols) after each convolution with its norm and ReLU; the last is what `proj` reads."""
        maps, y = [], self.enlarged(x)
        for layer in self.stem:
            y = layer(y)
            if isinstance(layer, nn.ReLU):
                maps.append(y)
        return maps
