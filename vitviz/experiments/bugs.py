"""One bug at a time: each bug of the lectures' code alone, against the model without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from vitviz.config import ModelConfig, SwinConfig, TrainConfig, ViTConfig
from vitviz.experiments.hyperparameter import BASES, Base
from vitviz.training.run_config import Member, RunConfig

PRESET = "one_slip"  # begins the name of the preset in a RunConfig; the bug follows a colon
FIXED = "mended"
DROPOUT = 0.1  # without any, a model that stays in evaluation mode would be no other
# The digits have a ninth of the shapes' training images and a fifth of their test images: more seeds.
SEEDS = {"digits": (0, 1, 2, 3, 4), "shapes": (0, 1, 2)}
LIVE_SEEDS = (0, 1, 2)
# Six Swins as long as the stored ones take 95 to 150 s; so long they have told themselves apart on shapes.
LIVE_SHARE = {"vit": 1.0, "swin": 0.4}  # of the stored epochs


@dataclass(frozen=True)
class Bug:
    """One bug.

    Attributes:
        title: what is wrong, short.
        where: of the lectures' code it stands in.
        why: what it does, in one sentence.
        lines: of code that hold it, to be spotted.
        wrong: which of the lines, from 0; of several each is an answer, and the first is the one to change.
        right: that line as it should be; empty where it should not be there.
        model, train: the fields that the bug changes.
        family: of the model that can have it.
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
        "E is not in the optimiser",
        "Recipe A",
        "The patch embedding keeps the random numbers that it began with; all that follows learns to read them.",
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
        "Cross-entropy takes a softmax of its own: of probabilities between 0 and 1 it can never be small, and its"
        " gradient is.",
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
        "Scores scaled by the width, not the head's",
        "Recipe D",
        "The products of a query and a key of d values are divided by √D: with h heads too small by √h, so attention"
        " begins flatter.",
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
        "A second map of the pixels for positions",
        "Recipe D",
        "What is added depends on what a patch shows and not on where it lies: the model stays blind to order.",
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
        "The heads' outputs are laid side by side and added to the stream as they are: each head can write only"
        " into its own D/h channels.",
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
        "[CLS] has no position",
        "Recipe A",
        "[CLS] is put before the patches after their positions were added: it has none of its own.",
        (
            "tokens = self.embed(images)",
            "tokens = tokens + self.positions",
            "cls = self.cls.expand(B, -1, -1)",
            "tokens = torch.cat([cls, tokens], dim=1)",
            "return self.blocks(tokens)",
        ),
        (1, 3),
        "tokens = torch.cat([cls, tokens], dim=1) + self.positions  # the last thing that is done",
        model={"position_on_prefix": False},
    ),
    "eval": Bug(
        "model.eval() is never undone",
        "A common training loop",
        "From the first validation on nothing is dropped any more: all that dropout was there for is over.",
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
        "The next C·P·P values of memory are taken for a patch: they lie in rows of pixels, not in a square.",
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
        "After the roll a window at the edge holds patches of opposite edges, and they attend to each other.",
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
    """Return the model without a bug, and its recipe: the hyperparameters' base with some dropout, or a Swin.

    Raises:
        ValueError: if there is no base of this set.
    """
    if dataset not in SEEDS:
        raise ValueError(f"bugs are tried on {', '.join(SEEDS)}, received {dataset!r}")
    base = BASES[dataset]
    if family == "swin":
        shape: ViTConfig = base.model
        return replace(
            _SWIN, in_chans=shape.in_chans, num_classes=shape.num_classes, dropout=DROPOUT
        ), base.train
    return replace(base.model, dropout=DROPOUT), base.train


def configure_with_bug(dataset: str, name: str) -> tuple[ModelConfig, TrainConfig]:
    """Return the same with one bug.

    Raises:
        ValueError: if there is no such bug or set.
    """
    if name not in BUGS:
        raise ValueError(f"bug must be one of {', '.join(BUGS)}, received {name!r}")
    slip = BUGS[name]
    model, train = configure_fixed(dataset, slip.family)
    changed: dict[str, Any] = dict(slip.model)
    return replace(model, **changed), replace(train, **slip.train)


def build_run_config(dataset: str, name: str) -> RunConfig:
    """Return one run that trains the mended model and the slipped one, with three seeds each, in turn.

    Raises:
        ValueError: if there is no such bug or set.
    """
    family = BUGS[name].family
    (wrong, slip_train), (right, train) = configure_with_bug(dataset, name), configure_fixed(dataset, family)
    epochs = round(LIVE_SHARE[family] * (train.epochs or 0.0), 2)
    slip_train, train = (replace(recipe, epochs=epochs) for recipe in (slip_train, train))
    members = tuple(
        Member(f"{kind}{seed}", title, model, replace(recipe, seed=seed))
        for kind, title, model, recipe in (
            ("mended", "Mended", right, train),
            ("slip", "With the bug", wrong, slip_train),
        )
        for seed in LIVE_SEEDS
    )
    base: Base = BASES[dataset]
    title = f"One bug: {BUGS[name].title}"
    return RunConfig(right, base.preparation, train, title, f"{PRESET}:{name}", members=members)
