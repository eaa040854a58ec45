"""Describe what two images show: matches, shared colours, patched activations and segments."""

import numpy as np

from pages.frame.image_sets import describe_set
from pages.lenses.two_images.image_pair import (
    ColouredPair,
    ImagePair,
    MatchedPair,
    PatchedRuns,
    SegmentedPair,
)
from vitviz.analysis import token_colours, token_similarity
from vitviz.analysis.image_changes import locate_cells
from vitviz.analysis.image_means import COPY, MATCH, RANDOM, ImageMeans
from vitviz.analysis.verdict import FEW_IMAGES, LEAST_IMAGES, MAY_DIFFER, Verdict
from vitviz.plots.theme import HEAD_NAMES
from vitviz.text import gained, percent, plain, plural, signed

POINT = "Point at a cell to read its numbers."
NBSP_PERCENT = "\N{NO-BREAK SPACE}%"


def describe_cell(cell: int, grid: tuple[int, int]) -> str:
    """Return 'row 3, column 5', counted from 1."""
    return f"row {cell // grid[1] + 1}, column {cell % grid[1] + 1}"


def describe_matches(
    pair: ImagePair, layer: int, shown: MatchedPair, other: MatchedPair | None, *, before: bool
) -> str:
    """Describe the matches of a layer, beside those of the other weights.

    For a copy the true places are known: the finding is the share of patches that find theirs. Otherwise it is the
    number of mutual nearest neighbours, and the strongest pair.

    Args:
        other: the same with the weights before training, or with the trained ones if `shown` is before training.
        before: True if `shown` is before training.
    """
    grids = pair.first.grid(layer), pair.second.grid(layer)
    copy, ending = pair.second.source.copy, ""
    if copy:
        cells = locate_cells(copy, grids[0])
        counts = [
            percent(token_similarity.share_at_true_place(matched.cosines, cells, grids[1]), 0)
            for matched in (shown, other)
            if matched is not None
        ]
        finding = f"{counts[0]} of the patches are most similar to their own copy (within one patch)"
    else:
        counts = [str(len(matched.matches)) for matched in (shown, other) if matched is not None]
        counted = "foreground patches" if shown.foreground < len(shown.cosines) else "patches"
        finding = f"{counts[0]} of {shown.foreground} {counted} have a mutual nearest neighbour"
        if len(shown.matches):
            first, second = int(shown.matches.first[0]), int(shown.matches.second[0])
            ending = (
                f"; the most similar pair: {describe_cell(first, grids[0])} and {describe_cell(second, grids[1])},"
                f" cosine {signed(shown.matches.cosines[0])}"
            )
    weights = "before training " if before else ""
    compared = f" ({'after' if before else 'before'} training: {counts[1]})" if len(counts) > 1 else ""
    return f"{finding} {weights}in {pair.layers[layer].phrase}{compared}{ending}."


def describe_colours(pair: ImagePair, layer: int, coloured: ColouredPair) -> str:
    """Describe the variance of each image's tokens that three components explain, and what they are fitted on."""
    first, second = (
        percent(token_colours.explained_share(coloured.components, image.tokens(layer)[mask]), 0)
        for image, mask in zip(pair.images, coloured.foregrounds, strict=True)
    )
    return (
        f"Three components, fitted on {coloured.fitted_on}, explain {first} of the variance of the first image's tokens"
        f" and {second} of the second's in {pair.layers[layer].phrase}."
    )


def name_token(runs: PatchedRuns, token: int) -> str:
    """Return '[CLS]' or 'row 3, column 5'."""
    prefix = len(runs.prefix)
    return f"[{runs.prefix[token].upper()}]" if token < prefix else describe_cell(token - prefix, runs.grid)


def describe_patching(runs: PatchedRuns) -> str:
    """Describe the replacement that changes the measure most, and the measure without it."""
    changes = runs.changes
    best = int(np.nanargmax(np.abs(changes)))
    if runs.part == "head":
        layer, head = np.unravel_index(best, changes.shape)
        name = f"head {head + 1} of layer {layer + 1}"
    else:
        name = f"token {name_token(runs, best)} of {runs.layer}"
    after, target = float(runs.after.ravel()[best]), plain(runs.target)
    donor, receiver = ("second", "first") if runs.is_noising else ("first", "second")
    replaced = f"Replacing {name} by that of the {donor} image has the largest effect"
    if runs.is_difference:
        return (
            f"{replaced}: the logit difference {target} of the {receiver} image becomes {signed(after)}, where 0 is the"
            " second image alone and 1 the first."
        )
    return (
        f"{replaced}: the {receiver} image's P({target}) changes by {gained(float(changes.ravel()[best]))} points, from"
        f" {percent(runs.alone, 2)} to {percent(after, 2)}"
        f" ({donor} image: {percent(runs.second if runs.is_noising else runs.first)})."
    )


def describe_measured_patching(means: ImageMeans) -> str:
    """Return the head with the largest mean effect over pairs of images, and those not shown to be smaller."""
    leaders = means.find_leaders()
    layer, _, head = leaders[0].partition(".")
    effect = means.describe(leaders[0], 1, unit=" points")
    text = (
        f"Over {plural(means.images, 'pair')} of images, head {head} of layer {layer} raises the probability of the"
        f" first image's class most: {effect}"
    )
    if means.images < LEAST_IMAGES:
        return f"{text}; {FEW_IMAGES} for a verdict."
    if len(leaders) == 1:
        return f"{text}; every other head raises it less."
    return f"{text}; no difference shown to {plural(len(leaders) - 1, 'other head')}: {MAY_DIFFER}."


def describe_measured_matches(means: ImageMeans, layer: int, layer_title: str) -> str:
    """Return the shares of a layer's patches with a mutual neighbour and at their mirrored place, and a verdict."""
    sentences = []
    for kind, name in (
        (MATCH, "have a mutual nearest neighbour in another image"),
        (COPY, "find their mirrored copy"),
    ):
        measure = f"{kind}{layer}"
        verdict = means.compare_with_draws(measure, f"{RANDOM} {measure}")
        control, deviation = means.control(measure)
        sentences.append(
            f"{means.describe(measure, 0, 100, NBSP_PERCENT)} of the patches {name},"
            f" {_compare_with_random(verdict)} ({100 * control:.0f} ± {100 * deviation:.0f}{NBSP_PERCENT})."
        )
    return (
        f"Over {describe_set(means)} in {layer_title}, {sentences[0]} {sentences[1]} Of random weights: mean ± standard"
        f" deviation over {len(means.draws)} draws."
    )


def _compare_with_random(verdict: Verdict) -> str:
    if verdict.shown:
        return f"{verdict.outcome} than with random weights"
    return f"{verdict.outcome or verdict.reason} to random weights".replace(
        FEW_IMAGES, f"{FEW_IMAGES} to compare"
    )


def describe_segments(pair: ImagePair, layer: int, segmented: SegmentedPair) -> str:
    """Describe the foreground's size, its most common segment, and that segment's size in both images."""
    foreground = segmented.foreground
    inside = np.bincount(segmented.first[foreground].ravel(), minlength=1)
    label = int(inside.argmax())
    rule = "attention" if segmented.by_attention else "first component"
    return (
        f"The foreground by {rule} covers {percent(foreground.mean(), 0)} of the first image. Segment {label + 1}"
        f" ({HEAD_NAMES[label]}) holds {percent(inside[label] / max(int(inside.sum()), 1), 0)} of the foreground, and"
        f" covers {percent((segmented.first == label).mean(), 0)} of the first image and"
        f" {percent((segmented.second == label).mean(), 0)} of the second ({pair.layers[layer].phrase})."
    )
