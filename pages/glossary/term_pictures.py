"""Build the small picture of a term from one forward pass: an image, matrices, maps, bars or a curve side by side.

All panels follow one token, which the pointer chooses in the browser; an array with one entry per token has its entry
of that token shown.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pages.selection import selection
from pages.selection.subject import Subject, load_subject
from pages.stores import catalogue, shared_cache
from vitviz import shifted_windows
from vitviz.analysis import attention, distance, explanation_methods, filters, patches, position_similarity
from vitviz.analysis.readout import predict_from_stream
from vitviz.models.abilities import abilities, as_vit
from vitviz.plots.blob import pack
from vitviz.sinusoids import sincos_1d
from vitviz.text import percent

Array = NDArray[Any]
MOST_COLUMNS = 192  # of a matrix: more would be narrower than a pixel
SUBSTITUTES = {"class_head": "cifar10_vit", "distillation": "cifar10_deit_soft", "windows": "cifar10_swin"}
PHOTO = "sample:cat"


@dataclass(frozen=True, eq=False)
class Panel:
    """One panel: its kind (image, patch, matrix, tiles, bars, curve), title, values and options of the view.

    values: (tokens or 1, ...) of an image (patches), tiles (tiles, rows, cols) and bars (names); (rows, cols) of a
    matrix; (2, points) of a curve.
    """

    kind: str
    title: str
    values: Array = field(default_factory=lambda: np.zeros(0, np.float32))
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Material:
    """The model and the image that the pictures show, and their intermediates by name."""

    subject: Subject

    @property
    def last(self) -> str:
        return f"blocks.{as_vit(self.subject.model.config).depth - 1}"

    @property
    def prefix(self) -> int:
        return self.subject.layout.num_prefix_tokens

    def get(self, name: str) -> Array:
        """Return an intermediate of the image without the batch; '@' stands for the last block."""
        name = name.replace("@", self.last) if "@" in name else name
        array = self.subject.capture((name,))[name]
        return array[0] if len(array) == 1 else array

    def weight(self, name: str) -> Array:
        return np.asarray(
            self.subject.model.model.get_parameter(name.replace("@", self.last)).detach().float()
        )

    def attention(self) -> Array:
        """Return the last block's attention weights, (heads, T, T)."""
        return self.get("@.attn")


def _matrix(title: str, values: Array, *, lit: bool = True, **options: Any) -> Panel:
    """Return a matrix whose row of the token is lit, unless it has no row per token."""
    rows, cols = values.shape
    options |= {"shape": [rows, cols], "lit": lit}
    return Panel("matrix", title, values[:, :MOST_COLUMNS], options)


def _over(material: Material, title: str, values: Array, **options: Any) -> Panel:
    """Return a map over the image's patches: (T or 1, T) per token, without the prefix tokens' columns."""
    return Panel("image", title, np.atleast_2d(values)[:, material.prefix :], options)


def _image(title: str = "Image") -> Panel:
    return Panel("image", title)


def _one_head(part: str, material: Material) -> list[Panel]:
    return [_image(), _matrix(f"{part.upper()} of head 1, last layer", material.get(f"@.{part}")[0])]


def _flow(stages: dict[str, str], material: Material) -> list[Panel]:
    return [_matrix(title, material.get(name)) for title, name in stages.items()]


def _tiles(title: str, maps: Array, names: list[str], **options: Any) -> Panel:
    return Panel("tiles", title, maps, {"names": names, **options})


def _head_tiles(material: Material) -> Panel:
    attn, (rows, cols) = material.attention(), material.subject.layout.grid
    maps = attn[:, :, material.prefix :].transpose(1, 0, 2).reshape(attn.shape[1], len(attn), rows, cols)
    return _tiles("Its weights in each head", maps, [f"head {head + 1}" for head in range(len(attn))])


def _filter_tiles(material: Material, title: str, maps: Array, word: str) -> Panel:
    names = [f"{word} {number + 1}" for number in range(len(maps))]
    return _tiles(title, maps.mean(axis=1)[None], names, signed=True)


def _filters(material: Material) -> list[Panel]:
    weight = material.weight("patch_embed.proj.weight")
    embedded = material.get("patch_embed")
    strongest = int(np.abs(weight).sum(axis=(1, 2, 3)).argmax())
    response = np.concatenate([np.zeros(material.prefix), embedded[:, strongest]])
    return [
        _filter_tiles(material, f"Filter {strongest + 1}", weight[strongest : strongest + 1], "filter"),
        _over(material, "Its dot product with each patch", response, signed=True),
    ]


def _components(material: Material) -> list[Panel]:
    found = filters.principal_components(material.weight("patch_embed.proj.weight"), 8)
    share = percent(float(found.explained.sum()))
    return [_filter_tiles(material, f"8 components of E: {share} of its variance", found.maps, "component")]


def _pixels(material: Material) -> list[Panel]:
    rows = patches.patchify(material.subject.prepared.input, material.subject.layout.patch_px)
    return [_image(), Panel("patch", "Patch"), _matrix("One row per patch", rows, patches=True)]


def _positions(table: Callable[[Material], Array], material: Material) -> list[Panel]:
    rows = table(material)
    cosines = position_similarity.cosine_similarity(rows)
    missing = material.subject.layout.num_tokens - len(rows)
    cosines = np.pad(cosines, ((missing, 0), (missing, 0)))
    return [_matrix("One row per token", rows, patches=bool(missing)), _similarity(material, cosines)]


def _similarity(material: Material, cosines: Array) -> Panel:
    return _over(material, "Cosine similarity to each patch", cosines, signed=True, most=1)


def _received(material: Material) -> list[Panel]:
    return [_over(material, "Attention that each token receives", material.attention().mean(axis=(0, 1)))]


def _scaling(material: Material) -> list[Panel]:
    scores = material.get("@.scores")[0]
    width = as_vit(material.subject.model.config).embed_dim // len(material.attention())
    unscaled = attention.softmax(scores * np.sqrt(width))
    return [
        _over(material, "Weights of head 1 with 1/√d", attention.softmax(scores)),
        _over(material, "Without it", unscaled),
    ]


def _words_mask(_material: Material) -> list[Panel]:
    return [
        _matrix("8 words, no mask", attention.sentence_attention(False), lit=False, ramp="attention"),
        _matrix("Causal mask", attention.sentence_attention(True), lit=False, ramp="attention"),
    ]


def _distances(material: Material) -> list[Panel]:
    layout = material.subject.layout
    pixels = distance.mean_attention_distance_px(material.attention(), layout.grid, layout.patch_px, True)
    names = [f"head {head + 1}" for head in range(len(pixels))]
    return [_head_tiles(material), _bars("Mean distance, px", pixels, names)]


def _bars(title: str, values: Array, names: list[str]) -> Panel:
    return Panel("bars", title, np.atleast_2d(values), {"names": names})


def _class_bars(title: str, material: Material, values: Array) -> Panel:
    top = np.sort(np.argsort(-values, kind="stable")[:10])
    return _bars(title, values[top], [material.subject.classes[index] for index in top])


def _logits(material: Material) -> Panel:
    return _class_bars("Logits", material, material.get("logits"))


def _probabilities(title: str, material: Material, sharpness: float = 1.0) -> Panel:
    return _class_bars(title, material, attention.softmax(material.get("logits") * sharpness))


def _teacher(sharpness: float) -> Panel:
    material = _load_shipped("cifar10_cnn")
    assert material is not None  # shipped with its students
    title = "The teacher's probabilities" + ("" if sharpness == 1 else f", τ = {1 / sharpness:g}")
    return _probabilities(title, material, sharpness)


def _hard_label(_material: Material) -> list[Panel]:
    panel = _teacher(1)
    hard = (panel.values == panel.values.max()).astype(np.float32)
    return [panel, _bars("Hard label", hard, panel.options["names"])]


def _rollout(material: Material) -> list[Panel]:
    depth = as_vit(material.subject.model.config).depth
    layers = np.stack([material.get(f"blocks.{layer}.attn")[None] for layer in range(depth)])
    flow = explanation_methods.rollout(layers)[0]
    last = attention.fuse_heads(material.attention())
    return [
        _over(material, "Last layer's attention", last),
        _over(material, f"Rollout of {depth} layers", flow),
    ]


def _random_weights(material: Material) -> list[Panel]:
    from vitviz.probe.capture import capture

    untrained = shared_cache.load_untrained(material.subject.model)
    name = f"{material.last}.attn"
    attn = capture(untrained.model, material.subject.prepared.input[None], record=(name,))[name][0]
    return [
        _over(material, "Attention, trained", material.attention().mean(axis=0)),
        _over(material, "Random weights", attn.mean(axis=0)),
    ]


def _lens(material: Material) -> list[Panel]:
    from vitviz.probe.logits import readout_weights

    config, prefix = as_vit(material.subject.model.config), material.subject.layout.prefix
    weights = readout_weights(material.subject.model.vit)
    rows = [
        attention.softmax(
            predict_from_stream(material.get(f"blocks.{layer}"), weights, config.readout, prefix).logits
        )
        for layer in range(config.depth)
    ]
    title = "A row per layer, a column per class"
    return [_matrix(title, np.stack(rows), lit=False, ramp="share"), _probabilities("Output", material)]


def _curve(title: str, x: Array, y: Array) -> Panel:
    return Panel("curve", title, np.stack([x, y]))


def _function(
    title: str, low: float, high: float, of: Callable[[Array], Array], _material: Material
) -> list[Panel]:
    x = np.linspace(low, high, 121)
    return [_curve(title, x, of(x))]


def _gelu(x: Array) -> Array:
    from torch import as_tensor
    from torch.nn.functional import gelu

    return np.asarray(gelu(as_tensor(x)))


def _training(title: str, material: Material) -> list[Panel]:
    steps, accuracy = zip(*material.subject.choice.curve, strict=True)
    return [_curve(title, np.asarray(steps, float), 100 * np.asarray(accuracy))]


def _regions(title: str, shift: int, _material: Material) -> list[Panel]:
    """Return an 8 x 8 grid of patches in windows of 4 x 4, numbered by window, or by region after the shift."""
    if shift:
        ids = shifted_windows.region_ids((8, 8), (4, 4), (shift, shift))
    else:
        ids = np.kron(np.arange(4).reshape(2, 2), np.ones((4, 4), int))
    return [_matrix(title, ids.astype(float), lit=False, ramp="regions", square=True)]


def _bias(material: Material) -> list[Panel]:
    from vitviz.probe.swin import block_window, position_bias_table

    model = material.subject.model.swin
    table, (rows, cols) = position_bias_table(model, 0, 0), block_window(model, 0, 0)
    maps = table.reshape(1, len(table), 2 * rows - 1, 2 * cols - 1)
    return [
        _tiles("Bias per offset, stage 1", maps, [f"head {i + 1}" for i in range(len(table))], signed=True)
    ]


def _pos_table(material: Material) -> Array:
    return material.get("pos_embed")


def _sinusoids(material: Material) -> Array:
    return sincos_1d(material.subject.layout.num_tokens, 64)


Draw = Callable[[Material], list[Panel]]
PICTURES: dict[str, Draw] = {
    "patch": lambda m: [_image(), Panel("patch", "Patch")],
    "patchify": _pixels,
    "token": lambda m: [_image(), _matrix("z₀: one row per token", m.get("embedded"))],
    "embedding": lambda m: [Panel("patch", "Patch"), _matrix("x E", m.get("patch_embed"), patches=True)],
    "e": lambda m: [
        _filter_tiles(m, "24 columns of E as images", m.weight("patch_embed.proj.weight")[:24], "filter")
    ],
    "filter": _filters,
    "principal_component": _components,
    "cls": lambda m: [
        _matrix("z₀: the first row is [CLS]", m.get("embedded")),
        _over(m, "Its attention, last layer", m.attention().mean(axis=0)),
    ],
    "dist": lambda m: [
        _matrix("z₀: the second row is [DIST]", m.get("embedded")),
        _over(m, "Its attention, last layer", m.attention().mean(axis=0)),
    ],
    "prefix_token": lambda m: [_image(), _matrix("z₀: no patch belongs to row 1", m.get("embedded"))],
    "position_embedding": partial(_positions, _pos_table),
    "sinusoidal_positions": partial(_positions, _sinusoids),
    "cosine_similarity": lambda m: [_similarity(m, position_similarity.cosine_similarity(m.get("@")))],
    "attention": lambda m: [
        _over(m, "Where it attends, last layer", m.attention().mean(axis=0)),
        _matrix("A, mean of the heads", m.attention().mean(axis=0), ramp="attention", square=True),
    ],
    "query": partial(_one_head, "q"),
    "key": partial(_one_head, "k"),
    "value": partial(_one_head, "v"),
    "score": lambda m: [
        _over(m, "Its scores in head 1", m.get("@.scores")[0], signed=True),
        _matrix("Scores of head 1", m.get("@.scores")[0], square=True),
    ],
    "scale": _scaling,
    "softmax": lambda m: [
        _matrix("Scores of head 1", m.get("@.scores")[0], square=True),
        _matrix("Weights: rows sum to 1", m.attention()[0], ramp="attention", square=True),
    ],
    "head": lambda m: [_image(), _head_tiles(m)],
    "multi_head_attention": lambda m: [_head_tiles(m), _matrix("Their mixed output", m.get("@.attn_out"))],
    "output_projection": lambda m: [_matrix("Wₒ, last layer", m.weight("@.attn.proj.weight"), lit=False)],
    "causal_mask": _words_mask,
    "attention_distance": _distances,
    "attention_sink": _received,
    "block": partial(_flow, {"Into the last block": "@.input", "Out of it": "@"}),
    "residual_stream": partial(
        _flow, {"z₀": "embedded", "After attention": "@.mid", "After the last block": "@"}
    ),
    "layernorm": partial(_flow, {"Before LayerNorm": "@.input", "After it": "@.norm1"}),
    "pre_norm": partial(_flow, {"Stream": "@.input", "LayerNorm": "@.norm1", "Attention adds": "@.attn_out"}),
    "mlp": partial(_flow, {"In": "@.norm2", "Hidden, wider": "@.mlp_hidden", "Out": "@.mlp_out"}),
    "gelu": partial(_function, "GELU(x)", -4, 4, _gelu),
    "classification_head": lambda m: [
        _matrix("W: one row per class", m.weight("head.weight"), lit=False),
        _logits(m),
    ],
    "logit": lambda m: [_image(), _logits(m)],
    "readout": lambda m: [_matrix("z, last layer: row 1 is read", m.get("@")), _probabilities("Classes", m)],
    "cross_entropy": partial(_function, "−log p of the true class", 0.01, 1, lambda p: -np.log(p)),
    "teacher": lambda m: [_image(), _teacher(1)],
    "student": lambda m: [_image(), _probabilities("The student's probabilities", m)],
    "distillation": lambda m: [_teacher(1), _probabilities("The student's probabilities", m)],
    "hard_label": _hard_label,
    "soft_label": lambda m: [_teacher(1), _teacher(1 / 3)],
    "rollout": _rollout,
    "random_weight_control": _random_weights,
    "logit_lens": _lens,
    "window": partial(_regions, "Windows of 4 × 4 patches", 0),
    "shifted_window": partial(_regions, "Regions after a shift by 2", 2),
    "relative_position_bias": _bias,
    "validation": partial(_training, "Validation accuracy in %, by step"),
    "snapshot": partial(_training, "Validation accuracy in %, by step"),
}
NEEDS = {"relative_position_bias": "windows"} | dict.fromkeys(
    ("dist", "student", "distillation"), "distillation"
)


def _load_shipped(name: str) -> Material | None:
    """Return a shipped model on the photo; None on a server that lacks it."""
    choices = {choice.key: choice for choice in catalogue.list_checkpoints()}
    choice = choices.get(f"checkpoint:{name}")
    return None if choice is None else Material(load_subject(choice, None, PHOTO, (0.5, 0.5)))


def load_material(slug: str) -> Material | None:
    """Return the user's ViT and image, or shipped ones where they cannot show the term; None without either."""
    need = NEEDS.get(slug, "class_head")
    choice, current = selection.get_model_choice(), selection.get_current()
    able = abilities(choice.config)
    fits = (
        bool(able.whole_record)
        and bool(able.heads_over_all)
        and need == "class_head"
        and bool(able.class_head)
    )
    if fits and not selection.is_default_model():
        return Material(load_subject(choice, current.step, current.image))
    return _load_shipped(SUBSTITUTES[need])


def pack_term_image(slug: str, material: Material) -> bytes:
    """Pack a term's panels: each with a title, its kind and its array."""
    panels = PICTURES[slug](material)
    layout = material.subject.layout
    ground = material.subject.ground(
        any(panel.kind == "patch" for panel in panels)
    )  # a patch in the model's pixels
    arrays: dict[str, Array] = {"photo": ground.array}
    for number, panel in enumerate(panels):
        arrays[f"p{number}"] = np.ascontiguousarray(panel.values, np.float32)
    names = dict.fromkeys(("cls", "prefix_token", "readout"), 0) | {"dist": 1}
    centre = layout.num_prefix_tokens + (layout.grid[0] // 2) * layout.grid[1] + layout.grid[1] // 2
    header = {
        **ground.header,
        "prefix": list(layout.prefix),
        "grid": list(layout.grid),
        "token": names.get(slug, centre),
        "panels": [{"kind": panel.kind, "title": panel.title, **panel.options} for panel in panels],
    }
    return pack(header, **arrays)
