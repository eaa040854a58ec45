"""Open every ViT-like model of timm and compare it with timm: opens, refused with its reason, or wrong.

`python tests/parity/timm_sweep.py [PATTERN]` prints a line a model. Width and depth are reduced by timm's own
arguments (16 values a head, two blocks, 6 x 6 patches); everything else is the architecture's own. Weights are random.
"""

from __future__ import annotations

import fnmatch
import importlib
import json
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from parity_compare import attention_of, shake
from safetensors.torch import save_file
from torch import nn

from vitviz.models.formats import open_model
from vitviz.models.pretrained_list import PretrainedError
from vitviz.torchvision_fix import import_torchvision

MODULES = (
    "vision_transformer",
    "eva",
    "deit",
    "swin_transformer",
    "swin_transformer_v2",
    "vision_transformer_hybrid",
)
DOCUMENT = Path(__file__).parents[2] / "docs" / "timm_models.md"
TOLERANCE = 1e-5  # of the largest number on timm's side


@dataclass(frozen=True)
class Result:
    """One model: 'opens', 'refused', 'wrong' or 'timm' where timm itself cannot build it; and why."""

    name: str
    outcome: str
    why: str = ""


def list_names() -> list[str]:
    """Return the names that timm registers in `MODULES`, deprecated ones too."""
    import_torchvision()
    registry = importlib.import_module("timm.models._registry")
    return sorted(name for module in MODULES for name in registry._module_to_models[module])


def build(name: str) -> tuple[nn.Module, dict[str, Any]]:
    """Return a reduced model and the arguments that reduce it."""
    import_torchvision()
    timm = importlib.import_module("timm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.device("meta"):
            whole = timm.create_model(name)
        arguments: dict[str, Any] = {"num_classes": 5}
        if hasattr(whole, "layers"):
            heads = whole.layers[0].blocks[0].attn.num_heads
            arguments |= {"embed_dim": 8 * heads, "depths": (2,) * len(whole.layers)}
        else:
            heads = next(part.num_heads for part in whole.blocks[0].modules() if hasattr(part, "num_heads"))
            arguments["depth"] = 2
            if not hasattr(whole.patch_embed, "backbone"):  # a hybrid's width is its convolutions'
                patch = whole.patch_embed.patch_size[0]
                arguments |= {"embed_dim": 16 * heads, "img_size": 6 * patch}
        if "sapiens2" in name:
            arguments["num_kv_heads"] = whole.blocks[len(whole.blocks) // 2].attn.num_kv_heads
        return shake(timm.create_model(name, **arguments).eval(), 0), arguments


def check(name: str) -> Result:
    """Return what happens if a folder with this model is opened."""
    try:
        model, arguments = build(name)
    except RuntimeError as error:
        return Result(name, "timm", str(error)[:100])
    with tempfile.TemporaryDirectory() as folder:
        write_folder(model, arguments, Path(folder))
        try:
            opened = open_model(Path(folder))
        except PretrainedError as error:
            return Result(name, "refused", str(error))
        return compare(name, model, opened.model, opened.config.image_size)


def write_folder(model: nn.Module, arguments: dict[str, Any], folder: Path) -> None:
    """Write a model as timm's `save_for_hf` does."""
    cfg = dict(model.pretrained_cfg)
    config = {
        "architecture": cfg["architecture"],
        "num_classes": 5,
        "global_pool": getattr(model, "global_pool", None),
    }
    config |= {
        "model_args": arguments,
        "pretrained_cfg": {k: v for k, v in cfg.items() if k in ("input_size", "mean", "std")},
    }
    (folder / "config.json").write_text(json.dumps(config))
    save_file(
        {name: tensor.clone() for name, tensor in model.state_dict().items()}, folder / "model.safetensors"
    )


def compare(name: str, theirs: nn.Module, ours: nn.Module, side: int) -> Result:
    """Compare logits and every attention map."""
    x = torch.randn(1, 3, side, side, generator=torch.Generator().manual_seed(1)).double()
    with torch.no_grad():
        expected, attention = attention_of(theirs.double(), x)
        logits, records = ours.double()(x, record=["logits", "*.attn"])
    maps = [tensor for part, tensor in records.items() if part.endswith(".attn")]
    pairs = [
        (logits, expected),
        *zip([m.flatten(0, -4) for m in maps], [a.flatten(0, -4) for a in attention], strict=False),
    ]
    if len(maps) != len(attention):
        return Result(name, "wrong", f"{len(maps)} attention maps, expected {len(attention)}")
    for ours_, theirs_ in pairs:
        if ours_.shape != theirs_.shape:
            return Result(name, "wrong", f"shape {tuple(ours_.shape)}, expected {tuple(theirs_.shape)}")
        difference = float((ours_ - theirs_).abs().max()) / max(1.0, float(theirs_.abs().max()))
        if not difference <= TOLERANCE:
            return Result(name, "wrong", f"differs by {difference:.2g}")
    return Result(name, "opens")


def list_lines(results: list[Result]) -> list[str]:
    """Return the results as a Markdown document."""
    counts = Counter(result.outcome for result in results)
    opened = [result.name for result in results if result.outcome == "opens"]
    lines = [
        "# Which of timm's models open",
        "",
        "Written by `tests/parity/timm_sweep.py`: every name that timm registers in its modules vision_transformer,",
        "eva, deit, swin_transformer, swin_transformer_v2 and vision_transformer_hybrid, with random weights. Width",
        "and depth are reduced by timm's own arguments. A model opens if its outputs and all its attention maps equal",
        "timm's to 1e-5 of the largest number, in double precision.",
        "",
        f"**{counts['opens']} of {len(results)} open, {counts['refused']} are refused with a reason,"
        f" {counts['wrong']} are wrong**; {counts['timm']} names timm itself cannot build.",
        "",
        "| refused | reason |",
        "|---|---|",
        *(f"| {r.name} | {r.why} |" for r in results if r.outcome in ("refused", "wrong", "timm")),
        "",
        "## Opened",
        "",
        ", ".join(opened),
    ]
    return lines


def sweep(names: list[str], check: Callable[[str], Result]) -> list[Result]:
    """Print the result of each name that fits the command line's pattern, and the counts."""
    patterns = [argument for argument in sys.argv[1:] if argument != "--write"] or ["*"]
    results = []
    for name in fnmatch.filter(names, patterns[0]):
        results.append(check(name))
        print(f"{results[-1].outcome:12} {name:45} {results[-1].why[:300]}", flush=True)
    print(dict(Counter(result.outcome for result in results)))
    return results


def main() -> None:
    """Print every result and the counts; with --write and without a pattern, write the document, too."""
    results = sweep(list_names(), check)
    if "--write" in sys.argv:
        DOCUMENT.parent.mkdir(exist_ok=True)
        DOCUMENT.write_text("\n".join(list_lines(results)) + "\n", "utf-8")


if __name__ == "__main__":
    main()
