"""Describe the tokens of a sequence: prefix tokens by name, then patches in reading order."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TokenLayout:
    """Names of the prefix tokens, (rows, cols) of the patch grid, and a patch's side in pixels."""

    prefix: tuple[str, ...]
    grid: tuple[int, int]
    patch_px: int

    @property
    def num_prefix_tokens(self) -> int:
        """Number of tokens before the patches."""
        return len(self.prefix)

    @property
    def num_patches(self) -> int:
        """rows * cols."""
        return self.grid[0] * self.grid[1]

    @property
    def num_tokens(self) -> int:
        """Prefix tokens and patches together."""
        return self.num_prefix_tokens + self.num_patches
