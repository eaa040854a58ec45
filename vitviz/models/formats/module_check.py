"""Run a copy of a live module once and compare its outputs with those of the model that was opened from it."""

import copy
import random
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from vitviz.config_fields import format_size
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.pretrained_list import PretrainedError
from vitviz.text import cut

TOLERANCE = 1e-4  # of the largest output
_IMAGE_METHODS = ("get_image_features", "encode_image")  # of transformers' CLIP and open_clip's
_NO_SPREAD = 1e-8  # a fresh head of zeros gives equal outputs for every image


def check_module(module: nn.Module, loaded: LoadedModel) -> str:
    """Return '' if the module's outputs equal the model's on one random image, or why they could not be compared.

    A copy in fp32 on the CPU is run, in evaluation mode and without gradients, so the module itself, its mode,
    gradients and buffers stay as they are; the states of the random number generators are restored.

    Raises:
        PretrainedError: if the outputs differ; the sentence names the first block that differs.
    """
    shape = loaded.config.image_shape
    x = torch.randn(1, loaded.config.in_chans, *shape, generator=torch.Generator().manual_seed(0))
    python_state = random.getstate()
    streams: dict[str, Tensor] = {}
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            peer = _copy(module)
            handles = list(_watch(peer, loaded, streams))
            try:
                outputs = list(_run(peer, x))
            finally:
                for handle in handles:
                    handle.remove()
    except Exception as error:  # noqa: BLE001  (the module's code is foreign)
        return (
            f"{type(module).__name__} could not be run on an image of {format_size(loaded.config.image_size)} px, so"
            " its outputs were not compared:"
            f" {cut(' '.join(str(error).split()) or type(error).__name__, 120)}"
        )
    finally:
        random.setstate(python_state)
    with torch.no_grad():
        logits, records = loaded.model(x, record=("logits", "norm", "embedded", "blocks.*", "layers.*"))
    theirs = [output for output in outputs if output.shape == logits.shape] or [
        output for output in outputs if output.shape == records["norm"].shape
    ]
    place = _first_difference(streams, records, loaded)
    if not theirs and not place:
        return f"{type(module).__name__} gives no output of the shape {tuple(logits.shape)} to compare"
    distances = [_distance(logits if t.shape == logits.shape else records["norm"], t) for t in theirs]
    difference = min(distances, default=float("inf"))
    degenerate = bool(theirs) and all(
        float(output.float().std(correction=0)) < _NO_SPREAD for output in theirs
    )
    if degenerate and not streams and logits.numel() > 1:
        return f"all outputs of {type(module).__name__} are equal, and its blocks were not seen"
    if difference <= TOLERANCE and not (degenerate and place):
        return ""
    amount = f" by {difference:.2g} of the largest" if theirs else ""
    raise PretrainedError(
        f"{type(module).__name__} computes something else than the {type(loaded.model).__name__} that its tensors"
        f" describe: on one random image the outputs differ{amount}{_say_place(place, streams, records)}"
    )


def unwrap(module: nn.Module) -> nn.Module:
    """Return a module without the wrappers of data parallelism and compilation."""
    for wrapper in ("_orig_mod", "module"):
        inner = getattr(module, wrapper, None)
        module = inner if isinstance(inner, nn.Module) else module
    return module


def _copy(module: nn.Module) -> nn.Module:
    """Return an unwrapped fp32 copy on the CPU in evaluation mode."""
    return copy.deepcopy(unwrap(module)).to("cpu", torch.float32).eval()


def _run(peer: nn.Module, x: Tensor) -> Iterator[Tensor]:
    """Yield all tensors of a module's output that may be its logits or features."""
    run: Any = next((getattr(peer, name) for name in _IMAGE_METHODS if hasattr(peer, name)), peer)
    encoder = getattr(peer, "encoder", None)
    if type(peer).__name__ == "VisionEncoderDecoderModel" and encoder is not None:
        run = encoder
    output = run(x)
    parts = (
        output.values() if isinstance(output, Mapping) else output if isinstance(output, tuple) else [output]
    )
    for part in parts:
        if isinstance(part, Tensor):
            yield part
            if part.ndim == 3:  # tokens: [CLS] stands first
                yield part[:, 0]


def _distance(ours: Tensor, theirs: Tensor) -> float:
    """Return the largest difference as a fraction of the largest number."""
    scale = max(float(theirs.abs().max()), 1e-6)
    difference = float((ours - theirs.float()).abs().max()) / scale
    return difference if difference == difference else float("inf")


def _watch(peer: nn.Module, loaded: LoadedModel, streams: dict[str, Tensor]) -> Iterator[Any]:
    """Record what enters the first and leaves each block of the copy, under this project's names."""
    depths = getattr(loaded.config, "depths", None) or (getattr(loaded.config, "depth", 0),)
    parts = [part for part in peer.modules() if isinstance(part, nn.ModuleList | nn.Sequential)]
    stacks = [part for part in parts if _is_stack(part)]
    if len(depths) > 1:  # a list of stages is none of blocks
        stacks = [s for s in stacks if not any(inner in stacks for inner in s.modules() if inner is not s)]
    names = [f"layers.{stage}.blocks" for stage in range(len(depths))] if len(depths) > 1 else ["blocks"]
    for name, depth in zip(names, depths, strict=True):
        stack = next((part for part in stacks if len(part) == depth), None)
        if stack is None:
            return
        stacks.remove(stack)
        for index, block in enumerate(stack):
            yield block.register_forward_hook(_recorder(streams, f"{name}.{index}"))


def _is_stack(part: nn.ModuleList | nn.Sequential) -> bool:
    """Return True if every part has several layers inside, as a block of attention and MLP has."""
    return all(sum(1 for _ in block.modules()) > 5 for block in part)


def _recorder(streams: dict[str, Tensor], name: str) -> Any:
    def record(_module: nn.Module, given: tuple[Any, ...], output: Any) -> None:
        first = output[0] if isinstance(output, tuple) else output
        if name == "blocks.0" and given and isinstance(given[0], Tensor):
            streams["embedded"] = given[0].detach().clone()
        if isinstance(first, Tensor):
            streams[name] = first.detach().clone()

    return record


def _order(records: Mapping[str, Tensor]) -> list[str]:
    return ["embedded", *(name for name in records if name.rpartition(".")[2].isdecimal())]


def _say_place(place: str, streams: Mapping[str, Tensor], records: Mapping[str, Tensor]) -> str:
    """Return where outputs differ first, as the end of a sentence; '' if not every block was seen."""
    if not place and all(
        name in streams and streams[name].numel() == records[name].numel() for name in _order(records)
    ):
        place = "after the last block, in its pooling or head"
    return f", first {place}" if place else ""


def _first_difference(
    streams: Mapping[str, Tensor], records: Mapping[str, Tensor], loaded: LoadedModel
) -> str:
    """Return where the token streams differ first, for a sentence; '' if they are equal or were not seen."""
    for name in _order(records):
        if name not in streams or name not in records:
            continue
        ours, theirs = records[name], streams[name]
        if ours.numel() != theirs.numel():
            return ""  # their streams have another layout
        if _distance(ours.flatten(), theirs.flatten()) > TOLERANCE:
            if name == "embedded":
                return "in the embedding of patches and positions"
            *stage, _, index = name.split(".")
            where = f" of stage {int(stage[1]) + 1}" if stage else ""
            return f"in block {int(index) + 1}{where}"
    return ""
