"""Captions of the attention explorer, made from the numbers of its views."""

from dataclasses import replace

import numpy as np

from pages.frame.image_sets import describe_set
from pages.selection.subject import CapturedSubject, capture_attention, name_token
from pages.stores import catalogue
from vitviz.analysis import logits
from vitviz.analysis.attention import FloatArray, rank_correlation, readout_row
from vitviz.analysis.explanation_methods import METHODS, compute_top_share
from vitviz.analysis.image_means import AGREEMENT, GAP, RANDOM, SHARE, ImageMeans
from vitviz.analysis.verdict import FEW_IMAGES, LEAST_IMAGES, MAY_DIFFER, Verdict
from vitviz.models.token_layout import heads_by_layer
from vitviz.plots.attention_message import Head
from vitviz.text import in_sentence, join_words, percent, plain, signed

DATASETS_WITHOUT_PHOTOS = ("digits", "mnist", "fashion-mnist", "shapes")
FILLED = {"colour": "one colour", "patch": "the mean patch", "blur": "a blur"}  # in a sentence
SIMILAR = 0.6  # rank correlation above which two maps are called similar


def describe_training(subject: CapturedSubject, random: bool) -> str:
    """Return a sentence about the training data and whether the image belongs to it."""
    from vitviz.data.datasets import DATASETS, tested

    trained_on = subject.model.trained_on
    if random or trained_on is None:
        return "Random weights: these probabilities are meaningless before training."
    pretrained = subject.model.began_with
    training = f"Trained on {plain(catalogue.get_dataset_title(trained_on))}"
    if pretrained is not None:
        training = f"{training}, initialised with {plain(pretrained)}"
    kind = subject.image.partition(":")[0]
    if tested(kind) == trained_on:
        return f"{training}; this image is from its test set."
    if trained_on not in DATASETS:
        return f"{training}."
    classes = f"one of its {len(subject.classes)} classes"
    if pretrained is not None or trained_on not in DATASETS_WITHOUT_PHOTOS or kind in ("upload", "drawing"):
        only = "" if pretrained is not None else " only"
        return f"{training}{only}: it predicts {classes} for any image."
    return f"{training} only: it has never seen an image like this one, and still predicts {classes}."


def describe_matrix(subject: CapturedSubject, attn: FloatArray, map_name: str, causal: bool) -> str:
    """Return the size, the row sums, the diagonal and the strongest pair of a matrix (tokens, tokens)."""
    count, layout = len(attn), subject.layout
    sums = attn.sum(axis=1)
    query, key = np.unravel_index(int(attn.argmax()), attn.shape)
    normalised = abs(sums - 1).max() < 1e-3
    rows = "every row sums to 1" if normalised else f"rows sum to {sums.min():.2f} to {sums.max():.2f}"
    text = (
        f"{map_name}: {count} × {count} weights; {rows}, columns to {attn.sum(axis=0).min():.2f} to"
        f" {attn.sum(axis=0).max():.2f}. The diagonal (each token to itself) holds"
        f" {percent(float(np.trace(attn) / sums.sum()))} of the attention."
    )
    if not causal:
        names = name_token(layout, int(query)), name_token(layout, int(key))
        return f"{text} The largest weight is {attn[query, key]:.3f}, from {names[0]} to {names[1]}."
    masked = count * (count - 1) // 2
    return (
        f"{text} The mask removes {masked:,} of {count * count:,} pairs: {name_token(layout, 0)}, the first token,"
        f" attends only to itself ({attn[0, 0]:.2f}), the last one to all {count}."
    )


def describe_ablation(
    subject: CapturedSubject, before: np.ndarray, after: np.ndarray, patches: int, heads: int
) -> str:
    """Return how the probabilities (classes,) change with so many ablated patches and heads."""
    top, new_top = int(before.argmax()), int(after.argmax())
    predicted = plain(subject.classes[top])
    parts = []
    if patches:
        parts.append(f"{patches} of {subject.layout.num_patches} patches")
    if heads:
        parts.append(f"{heads} of {sum(heads_by_layer(subject.model.config))} heads")
    if not parts:
        return (
            f"The complete model predicts {predicted} with {percent(before[top])}."
            " Ablate patches or heads to see what this prediction depends on."
        )
    text = (
        f"Without {' and '.join(parts)}, the probability of {predicted} changes from {percent(before[top])} to"
        f" {percent(after[top])}"
    )
    if new_top == top:
        return f"{text}."
    return (
        f"{text}; the predicted class becomes {plain(subject.classes[new_top])} ({percent(after[new_top])})."
    )


def describe_similarity(left: CapturedSubject, right: CapturedSubject, layer: int) -> str | None:
    """Return how similar the readouts' attention is in one layer; None unless both have it over the same grid."""
    if not (left.able.heads_over_all and right.able.heads_over_all) or left.layout.grid != right.layout.grid:
        return None
    layers = [min(layer, len(heads_by_layer(side.model.config))) for side in (left, right)]
    rows = [
        readout_row(
            capture_attention(side, side_layer).attention_of(side_layer).mean(axis=0),
            side.layout.prefix,
            side.readout,
        )
        for side, side_layer in zip((left, right), layers, strict=True)
    ]
    correlation = rank_correlation(*rows)
    layer_text = f"layer {layer}" if layers[0] == layers[1] else f"layers {layers[0]} and {layers[1]}"
    return (
        f"The two readouts attend to {'similar' if correlation > SIMILAR else 'different'} patches in {layer_text}:"
        f" rank correlation {signed(correlation)}, averaged over heads."
    )


def describe_lens(
    classes: tuple[str, ...], readout_probs: np.ndarray, token_probs: np.ndarray, name: str
) -> str:
    """Return the layer from which the prediction stays, and the prediction from the pinned token.

    Both arrays are (depth + 1, classes).
    """
    layer, top = logits.settling_layer(readout_probs), int(readout_probs[-1].argmax())
    layer_text = "the input" if layer == 0 else f"layer {layer} of {len(readout_probs) - 1}"
    text = (
        f"The predicted class, {plain(classes[top])}, is the most probable from {layer_text} on:"
        f" {percent(readout_probs[layer, top])} there and {percent(readout_probs[-1, top])} after the last layer."
    )
    if np.array_equal(token_probs, readout_probs):
        return f"{text} Pin a patch to apply the classifier head to it."
    last = int(token_probs[-1].argmax())
    return (
        f"{text} Applied to {name} after the last layer, the classifier head predicts {plain(classes[last])}"
        f" ({percent(token_probs[-1, last])})."
    )


def describe_maps(maps: dict[str, np.ndarray]) -> str:
    """Return how concentrated the maps are, and which two agree most and least."""
    names = list(maps)
    correlations = {
        (a, b): rank_correlation(maps[a], maps[b]) for i, a in enumerate(names) for b in names[i + 1 :]
    }
    if not correlations:
        (only,) = names
        share = percent(compute_top_share(maps[only]), 0)
        return f"{METHODS[only].title}: the five strongest patches hold {share} of the sum of its values."
    close = max(correlations, key=lambda pair: correlations[pair])
    far = min(correlations, key=lambda pair: correlations[pair])
    sharpest = max(names, key=lambda name: compute_top_share(maps[name]))
    share = percent(compute_top_share(maps[sharpest]), 0)
    text = (
        f"On this image, {in_sentence(METHODS[sharpest].title)} is the most concentrated, which does not make it"
        f" the most faithful: the five strongest patches hold {share} of the sum of its values."
    )
    if len(correlations) > 1:
        text += (
            f" {METHODS[close[0]].title} and {in_sentence(METHODS[close[1]].title)} agree most (rank correlation"
            f" {signed(correlations[close])}), {in_sentence(METHODS[far[0]].title)} and"
            f" {in_sentence(METHODS[far[1]].title)} least ({signed(correlations[far])})."
        )
    return text


def describe_measured_maps(means: ImageMeans) -> str:
    """Return which map is the most concentrated over images, and how rollout differs from raw attention."""
    shares = means.select(SHARE)
    leaders = shares.find_leaders()
    share = shares.describe(leaders[0], 0, 100, "\N{NO-BREAK SPACE}%")
    text = (
        f"Over {describe_set(means)}, the most concentrated of {len(shares.names)} maps is"
        f" {in_sentence(METHODS[leaders[0]].title)}: its five strongest patches hold {share} of its"
        f" sum{_describe_ties(leaders, means)}."
    )
    if not {"raw", "rollout"} <= {*shares.names}:
        return text
    verdict = shares.judge_pairs()["raw", "rollout"]
    agreement = means.select(AGREEMENT).describe("raw rollout", 2)
    return (
        f"{text} Raw attention against rollout: {_scale_to_points(verdict).describe()}. The rank correlation of the two"
        f" is {agreement}."
    )


def describe_measured_faithfulness(means: ImageMeans, fill: str, draws: int) -> str:
    """Return the method of the largest insertion minus deletion, rollout against raw attention, and random weights.

    Args:
        fill: what takes the place of blanked patches, a name of `FILLS`.
    """
    gaps = means.select(GAP)
    leaders = gaps.find_leaders()
    best = "a random order" if leaders[0] == RANDOM else in_sentence(METHODS[leaders[0]].title)
    text = (
        f"Over {describe_set(means)}, {best} has the largest insertion minus deletion with blanked patches in"
        f" {FILLED[fill]}: {gaps.describe(leaders[0], 2)}{_describe_ties(leaders, means)}."
    )
    if {"raw", "rollout"} <= {*gaps.names}:
        verdict = gaps.judge_pairs()["raw", "rollout"]
        text += f" Raw attention against rollout: {_scale_to_points(verdict).describe()} of probability."
    if not len(means.draws):
        return text
    controls = "; ".join(
        f"{in_sentence(METHODS[name].title)} {_format_control(gaps.control(name))}"
        for name in gaps.names
        if name != RANDOM
    )
    return (
        f"{text} Rank correlation with the maps of random weights, mean ± standard deviation over {draws} draws:"
        f" {controls}."
    )


def _format_control(control: tuple[float, float]) -> str:
    return f"{signed(control[0])} ± {control[1]:.2f}"


def _describe_ties(leaders: tuple[str, ...], means: ImageMeans) -> str:
    """Return which measures are not shown to be lower than the first; ' (too few images …)' without verdicts."""
    if means.images < LEAST_IMAGES:
        return f" ({FEW_IMAGES} for a verdict)"
    names = ["a random order" if name == RANDOM else in_sentence(METHODS[name].title) for name in leaders[1:]]
    return (
        f"; no difference shown to {join_words(names)}: {MAY_DIFFER}"
        if names
        else "; every other one is lower"
    )


def _scale_to_points(verdict: Verdict) -> Verdict:
    """Return the verdict on shares in percentage points."""
    low, high = (None if end is None else 100 * end for end in (verdict.low, verdict.high))
    of_seeds, of_images, least = (100**2 * variance for variance in verdict.variances)
    return replace(
        verdict, estimate=100 * verdict.estimate, variances=(of_seeds, of_images, least), low=low, high=high
    )


def describe_effective_tokens(means: ImageMeans, layer: int, head: Head, tokens: int) -> str:
    """Return the effective number of tokens of a layer's head, or of all its heads, over images.

    Args:
        layer: from 1.
        tokens: that a query of this layer can attend to.
    """
    heads = [name for name in means.names if name.partition(".")[0] == str(layer)]
    if f"{layer}.{head}" in means:
        heads = [f"{layer}.{head}"]
    name = f"head {head} of layer {layer}" if len(heads) == 1 else f"the heads of layer {layer}"
    of_layer = means.average({name: heads})
    verb = "attends" if len(heads) == 1 else "attend"
    return (
        f"Over {describe_set(means)}, {name} {verb} effectively to {of_layer.describe(name, 1)} of"
        f" {tokens} tokens: as many as would share the weight evenly with the same entropy, averaged over queries."
    )


def describe_shares(shares: logits.Attribution, name: str) -> str:
    """Return the part with the largest share of a class logit, and what all heads and all MLPs add."""
    heads = np.nan_to_num(shares.heads, nan=-np.inf)
    layer, head = np.unravel_index(int(heads.argmax()), heads.shape)
    most, part = heads[layer, head], f"Head {head + 1} of layer {layer + 1}"
    if shares.mlps.max() > most:
        most, part = shares.mlps.max(), f"The MLP of layer {int(shares.mlps.argmax()) + 1}"
    return (
        f"{part} adds most to the logit of {plain(name)}: {signed(most)} of {signed(shares.logit)}; all heads add"
        f" {signed(float(np.nansum(shares.heads)))}, all MLPs {signed(float(shares.mlps.sum()))}, the embedding"
        f" {signed(shares.embedding)} and the biases {signed(shares.biases)}."
    )


def describe_random_weights(correlations: dict[str, list[float]], trained: bool) -> str:
    """Return how much each method's map keeps with random weights: mean ± SD over the draws.

    Args:
        correlations: by method, rank correlation of the two maps in each draw.
        trained: whether the compared model is trained.
    """
    draws = len(next(iter(correlations.values())))
    values = "; ".join(
        f"{in_sentence(METHODS[name].title)} {signed(float(np.mean(rhos)))} ± {float(np.std(rhos, ddof=1)):.2f}"
        for name, rhos in correlations.items()
    )
    weights = "random weights" if trained else "other random weights"
    return (
        f"Rank correlation with the maps of {weights}, mean ± standard deviation over {draws} draws on this image:"
        f" {values}. A map that stays the same shows the image, not what the model learned (Adebayo et al. 2018)."
    )
