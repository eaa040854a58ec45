"""Define the terms of the field: a sentence, symbol, shape, page and source each.

Shapes are products of named sizes (`SIZES`): a page inserts a model's numbers, and a test compares them with the
model's activations or weights (`record`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from vitviz.config import ViTConfig

Size = Callable[[ViTConfig], int]


def _count_patches(config: ViTConfig) -> int:
    return config.grid[0] * config.grid[1]


def _count_tokens(config: ViTConfig) -> int:
    return _count_patches(config) + len(config.prefix_tokens)


SIZES: dict[str, Size] = {
    "N": _count_patches,
    "T": _count_tokens,
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
"""Sizes of a ViT by symbol; T = N + 1 tokens, N + 2 for a DeiT; r is the MLP ratio, 4 in the papers."""
OTHER_SIZES = ("M²", "(2M−1)²", "2C", "4C")  # sizes of a Swin with windows of M × M tokens


@dataclass(frozen=True)
class Term:
    """One term of the glossary.

    symbol: LaTeX without dollar signs; '' if it has none.
    shape: symbols of sizes, outermost first; () if it is not an array.
    record: name of a ViT's activation, or of a weight with the prefix 'weight:'.
    page: slug of the page about it.
    forms: other spellings in sentences.
    """

    word: str
    sentence: str
    group: str
    page: str
    source: str
    symbol: str = ""
    shape: tuple[str, ...] = ()
    record: str = ""
    forms: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        """The term as written in permalinks, which keep its first name."""
        return re.sub(r"[^a-z0-9]+", "_", _FIRST_NAMES.get(self.word, self.word).lower()).strip("_")

    @property
    def spellings(self) -> tuple[str, ...]:
        """All spellings, longest first."""
        return tuple(sorted({self.word, *self.forms}, key=len, reverse=True))


_FIRST_NAMES = {
    "classifier head": "classification head",
    "gradient-weighted rollout": "gradient-weighted relevance",
}


def compute_shape(term: Term, config: ViTConfig) -> tuple[int, ...] | None:
    """Return a term's shape in a model's sizes; None if it has none or belongs to a Swin."""
    if not term.shape or any(size in OTHER_SIZES for size in term.shape):
        return None
    return tuple(SIZES[size](config) for size in term.shape)


OTHERWISE = frozenset(  # spellings with other meanings in sentences, e.g. a CNN's layers or filters
    "head layer layers value score scores scale filter filters register registers positions".split()
)


def mentions_term(text: str) -> bool:
    """Return True if a text contains any term."""
    return any(pattern.search(text) for pattern in _PATTERNS.values())


def find_terms(text: str, seen: set[str], but: Collection[str] = ()) -> list[tuple[int, int, Term]]:
    """Find the first occurrence of each term in a text, in order: (start, end, term).

    Args:
        seen: terms found before; updated.
        but: lower-case spellings to ignore.
    """
    occurrences: list[tuple[int, int, Term]] = []
    for term in sorted(TERMS, key=lambda term: -max(map(len, term.spellings))):  # 'causal mask' before 'mask'
        matches = () if term.word in seen else _PATTERNS[term.word].finditer(text)
        match = next((match for match in matches if match[0].lower() not in but), None)
        if match is not None and not any(a < match.end() and match.start() < b for a, b, _ in occurrences):
            occurrences.append((match.start(), match.end(), term))
            seen.add(term.word)
    return sorted(occurrences, key=lambda occurrence: occurrence[:2])


GROUPS = (
    *(
        "From image to tokens",
        "Attention",
        "Inside a block",
        "Output and distillation",
        "Interpretation",
        "Swin",
    ),
    "Training",
)


def _build_group(group: str, *terms: dict[str, object]) -> tuple[Term, ...]:
    return tuple(Term(group=group, **term) for term in terms)  # type: ignore[arg-type]


def _build_row(
    word: str,
    sentence: str,
    page: str,
    source: str,
    symbol: str = "",
    shape: str = "",
    record: str = "",
    *forms: str,
) -> dict[str, object]:
    """Return one row of the table below; `shape` holds symbols separated by spaces."""
    return {
        "word": word,
        "sentence": sentence,
        "page": page,
        "source": source,
        "symbol": symbol,
        "shape": tuple(shape.split()),
        "record": record,
        "forms": forms,
    }


TERMS: tuple[Term, ...] = (
    *_build_group(
        GROUPS[0],
        _build_row("patch", "A square of P × P pixels; an image is cut into N patches.", "patches",
            "dosovitskiy2021", "x_p",
            "N P²C", "", "patches"),
        _build_row("token", "One vector of D numbers in the model's input sequence: an embedded patch, or [CLS].",
            "patches", "dosovitskiy2021", "z_0", "T D", "embedded", "tokens"),
        _build_row("embedding", "The linear map from flattened patches to tokens, with the same matrix E for all"
            " patches.", "patches", "dosovitskiy2021", r"x_p E", "N D", "patch_embed", "patch embedding"),
        _build_row("E", "The learned matrix that maps a flattened patch to a token; its columns can be drawn as"
            " small images.", "filters",
            "dosovitskiy2021", "E", "P²C D", "weight:patch_embed.proj.weight", "first linear map"),
        _build_row("filter", "One column of E, drawn as an image; the token's channel is its dot product with the"
            " patch.", "filters", "dosovitskiy2021", r"E_{\cdot j}", "P²C", "", "filters"),
        _build_row("principal component", "A direction in which a model's filters vary most; a few explain most of"
            " the variance.", "filters", "dosovitskiy2021"),
        _build_row("patchify", "Cut an image into squares and flatten each; a plain reshape would cut rows of pixels"
            " instead.", "patches", "dosovitskiy2021", r"x \mapsto x_p", "N P²C"),
        _build_row("[CLS]", "A learned token without a patch; it attends to the patches, and the classifier head"
            " reads it.", "attention", "dosovitskiy2021", r"x_\mathrm{class}", "D", "weight:cls_token", "CLS"),
        _build_row("[DIST]", "DeiT's second token without a patch; its own head is trained on the teacher's"
            " predictions.", "distillation", "touvron2021", r"x_\mathrm{dist}", "D", "weight:dist_token",
            "distillation token"),
        _build_row("register", "An extra token without a patch, in which large models store global information.",
            "attention", "darcet2024", "", "", "", "registers"),
        _build_row("position embedding", "A vector per position, added to its token, because attention ignores"
            " order.", "positions",
            "dosovitskiy2021", r"E_\mathrm{pos}", "T D", "weight:pos_embed", "positional encoding",
            "positional encodings", "positions"),
        _build_row("sinusoidal positions", "Computed position embeddings: a sine and a cosine for each of D/2"
            " frequencies.", "positions", "vaswani2017", r"\sin\bigl(p / 10000^{2i/D}\bigr)", "T D", "", "sinusoidal"),
        _build_row("cosine similarity", "The cosine of the angle between two vectors: 1 same direction, 0"
            " orthogonal, −1 opposite.", "positions",
            "dosovitskiy2021", r"\frac{a \cdot b}{\lvert a\rvert\,\lvert b\rvert}"),
    ),
    *_build_group(
        GROUPS[1],
        _build_row("attention", "Each token receives a weighted average of all tokens' values; the weights depend on"
            " the image.", "attention", "vaswani2017", r"A = \mathrm{softmax}\bigl(QK^\top / \sqrt d\bigr)", "h T T",
            "blocks.0.attn", "attend", "attends"),
        _build_row("query", "A vector per token that is compared with every key.", "block", "vaswani2017", "Q",
            "h T d", "blocks.0.q", "queries"),
        _build_row("key", "A vector per token that every query is compared with.", "block", "vaswani2017", "K",
            "h T d", "blocks.0.k", "keys"),
        _build_row("value", "A vector per token that attention averages with its weights.", "block", "vaswani2017",
            "V", "h T d", "blocks.0.v"),
        _build_row("score", "The dot product of a query and a key, divided by √d.", "block", "vaswani2017",
            r"QK^\top / \sqrt d", "h T T", "blocks.0.scores", "scores"),
        _build_row("scale", "The factor 1/√d of the scores; without it, the softmax of wide heads saturates on one"
            " key.", "block", "vaswani2017", r"1 / \sqrt d"),
        _build_row("softmax", "Turns numbers into positive weights with sum 1.", "block", "vaswani2017",
            r"\frac{e^{s_k}}{\sum_j e^{s_j}}"),
        _build_row("head", "One of several parallel attention operations, each with its own queries, keys and"
            " values.", "attention", "vaswani2017", "h", "", "", "heads", "attention head"),
        _build_row("multi-head attention", "The heads of a layer in parallel; one matrix mixes their concatenated"
            " outputs.", "block", "vaswani2017", r"\mathrm{MSA}(z) = [\mathrm{head}_1; \dots; \mathrm{head}_h]\,W_o",
            "T D", "blocks.0.attn_out", "MSA"),
        _build_row("output projection", "The matrix that mixes the heads' outputs before they are added to the"
            " residual stream.", "block", "vaswani2017", "W_o", "D D", "weight:blocks.0.attn.proj.weight"),
        _build_row("causal mask", "A mask that hides later tokens from earlier ones, as in text decoders; a ViT has"
            " none.", "attention", "vaswani2017", r"M_{qk} = -\infty \;\; (k > q)", "T T"),
        _build_row("attention distance", "Mean distance between queries and keys in pixels, weighted by attention.",
            "attention_distance", "dosovitskiy2021", r"\sum_k A_{qk}\,P\,\lVert p_q - p_k\rVert"),
    ),
    *_build_group(
        GROUPS[2],
        _build_row("block", "Attention and an MLP, each added to the residual stream; a ViT has L blocks, also called"
            " layers.", "block", "dosovitskiy2021", r"z_{\ell-1} \mapsto z_\ell", "T D",
            "blocks.0", "blocks", "layer", "layers"),
        _build_row("residual stream", "The token vectors that pass through all blocks; each block reads them and"
            " adds its output.", "block", "he2016", r"z_\ell", "T D", "blocks.0.mid", "stream"),
        _build_row("LayerNorm", "Normalises one token to mean 0 and standard deviation 1, then scales and shifts it.",
            "block", "ba2016", r"\gamma \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta", "D",
            "weight:norm.weight", "layer normalisation", "LN"),
        _build_row("BatchNorm", "Normalises each channel over the images of a batch; used in CNNs.", "block",
            "ioffe2015"),
        _build_row("pre-norm", "LayerNorm before each branch, so that the residual stream itself is never"
            " normalised.", "block", "xiong2020", r"z' = z + \mathrm{MSA}(\mathrm{LN}(z))"),
        _build_row("MLP", "Two linear maps with a nonlinearity between them, applied to each token separately.",
            "block", "dosovitskiy2021", r"W_2\,\mathrm{GELU}(W_1 y + b_1) + b_2", "T rD", "blocks.0.mlp_hidden"),
        _build_row("GELU", "The MLP's nonlinearity: nearly 0 for negative inputs, nearly the identity for positive"
            " ones.", "block", "hendrycks2016", r"x\,\Phi(x)"),
    ),
    *_build_group(
        GROUPS[3],
        _build_row("classifier head", "The last linear map: a dot product with each class's weights.", "block",
            "dosovitskiy2021", r"l = W y + b", "K D", "weight:head.weight", "classification head", "class head"),
        _build_row("logit", "A class's score before the softmax; only differences between logits matter.", "block",
            "dosovitskiy2021", "l", "K", "logits", "logits"),
        _build_row("readout", "The vector that the classifier head reads: [CLS], or the mean of all patches.",
            "block", "dosovitskiy2021", r"y = \mathrm{LN}(z_L^0)", "D"),
        _build_row("cross-entropy", "A classifier's loss: the negative log probability of the true class.",
            "live_lab", "szegedy2016", r"-\log p_y"),
        _build_row("distillation", "Training a student model on a teacher's predictions or probabilities.",
            "distillation", "hinton2015", "", "", "", "distilled"),
        _build_row("teacher", "The model, here a CNN, that provides a student's targets: predictions or probabilities.",
            "distillation", "touvron2021"),
        _build_row("student", "The model that is trained on a teacher's outputs; in DeiT a ViT.", "distillation",
            "touvron2021"),
        _build_row("hard label", "The teacher's predicted class, used as the target.", "distillation", "touvron2021",
            r"\arg\max_c p^{\mathrm{teacher}}_c", "", "", "hard labels"),
        _build_row("soft label", "The teacher's class probabilities, smoothed by a temperature τ, used besides the"
            " true label.", "distillation", "hinton2015",
            r"\mathrm{softmax}\bigl(l^{\mathrm{teacher}} / \tau\bigr)", "K", "", "soft labels", "soft targets"),
    ),
    *_build_group(
        GROUPS[4],
        _build_row("rollout", "The product of all layers' attention, each averaged with the identity for the"
            " residual path.", "attention", "abnar2020", r"R = \tilde A_L \cdots \tilde A_1", "T T"),
        _build_row("gradient-weighted rollout", "Attention times its gradient for a class, accumulated over the"
            " layers.", "attention", "chefer2021", r"R \leftarrow R + \overline{(\nabla A \odot A)^+}\,R", "T T"),
        _build_row("deletion check", "Blanking patches from the most relevant on: with a faithful map, the"
            " probability of the class falls fast.", "attention", "petsiuk2018", r"\int_0^1 p_c\,dt"),
        _build_row("random-weight control", "The same method on random weights: an unchanged map shows the image,"
            " not the model.", "attention", "adebayo2018"),
        _build_row("logit lens", "The classifier head, applied to the tokens after every block instead of the last"
            " one only.", "attention", "belrose2023"),
        _build_row("mutual nearest neighbours", "Two patches of two images with tokens that are each the most similar"
            " to the other.", "two_images", "amir2021", "", "", "", "mutual nearest neighbour"),
        _build_row("activation patching", "Replacing an activation of one image by that of another, to measure its"
            " effect on the prediction.", "two_images", "meng2022"),
        _build_row("receptive field", "The part of the image that a position in a layer can depend on.",
            "attention_distance", "luo2016"),
        _build_row("inductive bias", "A model's built-in assumptions: locality in a CNN, almost none in a ViT.",
            "attention_distance", "battaglia2018"),
        _build_row("hybrid", "A ViT that computes its tokens from the feature maps of a convolutional stem.",
            "patches", "xiao2021", "", "", "", "convolutional stem"),
    ),
    *_build_group(
        GROUPS[5],
        _build_row("window", "A square of M × M tokens; a Swin computes attention only inside windows.", "swin",
            "liu2021", "", "M² M²", "", "windows"),
        _build_row("shifted window", "Every second block shifts the windows by half, so that neighbouring windows"
            " exchange information.", "swin", "liu2021", r"s = \lfloor M/2 \rfloor", "", "", "shifted windows"),
        _build_row("relative position bias", "A learned number per head and per offset in the window, added to"
            " the score.", "swin", "liu2021", "B", "(2M−1)² h"),
        _build_row("patch merging", "Four neighbouring tokens become one with twice as many channels.", "swin",
            "liu2021", r"[4C] \to [2C]", "4C 2C"),
    ),
    *_build_group(
        GROUPS[6],
        _build_row("epoch", "One pass over all training images.", "live_lab", "goyal2017", "", "", "", "epochs"),
        _build_row("learning rate", "The step size of the weight updates.", "live_lab", "loshchilov2017", r"\eta"),
        _build_row("warm-up", "The first training steps, in which the learning rate rises from nearly 0.", "live_lab",
            "goyal2017"),
        _build_row("weight decay", "Shrinks every weight slightly towards 0 at each step.", "live_lab",
            "loshchilov2019",
            r"\lambda"),
        _build_row("dropout", "Sets random activations to 0 during training, so that the model relies on no single"
            " one.", "live_lab", "hinton2012"),
        _build_row("validation", "Images excluded from training, used to measure progress.", "live_lab",
            "zhang2017"),
        _build_row("overfitting", "Memorising the training images, with a lower accuracy on new ones.", "live_lab",
            "zhang2017"),
        _build_row("snapshot", "The weights saved at one training step.", "live_lab",
            "dosovitskiy2021", "", "", "", "snapshots"),
    ),
)  # fmt: skip
BY_SLUG = {term.slug: term for term in TERMS}
_PATTERNS = {
    term.word: re.compile(
        r"(?<![\w\[])(?:" + "|".join(map(re.escape, term.spellings)) + r")(?![\w\]])",
        0 if term.word.isupper() or "[" in term.word else re.IGNORECASE,
    )
    for term in TERMS
}
