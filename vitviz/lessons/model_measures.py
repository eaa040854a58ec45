"""Measures of the model at hand: its answer, its attention, its blocks, on the picture that is chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vitviz.lessons.formula_measures import within
from vitviz.lessons.question_kinds import AtHand, Choose, Drag, FloatArray, Kind, Measured, Point, able_of
from vitviz.text import percent

MOST_LAYERS = 48
MOST_OPTIONS = 12
LAST = 0  # a layer: the model's last one; else they count from 1
MEAN = 0  # a head: the mean of all; else they count from 1


class _OfHeads:
    """A measure of heads that look over the whole picture."""

    def why_not(self, at: AtHand) -> str:
        """Where the model has none."""
        return able_of(at).heads_over_all.why_not


def _layer_of(layer: int, depth: int) -> int:
    """A layer from 1, LAST resolved and cut to the model's depth."""
    return depth if layer == LAST else min(layer, depth)


def _rows(at: AtHand, layer: int, head: int) -> FloatArray:
    """(query, key) of a layer: of one head or the mean."""
    heads = at.attn[_layer_of(layer, len(at.attn)) - 1]
    rows: FloatArray = heads.mean(axis=0) if head == MEAN else heads[min(head, len(heads)) - 1]
    return rows


def _of_head(head: int) -> str:
    return "on the mean of all heads" if head == MEAN else f"in head {head}"


@dataclass(frozen=True)
class Answer:
    """Which class the model gives the picture."""

    def why_not(self, at: AtHand) -> str:
        """Where it gives none, or one of too many to choose from."""
        if not able_of(at).class_head:
            return able_of(at).class_head.why_not
        return (
            "" if len(at.classes) <= MOST_OPTIONS else "This model has too many classes to choose one from."
        )

    def kind(self, at: AtHand) -> Kind:
        """One of its classes."""
        return Choose(at.classes)

    def measured(self, at: AtHand) -> Measured:
        """Runs the model."""
        chances = at.probabilities
        first, second = (int(i) for i in np.argsort(-chances, kind="stable")[:2])
        return Measured(
            first,
            f"The model answers {at.classes[first]} with {percent(float(chances[first]))}; next comes"
            f" {at.classes[second]} with {percent(float(chances[second]))}.",
        )


@dataclass(frozen=True)
class LooksAt(_OfHeads):
    """The patch to which a token gives the most attention: [CLS], or the patch (row, col), from 1."""

    layer: int = LAST
    head: int = MEAN
    row: int = 0
    col: int = 0

    def __post_init__(self) -> None:
        within("layer", self.layer, 0, MOST_LAYERS)
        within("head", self.head, 0, MOST_LAYERS)
        within("row", self.row, 0, 64)
        within("col", self.col, 0, 64)

    @property
    def _of_patch(self) -> bool:
        return bool(self.row and self.col)

    def why_not(self, at: AtHand) -> str:
        """Where heads see no whole picture; where [CLS] is asked for, and there is none."""
        return super().why_not(at) or ("" if self._of_patch else able_of(at).cls_readout.why_not)

    def kind(self, at: AtHand) -> Kind:
        """A patch."""
        return Point(at.layout.grid)

    def measured(self, at: AtHand) -> Measured:
        """Reads the row of attention."""
        prefix, (rows, cols) = at.layout.num_prefix_tokens, at.layout.grid
        query, name = 0, "[CLS]"
        if self._of_patch:
            row, col = min(self.row, rows), min(self.col, cols)
            query, name = prefix + (row - 1) * cols + col - 1, f"the patch in row {row}, column {col}"
        cells = _rows(at, self.layer, self.head)[query, prefix:]
        best = int(cells.argmax())
        row, col = divmod(best, cols)
        layer = _layer_of(self.layer, len(at.attn))
        return Measured(
            best,
            f"In layer {layer}, {_of_head(self.head)}, {name} gives the most to row {row + 1}, column {col + 1}:"
            f" {percent(float(cells[best]))}. Evenly shared, each of {len(cells)} patches would get"
            f" {percent(float(cells.sum()) / len(cells))}.",
            tuple(float(value) for value in cells),
        )


@dataclass(frozen=True)
class MassOnSelf(_OfHeads):
    """How much of its attention [CLS] keeps for itself, of the mean of a layer's heads."""

    layer: int = LAST

    def __post_init__(self) -> None:
        within("layer", self.layer, 0, MOST_LAYERS)

    def why_not(self, at: AtHand) -> str:
        """Where there is no [CLS]."""
        return super().why_not(at) or able_of(at).cls_readout.why_not

    def kind(self, at: AtHand) -> Kind:
        """A share."""
        return Drag(0.0, 1.0, 0.01, "%")

    def measured(self, at: AtHand) -> Measured:
        """Reads the row of attention."""
        share = float(_rows(at, self.layer, MEAN)[0, 0])
        layer = _layer_of(self.layer, len(at.attn))
        return Measured(
            share,
            f"In layer {layer}, on the mean of all heads, [CLS] gives {percent(share)} to itself and"
            f" {percent(1 - share)} to the others.",
        )


@dataclass(frozen=True)
class NearestLayer(_OfHeads):
    """In which layer the heads look least far on this picture: mean attention distance (ViT paper, figure 7)."""

    def kind(self, at: AtHand) -> Kind:
        """One of the layers."""
        return Choose(tuple(f"layer {i + 1}" for i in range(len(at.attn))))

    def measured(self, at: AtHand) -> Measured:
        """Measures every head on this picture."""
        from vitviz.analysis.distance import mean_attention_distance_px

        grid, patch_px = at.layout.grid, at.layout.patch_px
        means = mean_attention_distance_px(at.attn, grid, patch_px).mean(axis=-1)
        near, far = int(means.argmin()), int(means.argmax())
        return Measured(
            near,
            f"On this picture the heads of layer {near + 1} look {means[near]:.1f} px far on average, those of layer"
            f" {far + 1} {means[far]:.1f} px.",
        )


@dataclass(frozen=True)
class LongerBranch:
    """Which adds the longer vector to [CLS] in a block: attention or the MLP."""

    layer: int = LAST

    def __post_init__(self) -> None:
        within("layer", self.layer, 0, MOST_LAYERS)

    def why_not(self, at: AtHand) -> str:
        """Where there are no such blocks, or no [CLS]."""
        return able_of(at).blocks.why_not or able_of(at).cls_readout.why_not

    def kind(self, at: AtHand) -> Kind:
        """One of the two."""
        return Choose(("attention", "the MLP"))

    def measured(self, at: AtHand) -> Measured:
        """Runs the block and measures what each branch adds to [CLS]."""
        from vitviz.probe.block_record import block_record, patterns_of

        vit = at.model.vit
        layer = _layer_of(self.layer, len(vit.blocks))
        record = block_record(vit, at.capture(patterns_of(layer)), layer)
        attention, mlp = (float(np.linalg.norm(record[part][0])) for part in ("attn_added", "mlp_added"))
        return Measured(
            0 if attention >= mlp else 1,
            f"To [CLS], block {layer} adds a vector of length {attention:.1f} by attention and one of {mlp:.1f} by"
            " the MLP.",
        )


@dataclass(frozen=True)
class SettlingLayer:
    """After which layer the answer stands, if the head read [CLS] after every layer (logit lens)."""

    def why_not(self, at: AtHand) -> str:
        """Where the head cannot read before the end."""
        return able_of(at).logit_lens.why_not or able_of(at).class_head.why_not

    def kind(self, at: AtHand) -> Kind:
        """One of the layers, or before the first."""
        depth = at.model.config.depth
        return Choose(("before layer 1", *(f"after layer {i + 1}" for i in range(depth))))

    def measured(self, at: AtHand) -> Measured:
        """Reads the stream after every layer."""
        from vitviz.analysis.logit_lens import lens_of_readout, settling_layer
        from vitviz.probe.logit_lens import readout_weights, stream, stream_names

        depth, config = at.model.config.depth, at.model.config
        tokens = stream(at.capture(stream_names(depth)), depth)
        chances = lens_of_readout(tokens, readout_weights(at.model.vit), config.readout, at.layout.prefix)
        layer, top = settling_layer(chances), int(chances[-1].argmax())
        where = "before the first layer" if not layer else f"after layer {layer}"
        return Measured(
            layer,
            f"{at.classes[top]} leads for good {where}, there with {percent(float(chances[layer, top]))}, and ends at"
            f" {percent(float(chances[-1, top]))}.",
        )


@dataclass(frozen=True)
class Shuffled:
    """Whether the answer changes when all patches of the picture change places."""

    seed: int = 0

    def __post_init__(self) -> None:
        within("seed", self.seed, 0, 999)

    def why_not(self, at: AtHand) -> str:
        """Where there are no patches, or no classes."""
        able = able_of(at)
        return able.blocks.why_not or able.embedding.why_not or able.class_head.why_not

    def kind(self, at: AtHand) -> Kind:
        """Yes or no."""
        return Choose(("it changes", "it stays"))

    def measured(self, at: AtHand) -> Measured:
        """Asks the model both pictures."""
        from vitviz.analysis.patches import scrambled_order
        from vitviz.probe.embedding import answers_to_a_shuffle

        order = scrambled_order(at.layout.num_patches, 1.0, self.seed)
        before, after = answers_to_a_shuffle(at.model.vit, at.prepared.input, order)
        first, second = int(before.argmax()), int(after.argmax())
        return Measured(
            0 if first != second else 1,
            f"In order: {at.classes[first]} with {percent(float(before[first]))}. Shuffled: {at.classes[second]} with"
            f" {percent(float(after[second]))}.",
        )


@dataclass(frozen=True)
class TruestMap:
    """Which method's map removes the class soonest when patches are blanked in its order (Petsiuk et al. 2018)."""

    def why_not(self, at: AtHand) -> str:
        """Where the methods need what the model lacks."""
        return able_of(at).rollout.why_not or able_of(at).class_head.why_not

    def kind(self, at: AtHand) -> Kind:
        """One of the methods."""
        from vitviz.analysis.methods import METHODS

        return Choose(tuple(method.title for method in METHODS.values()))

    def measured(self, at: AtHand) -> Measured:
        """Blanks patches in the order of every map."""
        from vitviz.analysis.faithfulness import area
        from vitviz.analysis.methods import METHODS
        from vitviz.probe.explain import Recipe, method_maps_of, order_curve

        image, target = at.prepared.input, int(at.probabilities.argmax())
        found = method_maps_of(at.model, image, Recipe(target, "mean", 0.0))
        areas = {}
        for name, values in found.items():
            curve = order_curve(at.model, image, np.asarray(values, np.float64), target)
            areas[name] = area(curve.fraction, curve.deletion)
        best, worst = min(areas, key=lambda name: areas[name]), max(areas, key=lambda name: areas[name])
        return Measured(
            list(METHODS).index(best),
            f"On the whole picture {at.classes[target]} has {percent(float(at.probabilities[target]))}; on average"
            f" while patches are blanked in the order of {METHODS[best].title} {percent(areas[best])}, in that of"
            f" {METHODS[worst].title} {percent(areas[worst])}. Less is truer.",
        )


@dataclass(frozen=True)
class TokensShare(_OfHeads):
    """How much of their attention [CLS] and [DIST] share in a layer: the sum of the smaller weights."""

    layer: int = LAST

    def __post_init__(self) -> None:
        within("layer", self.layer, 0, MOST_LAYERS)

    def why_not(self, at: AtHand) -> str:
        """Where there is no second token."""
        return super().why_not(at) or able_of(at).distillation.why_not

    def kind(self, at: AtHand) -> Kind:
        """A share."""
        return Drag(0.0, 1.0, 0.01, "%")

    def measured(self, at: AtHand) -> Measured:
        """Compares the two rows."""
        from vitviz.analysis.map_similarity import shared_mass

        rows = _rows(at, self.layer, MEAN)
        share = float(shared_mass(rows[0], rows[1]))
        layer = _layer_of(self.layer, len(at.attn))
        return Measured(
            share,
            f"In layer {layer}, on the mean of all heads, [CLS] and [DIST] share {percent(share)} of it.",
        )
