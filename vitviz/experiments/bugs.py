"""Define the bugs of the lectures' code, each compared with the model without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from vitviz.config import ModelConfig, SwinConfig, TrainConfig, ViTConfig
from vitviz.experiments.hyperparameter import BASES, Base
from vitviz.training.run_config import Member, RunConfig

PRESET = "one_slip"  # prefix of RunConfig.preset, as in "one_slip:scale"; stored runs contain it
FIXED = "mended"
DROPOUT = 0.1  # the bug of a missing model.train() needs dropout to have an effect
# The digits have a ninth of the shapes' training images and a fifth of their test images: more seeds.
SEEDS = {"digits": (0, 1, 2, 3, 4), "shapes": (0, 1, 2)}
LIVE_SEEDS = (0, 1, 2)
# Six Swins trained for the stored epochs take 95 to 150 s; the difference on shapes shows after 40 % of them.
LIVE_SHARE = {"vit": 1.0, "swin": 0.4}  # of the stored epochs


@dataclass(frozen=True)
class Bug:
    """One bug of the lectures' code.

    Attributes:
        title: short name.
        where: where it occurs.
        why: effect, in one sentence.
        lines: lines of code that contain it.
        wrong: indices of accepted lines, from 0; the first is the line to change.
        right: corrected line; empty if the line must be deleted.
        model, train: config fields that the bug changes.
        family: model family that can have it.
    """

    title: str
    where: str
    why: str
    lines: tuple[str, ...]
    wrong: tuple[int, ...]
    right: str
    model: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] = field(default_factory=dict)
    family: Literal["vit", "swin"] = "vit"


BUGS: dict[str, Bug] = {
    "embedding": Bug(
        "E is not in the optimizer",
        "Recipe A",
        "The patch embedding keeps its random initial weights; only the later layers are trained.",
        (
            "embed = PatchEmbedding(patch_size, dim)",
            "encoder = Transformer(dim, depth, heads)",
            "head = nn.Linear(dim, classes)",
            "parameters = [*encoder.parameters(), *head.parameters()]",
            "optimizer = torch.optim.AdamW(parameters, lr=2e-3)",
            "for images, labels in loader:",
            "    loss = cross_entropy(head(encoder(embed(images))[:, 0]), labels)",
            "    optimizer.zero_grad(); loss.backward(); optimizer.step()",
        ),
        (3,),
        "parameters = [*embed.parameters(), *encoder.parameters(), *head.parameters()]",
        train={"frozen": ("patch_embed",)},
    ),
    "softmax": Bug(
        "A softmax before the cross-entropy",
        "Recipes C and D",
        "Cross-entropy applies its own softmax: on probabilities between 0 and 1 the loss stays large and its gradient"
        " small.",
        (
            "self.mlp = nn.Sequential(",
            "    nn.Linear(dim, classes),",
            "    nn.Softmax(dim=-1),",
            ")",
            "...",
            "out = self.mlp(tokens[:, 0])",
            "loss = nn.CrossEntropyLoss()(out, labels)",
        ),
        (2,),
        "",
        model={"softmax_output": True},
    ),
    "scale": Bug(
        "Attention scores scaled by the model width",
        "Recipe D",
        "Scores of d-dimensional heads are divided by √D instead of √d: too small by √h for h heads, so attention"
        " starts flatter.",
        (
            "d_head = dim // heads",
            "q, k, v = (x.view(B, N, heads, d_head).transpose(1, 2) for x in (q, k, v))",
            "scores = q @ k.transpose(-2, -1) / dim ** 0.5",
            "weights = scores.softmax(dim=-1)",
            "out = (weights @ v).transpose(1, 2).reshape(B, N, dim)",
        ),
        (2,),
        "scores = q @ k.transpose(-2, -1) / d_head ** 0.5",
        model={"attention_scale": "width"},
    ),
    "positions": Bug(
        "A map of the pixels as position embedding",
        "Recipe D",
        "The added vector depends on a patch's pixels, not on its position: the model ignores the order of patches.",
        (
            "self.patch_map = nn.Linear(patch_size ** 2, dim)",
            "self.position_map = nn.Linear(patch_size ** 2, dim)",
            "...",
            "patches = patchify(images)",
            "tokens = self.patch_map(patches)",
            "tokens = tokens + self.position_map(patches)",
            "tokens = torch.cat([self.cls.expand(B, -1, -1), tokens], dim=1)",
        ),
        (5, 1),
        "tokens = tokens + self.positions  # nn.Parameter(torch.zeros(1, N, dim))",
        model={"positions": "pixels"},
    ),
    "projection": Bug(
        "No output projection",
        "Recipe C",
        "The heads' outputs are concatenated and added to the residual stream: each head only writes to its own D/h"
        " channels.",
        (
            "weights = (q @ k.transpose(-2, -1) / d_head ** 0.5).softmax(dim=-1)",
            "out = weights @ v",
            "out = out.transpose(1, 2).reshape(B, N, dim)",
            "return out",
        ),
        (3,),
        "return self.proj(out)  # nn.Linear(dim, dim)",
        model={"output_projection": False},
    ),
    "cls_position": Bug(
        "[CLS] has no position embedding",
        "Recipe A",
        "[CLS] is prepended after the position embeddings were added, so it has none.",
        (
            "tokens = self.embed(images)",
            "tokens = tokens + self.positions",
            "cls = self.cls.expand(B, -1, -1)",
            "tokens = torch.cat([cls, tokens], dim=1)",
            "return self.blocks(tokens)",
        ),
        (1, 3),
        "tokens = torch.cat([cls, tokens], dim=1) + self.positions  # added last",
        model={"position_on_prefix": False},
    ),
    "eval": Bug(
        "model.train() is missing after validation",
        "A common training loop",
        "After the first validation the model stays in evaluation mode, so dropout is off.",
        (
            "for epoch in range(epochs):",
            "    for images, labels in loader:",
            "        loss = cross_entropy(model(images), labels)",
            "        optimizer.zero_grad(); loss.backward(); optimizer.step()",
            "    model.eval()",
            "    with torch.no_grad():",
            "        print(epoch, accuracy(model, validation))",
        ),
        (4,),
        "    model.eval()  # and after the accuracy is printed: model.train()",
        train={"stays_in_eval": True},
    ),
    "reshape": Bug(
        "A reshape instead of patches",
        "A common patchify",
        "Each token is the next C·P·P values in memory: rows of pixels, not a square patch.",
        (
            "def patchify(images, P):",
            "    B, C, H, W = images.shape",
            "    n = (H // P) * (W // P)",
            "    patches = images.reshape(B, n, C * P * P)",
            "    return patches",
        ),
        (3,),
        "patches = images.reshape(B, C, H // P, P, W // P, P).permute(0, 2, 4, 1, 3, 5).reshape(B, n, C * P * P)",
        model={"embed": "reshape"},
    ),
    "mask": Bug(
        "Shifted windows without a mask",
        "Swin",
        "After the roll, a window at the border holds patches from opposite edges, which attend to each other.",
        (
            "x = torch.roll(x, (-shift, -shift), dims=(1, 2))",
            "windows = partition(x, window)",
            "q, k, v = self.qkv(windows).chunk(3, dim=-1)",
            "scores = q @ k.transpose(-2, -1) * scale + self.bias",
            "out = partition_back(scores.softmax(dim=-1) @ v, window)",
            "x = torch.roll(out, (shift, shift), dims=(1, 2))",
        ),
        (3,),
        "scores = q @ k.transpose(-2, -1) * scale + self.bias + self.mask",
        model={"masked": False},
        family="swin",
    ),
}
_SWIN = SwinConfig(patch_size=4, window_size=2, embed_dim=32, depths=(2, 2), num_heads=(2, 4), mlp_ratio=2.0)


def configure_fixed(dataset: str, family: str = "vit") -> tuple[ModelConfig, TrainConfig]:
    """Return the model without a bug and its recipe: the base with dropout, or a Swin.

    Raises:
        ValueError: if there is no base for this dataset.
    """
    if dataset not in SEEDS:
        raise ValueError(f"dataset must be one of {', '.join(SEEDS)}, received {dataset!r}")
    base = BASES[dataset]
    if family == "swin":
        shape: ViTConfig = base.model
        return replace(
            _SWIN, in_chans=shape.in_chans, num_classes=shape.num_classes, dropout=DROPOUT
        ), base.train
    return replace(base.model, dropout=DROPOUT), base.train


def configure_with_bug(dataset: str, name: str) -> tuple[ModelConfig, TrainConfig]:
    """Return the model with one bug and its recipe.

    Raises:
        ValueError: if the bug or dataset is unknown.
    """
    if name not in BUGS:
        raise ValueError(f"bug must be one of {', '.join(BUGS)}, received {name!r}")
    bug = BUGS[name]
    model, train = configure_fixed(dataset, bug.family)
    changed: dict[str, Any] = dict(bug.model)
    return replace(model, **changed), replace(train, **bug.train)


def build_run_config(dataset: str, name: str) -> RunConfig:
    """Return a run that trains the fixed model and the one with the bug, with three seeds each.

    Raises:
        ValueError: if the bug or dataset is unknown.
    """
    family = BUGS[name].family
    (wrong, bug_train), (right, train) = configure_with_bug(dataset, name), configure_fixed(dataset, family)
    epochs = round(LIVE_SHARE[family] * (train.epochs or 0.0), 2)
    bug_train, train = (replace(recipe, epochs=epochs) for recipe in (bug_train, train))
    members = tuple(
        Member(f"{kind}{seed}", title, model, replace(recipe, seed=seed))
        for kind, title, model, recipe in (
            ("mended", "Without the bug", right, train),
            ("slip", "With the bug", wrong, bug_train),
        )
        for seed in LIVE_SEEDS
    )
    base: Base = BASES[dataset]
    title = f"One bug: {BUGS[name].title}"
    return RunConfig(right, base.preparation, train, title, f"{PRESET}:{name}", members=members)
