"""Take wrappers, chunks of blocks and positions in a replaced head out of tensors' names."""

import re

from vitviz.models.formats.safetensors_header import Shapes
from vitviz.models.pretrained_list import PretrainedError
from vitviz.text import cut

_WRAPPERS = {
    "_orig_mod",
    "_checkpoint_wrapped_module",
    "_fsdp_wrapped_module",
    "module",
    "_module",  # of Opacus
    "_forward_module",  # of Lightning's Fabric
}
_CHUNKED = re.compile(
    r"((?:^|\.)blocks)\.\d+\.(\d+)\.(?=norm|attn|mlp|ls)"
)  # the DINOv2 authors' FSDP layout
_HEAD = re.compile(
    r"((?:.*\.)?(?:heads|head\.fc|head|head_dist|classifier|cls_classifier|distillation_classifier))\.(\d+)\.(weight|bias)"
)


def clean_names(shapes: Shapes) -> dict[str, str]:
    """Return the plain name of every tensor -> the file's.

    Raises:
        PretrainedError: if two tensors get the same name, or a head has other layers than one linear map.
    """
    layers = _find_head_layers(shapes)
    unwrapped = [_unwrap(name) for name in shapes]
    unchunked = [_CHUNKED.sub(r"\1.\2.", name) for name in unwrapped]
    if len(set(unchunked)) < len(set(unwrapped)):  # blocks of stages, not chunks that count on
        unchunked = unwrapped
    plain: dict[str, str] = {}
    for name, short in zip(shapes, unchunked, strict=True):
        head = _HEAD.fullmatch(short)
        if head and len(layers[head[1]]) == 1:
            short = f"{head[1]}.{head[3]}"
        if short in plain:
            raise PretrainedError(
                f"two of its tensors, {cut(plain[short])} and {cut(name)}, are both {cut(short)}"
            )
        plain[short] = name
    return plain


def _unwrap(name: str) -> str:
    return ".".join(part for part in name.split(".") if part not in _WRAPPERS)


def _find_head_layers(shapes: Shapes) -> dict[str, set[str]]:
    """Return the numbers of the layers with weights of every head that is a sequence of layers."""
    layers: dict[str, set[str]] = {}
    for name in shapes:
        if match := _HEAD.fullmatch(_unwrap(name)):
            layers.setdefault(match[1], set()).add(match[2])
    return layers


def check_heads(names: dict[str, str]) -> None:
    """Check that no head is a sequence of several layers with weights.

    Args:
        names: of a recognised model, as `clean_names` returns them.

    Raises:
        PretrainedError: naming the layers.
    """
    for head, numbers in _find_head_layers(dict.fromkeys(names, ())).items():
        listed = " and ".join(f"{cut(head)}.{number}" for number in sorted(numbers)[:3])
        raise PretrainedError(f"its head has several layers ({listed}); only one linear map is supported")
