"""Define small convolutional networks: the baseline and DeiT's teacher."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitviz.config import CNNConfig
from vitviz.models.record import IntermediateRecorder, RecordRequest
from vitviz.models.token_layout import TokenLayout


class ResidualBlock(nn.Module):
    """relu(x + BN conv3(relu BN conv3 x)); a 1 x 1 convolution where the shape changes (He et al. 2016)."""

    def __init__(self, in_width: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_width, width, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.act = nn.ReLU()
        same = stride == 1 and in_width == width
        self.downsample = (
            nn.Identity()
            if same
            else nn.Sequential(nn.Conv2d(in_width, width, 1, stride, bias=False), nn.BatchNorm2d(width))
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(self.act(self.bn1(self.conv1(x)))))
        return self.act(y + self.downsample(x))  # type: ignore[no-any-return]


class PlainBlock(nn.Module):
    """gelu BN conv3 gelu BN pool conv3 x, pool a maximum over 2 x 2 or nothing (Jordan 2024, 94 % on CIFAR-10).

    `rounds_up`: an odd last row and column of a map are pooled alone, not dropped.
    """

    def __init__(self, in_width: int, width: int, stride: int, rounds_up: bool = True) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_width, width, 3, padding=1, bias=False)
        self.pool = nn.MaxPool2d(stride, ceil_mode=rounds_up) if stride > 1 else nn.Identity()
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.act = nn.GELU()

    def forward(self, x: Tensor) -> Tensor:
        x = self.act(self.bn1(self.pool(self.conv1(x))))
        return self.act(self.bn2(self.conv2(x)))  # type: ignore[no-any-return]


class Stage(nn.Module):
    """Blocks of one width; every stage but the first begins by halving the image."""

    def __init__(
        self, in_width: int, width: int, count: int, stride: int, block: Callable[[int, int, int], nn.Module]
    ) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            block(width if index else in_width, width, 1 if index else stride) for index in range(count)
        )

    def forward(self, x: Tensor, record: IntermediateRecorder, name: str) -> Tensor:
        for index, block in enumerate(self.blocks):
            x = block(x)
            record(f"{name}.blocks.{index}", x)
        return x


def by_pixel(x: Tensor) -> Tensor:
    """Return the same images (B, C, H, W), laid out pixel by pixel: a sixth faster in training, grey ones a third.

    One channel lies so already, but with the strides of planes, by which torch would choose its slower kernels.
    """
    x = x.contiguous(memory_format=torch.channels_last)
    _, channels, height, width = x.shape
    return x.as_strided(x.shape, (height * width, 1, width, 1)) if channels == 1 else x


class ConvNet(nn.Module):
    """A 3 x 3 stem, stages of residual or plain blocks, the map's mean (plain: maximum), a linear head.

    Whitened (Jordan 2024): the stem is a 2 x 2 convolution that `whiten` sets and GELU; other convolutions begin by
    passing on their input; the head begins with weights of deviation 1 / width and biases of 0.
    """

    def __init__(self, config: CNNConfig) -> None:
        super().__init__()
        self.config = config
        widths = config.widths
        self.stem = (
            nn.Sequential(nn.Conv2d(config.in_chans, widths[0], 2, bias=False), nn.GELU())
            if config.whitened
            else nn.Sequential(
                nn.Conv2d(config.in_chans, widths[0], 3, padding=1, bias=False),
                nn.BatchNorm2d(widths[0]),
                nn.ReLU(),
            )
        )
        block = partial(PlainBlock, rounds_up=not config.whitened) if config.pooled else ResidualBlock
        self.layers = nn.ModuleList(
            Stage(widths[max(stage - 1, 0)], width, count, 2 if stage else 1, block)
            for stage, (width, count) in enumerate(zip(widths, config.blocks, strict=True))
        )
        self.head = nn.Linear(widths[-1], config.num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                if config.whitened and module.kernel_size == (3, 3):
                    nn.init.dirac_(module.weight.data[: module.in_channels])
        if config.whitened:
            nn.init.normal_(self.head.weight, std=1 / widths[-1])
            nn.init.zeros_(self.head.bias)

    @torch.no_grad()
    def whiten(self, images: Tensor) -> None:
        """Make the stem's filters the principal directions of 2 x 2 patches of (B, C, H, W) and their negatives.

        Each is scaled to a response of variance 1; a floor under the variances keeps noise small.
        """
        stem = self.stem[0]
        assert isinstance(stem, nn.Conv2d)
        patches = F.unfold(images, 2).mT.flatten(0, 1)
        variances, directions = torch.linalg.eigh(patches.mT @ patches / len(patches))
        filters = (directions / (variances + 5e-4 * variances.mean()).sqrt()).mT.flip(0)
        stem.weight.copy_(torch.cat([filters, -filters]).view_as(stem.weight))

    def layout(self, height_px: int, width_px: int) -> TokenLayout:
        """Return the grid of the last feature map, whose cells step over `patch_px` pixels."""
        last = len(self.config.widths) - 1
        rows, cols = (self.config.stage_side(side_px, last) for side_px in (height_px, width_px))
        return TokenLayout((), (rows, cols), 2**last)

    def forward(self, x: Tensor, record: RecordRequest = None) -> Tensor | tuple[Tensor, dict[str, Tensor]]:
        """Return the logits of images (B, C, H, W), and with `record` the feature maps (B, width, H, W) by name.

        Raises:
            ValueError: if the channels do not fit.
        """
        if x.shape[1] != self.config.in_chans:
            raise ValueError(f"the model takes {self.config.in_chans} channels, received {x.shape[1]}")
        recorder = IntermediateRecorder(record)
        x = self.stem(by_pixel(x))
        recorder("stem", x)
        for stage, layer in enumerate(self.layers):
            x = layer(x, recorder, f"layers.{stage}")
        features = x.amax(dim=(2, 3)) if self.config.pooled else x.mean(dim=(2, 3))
        recorder("features", features)
        logits: Tensor = self.head(features)
        recorder("logits", logits)
        return (logits, recorder.tensors) if recorder.active else logits
