"""What the map says of its parts: titles, symbols, and one sentence each, computed from the picture's own numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vitviz.analysis.journey import (
    Attended,
    Classes,
    Content,
    Cut,
    Embedded,
    Heads,
    Journey,
    Maps,
    Merged,
    Normed,
    Part,
    Pooled,
    Positions,
    Prefix,
)
from vitviz.text import percent, plural


@dataclass(frozen=True)
class ModelWords:
    """What the map's sentences must know of a model beyond its numbers.

    readout: 'cls', 'mean', 'first_patch' or 'max'. pre_norm, final_norm: where LayerNorms stand. stem: whether
    convolutions make its tokens. windows: whether its heads look inside windows. distilled: whether it has two heads.
    """

    readout: str
    pre_norm: bool = True
    final_norm: bool = True
    stem: bool = False
    windows: bool = False
    distilled: bool = False
    convolutions: bool = False


_TITLES = {
    "picture": "Picture",
    "patches": "Patches",
    "embed": "Embedding E",
    "prefix": "[CLS] in front",
    "positions": "Positions",
    "norm": "Last LayerNorm",
    "pool": "Mean",
    "head": "Head",
    "classes": "Classes",
}


def title_of(part: Part, model: ModelWords) -> str:
    """What a part is called on the map."""
    first, _, number = part.id.partition(".")
    content = part.content
    if isinstance(content, Prefix):
        names = part.tokens.prefix if part.tokens is not None else ()
        return f"{' and '.join(written(name) for name in names)} in front"
    if isinstance(content, Pooled):
        return {"mean": "Mean over all places", "max": "Largest of all places"}.get(
            content.how, "The first patch"
        )
    if isinstance(content, Heads) and model.distilled:
        return "Two heads"
    if isinstance(content, Embedded) and model.stem:
        return "Maps become tokens"
    if first == "stem":
        return "Convolutional stem" if model.stem else "First convolution"
    if number:
        return {"block": "Layer", "stage": "Stage", "merge": "Merging into stage"}[first] + f" {number}"
    return _TITLES[first]


def written(name: str) -> str:
    """A prefix token as it is written: '[CLS]'."""
    return f"[{name.upper()}]"


def symbol_of(part: Part, model: ModelWords) -> str:
    """A part in a formula; '' where it has no letter."""
    first, _, number = part.id.partition(".")
    fixed = {"picture": "x", "patches": "xₚ", "embed": "E", "positions": "E_pos", "head": "W", "classes": "p"}
    if first == "prefix" and part.tokens is not None:
        return ", ".join(f"x_{'class' if name == 'cls' else name}" for name in part.tokens.prefix)
    if first == "norm":
        return "LN(z_L⁰)" if model.readout == "cls" else "LN(z_L)"
    return f"z_{number}" if first == "block" else fixed.get(first, "")


def words_of(part: Part, model: ModelWords, classes: tuple[str, ...]) -> str:
    """One sentence on what this part does to this picture."""
    return _WORDS[type(part.content)](part, model, classes)


def _picture(part: Part, model: ModelWords, classes: tuple[str, ...]) -> str:
    channels, height, width = part.shape_in
    colour = {1: "one grey value", 3: "red, green and blue"}.get(channels, f"{channels} values")
    return f"{height} × {width} pixels of {colour}: {channels * height * width:,} numbers."


def _cut(part: Part, model: ModelWords, classes: tuple[str, ...]) -> str:
    tokens = part.tokens
    assert tokens is not None
    rows, cols = tokens.grid
    count = rows * cols
    return (
        f"Cut into {rows} × {cols} {'square' if count == 1 else 'squares'} of {tokens.cell_px} px:"
        f" {plural(count, 'patch', 'patches')} of {part.shape_out[1]:,} numbers{' each' * (count > 1)}."
    )


def _embedded(part: Part, model: ModelWords, classes: tuple[str, ...]) -> str:
    content = part.content
    assert isinstance(content, Embedded)
    wide = f"{part.shape_out[1]:,} numbers"
    into = (
        f"Each place of the maps is one token: its {part.shape_in[0]:,} channels are multiplied into {wide}"
        if model.stem
        else f"One matrix turns each patch's {part.shape_in[1]:,} numbers into a token of {wide}"
    )
    who = "it is" if len(content.vectors) == 1 else "tokens are"
    return f"{into}; {who} {_long(content.vectors)} long."


def _long(vectors: np.ndarray) -> str:
    """The lengths of vectors (n, D), '1.2 to 3.4'."""
    sizes = np.linalg.norm(vectors, axis=-1)
    short, long = (f"{size:.1f}" for size in (sizes.min(), sizes.max()))
    return short if short == long else f"{short} to {long}"


def _maps(part: Part, model: ModelWords, classes: tuple[str, ...]) -> str:
    content = part.content
    assert isinstance(content, Maps)
    last = content.levels[-1].maps
    dark = float((last <= 0).mean())
    made = f"{plural(last.shape[0], 'map')} of {last.shape[1]} × {last.shape[2]} places"
    how = plural(len(content.levels), "convolution" if part.id == "stem" else "block")
    verb = "makes" if len(content.levels) == 1 else "make"
    return f"{how} of small overlapping filters {verb} {made}; {percent(dark, 0)} of their values are zero or below."


def _prefix(part: Part, model: ModelWords, classes: tuple[str, ...]) -> str:
    content = part.content
    assert isinstance(content, Prefix) and part.tokens is not None
    names = [written(name) for name in part.tokens.prefix]
    count = part.shape_in[0]
    return (
        f"{' and '.join(names)} {'is a learned token' if len(names) == 1 else 'are learned tokens'} without a patch of"
        f" {'its' if len(names) == 1 else 'their'} own, the same for every picture:"
        f" {plural(count, 'token')} {'becomes' if count == 1 else 'become'} {part.shape_out[0]}."
    )


def _positions(part: Part, model: ModelWords, classes: tuple[str, ...]) -> str:
    content = part.content
    assert isinstance(content, Positions)
    kind = "learned" if content.learned else "computed"
    what = f"A {kind} vector for each place"
    if content.of_pixels:
        what = "What a second map makes of each patch's pixels"
    return f"{what} is added to its token, {_long(content.table)} long: {why_added(content, model)}."


def added_to_one(content: Positions) -> str:
    """What is added to one token for its place, as a sentence begins."""
    return "What a second map makes of the patch's pixels" if content.of_pixels else "The vector of its place"


def why_added(content: Positions, model: ModelWords) -> str:
    """What is added for the places does, as far as the model needs it."""
    if content.of_pixels:
        return "it knows no place"
    # A stem of convolutions with padding tells something of places by itself.
    return (
        "it tells attention where each lies"
        if model.stem
        else "without it attention could not tell where each lay"
    )


def _attended(part: Part, model: ModelWords, classes: tuple[str, ...]) -> str:
    content = part.content
    assert isinstance(content, Attended)
    of_cls = content.row_of == "cls"
    attention, mlp = (content.lengths[0] if of_cls else content.lengths.mean(axis=0))[1:3]
    where = (
        f" of its window of {content.window_grid[0]} × {content.window_grid[1]}"
        if content.window_grid
        else ""
    )
    return (
        f"{'[CLS]' if of_cls else 'A token'} asks all tokens{where}: attention adds the mean of their values, weighted"
        f" by its look, a vector of length {attention:.1f}{'' if of_cls else ' on average'}; the MLP adds one of"
        f" {mlp:.1f}."
    )


def _merged(part: Part, model: ModelWords, classes: tuple[str, ...]) -> str:
    return (
        f"Every 2 × 2 neighbours become one token: {part.shape_in[0]:,} tokens of {part.shape_in[1]} numbers become"
        f" {part.shape_out[0]:,} of {part.shape_out[1]}."
    )


def _normed(part: Part, model: ModelWords, classes: tuple[str, ...]) -> str:
    content = part.content
    assert isinstance(content, Normed)
    if content.token >= 0:
        before, after = content.before[content.token], content.after[content.token]
        if model.distilled:
            second = content.token + 1
            return (
                f"[CLS] and [DIST] are read: LayerNorm brings them from lengths {before:.1f} and"
                f" {content.before[second]:.1f} to {after:.1f} and {content.after[second]:.1f}."
            )
        name = "[CLS]" if model.readout == "cls" else "the first patch"
        return (
            f"Only {name} is read, which has asked the others in every layer too: LayerNorm brings it from length"
            f" {before:.1f} to {after:.1f}."
        )
    return (
        f"LayerNorm brings every token to one scale: {content.before.mean():.1f} long before,"
        f" {content.after.mean():.1f} after, on average."
    )


def _pooled(part: Part, model: ModelWords, classes: tuple[str, ...]) -> str:
    content = part.content
    assert isinstance(content, Pooled)
    if content.how == "first patch":
        return "The answer is read from the first patch's token: there is no [CLS]."
    what = {"mean": "The mean", "max": "The largest value"}[content.how]
    said = f"{what} of each of {part.shape_out[0]:,} channels over all places: which place said what is forgotten here."
    return said if model.convolutions else f"{said} There is no [CLS]."


def _heads(part: Part, model: ModelWords, classes: tuple[str, ...]) -> str:
    content = part.content
    assert isinstance(content, Heads)
    width, count = content.vectors.shape[1], part.shape_out[0]
    if len(content.names) == 2:
        return f"[CLS] and [DIST] are each read by a head of their own: {width} products a class, {count:,} classes."
    return (
        f"The score of each of {count:,} classes is a dot product: what was read times the class's own {width} numbers."
        " Softmax makes shares of them."
    )


def _classes(part: Part, model: ModelWords, classes: tuple[str, ...]) -> str:
    content = part.content
    assert isinstance(content, Classes)
    order = np.argsort(-content.probabilities, kind="stable")
    best = order[0]
    second = (
        f", then {classes[order[1]]} with {percent(content.probabilities[order[1]])}"
        if len(order) > 1
        else ""
    )
    return f"{classes[best]} with {percent(content.probabilities[best])}{second}."


def caption_of(journey: Journey, model: ModelWords, classes: tuple[str, ...]) -> str:
    """One or two sentences on the whole way: how much is added where, and what comes of it."""
    blocks = [part.content for part in journey.parts if isinstance(part.content, Attended)]
    answer = next((part.content for part in journey.parts if isinstance(part.content, Classes)), None)
    said = ""
    if answer is not None:
        best = int(answer.probabilities.argmax())
        said = f"the answer is {classes[best]} with {percent(answer.probabilities[best])}"
    if not blocks:
        return f"{said[:1].upper()}{said[1:]}. {journey.why_bare}".strip() if said else journey.why_bare
    of_cls = model.readout == "cls"
    added = np.stack([(block.lengths[0] if of_cls else block.lengths.mean(axis=0))[1:3] for block in blocks])
    attention, mlp = added.max(axis=0)
    layers = added.argmax(axis=0) + 1
    who = "to [CLS]" if of_cls else "to a token on average"
    return (
        f"{_passing(blocks)}: attention adds most {who} in layer {layers[0]}, a vector of length"
        f" {attention:.1f}, and the MLP in layer {layers[1]}, one of {mlp:.1f}{'; ' + said if said else ''}."
    )


def _passing(blocks: list[Attended]) -> str:
    """How many tokens pass how many layers; fewer reach the last where a Swin merges them."""
    first, last = len(blocks[0].lengths), len(blocks[-1].lengths)
    merged = f", merged into {last:,} on the way," if last < first else ""
    return f"{plural(first, 'token')}{merged} {'passes' if first == 1 else 'pass'} {plural(len(blocks), 'layer')}"


def notes_of(journey: Journey, model: ModelWords) -> dict[str, str]:
    """What stands written on the map itself, before its layers and after them; '' of what the model has not.

    layers: what a token is, where its place comes in, and what attention adds. classes: what makes one.
    """
    first = {type(part.content): part for part in reversed(journey.parts)}
    said = [_token_note(first[Embedded], first.get(Prefix), model)] if Embedded in first else []
    if Positions in first:
        said.append(_position_note(first[Positions].content))
    elif model.windows:
        said.append("Where two tokens lie to each other is added to their score in attention.")
    if Attended in first:
        said.append(_attention_note(first[Attended]))
    return {"layers": " ".join(said), "classes": _class_note(first[Heads], model) if Heads in first else ""}


def _token_note(embed: Part, prefix: Part | None, model: ModelWords) -> str:
    origin = "a place's {} channels times a matrix" if model.stem else "a patch's {} numbers times E"
    read = embed.shape_in[0 if model.stem else 1]
    said = (
        f"A token is a vector of {embed.shape_out[1]:,} numbers (stripes show its first ones,"
        f" orange above 0, blue below): {origin.format(f'{read:,}')}"
    )
    names = (
        [] if prefix is None or prefix.tokens is None else [written(name) for name in prefix.tokens.prefix]
    )
    if not names:
        return f"{said}."
    more = "is one more" if len(names) == 1 else f"are {len(names)} more"
    use = ", from which the class is read" if model.readout == "cls" else ""
    return f"{said}; {' and '.join(names)} {more}, without a patch{use}."


def _position_note(content: Content) -> str:
    assert isinstance(content, Positions)
    if content.of_pixels:
        return (
            "What a second map makes of each patch's pixels is added to its token: it knows no place, and attention by"
            " itself no order."
        )
    whom = "each" if content.on_prefix else "each patch's"
    return f"The vector of its place is added to {whom}: attention by itself knows no order."


def _attention_note(block: Part) -> str:
    content = block.content
    assert isinstance(content, Attended)
    whom = "the tokens of its window" if content.window_grid else "all tokens"
    return (
        f"In each layer a token looks at {whom}: attention adds what they tell, the mean of their values, weighted by"
        " that look, which the maps show; the MLP adds what it makes of the token alone."
    )


def _class_note(head: Part, model: ModelWords) -> str:
    content = head.content
    assert isinstance(content, Heads)
    read = {
        "cls": "[CLS]",
        "mean": "the mean",
        "first_patch": "the first patch's token",
        "max": "the largest values",
    }[model.readout]
    own = f"{content.vectors.shape[1]:,} numbers and a bias of its own"
    if len(content.names) > 1:
        return (
            f"Each class has {own} for [CLS], and as many for [DIST]: times what is read, and summed, they make two"
            " scores, and their mean is the class's; the highest wins."
        )
    return (
        f"Each class has {own}: times what is read, {read}, and summed they make its score; the highest wins."
    )


_WORDS: dict[type, Callable[[Part, ModelWords, tuple[str, ...]], str]] = {
    type(None): _picture,
    Cut: _cut,
    Embedded: _embedded,
    Maps: _maps,
    Prefix: _prefix,
    Positions: _positions,
    Attended: _attended,
    Merged: _merged,
    Normed: _normed,
    Pooled: _pooled,
    Heads: _heads,
    Classes: _classes,
}
