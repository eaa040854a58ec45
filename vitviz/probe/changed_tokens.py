"""Change a ViT's tokens without training: add a test-time register, or exchange tokens between images."""

from dataclasses import dataclass, replace
from math import prod

import torch
from torch import Tensor, nn

from vitviz.config import ViTConfig
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.record import Replacement
from vitviz.models.vit import VisionTransformer
from vitviz.models.zoo import copy_sharing_weights

AT_ONCE = 4  # images whose hidden channels are recorded
NEURONS = 10
MOST_REGISTERS = 9  # of a ViT's config


@dataclass(frozen=True)
class RegisterNeurons:
    """Hidden channels of the MLPs as (layer, channel) from 0, those with the largest mean activation first."""

    channels: tuple[tuple[int, int], ...]

    def in_layer(self, layer: int) -> list[int]:
        """Return the channels of one layer, from 0."""
        return [channel for at, channel in self.channels if at == layer]


@torch.no_grad()
def find_register_neurons(model: VisionTransformer, inputs: Tensor, count: int = NEURONS) -> RegisterNeurons:
    """Find the hidden channels that are largest at the patch of largest norm after the last layer (Jiang et al. 2025).

    Args:
        inputs: (B, C, H, W); the activations are averaged over the images.
        count: of the channels, over all layers together.
    """
    depth, prefix = model.config.depth, len(model.config.prefix_tokens)
    last, names = f"blocks.{depth - 1}", [f"blocks.{layer}.mlp_hidden" for layer in range(depth)]
    total: Tensor | None = None
    for x in torch.split(inputs, AT_ONCE):
        _, record = model(x, record=(last, *names))
        longest = record[last][:, prefix:].norm(dim=-1).argmax(dim=1) + prefix
        rows = torch.stack([record[name][torch.arange(len(x)), longest].sum(dim=0) for name in names])
        total = rows if total is None else total + rows
    assert total is not None  # there are images
    order = total.flatten().topk(min(count, prod(total.shape))).indices.tolist()
    return RegisterNeurons(tuple(divmod(index, total.shape[1]) for index in order))


def can_add_register(config: ViTConfig) -> bool:
    """Return True if one more register fits into the model's config."""
    return config.num_registers < MOST_REGISTERS


def add_register(loaded: LoadedModel, neurons: RegisterNeurons) -> LoadedModel:
    """Return the model with one more register, which starts at zero and receives what the neurons give to patches.

    In every layer the register gets the largest activation of each of its neurons over all tokens, and the other
    tokens get 0 (Jiang et al. 2025). The model's tensors are shared.
    """
    vit = copy_sharing_weights(loaded.vit)
    config, at = loaded.vit.config, len(loaded.vit.config.prefix_tokens)
    vit.config = replace(config, num_registers=config.num_registers + 1)
    zero = torch.zeros(1, 1, config.embed_dim, device=next(vit.parameters()).device)
    registers = zero if vit.reg_token is None else torch.cat([vit.reg_token, zero], dim=1)
    vit.reg_token = nn.Parameter(registers.detach(), requires_grad=False)
    patches = prod(config.grid)
    if vit.pos_embed is not None and vit.pos_embed.shape[1] > patches:
        vit.pos_embed = nn.Parameter(_insert(vit.pos_embed.detach(), zero, at), requires_grad=False)
    elif vit.fixed_table is not None and vit.fixed_table.shape[1] > patches:
        vit.fixed_table = _insert(vit.fixed_table, zero, at)
    for layer in range(config.depth):
        if channels := neurons.in_layer(layer):
            mlp = vit.block(layer).mlp
            mlp.norm = nn.Sequential(_MoveToRegister(channels, at), mlp.norm)
    return replace(
        loaded, model=vit, config=vit.config, digest=f"{loaded.digest}@{sorted(neurons.channels)}", notes=()
    )


def _insert(table: Tensor, row: Tensor, at: int) -> Tensor:
    return torch.cat([table[:, :at], row.to(table), table[:, at:]], dim=1)


class _MoveToRegister(nn.Module):
    """Gives the largest value of some hidden channels to one token of each image, and 0 to its other tokens."""

    def __init__(self, channels: list[int], token: int) -> None:
        super().__init__()
        self.channels, self.token = channels, token

    def forward(self, hidden: Tensor) -> Tensor:
        moved = hidden.clone()
        moved[..., self.channels] = 0
        moved[:, self.token, self.channels] = hidden[..., self.channels].amax(dim=1)
        return moved


@torch.no_grad()
def exchange_tokens(
    model: nn.Module, inputs: Tensor, layer: int, tokens: str = "cls", batch_size: int = AT_ONCE
) -> Tensor:
    """Return the outputs if each image's [CLS], or its other tokens, are replaced by the previous image's.

    Args:
        inputs: (B, C, H, W); the first image receives from the last one.
        layer: from 1, the layer before which tokens are exchanged.
        tokens: 'cls', 'patches' (all but [CLS]) or 'none'.

    Returns:
        (B, classes), or the features of a model without a head.
    """
    batches = torch.split(inputs, batch_size)
    if tokens == "none":
        return torch.cat([model(x) for x in batches])
    name = f"blocks.{layer - 2}" if layer > 1 else "embedded"
    others = torch.cat([model(x, record=(name,))[1][name] for x in batches]).roll(1, dims=0)
    is_cls = torch.arange(others.shape[1], device=others.device)[:, None] == 0
    where = is_cls if tokens == "cls" else ~is_cls
    pairs = zip(batches, torch.split(others, batch_size), strict=True)
    return torch.cat([model(x, replaced={name: Replacement(other, where)}) for x, other in pairs])
