"""The model's equations, term by term, each with the parts of the map that it stands for."""

from __future__ import annotations

from typing import Any

from vitviz.analysis.journey import Journey, Positions
from vitviz.plots.map_words import ModelWords

SWIN_PARTS = "Swin paper, section 3.1"

Term = dict[str, Any]
Line = dict[str, Any]
ATTENTION, MLP, NORM, RESIDUAL = (f"block.*/{place}" for place in ("attention", "mlp", "norm", "residual"))


def equations(journey: Journey, model: ModelWords) -> list[Line]:
    """Equations 1 to 4 of the ViT paper as this model has them; a Swin's and a CNN's own in their place."""
    if model.windows:
        return _swin(journey)
    if any(part.id.startswith("block") for part in journey.parts):
        return _vit(journey, model)
    return _cnn(journey)


def term(base: str, say: str, *parts: str, sub: str = "", sup: str = "") -> Term:
    """One symbol with its indices, what it is, and the parts that it lights."""
    return {"base": base, "sub": sub, "sup": sup, "parts": list(parts), "say": say}


def _line(number: str, source: str, *tokens: str | Term) -> Line:
    return {"n": number, "source": source, "tokens": list(tokens)}


def _vit(journey: Journey, model: ModelWords) -> list[Line]:
    paper = "ViT paper, eq. {}"
    lines = [
        _line("1", paper.format(1), *_first(journey, model)),
        *_blocks(model, paper),
        _line("4", paper.format(4), *_last(journey, model)),
    ]
    return lines


def _first(journey: Journey, model: ModelWords) -> list[str | Term]:
    e = term("E", "the matrix that turns a patch into a token", "embed")
    patch = "the values of one patch" if not model.stem else "the stem's channels at one place"
    source = ("stem",) if model.stem else ("patches", "picture")
    tokens: list[str | Term] = [term("z", "the tokens before the first layer", "block.1", sub="0"), " = [ "]
    for name in journey.sequence.prefix:
        sub = "class" if name == "cls" else name
        tokens += [term("x", f"the learned token [{name.upper()}]", "prefix", sub=sub), " ; "]
    for place in ("1", "2"):
        tokens += [term("x", f"{patch}, number {place}", *source, sub="p", sup=place), e, " ; "]
    tokens += ["… ; ", term("x", f"{patch}, the last one", *source, sub="p", sup="N"), e, " ]"]
    if journey.part("positions") is not None:
        tokens += [" + ", term("E", _added(journey), "positions", sub="pos")]
    return tokens


def _added(journey: Journey) -> str:
    positions = journey.part("positions")
    if positions is not None and isinstance(positions.content, Positions) and positions.content.of_pixels:
        return "what a second map makes of the patches: it knows no place"
    return "what is added for the places"


def _blocks(model: ModelWords, paper: str) -> list[Line]:
    """Equations 2 and 3, the LayerNorm before a branch (ViT) or after the sum (Vaswani et al. 2017)."""
    before = term("z", "the tokens that enter the layer", "block.*", sub="ℓ−1")
    middle = term("z′", "the tokens after attention", RESIDUAL, sub="ℓ")
    after = term("z", "the tokens that leave the layer", "block.*", sub="ℓ")
    msa = term("MSA", "multi-head self-attention: every token asks all others", ATTENTION)
    mlp = term("MLP", "two linear maps with a bend between them, token by token", MLP)
    norm = term("LN", "LayerNorm: each token brought to one scale", NORM)
    if model.pre_norm:
        two: list[str | Term] = [middle, " = ", msa, "(", norm, "(", before, ")) + ", before]
        three: list[str | Term] = [after, " = ", mlp, "(", norm, "(", middle, ")) + ", middle]
        return [_line("2", paper.format(2), *two), _line("3", paper.format(3), *three)]
    two = [middle, " = ", norm, "(", msa, "(", before, ") + ", before, ")"]
    three = [after, " = ", norm, "(", mlp, "(", middle, ") + ", middle, ")"]
    source = "as ViT paper, eq. {}, LayerNorm after the sum (Vaswani et al. 2017)"
    return [_line("2", source.format(2), *two), _line("3", source.format(3), *three)]


def _last(journey: Journey, model: ModelWords) -> list[str | Term]:
    y = term("y", "what the head reads", "head", "classes")
    norm = term("LN", "the last LayerNorm", "norm") if model.final_norm else None
    depth = journey.dims["depth"]
    last = f"block.{depth}"
    if model.readout == "cls":
        token = term("z", "[CLS] after the last layer", last, *(() if norm else ("head",)), sub="L", sup="0")
    elif model.readout == "first_patch":
        token = term("z", "the first patch's token after the last layer", last, "pool", sub="L", sup="1")
    else:
        token = term("z", "a patch's token after the last layer", last, sub="L", sup="i")
    inner: list[str | Term] = [norm, "(", token, ")"] if norm else [token]
    if model.readout == "mean":
        inner = [term("mean", "over all patches: this model has no [CLS]", "pool", sub="i"), " ", *inner]
    if not model.distilled:
        return [y, " = ", *inner]
    second = term("z", "[DIST] after the last layer", last, sub="L", sup="1")
    also = term("y", "what the second head reads", "head", sub="dist")
    return [y, " = ", *inner, ",   ", also, " = ", *(inner[:-2] if norm else []), second, ")" if norm else ""]


def _swin(journey: Journey) -> list[Line]:
    paper = "Swin paper, eq. 3"
    before = term("z", "the tokens that enter the layer", "block.*", sup="ℓ−1")
    middle = term("ẑ", "the tokens after attention", RESIDUAL, sup="ℓ")
    after = term("z", "the tokens that leave the layer", "block.*", sup="ℓ")
    norm = term("LN", "LayerNorm: each token brought to one scale", NORM)
    even = term("(S)W-MSA", "attention inside windows, which are shifted in every second layer", ATTENTION)
    mlp = term("MLP", "two linear maps with a bend between them, token by token", MLP)
    merge = [part.id for part in journey.parts if part.id.startswith("merge")]
    lines = [
        _line("1", SWIN_PARTS, *_swin_first()),
        _line("2", paper, middle, " = ", even, "(", norm, "(", before, ")) + ", before),
        _line("3", paper, after, " = ", mlp, "(", norm, "(", middle, ")) + ", middle),
    ]
    if merge:
        lines.append(_line("", SWIN_PARTS, *_swin_merging(merge)))
    mean = term("mean", "over all places: there is no [CLS]", "pool", sub="i")
    last = f"block.{journey.dims['depth']}"
    token = term("z", "a token after the last layer", last, sub="i", sup="L")
    y = term("y", "what the head reads", "head", "classes")
    normed = term("LN", "the last LayerNorm", "norm")
    return [*lines, _line("4", SWIN_PARTS, y, " = ", mean, " ", normed, "(", token, ")")]


def _swin_first() -> list[str | Term]:
    return [
        term("z", "the tokens before the first layer", "block.1", sup="0"),
        " = ",
        term("LN", "LayerNorm of each token", "embed"),
        "(",
        term("x", "the values of all patches", "patches", "picture", sub="p"),
        term("E", "the matrix that turns a patch into a token", "embed"),
        ")",
    ]


def _swin_merging(merge: list[str]) -> list[str | Term]:
    return [
        term("z", "the tokens of the next stage", *merge),
        " ← ",
        term("W", "the matrix that halves four neighbours' channels", *merge),
        " LN([ ",
        term("z", "the token above left, below left, above right and below right", *merge, sub="2×2"),
        " ])",
    ]


def _cnn(journey: Journey) -> list[Line]:
    stages = [part.id for part in journey.parts if part.id.startswith("stage")]
    pool = journey.part("pool")
    if pool is None:
        return []
    how = journey.readout
    tokens: list[str | Term] = [
        term("y", "the scores of the classes", "classes"),
        " = ",
        term("W", "the head's matrix", "head"),
        " ",
        term(how, "over all places", "pool"),
        " ",
    ]
    for number, name in reversed(list(enumerate(stages, 1))):
        tokens += [term("f", f"a stage of convolutions, {number}", name, sub=str(number)), "("]
    tokens += [
        term("f", "the first convolution", "stem", sub="0"),
        "(",
        term("x", "the picture", "picture"),
        ")" * (len(stages) + 1),
        " + b",
    ]
    return [_line("", "a CNN in one line", *tokens)]
