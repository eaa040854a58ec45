"""Rotate queries and keys by the position of their patch: DINOv3's, EVA-02's and learned angles."""

import torch
from torch import Tensor, nn

from vitviz import sinusoids
from vitviz.config import ViTConfig
from vitviz.models.layers import Rotation


class RotaryPositions(nn.Module):
    """Rotary positions of a ViT's patches, of one block or of all (Su et al. 2021; Heo et al. 2024, mixed)."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = config
        self.freqs = None
        if config.rope_type == "mixed":
            shape = (2, config.depth, config.num_heads, config.width_per_head // 2)
            self.freqs = nn.Parameter(torch.zeros(shape))
            nn.init.trunc_normal_(self.freqs, std=1.0)

    def forward(self, grid: tuple[int, int], device: torch.device) -> list[Rotation]:
        """Return the cosines and sines of every block: (N, d_head), learned ones (heads, N, d_head)."""
        config = self.config
        if self.freqs is None:
            table = sinusoids.rotary_angles(
                grid,
                config.width_per_head,
                config.rope_theta,
                centred=config.rope_type == "dinov3",
                columns_first=config.rope_columns_first,
                offset=config.rope_offset,
                reference=config.rope_reference,
            )
            angles = torch.from_numpy(table).float().to(device)
            return [self._spread(angles)] * config.depth
        rows, cols = torch.meshgrid(
            *(torch.arange(side, device=device).float() for side in grid), indexing="ij"
        )
        first, second = (cols, rows) if config.rope_columns_first else (rows, cols)
        by_block = self.freqs[0][..., None, :] * first.reshape(-1, 1) + self.freqs[1][
            ..., None, :
        ] * second.reshape(-1, 1)
        return [self._spread(angles) for angles in by_block]

    def _spread(self, angles: Tensor) -> Rotation:
        """Return cosines and sines of the angles of pairs, one for each value of the pairs."""
        if self.config.rope_interleaved:
            angles = angles.repeat_interleave(2, dim=-1)
        else:
            angles = torch.cat([angles, angles], dim=-1)
        return angles.cos(), angles.sin()
