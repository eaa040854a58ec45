"""Exercise 5: the block."""

from given_heads import MultiHead  # noqa: F401  provided for your solution
from torch import Tensor, nn


class Block(nn.Module):
    """A pre-norm block: z' = z + MSA(LN(z)), then z' + MLP(LN(z')) (ViT paper, eq. 2 and 3); GELU, MLP ratio 4.

    Attributes: `norm1`, `attn` (MultiHead, provided), `norm2` and `mlp` (d -> 4 d -> d with nn.GELU in between).
    """

    def __init__(self, d: int, n_heads: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, z: Tensor) -> Tensor:
        """Map tokens (B, N, d) to (B, N, d)."""
        raise NotImplementedError
