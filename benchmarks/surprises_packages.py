"""Measure rows 5, 11a, 11g and 11h of docs/surprises.md: libraries against vitviz, or against a paper written out here.

    pip install --no-deps captum==0.9.0 zennit==0.5.1 quantus==0.6.0 fast-vit-rollout==0.1.1 torchxai-explain==0.3.0 \
        torchcam==0.5.0 grad-cam==1.5.7 ttach opencv-python-headless==5.0.0.93 kornia==0.9.0 kornia-rs monai==1.6.1
    VITVIZ_DATA=DIR python -W ignore benchmarks/surprises_packages.py

The packages come into an environment of their own, beside vitviz's requirements.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from vitviz.torchvision_fix import import_torchvision  # noqa: E402

torchvision = import_torchvision()

import timm  # noqa: E402

from vitviz.analysis.attention import rank_correlation  # noqa: E402
from vitviz.analysis.explanation_methods import rollout  # noqa: E402
from vitviz.checkpoints import open_model  # noqa: E402
from vitviz.data.datasets import load_dataset  # noqa: E402
from vitviz.data.image_preprocessing import prepare_batch  # noqa: E402
from vitviz.probe.explanation_maps import class_relevance  # noqa: E402
from vitviz.timm_export import export  # noqa: E402

IMAGES, CLASSES, SIDE = 8, 10, 8


def report(row: str, name: str, ours: Any, theirs: Any) -> None:
    """Print the largest difference of any value, beside the largest value."""
    ours, theirs = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    print(f"{row}: {name}: {abs(ours - theirs).max():.1e} of {abs(ours).max():.3g}", flush=True)


def scale(maps: np.ndarray) -> np.ndarray:
    """Return maps (n, H, W), each from 0 to 1."""
    low, high = maps.min(axis=(1, 2), keepdims=True), maps.max(axis=(1, 2), keepdims=True)
    return (maps - low) / (high - low)


def compare_explanations() -> None:
    """Print row 5, but for LeGrad."""
    loaded = open_model(ROOT / "checkpoints" / "cifar10_vit.safetensors")
    with tempfile.TemporaryDirectory() as folder:
        export(loaded, folder)
        settings = json.loads(Path(folder, "config.json").read_text())
        timm.layers.set_fused_attn(False)  # the packages' hooks need the weights
        model = timm.create_model(
            settings["architecture"],
            num_classes=CLASSES,
            checkpoint_path=f"{folder}/model.safetensors",
            **settings["model_args"],
        ).eval()
    x = torch.from_numpy(prepare_batch(load_dataset("cifar10").test_images[:IMAGES], loaded.preparation))
    with torch.no_grad():
        scores, record = loaded.model(x, record=("blocks.*.attn",))
        target = scores.argmax(dim=1)
        report("5", "class scores in timm", scores, model(x))
    attn = np.stack([record[f"blocks.{layer}.attn"].numpy() for layer in range(loaded.vit.config.depth)])
    ours = class_relevance(loaded.model, x.numpy(), target.numpy())
    compare_gradients(model, x, target, np.asarray(ours.pixels))
    compare_rollouts(model, x, target, attn, np.asarray(ours.tokens))
    compare_grad_cams(model, x, target)


def compare_gradients(model: nn.Module, x: Tensor, target: Tensor, pixels: np.ndarray) -> None:
    """Print gradient x input of three packages."""
    import quantus
    from captum.attr import InputXGradient
    from zennit.attribution import Gradient

    report(
        "5",
        "captum",
        pixels,
        InputXGradient(model).attribute(x.clone().requires_grad_(), target=target).detach(),
    )
    with Gradient(model) as attributor:
        _, gradient = attributor(x.clone().requires_grad_(), torch.eye(CLASSES)[target])
    report("5", "zennit", pixels, (gradient * x).detach())
    explained = quantus.explain(model, x.numpy(), target.numpy(), method="InputXGradient", device="cpu")
    report("5", "quantus", pixels.sum(axis=1, keepdims=True), explained)


def compare_rollouts(
    model: nn.Module, x: Tensor, target: Tensor, attn: np.ndarray, relevance: np.ndarray
) -> None:
    """Print two packages' rollout, and one's gradient-weighted rollout."""
    from fast_vit_rollout import ViTAttentionRollout
    from torchxai.methods.attention_rollout import AttentionRollout
    from torchxai.methods.transformer_attribution import TransformerAttribution

    for fusion in ("mean", "max", "min"):
        for discard in (0.0, 0.9):
            ours = rollout(attn, fusion, discard, 1)[:, 0, 1:]
            fast = ViTAttentionRollout(model, head_fusion=fusion, discard_ratio=discard)(x)
            for module in model.modules():  # the package has no way to remove its hooks
                module._forward_hooks.clear()
            xai = AttentionRollout(model, head_fusion=fusion, discard_ratio=discard)
            maps = [xai._compute_cam(image[None], None).ravel() for image in x]
            report("5", f"fast-vit-rollout, {fusion}, discard {discard}", ours, fast[:, 0, 1:])
            report("5", f"torchxai-explain, {fusion}, discard {discard}", ours, maps)
    ours, chefer = relevance[:, 0, 1:], TransformerAttribution(model)
    maps = [
        chefer._compute_cam(x[i : i + 1].clone().requires_grad_(), int(target[i])).ravel()
        for i in range(len(x))
    ]
    report("5", "torchxai-explain's TransformerAttribution", ours, maps)
    pairs = list(zip(ours, maps, strict=True))
    shared = [len(set(np.argsort(a)[-6:]) & set(np.argsort(b)[-6:])) for a, b in pairs]
    print(
        f"5: rank correlations {[round(rank_correlation(a, b), 2) for a, b in pairs]}, of the 6 strongest {shared}"
    )


def compare_grad_cams(model: nn.Module, x: Tensor, target: Tensor) -> None:
    """Print Grad-CAM of two packages against its formula, at the last layer's first norm."""
    from pytorch_grad_cam import GradCAM
    from pytorch_grad_cam.utils.image import scale_cam_image
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
    from torchcam.methods import GradCAM as TorchCAM

    layer, kept = model.blocks[-1].norm1, []  # type: ignore[union-attr,index]
    handle = layer.register_forward_hook(lambda module, inputs, output: kept.append(output))
    score = model(x).gather(1, target[:, None]).sum()
    handle.remove()
    (gradient,) = torch.autograd.grad(score, kept)
    weighted = gradient[:, 1:].mean(dim=1, keepdim=True) * kept[0][:, 1:]
    by_hand = weighted.sum(dim=2).relu().detach().numpy().reshape(-1, SIDE, SIDE)

    def place(tokens: Tensor) -> Tensor:
        return tokens[:, 1:].reshape(len(tokens), SIDE, SIDE, -1).permute(0, 3, 1, 2)

    cam = GradCAM(model, [layer], reshape_transform=place)(
        x, [ClassifierOutputTarget(int(c)) for c in target]
    )
    report("5", "grad-cam", scale_cam_image(scale_cam_image(by_hand, (32, 32))), cam)
    with TorchCAM(model, f"blocks.{len(model.blocks) - 1}.norm1", reshape_transform=place) as extractor:  # type: ignore[arg-type]
        maps = extractor([int(c) for c in target], model(x))[0]
    report("5", "torch-cam", scale(by_hand), maps)


def compare_legrad() -> None:
    """Print row 5: LeGrad of torch-cam against its paper, on a small ViT of torchvision with random weights."""
    from torchcam.methods import LeGrad

    model = torchvision.models.VisionTransformer(32, 8, 4, 2, 48, 96, num_classes=CLASSES).eval()
    for parameter in model.parameters():
        if parameter.ndim == 2:
            nn.init.normal_(parameter, std=0.2)
    x, total = torch.randn(2, 3, 32, 32), torch.zeros(())
    with LeGrad(model, list(model.encoder.layers)[1:]) as extractor:
        target = model(x).argmax(dim=1)
        maps = extractor(target.tolist(), None)[0]
    tokens = torch.cat([model.class_token.expand(2, -1, -1), model._process_input(x)], dim=1)
    tokens = tokens + model.encoder.pos_embedding
    for number, block in enumerate(model.encoder.layers):
        part = block.self_attention
        qkv = nn.functional.linear(block.ln_1(tokens), part.in_proj_weight, part.in_proj_bias)
        q, k, v = qkv.view(2, 17, 3, 2, 24).permute(2, 0, 3, 1, 4)
        attn = (q @ k.mT / 24**0.5).softmax(dim=-1)
        tokens = tokens + part.out_proj((attn @ v).transpose(1, 2).reshape(2, 17, 48))
        tokens = tokens + block.mlp(block.ln_2(tokens))
        if number:
            score = model.heads(model.encoder.ln(tokens.mean(dim=1))).gather(1, target[:, None]).sum()
            (gradient,) = torch.autograd.grad(score, attn, retain_graph=True)
            total = total + gradient.relu().mean(dim=(1, 2))[:, 1:]
    report("5", "torch-cam's LeGrad", scale(total.detach().numpy().reshape(2, 4, 4)), maps)


@torch.no_grad()
def compare_naflex() -> None:
    """Print row 11a: pooled features of 14 x 14 patches, alone and in a batch padded to 400 tokens."""

    def pool(side: int, patches: Tensor, valid: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows, cols = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
        places = torch.zeros(1, patches.shape[1], 2, dtype=torch.int64)
        places[:, : side**2] = torch.stack([rows.flatten(), cols.flatten()], dim=-1)
        return patches, places, valid

    for pooling in ("token", "avg", "avgmax", "map"):
        for registers in (0, 4):
            torch.manual_seed(0)
            model = timm.create_model(
                "naflexvit_base_patch16_gap",
                depth=4,
                embed_dim=192,
                num_heads=3,
                num_classes=0,
                global_pool=pooling,
                reg_tokens=registers,
                class_token=pooling == "token",
            ).eval()
            for name, parameter in model.named_parameters():
                if name.endswith("qkv.weight"):
                    nn.init.normal_(parameter, std=0.1)
            patches = torch.randn(1, 400, 768)  # behind 196: noise in the padding
            valid = torch.arange(400)[None] < 196
            alone = pool(14, patches[:, :196], valid[:, :196])
            padded = pool(14, patches, valid)
            other = pool(20, torch.randn(1, 400, 768), torch.ones(1, 400, dtype=torch.bool))
            names = ("patches", "patch_coord", "patch_valid")
            ours = model(dict(zip(names, alone, strict=True)))[0]
            both = [torch.cat(pair) for pair in zip(padded, other, strict=True)]
            theirs = model(dict(zip(names, both, strict=True)))[0]
            apart = float((ours - theirs).norm() / ours.norm())
            print(f"11a: {pooling}, {registers} registers: {apart:.1e}")


@torch.no_grad()
def compare_kornia() -> None:
    """Print row 11g: last tokens of kornia's ViT-Ti/16 with timm's weights."""
    from kornia.models.vit import VisionTransformer

    theirs = VisionTransformer.from_config("vit_ti/16").eval()
    ours = timm.create_model("vit_tiny_patch16_224", num_classes=0, global_pool="").eval()
    renamed = {
        "patch_embedding.backbone": "patch_embed.proj",
        "patch_embedding.cls_token": "cls_token",
        "patch_embedding.positions": "pos_embed",
        "encoder.": "",
        ".0.fn.0.": ".norm1.",
        ".0.fn.1.qkv": ".attn.qkv",
        ".0.fn.1.projection": ".attn.proj",
        ".1.fn.0.": ".norm2.",
        ".1.fn.1.0.": ".mlp.fc1.",
        ".1.fn.1.3.": ".mlp.fc2.",
    }
    weights, state = ours.state_dict(), {}
    for name in theirs.state_dict():
        key = name
        for old, new in renamed.items():
            key = key.replace(old, new)
        state[name] = weights[key][0] if key == "pos_embed" else weights[key]
    theirs.load_state_dict(state)
    x = torch.randn(2, 3, 224, 224)
    print(f"11g: {float((ours(x) - theirs(x)).norm() / ours(x).norm()):.1e}")


def compare_monai() -> None:
    """Print row 11h: MONAI's positions of 4 x 6 patches against MAE's."""
    from monai.networks.blocks.pos_embed_utils import build_sincos_position_embedding

    def encode(places: np.ndarray) -> np.ndarray:
        angles = np.outer(places.ravel(), 1 / 10000 ** (np.arange(4) / 4))
        return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)

    rows, cols = np.mgrid[:4, :6]
    table = build_sincos_position_embedding((4, 6), 16, spatial_dims=2)[0].numpy()
    report("11h", "MONAI", np.concatenate([encode(cols), encode(rows)], axis=1), table)


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    compare_explanations()
    compare_legrad()
    compare_naflex()
    compare_kornia()
    compare_monai()
