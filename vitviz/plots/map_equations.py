"""Build the model's equations term by term, each linked to the parts of the map that it stands for."""

from typing import Any

from vitviz.analysis.forward_pass import AddedPositions, Journey
from vitviz.plots.map_words import ModelTraits

SWIN_PARTS = "Swin paper, section 3.1"

EquationTerm = dict[str, Any]
EquationLine = dict[str, Any]
ATTENTION, MLP, NORM, RESIDUAL = (f"block.*/{name}" for name in ("attention", "mlp", "norm", "residual"))


def build_equations(journey: Journey, model: ModelTraits) -> list[EquationLine]:
    """Return equations 1 to 4 of the ViT paper in this model's form, or those of a Swin or a CNN."""
    if model.windows:
        return _build_swin(journey)
    if any(part.id.startswith("block") for part in journey.parts):
        return _build_vit(journey, model)
    return _build_cnn(journey)


def build_term(base: str, meaning: str, *parts: str, sub: str = "", sup: str = "") -> EquationTerm:
    """Return one symbol with its indices, its meaning and the parts that it highlights."""
    return {"base": base, "sub": sub, "sup": sup, "parts": list(parts), "say": meaning}


def _build_line(number: str, source: str, *tokens: str | EquationTerm) -> EquationLine:
    return {"n": number, "source": source, "tokens": list(tokens)}


def _build_vit(journey: Journey, model: ModelTraits) -> list[EquationLine]:
    paper = "ViT paper, eq. {}"
    lines = [
        _build_line("1", paper.format(1), *_build_embedding(journey, model)),
        *_build_blocks(model, paper),
        _build_line("4", paper.format(4), *_build_readout(journey, model)),
    ]
    return lines


def _build_embedding(journey: Journey, model: ModelTraits) -> list[str | EquationTerm]:
    e = build_term("E", "the matrix that maps a patch to a token", "embed")
    patch = "values of one patch" if not model.stem else "the stem's channels at one position"
    source = ("stem",) if model.stem else ("patches", "picture")
    tokens: list[str | EquationTerm] = [
        build_term("z", "the tokens before the first layer", "block.1", sub="0"),
        " = [ ",
    ]
    for name in journey.sequence.prefix:
        sub = "class" if name == "cls" else name
        tokens += [build_term("x", f"the learned token [{name.upper()}]", "prefix", sub=sub), " ; "]
    for number in ("1", "2"):
        tokens += [build_term("x", f"{patch}, number {number}", *source, sub="p", sup=number), e, " ; "]
    tokens += ["… ; ", build_term("x", f"{patch}, number N", *source, sub="p", sup="N"), e, " ]"]
    if journey.part("positions") is not None:
        tokens += [" + ", build_term("E", _describe_positions(journey), "positions", sub="pos")]
    return tokens


def _describe_positions(journey: Journey) -> str:
    positions = journey.part("positions")
    if (
        positions is not None
        and isinstance(positions.content, AddedPositions)
        and positions.content.of_pixels
    ):
        return "a second linear map of the patches, without position information"
    return "the position embedding"


def _build_blocks(model: ModelTraits, paper: str) -> list[EquationLine]:
    """Return equations 2 and 3 with pre-norm (ViT) or post-norm (Vaswani et al. 2017)."""
    before = build_term("z", "the tokens that enter the layer", "block.*", sub="ℓ−1")
    middle = build_term("z′", "the tokens after attention", RESIDUAL, sub="ℓ")
    after = build_term("z", "the tokens that leave the layer", "block.*", sub="ℓ")
    msa = build_term("MSA", "multi-head self-attention: every token attends to all tokens", ATTENTION)
    mlp = build_term("MLP", "two linear maps with a nonlinearity between them, applied per token", MLP)
    norm = build_term("LN", "LayerNorm: normalises each token", NORM)
    if model.pre_norm:
        two: list[str | EquationTerm] = [middle, " = ", msa, "(", norm, "(", before, ")) + ", before]
        three: list[str | EquationTerm] = [after, " = ", mlp, "(", norm, "(", middle, ")) + ", middle]
        return [_build_line("2", paper.format(2), *two), _build_line("3", paper.format(3), *three)]
    two = [middle, " = ", norm, "(", msa, "(", before, ") + ", before, ")"]
    three = [after, " = ", norm, "(", mlp, "(", middle, ") + ", middle, ")"]
    source = "as ViT paper, eq. {}, LayerNorm after the sum (Vaswani et al. 2017)"
    return [_build_line("2", source.format(2), *two), _build_line("3", source.format(3), *three)]


def _build_readout(journey: Journey, model: ModelTraits) -> list[str | EquationTerm]:
    y = build_term("y", "input of the classifier head", "head", "classes")
    norm = build_term("LN", "the final LayerNorm", "norm") if model.final_norm else None
    depth = journey.depth
    last = f"block.{depth}"
    if model.readout in ("cls", "cls_mean"):
        token = build_term(
            "z", "[CLS] after the last layer", last, *(() if norm else ("head",)), sub="L", sup="0"
        )
    elif model.readout == "first_patch":
        token = build_term(
            "z", "the first patch's token after the last layer", last, "pool", sub="L", sup="1"
        )
    else:
        token = build_term("z", "a patch's token after the last layer", last, sub="L", sup="i")
    inner: list[str | EquationTerm] = [norm, "(", token, ")"] if norm else [token]
    if model.readout == "cls_mean":
        mean = build_term("mean", "mean over all patches", "pool", sub="i")
        patch = build_term("z", "a patch's token after the last layer", last, sub="L", sup="i")
        inner = ["[", *inner, "; ", mean, " ", *([norm, "(", patch, ")"] if norm else [patch]), "]"]
    if model.readout == "map":
        inner = [build_term("pool", "attention of a learned query to the tokens", "pool"), " ", *inner]
    if model.readout == "mean":
        inner = [
            build_term("mean", "mean over all patches: this model has no [CLS]", "pool", sub="i"),
            " ",
            *inner,
        ]
    if not model.distilled:
        return [y, " = ", *inner]
    second = build_term("z", "[DIST] after the last layer", last, sub="L", sup="1")
    distilled = build_term("y", "input of the distillation head", "head", sub="dist")
    return [
        y,
        " = ",
        *inner,
        ",   ",
        distilled,
        " = ",
        *(inner[:-2] if norm else []),
        second,
        ")" if norm else "",
    ]


def _build_swin(journey: Journey) -> list[EquationLine]:
    paper = "Swin paper, eq. 3"
    before = build_term("z", "the tokens that enter the layer", "block.*", sup="ℓ−1")
    middle = build_term("ẑ", "the tokens after attention", RESIDUAL, sup="ℓ")
    after = build_term("z", "the tokens that leave the layer", "block.*", sup="ℓ")
    norm = build_term("LN", "LayerNorm: normalises each token", NORM)
    attention = build_term("(S)W-MSA", "window attention; every second layer shifts the windows", ATTENTION)
    mlp = build_term("MLP", "two linear maps with a nonlinearity between them, applied per token", MLP)
    merge = [part.id for part in journey.parts if part.id.startswith("merge")]
    lines = [
        _build_line("1", SWIN_PARTS, *_build_swin_embedding()),
        _build_line("2", paper, middle, " = ", attention, "(", norm, "(", before, ")) + ", before),
        _build_line("3", paper, after, " = ", mlp, "(", norm, "(", middle, ")) + ", middle),
    ]
    if merge:
        lines.append(_build_line("", SWIN_PARTS, *_build_swin_merging(merge)))
    mean = build_term("mean", "mean over all positions: this model has no [CLS]", "pool", sub="i")
    last = f"block.{journey.depth}"
    token = build_term("z", "a token after the last layer", last, sub="i", sup="L")
    y = build_term("y", "input of the classifier head", "head", "classes")
    normed = build_term("LN", "the final LayerNorm", "norm")
    return [*lines, _build_line("4", SWIN_PARTS, y, " = ", mean, " ", normed, "(", token, ")")]


def _build_swin_embedding() -> list[str | EquationTerm]:
    return [
        build_term("z", "the tokens before the first layer", "block.1", sup="0"),
        " = ",
        build_term("LN", "LayerNorm of each token", "embed"),
        "(",
        build_term("x", "the values of all patches", "patches", "picture", sub="p"),
        build_term("E", "the matrix that maps a patch to a token", "embed"),
        ")",
    ]


def _build_swin_merging(merge: list[str]) -> list[str | EquationTerm]:
    return [
        build_term("z", "the tokens of the next stage", *merge),
        " ← ",
        build_term("W", "the matrix that maps 4C channels to 2C", *merge),
        " LN([ ",
        build_term(
            "z",
            "the four neighbouring tokens: top left, bottom left, top right, bottom right",
            *merge,
            sub="2×2",
        ),
        " ])",
    ]


def _build_cnn(journey: Journey) -> list[EquationLine]:
    stages = [part.id for part in journey.parts if part.id.startswith("stage")]
    pool = journey.part("pool")
    if pool is None:
        return []
    how = journey.readout
    tokens: list[str | EquationTerm] = [
        build_term("y", "the logits of the classes", "classes"),
        " = ",
        build_term("W", "the head's matrix", "head"),
        " ",
        build_term(how, f"{how} over all positions", "pool"),
        " ",
    ]
    for number, name in reversed(list(enumerate(stages, 1))):
        tokens += [build_term("f", f"convolution stage {number}", name, sub=str(number)), "("]
    tokens += [
        build_term("f", "the first convolution", "stem", sub="0"),
        "(",
        build_term("x", "the image", "picture"),
        ")" * (len(stages) + 1),
        " + b",
    ]
    return [_build_line("", "a CNN in one line", *tokens)]
