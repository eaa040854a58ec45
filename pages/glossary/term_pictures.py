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

from pages.glossary.term_material import Material, load_shipped
from pages.stores import shared_cache
from vitviz import shifted_windows
from vitviz.analysis import (
    attention,
    distance,
    explanation_methods,
    filters,
    patches,
    position_similarity,
    token_similarity,
)
from vitviz.analysis.readout import predict_from_stream
from vitviz.analysis.receptive_fields import Field
from vitviz.models.abilities import as_vit
from vitviz.plots.blob import pack
from vitviz.sinusoids import rotary_angles, sincos_1d
from vitviz.text import percent, plural
from vitviz.training.schedule import learning_rate_factor

Array = NDArray[Any]
MOST_COLUMNS = 192  # of a matrix: more would be narrower than a pixel


@dataclass(frozen=True, eq=False)
class TermPanel:
    """One panel: its kind (image, patch, matrix, tiles, bars, curve), title, values and options of the view.

    values: (tokens or 1, ...) of an image (patches), tiles (tiles, rows, cols) and bars (names); (rows, cols) of a
    matrix; (1 + curves, points) of curves over the first row.
    """

    kind: str
    title: str
    values: Array = field(default_factory=lambda: np.zeros(0, np.float32))
    options: dict[str, Any] = field(default_factory=dict)


def _matrix(title: str, values: Array, *, lit: bool = True, **options: Any) -> TermPanel:
    """Return a matrix whose row of the token is lit, unless it has no row per token."""
    rows, cols = values.shape
    options |= {"shape": [rows, cols], "lit": lit}
    return TermPanel("matrix", title, values[:, :MOST_COLUMNS], options)


def _over(material: Material, title: str, values: Array, **options: Any) -> TermPanel:
    """Return a map over the image's patches: (T or 1, T) per token, without the prefix tokens' columns."""
    return TermPanel("image", title, np.atleast_2d(values)[:, material.prefix :], options)


def _image(title: str = "Image") -> TermPanel:
    return TermPanel("image", title)


def _one_head(part: str, material: Material) -> list[TermPanel]:
    return [_image(), _matrix(f"{part.upper()} of head 1, last layer", material.get(f"@.{part}")[0])]


def _flow(stages: dict[str, str], material: Material) -> list[TermPanel]:
    return [_matrix(title, material.get(name)) for title, name in stages.items()]


def _tiles(title: str, maps: Array, names: list[str], **options: Any) -> TermPanel:
    return TermPanel("tiles", title, maps, {"names": names, **options})


def _head_tiles(material: Material) -> TermPanel:
    attn, (rows, cols) = material.attention(), material.subject.layout.grid
    maps = attn[:, :, material.prefix :].transpose(1, 0, 2).reshape(attn.shape[1], len(attn), rows, cols)
    return _tiles("Its weights in each head", maps, [f"head {head + 1}" for head in range(len(attn))])


def _filter_tiles(material: Material, title: str, maps: Array, word: str) -> TermPanel:
    names = [f"{word} {number + 1}" for number in range(len(maps))]
    return _tiles(title, maps.mean(axis=1)[None], names, signed=True)


def _filters(material: Material) -> list[TermPanel]:
    weight = material.weight("patch_embed.proj.weight")
    embedded = material.get("patch_embed")
    strongest = int(np.abs(weight).sum(axis=(1, 2, 3)).argmax())
    response = np.concatenate([np.zeros(material.prefix), embedded[:, strongest]])
    return [
        _filter_tiles(material, f"Filter {strongest + 1}", weight[strongest : strongest + 1], "filter"),
        _over(material, "Its dot product with each patch", response, signed=True),
    ]


def _components(material: Material) -> list[TermPanel]:
    found = filters.principal_components(material.weight("patch_embed.proj.weight"), 8)
    share = percent(float(found.explained.sum()))
    return [_filter_tiles(material, f"8 components of E: {share} of its variance", found.maps, "component")]


def _pixels(material: Material) -> list[TermPanel]:
    rows = patches.patchify(material.subject.prepared.input, material.subject.layout.patch_px)
    return [_image(), TermPanel("patch", "Patch"), _matrix("One row per patch", rows, patches=True)]


def _positions(table: Callable[[Material], Array], material: Material) -> list[TermPanel]:
    rows = table(material)
    cosines = position_similarity.cosine_similarity(rows)
    missing = material.subject.layout.num_tokens - len(rows)
    cosines = np.pad(cosines, ((missing, 0), (missing, 0)))
    return [_matrix("One row per token", rows, patches=bool(missing)), _similarity(material, cosines)]


def _similarity(material: Material, cosines: Array) -> TermPanel:
    return _over(material, "Cosine similarity to each patch", cosines, signed=True, most=1)


def _received(material: Material) -> list[TermPanel]:
    return [_over(material, "Attention that each token receives", material.attention().mean(axis=(0, 1)))]


def _scaling(material: Material) -> list[TermPanel]:
    scores = material.get("@.scores")[0]
    width = as_vit(material.subject.model.config).embed_dim // len(material.attention())
    unscaled = attention.softmax(scores * np.sqrt(width))
    return [
        _over(material, "Weights of head 1 with 1/√d", attention.softmax(scores)),
        _over(material, "Without it", unscaled),
    ]


def _words_mask(_material: Material) -> list[TermPanel]:
    return [
        _matrix("8 words, no mask", attention.sentence_attention(False), lit=False, ramp="attention"),
        _matrix("Causal mask", attention.sentence_attention(True), lit=False, ramp="attention"),
    ]


def _distances(material: Material) -> list[TermPanel]:
    layout = material.subject.layout
    pixels = distance.mean_attention_distance_px(material.attention(), layout.grid, layout.patch_px, True)
    names = [f"head {head + 1}" for head in range(len(pixels))]
    return [_head_tiles(material), _bars("Mean distance, px", pixels, names)]


def _bars(title: str, values: Array, names: list[str]) -> TermPanel:
    return TermPanel("bars", title, np.atleast_2d(values), {"names": names})


def _class_bars(title: str, material: Material, values: Array) -> TermPanel:
    top = np.sort(np.argsort(-values, kind="stable")[:10])
    return _bars(title, values[top], [material.subject.classes[index] for index in top])


def _logits(material: Material) -> TermPanel:
    return _class_bars("Logits", material, material.get("logits"))


def _probabilities(title: str, material: Material, sharpness: float = 1.0) -> TermPanel:
    return _class_bars(title, material, attention.softmax(material.get("logits") * sharpness))


def _teacher(sharpness: float) -> TermPanel:
    material = load_shipped("cifar10_cnn")
    assert material is not None  # shipped with its students
    title = "The teacher's probabilities" + ("" if sharpness == 1 else f", τ = {1 / sharpness:g}")
    return _probabilities(title, material, sharpness)


def _hard_label(_material: Material) -> list[TermPanel]:
    panel = _teacher(1)
    hard = (panel.values == panel.values.max()).astype(np.float32)
    return [panel, _bars("Hard label", hard, panel.options["names"])]


def _rollout(material: Material) -> list[TermPanel]:
    depth = as_vit(material.subject.model.config).depth
    layers = np.stack([material.get(f"blocks.{layer}.attn")[None] for layer in range(depth)])
    flow = explanation_methods.rollout(layers)[0]
    last = attention.fuse_heads(material.attention())
    return [
        _over(material, "Last layer's attention", last),
        _over(material, f"Rollout of {depth} layers", flow),
    ]


def _explain(material: Material, method: str) -> tuple[Array, int]:
    """Return the method's map of the predicted class, (patches,), and the class."""
    from vitviz.probe.explanation_maps import Recipe, method_maps_of

    subject, target = material.subject, int(material.get("logits").argmax())
    return method_maps_of(subject.model, subject.prepared.input, Recipe(target, "mean", 0.0))[method], target


def _explained(method: str, material: Material) -> list[TermPanel]:
    values, target = _explain(material, method)
    name = material.subject.classes[target]
    return [_image(), _over(material, f"What speaks for {name}", np.pad(values, (material.prefix, 0)))]


def _deletion(material: Material) -> list[TermPanel]:
    from vitviz.probe.explanation_maps import order_curve

    values, target = _explain(material, "gradient")
    curve = order_curve(material.subject.model, material.subject.prepared.input, values, target)
    title = f"Probability of {material.subject.classes[target]} in %, by % of patches blanked"
    return [*_explained("gradient", material), _curve(title, 100 * curve.fraction, 100 * curve.deletion)]


def _random_weights(material: Material) -> list[TermPanel]:
    from vitviz.probe.capture import capture

    untrained = shared_cache.load_untrained(material.subject.model)
    name = f"{material.last}.attn"
    attn = capture(untrained.model, material.subject.prepared.input[None], record=(name,))[name][0]
    return [
        _over(material, "Attention, trained", material.attention().mean(axis=0)),
        _over(material, "Random weights", attn.mean(axis=0)),
    ]


def _lens(material: Material) -> list[TermPanel]:
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


def _curve(title: str, x: Array, *y: Array, names: tuple[str, ...] = ("",)) -> TermPanel:
    return TermPanel("curve", title, np.stack([x, *y]), {"names": names})


def _function(
    title: str, low: float, high: float, of: Callable[[Array], Array], _material: Material
) -> list[TermPanel]:
    x = np.linspace(low, high, 121)
    return [_curve(title, x, of(x))]


def _gelu(x: Array) -> Array:
    from torch import as_tensor
    from torch.nn.functional import gelu

    return np.asarray(gelu(as_tensor(x)))


def _training(title: str, material: Material) -> list[TermPanel]:
    steps, accuracy = zip(*material.subject.choice.curve, strict=True)
    return [_curve(title, np.asarray(steps, float), 100 * np.asarray(accuracy))]


def _schedule(title: str, end: float, material: Material) -> list[TermPanel]:
    """Return the rate of a warm-up of 10 % and a cosine, up to a share of the run."""
    of = np.vectorize(lambda percent: learning_rate_factor("warmup_cosine", percent / 100, 0.1))
    return _function(title, 0, 100 * end, of, material)


def _dropped(material: Material) -> list[TermPanel]:
    hidden, kept = material.get("@.mlp_hidden"), 0.9
    drawn = np.random.default_rng(0).random(hidden.shape) < kept
    return [_matrix("Hidden values, last MLP", hidden), _matrix("A tenth set to 0", hidden * drawn / kept)]


def _registers(material: Material) -> list[TermPanel]:
    """Return the attention that each patch receives, and that of the same model with a test-time register."""
    from torch import as_tensor

    from vitviz.probe.capture import capture
    from vitviz.probe.changed_tokens import add_register, find_register_neurons

    inputs = material.subject.prepared.input[None]
    neurons = find_register_neurons(material.subject.model.vit, as_tensor(inputs))
    changed, name = add_register(material.subject.model, neurons), f"{material.last}.attn"
    received = capture(changed.model, inputs, record=(name,))[name][0].mean(axis=(0, 1))
    share = percent(float(received[material.prefix]))
    return [
        _over(material, "Attention received, no register", material.attention().mean(axis=(0, 1))),
        _over(material, f"With one, which receives {share}", received[1:]),
    ]


def _batch_norm(material: Material) -> list[TermPanel]:
    before = material.get("@.input")[material.prefix :]
    after = (before - before.mean(axis=0)) / np.sqrt(before.var(axis=0) + 1e-5)
    return [
        _matrix("Before: one row per place", before, patches=True),
        _matrix("After: columns have mean 0, variance 1", after, patches=True),
    ]


def _mutual_neighbours(material: Material) -> list[TermPanel]:
    """Return each patch's cosines with the patches of the mirrored image, whose best match is framed."""
    from vitviz.probe.capture import capture

    mirrored = np.ascontiguousarray(material.subject.prepared.input[None, :, :, ::-1])
    second = capture(material.subject.model.model, mirrored, record=(material.last,))[material.last][0]
    first, second = material.get("@")[material.prefix :], second[material.prefix :]
    cosines = token_similarity.cosines_between(first, second, without_mean=True)
    mutual = token_similarity.find_mutual_neighbours(cosines).first.tolist()
    padded = np.pad(cosines, ((material.prefix, 0), (material.prefix, 0)))
    options = {"signed": True, "most": 1, "mutual": mutual}
    return [_image(), _over(material, "Its cosines in the mirrored image", padded, **options)]


def _patching(material: Material) -> list[TermPanel]:
    """Return the change of the predicted class's logit, by the patch whose token comes from the mirrored image."""
    from vitviz.probe.activation_patching import patch_tokens

    receiver, logits = material.subject.prepared.input, material.get("logits")
    donor, target = np.ascontiguousarray(receiver[:, :, ::-1]), int(logits.argmax())
    changed = patch_tokens(material.subject.model, donor, receiver, 1)[:, target] - logits[target]
    name = material.subject.classes[target]
    title = f"Change of the logit of {name} if a patch's token, layer 1, is the mirrored image's"
    return [_image(), _over(material, title, changed, signed=True)]


def _biases(material: Material) -> list[TermPanel]:
    """Return where a 3 x 3 convolution reads for each patch, and where attention does."""
    row, col = np.divmod(np.arange(material.subject.layout.num_patches), material.subject.layout.grid[1])
    near = (abs(row[:, None] - row) <= 1) & (abs(col[:, None] - col) <= 1)
    kernel = np.pad(near / 9.0, ((material.prefix, 0), (material.prefix, 0)))
    return [
        _over(material, "3 × 3 convolution: neighbours alone", kernel),
        _over(material, "Attention, last layer: any patch", material.attention().mean(axis=0)),
    ]


def _stem(material: Material) -> list[TermPanel]:
    maps = material.get("patch_embed.stem.0")[:9]
    names = [f"channel {number + 1}" for number in range(len(maps))]
    return [
        _image(),
        _tiles("After the first convolution", maps[None], names, signed=True),
        _matrix("z₀: one row per token", material.get("embedded")),
    ]


def _epochs(_material: Material) -> list[TermPanel]:
    order = np.stack([np.random.default_rng(epoch).permutation(24) for epoch in range(4)])
    title = "4 epochs: each row has all 24 images once, in a new order"
    return [_matrix(title, order.astype(float), lit=False, ramp="share")]


def _overfitting(_material: Material) -> list[TermPanel]:
    """Return the errors of polynomials that are fitted to ten noisy points of a sine, by their degree."""
    random, degrees = np.random.default_rng(0), np.arange(1, 9)
    x, new = np.linspace(-1, 1, 10), np.linspace(-0.95, 0.95, 100)
    y, truth = (np.sin(3 * at) + random.normal(0, 0.3, len(at)) for at in (x, new))
    fits = [np.polynomial.Polynomial.fit(x, y, degree) for degree in degrees]
    errors = [
        [float(np.mean((fit(at) - value) ** 2)) for fit in fits] for at, value in ((x, y), (new, truth))
    ]
    title = "Squared error of a polynomial fitted to 10 points, by its degree"
    return [_curve(title, degrees.astype(float), *np.array(errors), names=("these 10", "100 new"))]


def _rotations(material: Material) -> list[TermPanel]:
    """Return the angles' cosines by patch, and of each pair of patches the mean cosine of what lies between them."""
    angles = rotary_angles(material.subject.layout.grid, 32, 100.0, centred=True)
    turned = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    between = np.pad(turned @ turned.T / angles.shape[1], ((material.prefix, 0), (material.prefix, 0)))
    title = "Mean cosine of the turn to each patch"
    return [
        _matrix("Cosines of the angles: one row per patch", np.cos(angles), patches=True),
        _over(material, title, between, signed=True, most=1),
    ]


def _fields(material: Material) -> list[TermPanel]:
    field, sides = Field(), []
    for _ in range(5):
        field = field.apply_layer(3, 1, 1)
        sides.append(float(field.side_px))
    names = [plural(count, "convolution") for count in range(1, 6)]
    image_px = float(material.subject.prepared.input.shape[-1])
    return [_bars("Side in px after 3 × 3", np.array([*sides, image_px]), [*names, "attention"])]


def _merging(_material: Material) -> list[TermPanel]:
    ids = np.kron(np.arange(16.0).reshape(4, 4), np.ones((2, 2)))
    return [_matrix("Each 2 × 2 tokens become one", ids, lit=False, ramp="regions", square=True)]


def _regions(title: str, shift: int, _material: Material) -> list[TermPanel]:
    """Return an 8 x 8 grid of patches in windows of 4 x 4, numbered by window, or by region after the shift."""
    if shift:
        ids = shifted_windows.region_ids((8, 8), (4, 4), (shift, shift))
    else:
        ids = np.kron(np.arange(4).reshape(2, 2), np.ones((4, 4), int))
    return [_matrix(title, ids.astype(float), lit=False, ramp="regions", square=True)]


def _bias(material: Material) -> list[TermPanel]:
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


Draw = Callable[[Material], list[TermPanel]]
PICTURES: dict[str, Draw] = {
    "patch": lambda m: [_image(), TermPanel("patch", "Patch")],
    "patchify": _pixels,
    "token": lambda m: [_image(), _matrix("z₀: one row per token", m.get("embedded"))],
    "embedding": lambda m: [TermPanel("patch", "Patch"), _matrix("x E", m.get("patch_embed"), patches=True)],
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
    "rotary_position_embedding": _rotations,
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
    "gradient_weighted_relevance": partial(_explained, "gradient"),
    "legrad": partial(_explained, "legrad"),
    "attnlrp": partial(_explained, "attnlrp"),
    "deletion_check": _deletion,
    "random_weight_control": _random_weights,
    "logit_lens": _lens,
    "window": partial(_regions, "Windows of 4 × 4 patches", 0),
    "shifted_window": partial(_regions, "Regions after a shift by 2", 2),
    "relative_position_bias": _bias,
    "patch_merging": _merging,
    "receptive_field": _fields,
    "learning_rate": partial(_schedule, "Share of the highest rate, by % of the run", 1.0),
    "warm_up": partial(_schedule, "Share of the highest rate, first fifth of the run", 0.2),
    "weight_decay": partial(
        _function,
        "% left of a weight without gradient, by update (rate 0.001, decay 0.05)",
        0,
        40_000,
        lambda update: 100 * np.exp(update * np.log1p(-0.001 * 0.05)),
    ),
    "dropout": _dropped,
    "validation": partial(_training, "Validation accuracy in %, by step"),
    "snapshot": partial(_training, "Validation accuracy in %, by step"),
    "register": _registers,
    "batchnorm": _batch_norm,
    "mutual_nearest_neighbours": _mutual_neighbours,
    "activation_patching": _patching,
    "inductive_bias": _biases,
    "hybrid": _stem,
    "epoch": _epochs,
    "overfitting": _overfitting,
}
WITHOUT_MODEL = frozenset(
    "gelu cross_entropy causal_mask window shifted_window patch_merging learning_rate warm_up weight_decay epoch"
    " overfitting".split()
)


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
