"""The field's words: a sentence each, the symbol, the shape, the page that is about it, and where it was written down.

Shapes are products of named sizes (`SIZES`), so that a page can put a model's own numbers in, and a test can compare
them with what the model computes (`found`: a record's or a weight's name).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from vitviz.config import ViTConfig

SOURCES = {
    "vit": ("Dosovitskiy et al. 2021", "https://arxiv.org/abs/2010.11929"),
    "transformer": ("Vaswani et al. 2017", "https://arxiv.org/abs/1706.03762"),
    "deit": ("Touvron et al. 2021", "https://arxiv.org/abs/2012.12877"),
    "swin": ("Liu et al. 2021", "https://arxiv.org/abs/2103.14030"),
    "registers": ("Darcet et al. 2024", "https://arxiv.org/abs/2309.16588"),
    "stem": ("Xiao et al. 2021", "https://arxiv.org/abs/2106.14881"),
    "rollout": ("Abnar and Zuidema 2020", "https://arxiv.org/abs/2005.00928"),
    "relevance": ("Chefer, Gur and Wolf 2021", "https://arxiv.org/abs/2103.15679"),
    "deletion": ("Petsiuk et al. 2018", "https://arxiv.org/abs/1806.07421"),
    "sanity": ("Adebayo et al. 2018", "https://arxiv.org/abs/1810.03292"),
    "lens": ("Belrose et al. 2023", "https://arxiv.org/abs/2303.08112"),
    "layernorm": ("Ba et al. 2016", "https://arxiv.org/abs/1607.06450"),
    "batchnorm": ("Ioffe and Szegedy 2015", "https://arxiv.org/abs/1502.03167"),
    "prenorm": ("Xiong et al. 2020", "https://arxiv.org/abs/2002.04745"),
    "gelu": ("Hendrycks and Gimpel 2016", "https://arxiv.org/abs/1606.08415"),
    "resnet": ("He et al. 2016", "https://arxiv.org/abs/1512.03385"),
    "field": ("Luo et al. 2016", "https://arxiv.org/abs/1701.04128"),
    "bias": ("Battaglia et al. 2018", "https://arxiv.org/abs/1806.01261"),
    "distillation": ("Hinton et al. 2015", "https://arxiv.org/abs/1503.02531"),
    "adamw": ("Loshchilov and Hutter 2019", "https://arxiv.org/abs/1711.05101"),
    "cosine": ("Loshchilov and Hutter 2017", "https://arxiv.org/abs/1608.03983"),
    "warmup": ("Goyal et al. 2017", "https://arxiv.org/abs/1706.02677"),
    "dropout": ("Hinton et al. 2012", "https://arxiv.org/abs/1207.0580"),
    "inception": ("Szegedy et al. 2016", "https://arxiv.org/abs/1512.00567"),
    "overfitting": ("Zhang et al. 2017", "https://arxiv.org/abs/1611.03530"),
}
"""Key of a source -> how it is cited, and its page on arXiv."""

Size = Callable[[ViTConfig], int]


def _patches(config: ViTConfig) -> int:
    return config.grid[0] * config.grid[1]


def _tokens(config: ViTConfig) -> int:
    return _patches(config) + len(config.prefix_tokens)


SIZES: dict[str, Size] = {
    "N": _patches,
    "T": _tokens,
    "P": lambda config: config.patch_size,
    "C": lambda config: config.in_chans,
    "P²C": lambda config: config.patch_size**2 * config.in_chans,
    "D": lambda config: config.embed_dim,
    "h": lambda config: config.num_heads,
    "d": lambda config: config.embed_dim // config.num_heads,
    "L": lambda config: config.depth,
    "K": lambda config: config.num_classes,
    "rD": lambda config: round(config.embed_dim * config.mlp_ratio),
}
"""Sizes of a ViT by their sign; T = N + 1 tokens, N + 2 for a DeiT; r is the MLP's ratio, 4 in the papers."""
OTHER_SIZES = ("M²", "(2M−1)²", "2C", "4C")  # a Swin's, of its window of M × M tokens


@dataclass(frozen=True)
class Term:
    """One word.

    symbol: LaTeX, without dollars; empty for a word without one.
    shape: sizes by their signs, outermost first; empty for what is no array.
    found: where a ViT shows it: a record's name, or a weight's with 'weight:' before it.
    page: the slug of the page that is about it.
    forms: how it is written in a sentence, beside `word`.
    """

    word: str
    sentence: str
    group: str
    page: str
    source: str
    symbol: str = ""
    shape: tuple[str, ...] = ()
    found: str = ""
    forms: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        """The word as it stands in a link."""
        return re.sub(r"[^a-z0-9]+", "_", self.word.lower()).strip("_")

    @property
    def written(self) -> tuple[str, ...]:
        """All its forms, the longest first."""
        return tuple(sorted({self.word, *self.forms}, key=len, reverse=True))


def numbers(term: Term, config: ViTConfig) -> tuple[int, ...] | None:
    """The shape in a model's own numbers; None where it has none, or is not a ViT's."""
    if not term.shape or any(sign in OTHER_SIZES for sign in term.shape):
        return None
    return tuple(SIZES[sign](config) for sign in term.shape)


OTHERWISE = frozenset(  # forms that sentences also use in another sense: a CNN's layers, its filters, the model's head
    "head layer layers value score scores scale filter filters register registers positions".split()
)


def mentions(text: str) -> bool:
    """Whether any term stands in a text."""
    return any(pattern.search(text) for pattern in _PATTERNS.values())


def occurrences(text: str, seen: set[str], but: Collection[str] = ()) -> list[tuple[int, int, Term]]:
    """Where terms stand for the first time in a text, in order: (start, end, term).

    Args:
        seen: words that were marked before; those found are added.
        but: forms, in small letters, that do not count.
    """
    found: list[tuple[int, int, Term]] = []
    for term in sorted(TERMS, key=lambda one: -max(map(len, one.written))):  # 'causal mask' before 'mask'
        every = () if term.word in seen else _PATTERNS[term.word].finditer(text)
        match = next((match for match in every if match[0].lower() not in but), None)
        if match is not None and not any(a < match.end() and match.start() < b for a, b, _ in found):
            found.append((match.start(), match.end(), term))
            seen.add(term.word)
    return sorted(found, key=lambda one: one[:2])


GROUPS = (
    *("From picture to tokens", "Attention", "Inside a block", "What comes out", "Looking inside", "Swin"),
    "Training",
)


def _group(group: str, *terms: dict[str, object]) -> tuple[Term, ...]:
    return tuple(Term(group=group, **term) for term in terms)  # type: ignore[arg-type]


def _term(
    word: str,
    sentence: str,
    page: str,
    source: str,
    symbol: str = "",
    shape: str = "",
    found: str = "",
    *forms: str,
) -> dict[str, object]:
    """One row of the table below; `shape` is its signs, separated by spaces."""
    return {
        "word": word,
        "sentence": sentence,
        "page": page,
        "source": source,
        "symbol": symbol,
        "shape": tuple(shape.split()),
        "found": found,
        "forms": forms,
    }


TERMS: tuple[Term, ...] = (
    *_group(
        GROUPS[0],
        _term("patch", "A square of the picture, P pixels wide: the picture is cut into N of them.", "patches", "vit",
              "x_p", "N P²C", "", "patches"),
        _term("token", "One vector of the sequence that the model works on: a patch that was mapped to D numbers, or"
              " [CLS].", "patches", "vit", "z_0", "T D", "embedded", "tokens"),
        _term("embedding", "The step that maps every flat patch to a token, all with the same matrix E.", "patches",
              "vit", r"x_p E", "N D", "patch_embed", "patch embedding"),
        _term("E", "The learned matrix that makes a token of a flat patch; its columns can be drawn as small"
              " pictures.", "filters", "vit", "E", "P²C D", "weight:patch_embed.proj.weight", "first linear map"),
        _term("filter", "One column of E, drawn as a picture: what it looks for in a patch.", "filters", "vit",
              r"E_{\cdot j}", "P²C", "", "filters"),
        _term("principal component", "A direction in which a model's filters differ most; a few of them hold most of"
              " the variance.", "filters", "vit"),
        _term("patchify", "To cut a picture into squares and flatten each; reshaping alone would cut it into rows of"
              " pixels.", "patches", "vit", r"x \mapsto x_p", "N P²C"),
        _term("[CLS]", "A token that stands for no patch: it is learned, gathers from the others, and the head reads"
              " it.", "attention", "vit", r"x_\mathrm{class}", "D", "weight:cls_token", "CLS"),
        _term("[DIST]", "DeiT's second token without a patch, from which a second head learns what a teacher says.",
              "distillation", "deit", r"x_\mathrm{dist}", "D", "weight:dist_token", "distillation token"),
        _term("register", "A spare token without a patch, where large models keep what belongs to no patch.",
              "attention", "registers", "", "", "", "registers"),
        _term("position embedding", "A vector for each place, added to its token, since attention alone knows no"
              " order.", "positions", "vit", r"E_\mathrm{pos}", "T D", "weight:pos_embed", "positional encoding",
              "positional encodings", "positions"),
        _term("sinusoidal positions", "Positions that are computed: a sine and a cosine for each of D/2 frequencies.",
              "positions", "transformer", r"\sin\bigl(p / 10000^{2i/D}\bigr)", "T D", "", "sinusoidal"),
        _term("cosine similarity", "How far two vectors point the same way: 1 the same, 0 unrelated, −1 opposite.",
              "positions", "vit", r"\frac{a \cdot b}{\lvert a\rvert\,\lvert b\rvert}"),
    ),
    *_group(
        GROUPS[1],
        _term("attention", "Every token takes from all tokens, in shares that it works out for this picture.",
              "attention", "transformer", r"A = \mathrm{softmax}\bigl(QK^\top / \sqrt d\bigr)", "h T T",
              "blocks.0.attn", "attend", "attends"),
        _term("query", "The question of a token: what does it look for?", "block", "transformer", "Q", "h T d",
              "blocks.0.q", "queries"),
        _term("key", "The offer of a token, which is held against every query.", "block", "transformer", "K", "h T d",
              "blocks.0.k", "keys"),
        _term("value", "The message that a token hands to those who look at it.", "block", "transformer", "V", "h T d",
              "blocks.0.v"),
        _term("score", "How well a key fits a query: their dot product over √d.", "block", "transformer",
              r"QK^\top / \sqrt d", "h T T", "blocks.0.scores", "scores"),
        _term("scale", "The factor 1/√d on the scores: without it the softmax of wide heads falls on one key alone.",
              "block", "transformer", r"1 / \sqrt d"),
        _term("softmax", "Makes shares of any numbers: all positive, and their sum is 1.", "block", "transformer",
              r"\frac{e^{s_k}}{\sum_j e^{s_j}}"),
        _term("head", "One of several attentions that run side by side, each with its own queries, keys and values.",
              "attention", "transformer", "h", "", "", "heads", "attention head"),
        _term("multi-head attention", "All heads of a layer, their outputs set side by side and mixed by one matrix.",
              "block", "transformer", r"\mathrm{MSA}(z) = [\mathrm{head}_1; \dots; \mathrm{head}_h]\,W_o", "T D",
              "blocks.0.attn_out", "MSA"),
        _term("output projection", "The matrix that mixes what the heads found before it is added to the stream.",
              "block", "transformer", "W_o", "D D", "weight:blocks.0.attn.proj.weight"),
        _term("causal mask", "Hides later tokens from earlier ones, as a text decoder needs; a ViT has none.",
              "attention", "transformer", r"M_{qk} = -\infty \;\; (k > q)", "T T"),
        _term("attention distance", "How far a head looks on average, in pixels of the picture.", "attention_distance",
              "vit", r"\sum_k A_{qk}\,P\,\lVert p_q - p_k\rVert"),
    ),
    *_group(
        GROUPS[2],
        _term("block", "One round of attention and MLP, each added to the stream; a ViT has L of them.", "block", "vit",
              r"z_{\ell-1} \mapsto z_\ell", "T D", "blocks.0", "blocks", "layer", "layers"),
        _term("residual stream", "What runs through all blocks: each block reads it and adds to it.", "block", "resnet",
              r"z_\ell", "T D", "blocks.0.mid", "stream"),
        _term("LayerNorm", "Brings the D numbers of one token to mean 0 and deviation 1, then scales and shifts them.",
              "block", "layernorm", r"\gamma \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta", "D",
              "weight:norm.weight", "layer normalisation", "LN"),
        _term("BatchNorm", "Brings one channel to mean 0 and deviation 1 over all pictures of a batch; CNNs have it.",
              "block", "batchnorm"),
        _term("pre-norm", "LayerNorm stands before each branch, so the stream itself is never normalised.", "block",
              "prenorm", r"z' = z + \mathrm{MSA}(\mathrm{LN}(z))"),
        _term("MLP", "Two linear maps with a bend between them, for each token by itself.", "block", "vit",
              r"W_2\,\mathrm{GELU}(W_1 y + b_1) + b_2", "T rD", "blocks.0.mlp_hidden"),
        _term("GELU", "The bend of the MLP: nearly 0 for negative numbers, nearly the number itself for positive ones.",
              "block", "gelu", r"x\,\Phi(x)"),
    ),
    *_group(
        GROUPS[3],
        _term("classification head", "The last linear map: a dot product with each class's row of weights.", "block",
              "vit", r"l = W y + b", "K D", "weight:head.weight", "class head"),
        _term("logit", "A class's score before the softmax; only differences between logits count.", "block", "vit",
              "l", "K", "logits", "logits"),
        _term("readout", "What the head reads: [CLS], or the mean of all patches.", "block", "vit",
              r"y = \mathrm{LN}(z_L^0)", "D"),
        _term("cross-entropy", "The loss of a classifier: minus the log of the right class's probability.", "live_lab",
              "inception", r"-\log p_y"),
        _term("distillation", "To train a model, the student, on another's answers or probabilities.", "distillation",
              "distillation", "", "", "", "distilled"),
        _term("teacher", "The model, here a CNN, whose answers or probabilities a student learns.", "distillation",
              "deit"),
        _term("student", "The model that learns from a teacher; DeiT's is a ViT.", "distillation", "deit"),
        _term("hard label", "The teacher's most probable class, learned as if it were the truth.", "distillation",
              "deit", r"\arg\max_c p^{\mathrm{teacher}}_c", "", "", "hard labels"),
        _term("soft label", "The teacher's probabilities of all classes, the more even the higher a temperature τ;"
              " learned beside the truth.", "distillation", "distillation",
              r"\mathrm{softmax}\bigl(l^{\mathrm{teacher}} / \tau\bigr)", "K", "", "soft labels", "soft targets"),
    ),
    *_group(
        GROUPS[4],
        _term("rollout", "Attention multiplied through all layers, half of each the stream's own path.", "attention",
              "rollout", r"R = \tilde A_L \cdots \tilde A_1", "T T"),
        _term("gradient-weighted relevance", "Attention times its gradient for a class, summed over the layers.",
              "attention", "relevance", r"R \leftarrow R + \overline{(\nabla A \odot A)^+}\,R", "T T"),
        _term("deletion check", "Patches are blanked in a map's order: a true map makes the class fall fast.",
              "attention", "deletion", r"\int_0^1 p_c\,dt"),
        _term("random-weight control", "The same method on random weights: a map that stays the same shows the picture,"
              " not the model.", "attention", "sanity"),
        _term("logit lens", "The head applied after every block: what the model would answer if it stopped there.",
              "attention", "lens"),
        _term("receptive field", "The part of the picture that a place in a layer can depend on.", "attention_distance",
              "field"),
        _term("inductive bias", "What a model assumes before it sees data: a CNN that near pixels belong together, a"
              " ViT hardly anything.", "attention_distance", "bias"),
        _term("hybrid", "A ViT whose tokens are cut from a few convolutions' maps instead of from pixels.", "patches",
              "stem", "", "", "", "convolutional stem"),
    ),
    *_group(
        GROUPS[5],
        _term("window", "A square of M × M tokens inside which a Swin's attention stays.", "swin", "swin", "", "M² M²",
              "", "windows"),
        _term("shifted window", "Every other block moves the windows by half, so that neighbours meet.", "swin", "swin",
              r"s = \lfloor M/2 \rfloor", "", "", "shifted windows"),
        _term("relative position bias", "A learned number for each offset in a window and each head, added to the"
              " score.", "swin", "swin", "B", "(2M−1)² h"),
        _term("patch merging", "Four neighbouring tokens become one, twice as wide.", "swin", "swin",
              r"[4C] \to [2C]", "4C 2C"),
    ),
    *_group(
        GROUPS[6],
        _term("epoch", "One pass over all training pictures.", "live_lab", "warmup", "", "", "", "epochs"),
        _term("learning rate", "How far each step moves the weights.", "live_lab", "cosine", r"\eta"),
        _term("warm-up", "The first steps, in which the learning rate rises from nearly 0.", "live_lab", "warmup"),
        _term("weight decay", "Pulls every weight a little towards 0 at each step.", "live_lab", "adamw", r"\lambda"),
        _term("dropout", "Sets some numbers to 0 at random while training, so that no single one is relied on.",
              "live_lab", "dropout"),
        _term("validation", "Pictures kept apart from training, on which progress is measured.", "live_lab",
              "overfitting"),
        _term("overfitting", "To know the training pictures by heart and do worse on new ones.", "live_lab",
              "overfitting"),
        _term("snapshot", "The weights as they were at one step of a training.", "live_lab", "vit", "", "", "",
              "snapshots"),
    ),
)  # fmt: skip
BY_SLUG = {term.slug: term for term in TERMS}
_PATTERNS = {
    term.word: re.compile(
        r"(?<![\w\[])(?:" + "|".join(map(re.escape, term.written)) + r")(?![\w\]])",
        0 if term.word.isupper() or "[" in term.word else re.IGNORECASE,
    )
    for term in TERMS
}
