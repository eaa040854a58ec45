"""Two small nets of the lecture: attention over convolutions (recipe G), over the flat image (recipe E)."""

from torch import Tensor, nn
from torch.nn import functional as F

from vitviz.config import ConvAttentionConfig, FlatAttentionConfig
from vitviz.models.record import ATTENTION_PARTS, IntermediateRecorder, RecordRequest
from vitviz.models.token_layout import TokenLayout

POOLED = 7  # side of the grid that the head of ConvAttention reads: whole cells of a 28 px image


def _check_channels(x: Tensor, expected: int) -> None:
    if x.shape[1] != expected:
        raise ValueError(f"the model takes {expected} channels, received {x.shape[1]}")


class ConvAttention(nn.Module):
    """A = softmax(Q K^T / sqrt(d)) over all pixels, with Q, K and V from 3 x 3 convolutions of the image.

    As the lecture wrote it the scores are not scaled and the value product is transposed, y = A^T V: each
    pixel then sums over the queries that look at it, and those weights do not sum to 1. Pixels are the
    tokens. The head reads the outputs averaged on a 7 x 7 grid. Without `attends`, y = V.
    """

    def __init__(self, config: ConvAttentionConfig) -> None:
        super().__init__()
        self.config = config

        def convolution() -> nn.Conv2d:
            return nn.Conv2d(config.in_chans, config.channels, 3, padding=1)

        self.q: nn.Conv2d | None = convolution() if config.attends else None
        self.k: nn.Conv2d | None = convolution() if config.attends else None
        self.v = convolution()
        self.head = nn.Linear(config.channels * POOLED**2, config.num_classes)

    def layout(self, height_px: int, width_px: int) -> TokenLayout:
        """Return every pixel is a token."""
        return TokenLayout((), (height_px, width_px), 1)

    def forward(self, x: Tensor, record: RecordRequest = None) -> Tensor | tuple[Tensor, dict[str, Tensor]]:
        """Return the logits of images (B, C, H, W); `blocks.0.attn` is (B, 1, H W, H W).

        Raises:
            ValueError: if the channels do not fit.
        """
        _check_channels(x, self.config.in_chans)
        recorder = IntermediateRecorder(record)
        height, width = x.shape[-2:]
        v: Tensor = self.v(x).flatten(2).mT  # (B, H*W, d)
        y: Tensor = (
            v if self.q is None or self.k is None else self._attended(self.q(x), self.k(x), v, recorder)
        )
        recorder("blocks.0", y)
        grid = F.adaptive_avg_pool2d(y.mT.reshape(len(y), -1, height, width), POOLED)
        logits: Tensor = self.head(grid.relu().flatten(1))
        recorder("logits", logits)
        return (logits, recorder.tensors) if recorder.active else logits

    def _attended(self, q: Tensor, k: Tensor, v: Tensor, recorder: IntermediateRecorder) -> Tensor:
        """Return (B, H*W, d): what every pixel sums up; q and k are maps (B, d, H, W), v is (B, H*W, d)."""
        q, k, v = q.flatten(2).mT[:, None], k.flatten(2).mT[:, None], v[:, None]  # (B, 1, H*W, d)
        scores = q @ k.mT * (self.config.channels**-0.5 if self.config.scaled else 1.0)
        attn = scores.softmax(dim=-1)
        for part, tensor in zip(ATTENTION_PARTS, (q, k, v, scores, attn), strict=True):
            recorder(f"blocks.0.{part}", tensor)
        y: Tensor = ((attn.mT if self.config.transposed_values else attn) @ v)[:, 0]
        return y


class FlatAttentionLayer(nn.Module):
    """Self-attention of a sequence of one token: softmax of a single score is 1, so the output is V."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x: Tensor, record: IntermediateRecorder, name: str) -> Tensor:
        q, k, v = (part[:, None] for part in self.qkv(x).chunk(3, dim=-1))  # (B, 1, 1, d): head, token
        scores = q @ k.mT * x.shape[-1] ** -0.5
        attn = scores.softmax(dim=-1)
        y: Tensor = (attn @ v)[:, 0]
        for part, tensor in zip(ATTENTION_PARTS, (q, k, v, scores, attn), strict=True):
            record(f"{name}.{part}", tensor)
        record(name, y)
        return y


class FlatAttention(nn.Module):
    """Linear, attention, Linear, attention, Linear over the flat image: one token, A = 1 (recipe E)."""

    def __init__(self, config: FlatAttentionConfig) -> None:
        super().__init__()
        self.config = config
        first, second = config.widths
        self.embed = nn.Linear(config.in_chans * config.image_size**2, first)
        self.between = nn.Linear(first, second)
        self.blocks = nn.ModuleList([FlatAttentionLayer(first), FlatAttentionLayer(second)])
        self.head = nn.Linear(second, config.num_classes)

    def layout(self, height_px: int, width_px: int) -> TokenLayout:
        """Return one token: the whole image.

        Raises:
            ValueError: if the image has not the model's size, which its first layer fixes.
        """
        side = self.config.image_size
        if (height_px, width_px) != (side, side):
            raise ValueError(f"the model takes {side} x {side} px, received {height_px} x {width_px} px")
        return TokenLayout((), (1, 1), side)

    def forward(self, x: Tensor, record: RecordRequest = None) -> Tensor | tuple[Tensor, dict[str, Tensor]]:
        """Return the logits of images (B, C, H, W); `blocks.l.attn` is (B, 1, 1, 1) and always 1.

        Raises:
            ValueError: if the image's size or channels do not fit.
        """
        _check_channels(x, self.config.in_chans)
        self.layout(*x.shape[-2:])
        recorder = IntermediateRecorder(record)
        x = self.embed(x.flatten(1)).relu()[:, None]  # (B, 1, D)
        recorder("embedded", x)
        x = self.blocks[0](x, recorder, "blocks.0")
        x = self.blocks[1](self.between(x).relu(), recorder, "blocks.1")
        logits: Tensor = self.head(x[:, 0])
        recorder("logits", logits)
        return (logits, recorder.tensors) if recorder.active else logits
