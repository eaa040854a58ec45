"""Exercise 5: the block."""

from given_heads import MultiHead  # noqa: F401  given, for you to use
from torch import Tensor, nn


class Block(nn.Module):
    """z' = z + MSA(LN(z)), then z' + MLP(LN(z')) (ViT paper, eq. 2 and 3): pre-norm, GELU, MLP ratio 4.

    It has `norm1`, `attn` (a MultiHead, given), `norm2` and `mlp` (d -> 4 d -> d, with nn.GELU between).
    """

    def __init__(self, d: int, n_heads: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, z: Tensor) -> Tensor:
        """(B, N, d) -> (B, N, d)."""
        raise NotImplementedError
