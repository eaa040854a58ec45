"""Describe the parts of the map in words: titles, symbols and one sentence with the image's own numbers."""

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from vitviz.analysis.forward_pass import (
    AddedPositions,
    BlockPass,
    ClassifierHeads,
    ClassScores,
    Content,
    CutPatches,
    EmbeddedPatches,
    FeatureMaps,
    Journey,
    MergedTokens,
    NormedTokens,
    Part,
    PooledVector,
    PrefixTokens,
)
from vitviz.text import percent, plural


@dataclass(frozen=True)
class ModelTraits:
    """Properties of a model that change the map's sentences.

    readout: 'cls', 'mean', 'first_patch' or 'max'. pre_norm, final_norm: positions of the LayerNorms. stem: True if
    convolutions make the tokens. windows: True for window attention. distilled: True for two classifier heads.
    class_output: 'softmax', or 'sigmoid' for classes that are independent of one another.
    """

    readout: str
    pre_norm: bool = True
    final_norm: bool = True
    stem: bool = False
    windows: bool = False
    distilled: bool = False
    convolutions: bool = False
    unread_cls: bool = False
    class_output: str = "softmax"


_TITLES = {
    "picture": "Image",
    "patches": "Patches",
    "embed": "Embedding E",
    "positions": "Positions",
    "norm": "Final LayerNorm",
    "head": "Head",
    "classes": "Classes",
}


def format_title(part: Part, model: ModelTraits) -> str:
    first, _, number = part.id.partition(".")
    content = part.content
    if isinstance(content, PrefixTokens):
        names = part.tokens.prefix if part.tokens is not None else ()
        return f"Prepend {' and '.join(bracket_name(name) for name in names)}"
    if isinstance(content, PooledVector):
        titles = {
            "mean": "Mean pooling",
            "max": "Max pooling",
            "[CLS] and mean": "[CLS] and mean pooling",
            "attention pooling": "Attention pooling",
        }
        return titles.get(content.how, "First patch")
    if isinstance(content, ClassifierHeads) and model.distilled:
        return "Two heads"
    if isinstance(content, EmbeddedPatches) and model.stem:
        return "Maps to tokens"
    if first == "stem":
        return "Convolutional stem" if model.stem else "First convolution"
    if number:
        return {"block": "Layer", "stage": "Stage", "merge": "Merge into stage"}[first] + f" {number}"
    return _TITLES[first]


def bracket_name(name: str) -> str:
    """Return the written form of a prefix token: '[CLS]'."""
    return f"[{name.upper()}]"


def describe_part(part: Part, model: ModelTraits, classes: tuple[str, ...]) -> str:
    """Return one sentence about what a part does to the image."""
    if isinstance(part.content, ClassScores):
        return _describe_classes(part.content, classes)
    return _describe(part.content, part, model)


@singledispatch
def _describe(content: Content, part: Part, model: ModelTraits) -> str:
    """Describe the image itself, whose content is None; the functions below describe the other parts."""
    channels, height, width = part.shape_in
    colour = {1: "1 grey channel", 3: "3 colour channels"}.get(channels, plural(channels, "channel"))
    return f"The model reads {height} × {width} pixels with {colour}: {channels * height * width:,} values."


@_describe.register
def _(content: CutPatches, part: Part, model: ModelTraits) -> str:
    tokens = part.tokens
    assert tokens is not None
    rows, cols = tokens.grid
    count = rows * cols
    return (
        f"{rows} × {cols} {'square' if count == 1 else 'squares'} of {tokens.cell_px} px:"
        f" {plural(count, 'patch', 'patches')} of {part.shape_out[1]:,} values{' each' * (count > 1)}."
    )


@_describe.register
def _(content: EmbeddedPatches, part: Part, model: ModelTraits) -> str:
    width = f"{part.shape_out[1]:,} values"
    mapping = (
        f"E maps the {part.shape_in[0]:,} channels at each position to {width}"
        if model.stem
        else f"E maps each patch of {part.shape_in[1]:,} values to {width}"
    )
    return f"{mapping}; a token's length: {_format_norms(content.vectors)}."


def _format_norms(vectors: np.ndarray) -> str:
    norms = np.linalg.norm(vectors, axis=-1)
    low, high = (f"{norm:.1f}" for norm in (norms.min(), norms.max()))
    return low if low == high else f"{low} to {high}"


@_describe.register
def _(content: FeatureMaps, part: Part, model: ModelTraits) -> str:
    maps = content.levels[-1].maps
    layers = plural(len(content.levels), "convolution" if part.id == "stem" else "block")
    verb = "produces" if len(content.levels) == 1 else "produce"
    share = percent(float((maps <= 0).mean()), 0)
    return (
        f"{layers} {verb} {plural(maps.shape[0], 'feature map')} of {maps.shape[1]} × {maps.shape[2]},"
        f" {share} zero or negative."
    )


@_describe.register
def _(content: PrefixTokens, part: Part, model: ModelTraits) -> str:
    assert part.tokens is not None
    names = [bracket_name(name) for name in part.tokens.prefix]
    count = part.shape_in[0]
    return (
        f"{' and '.join(names)}, {'a learned token' if len(names) == 1 else 'learned tokens'} without a patch,"
        f" {'is' if len(names) == 1 else 'are'} prepended: {plural(count, 'token')}"
        f" {'becomes' if count == 1 else 'become'} {part.shape_out[0]}."
    )


@_describe.register
def _(content: AddedPositions, part: Part, model: ModelTraits) -> str:
    source = f"Each position adds a {'learned' if content.learned else 'computed'} vector"
    if content.of_pixels:
        source = "A second linear map of each patch's pixels is added"
    return f"{source} (length {_format_norms(content.table)}); {explain_positions(content, model)}."


def name_added_vector(content: AddedPositions) -> str:
    """Return the name of the vector that is added to one token, at the beginning of a sentence."""
    return "A second linear map of the patch's pixels" if content.of_pixels else "The vector of its position"


def explain_positions(content: AddedPositions, model: ModelTraits) -> str:
    """Return the effect of the added position vectors in this model."""
    if content.of_pixels:
        return "it carries no position information"
    # Padded convolutions already carry position information.
    return "it encodes where each patch lies" if model.stem else "without it, attention ignores order"


@_describe.register
def _(content: BlockPass, part: Part, model: ModelTraits) -> str:
    of_cls = content.row_of == "cls"
    attention, mlp = (content.lengths[0] if of_cls else content.lengths.mean(axis=0))[1:3]
    window = f" in its {content.window[0]} × {content.window[1]} window" if content.window else ""
    return (
        f"{'[CLS]' if of_cls else 'A token'} attends to all tokens{window}; attention adds a vector of length"
        f" {attention:.1f}, the MLP one of {mlp:.1f}{'' if of_cls else ' on average'}."
    )


@_describe.register
def _(content: MergedTokens, part: Part, model: ModelTraits) -> str:
    return (
        f"2 × 2 neighbouring tokens become one: {part.shape_in[0]:,} tokens of {part.shape_in[1]} values,"
        f" then {part.shape_out[0]:,} of {part.shape_out[1]}."
    )


@_describe.register
def _(content: NormedTokens, part: Part, model: ModelTraits) -> str:
    if content.token < 0:
        return (
            "LayerNorm rescales every token: the mean norm changes from"
            f" {content.before.mean():.1f} to {content.after.mean():.1f}."
        )
    before, after = content.before[content.token], content.after[content.token]
    if model.distilled:
        second = content.token + 1
        return (
            f"The classifier heads read only [CLS] and [DIST]; LayerNorm changes their norms from {before:.1f} and"
            f" {content.before[second]:.1f} to {after:.1f} and {content.after[second]:.1f}."
        )
    name = "[CLS]" if model.readout == "cls" else "the first patch"
    return (
        f"The classifier head reads only {name}; LayerNorm changes its norm from {before:.1f} to {after:.1f}."
    )


@_describe.register
def _(content: PooledVector, part: Part, model: ModelTraits) -> str:
    if content.how == "first patch":
        return "The classifier head reads the first patch's token: this model has no [CLS]."
    if model.readout == "map":
        return "A learned query attends to the tokens; a projection and an MLP of their mix give the vector."
    if model.readout == "cls_mean":
        return f"[CLS] and the mean of the patches, side by side: {part.shape_out[0]:,} values."
    statistic = {"mean": "mean", "max": "maximum"}[content.how]
    sentence = f"The {statistic} over all positions of each of {part.shape_out[0]:,} channels."
    if model.convolutions:
        return sentence
    return f"{sentence} {'The classifier head does not read' if model.unread_cls else 'This model has no'} [CLS]."


@_describe.register
def _(content: ClassifierHeads, part: Part, model: ModelTraits) -> str:
    width, count = content.vectors.shape[1], part.shape_out[0]
    if len(content.names) == 2:
        return f"[CLS] and [DIST] each have a classifier head: {width} weights per class, {count:,} classes."
    return f"Each of {count:,} logits is a dot product with {width} weights, plus a bias."


def _describe_classes(content: ClassScores, classes: tuple[str, ...]) -> str:
    order = np.argsort(-content.probabilities, kind="stable")[:2]
    ranked = [f"{classes[i]} ({percent(content.probabilities[i])})" for i in order]
    return f"Prediction: {', then '.join(ranked)}."


def describe_journey(journey: Journey, model: ModelTraits, classes: tuple[str, ...]) -> str:
    """Return the map's caption: the layers that add most, and the predicted class."""
    blocks = [part.content for part in journey.parts if isinstance(part.content, BlockPass)]
    scores = next((part.content for part in journey.parts if isinstance(part.content, ClassScores)), None)
    prediction = ""
    if scores is not None:
        best = int(scores.probabilities.argmax())
        prediction = f"prediction: {classes[best]} ({percent(scores.probabilities[best])})"
    if not blocks:
        return f"P{prediction[1:]}. {journey.why_bare}".strip() if prediction else journey.why_bare
    of_cls = model.readout == "cls"
    added = np.stack([(block.lengths[0] if of_cls else block.lengths.mean(axis=0))[1:3] for block in blocks])
    attention, mlp = added.max(axis=0)
    layers = added.argmax(axis=0) + 1
    target = "to [CLS]" if of_cls else "to a token on average"
    return (
        f"{_describe_counts(blocks)}: attention adds most {target} in layer {layers[0]}, a vector of length"
        f" {attention:.1f}, the MLP in layer {layers[1]}, one of {mlp:.1f}{'; ' + prediction if prediction else ''}."
    )


def _describe_counts(blocks: list[BlockPass]) -> str:
    """Return the numbers of tokens and layers; a Swin merges tokens between its stages."""
    first, last = len(blocks[0].lengths), len(blocks[-1].lengths)
    merged = f" (merged into {last:,})" if last < first else ""
    return f"{plural(first, 'token')}{merged} pass{'es' if first == 1 else ''} through {plural(len(blocks), 'layer')}"


def write_caption(part: Part, model: ModelTraits) -> str:
    """Return a few words below a part's tile; '' for a layer, which shows its norms."""
    content, out = part.content, part.shape_out
    if isinstance(content, EmbeddedPatches):
        return f"E: {part.shape_in[0 if model.stem else 1]:,} values → {out[1]:,}"
    if isinstance(content, PrefixTokens):
        count = len(part.tokens.prefix) if part.tokens is not None else 1
        return f"+ {count} learned {'token' if count == 1 else 'tokens'}"
    if isinstance(content, AddedPositions):
        target = "each token" if content.on_prefix else "each patch's token"
        return (
            f"{target} gets its own" if not content.of_pixels else f"a second linear map, added to {target}"
        )
    if isinstance(content, ClassifierHeads):
        return f"{content.vectors.shape[1]:,} weights per class"
    if isinstance(content, CutPatches):
        return f"{plural(out[0], 'patch', 'patches')} of {out[1]:,} values"
    if isinstance(content, FeatureMaps):
        return plural(out[0], "feature map")
    if content is None:
        return f"read as {part.shape_in[1]} × {part.shape_in[2]} px, {'grey' if part.shape_in[0] == 1 else 'RGB'}"
    if isinstance(content, ClassScores):
        if model.class_output == "sigmoid":
            return "sigmoid of each logit"
        return "softmax of the mean logit" if model.distilled else "softmax of the logits"
    return "2 × 2 tokens become 1" if isinstance(content, MergedTokens) else ""
