#!/usr/bin/env bash
# timm 1.0.31 with torch 2.13.0: after `set_grad_checkpointing()` a forward hook in a block fires twice per step or once,
# depending on where in the block it hangs; the second time the blocks come in reverse order.
#
# Checkpointing computes a block again in the backward pass, and hooks fire again. torch stops that second computation as soon
# as the last tensor that the backward pass needs is there (`set_checkpoint_early_stop`): the attention of the block has ended
# by then, its MLP and the block itself have not, so their hooks stay silent. Nothing warns.
#
# Seen, four blocks, one training step: hooks on `attn` and `attn.qkv` are called for the blocks 0 1 2 3 3 2 1 0, hooks on
# `mlp`, `mlp.fc2` and the block for 0 1 2 3. Under `set_checkpoint_early_stop(False)` all five are called eight times.
#
# Who meets it: whoever follows attention or activations by hooks while a large ViT trains. A list that is cut to its last
# `depth` entries holds the layers backwards; a sum per layer counts each image twice for attention and once for the MLP. A hook
# that stores its output also keeps in memory what checkpointing frees.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchvision==0.28.0 timm==1.0.31
"$folder/venv/bin/python" -W ignore - <<'EOF'
from contextlib import nullcontext

import torch
from torch.utils.checkpoint import set_checkpoint_early_stop
try:
    import torchvision
except RuntimeError:  # PyPI's torchvision beside a CPU build of torch: two operators are only declared there
    import sys
    for name in [name for name in sys.modules if name.startswith("torchvision")]:
        del sys.modules[name]
    library = torch.library.Library("torchvision", "DEF")
    library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision

import timm

NAMES = "attn", "attn.qkv", "mlp", "mlp.fc2", ""  # "" is the block itself


def train_step(early_stop):
    """Return the blocks whose hook was called, in order, by module."""
    model = timm.create_model("vit_tiny_patch16_224", depth=4, num_classes=10).train()
    model.set_grad_checkpointing()
    calls = {name: [] for name in NAMES}
    for index, block in enumerate(model.blocks):
        for name in NAMES:
            block.get_submodule(name).register_forward_hook(
                lambda module, args, out, name=name, index=index: calls[name].append(index)
            )
    with nullcontext() if early_stop else set_checkpoint_early_stop(False):
        model(torch.randn(2, 3, 224, 224)).sum().backward()
    return calls


calls = train_step(early_stop=True)
for name, order in calls.items():
    print(f"{name or 'the block':10} {order}")
once, twice = [0, 1, 2, 3], [0, 1, 2, 3, 3, 2, 1, 0]
assert calls == {"attn": twice, "attn.qkv": twice, "mlp": once, "mlp.fc2": once, "": once}
assert set(map(tuple, train_step(early_stop=False).values())) == {tuple(twice)}
EOF
