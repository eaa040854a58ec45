"""Measure a model on an image: its prediction, its attention and its blocks."""

import re
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vitviz.lessons.question_kinds import (
    AnswerKind,
    BaseMeasure,
    Choose,
    FloatArray,
    MeasuredAnswer,
    MeasuredSubject,
    Point,
    QuestionSubject,
    get_abilities,
)
from vitviz.text import percent

MAX_LAYERS = 48
MAX_OPTIONS = 12
HEADS = ("heads_over_all", "whole_record")
_PLACE = re.compile(r"[1-9]\d?\.[1-9]\d?")
LAST = 0  # layer number of the last layer; others are counted from 1
MEAN = 0  # head number of the mean over heads; others are counted from 1


@dataclass(frozen=True)
class _LayerMeasure(BaseMeasure):
    """A measure of one layer."""

    layer: Annotated[int, 0, MAX_LAYERS] = LAST


def _resolve_layer(layer: int, depth: int) -> int:
    """Return the layer counted from 1, with LAST resolved and at most the model's depth."""
    return depth if layer == LAST else min(layer, depth)


def _select_rows(subject: MeasuredSubject, layer: int, head: int) -> FloatArray:
    """Return a layer's attention matrix (query, key) of one head or the mean over heads."""
    heads = subject.attn[_resolve_layer(layer, len(subject.attn)) - 1]
    rows: FloatArray = heads.mean(axis=0) if head == MEAN else heads[min(head, len(heads)) - 1]
    return rows


def _format_head(head: int) -> str:
    return "averaged over the heads" if head == MEAN else f"in head {head}"


@dataclass(frozen=True)
class PredictedClass(BaseMeasure):
    """The class that the model predicts for the image."""

    needs = ("class_head",)

    def why_not(self, subject: QuestionSubject) -> str:
        many = len(subject.classes) > MAX_OPTIONS
        return super().why_not(subject) or "This model has too many classes to list as options." * many

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Choose(subject.classes)

    def measure_answer(self, subject: MeasuredSubject) -> MeasuredAnswer:
        probabilities = subject.probabilities
        first, second = (int(i) for i in np.argsort(-probabilities, kind="stable")[:2])
        return MeasuredAnswer(
            first,
            f"The model predicts {subject.classes[first]} with {percent(float(probabilities[first]))}; next is"
            f" {subject.classes[second]} with {percent(float(probabilities[second]))}.",
        )


@dataclass(frozen=True)
class MostAttendedPatch(_LayerMeasure):
    """The patch that a token attends to most: [CLS], or the patch (row, col), counted from 1."""

    needs = HEADS
    head: Annotated[int, 0, MAX_LAYERS] = MEAN
    row: Annotated[int, 0, 64] = 0
    col: Annotated[int, 0, 64] = 0

    @property
    def _queries_patch(self) -> bool:
        return bool(self.row and self.col)

    def why_not(self, subject: QuestionSubject) -> str:
        return super().why_not(subject) or (
            "" if self._queries_patch else get_abilities(subject).cls_readout.why_not
        )

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Point(subject.layout.grid)

    def measure_answer(self, subject: MeasuredSubject) -> MeasuredAnswer:
        prefix, (rows, cols) = subject.layout.num_prefix_tokens, subject.layout.grid
        query, name = 0, "[CLS]"
        if self._queries_patch:
            row, col = min(self.row, rows), min(self.col, cols)
            query, name = prefix + (row - 1) * cols + col - 1, f"the patch in row {row}, column {col}"
        cells = _select_rows(subject, self.layer, self.head)[query, prefix:]
        best = int(cells.argmax())
        row, col = divmod(best, cols)
        layer = _resolve_layer(self.layer, len(subject.attn))
        return MeasuredAnswer(
            best,
            f"In layer {layer}, {_format_head(self.head)}, {name} attends most to row {row + 1}, column {col + 1}:"
            f" {percent(float(cells[best]))}. Uniform attention: {percent(float(cells.sum()) / len(cells))} for each"
            f" of {len(cells)} patches.",
            tuple(float(weight) for weight in cells),
        )


@dataclass(frozen=True)
class SelfAttentionShare(_LayerMeasure):
    """The attention weight from [CLS] to itself, averaged over a layer's heads."""

    needs = (*HEADS, "cls_readout")

    def measure_answer(self, subject: MeasuredSubject) -> MeasuredAnswer:
        share = float(_select_rows(subject, self.layer, MEAN)[0, 0])
        layer = _resolve_layer(self.layer, len(subject.attn))
        return MeasuredAnswer(
            share,
            f"In layer {layer}, averaged over the heads, [CLS] attends to itself with {percent(share)} and"
            f" to the other tokens with {percent(1 - share)}.",
        )


@dataclass(frozen=True)
class MostLocalLayer(BaseMeasure):
    """The layer with the shortest mean attention distance on this image (ViT paper, figure 7)."""

    needs = HEADS

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        return Choose(tuple(f"layer {i + 1}" for i in range(subject.model.config.depth)))

    def measure_answer(self, subject: MeasuredSubject) -> MeasuredAnswer:
        from vitviz.analysis.distance import mean_attention_distance_px

        grid, patch_px = subject.layout.grid, subject.layout.patch_px
        means = mean_attention_distance_px(np.stack(subject.attn), grid, patch_px).mean(axis=-1)
        near, far = int(means.argmin()), int(means.argmax())
        return MeasuredAnswer(
            near,
            f"Mean attention distance on this image: {means[near]:.1f} px in layer {near + 1} (shortest),"
            f" {means[far]:.1f} px in layer {far + 1} (longest).",
        )


@dataclass(frozen=True)
class LongerBranch(_LayerMeasure):
    """The branch of a block that adds the longer vector to [CLS]: attention or the MLP."""

    needs = ("blocks", "cls_readout")
    kind = Choose(("attention", "the MLP"))

    def measure_answer(self, subject: MeasuredSubject) -> MeasuredAnswer:
        from vitviz.probe.layers import block_record, patterns_of

        vit = subject.model.vit
        layer = _resolve_layer(self.layer, len(vit.blocks))
        record = block_record(vit, subject.capture(patterns_of(layer)), layer)
        attention, mlp = (float(np.linalg.norm(record[part][0])) for part in ("attn_added", "mlp_added"))
        return MeasuredAnswer(
            0 if attention >= mlp else 1,
            f"In block {layer}, attention adds a vector of length {attention:.1f} to [CLS], and the MLP one of length"
            f" {mlp:.1f}.",
        )


@dataclass(frozen=True)
class SettlingLayer(BaseMeasure):
    """The layer after which the prediction no longer changes, if the head is applied after every layer (logit lens)."""

    needs = ("logit_lens", "class_head")

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        depth = subject.model.config.depth
        return Choose(("before layer 1", *(f"after layer {i + 1}" for i in range(depth))))

    def measure_answer(self, subject: MeasuredSubject) -> MeasuredAnswer:
        from vitviz.analysis.logits import lens_of_readout, settling_layer
        from vitviz.probe.logits import readout_weights, stream, stream_names

        depth, config = subject.model.config.depth, subject.model.config
        tokens = stream(subject.capture(stream_names(depth)), depth)
        weights = readout_weights(subject.model.vit)
        probabilities = lens_of_readout(tokens, weights, config.readout, subject.layout.prefix)
        layer, top = settling_layer(probabilities), int(probabilities[-1].argmax())
        moment = "before layer 1" if not layer else f"after layer {layer}"
        return MeasuredAnswer(
            layer,
            f"{subject.classes[top]} is the most probable class {moment} ({percent(float(probabilities[layer, top]))})"
            f" and in all later layers; its final probability is {percent(float(probabilities[-1, top]))}.",
        )


@dataclass(frozen=True)
class ShuffledPrediction(BaseMeasure):
    """The effect on the prediction of shuffling all patches of the image."""

    needs = ("blocks", "embedding", "class_head")
    kind = Choose(("it changes", "it stays the same"))
    seed: Annotated[int, 0, 999] = 0

    def measure_answer(self, subject: MeasuredSubject) -> MeasuredAnswer:
        from vitviz.analysis.patches import scrambled_order
        from vitviz.probe.embedding import predict_shuffled

        order = scrambled_order(subject.layout.num_patches, 1.0, self.seed)
        before, after = predict_shuffled(subject.model.vit, subject.prepared.input, order)
        first, second = int(before.argmax()), int(after.argmax())
        return MeasuredAnswer(
            0 if first != second else 1,
            f"In order: {subject.classes[first]} with {percent(float(before[first]))}. Shuffled:"
            f" {subject.classes[second]} with {percent(float(after[second]))}.",
        )


@dataclass(frozen=True)
class MostFaithfulMap(BaseMeasure):
    """The method whose map removes the class soonest when patches are blanked in its order (Petsiuk et al. 2018)."""

    needs = ("rollout", "class_head")

    def get_answer_kind(self, subject: QuestionSubject) -> AnswerKind:
        from vitviz.analysis.explanation_methods import METHODS

        return Choose(tuple(method.title for method in METHODS.values()))

    def measure_answer(self, subject: MeasuredSubject) -> MeasuredAnswer:
        from vitviz.analysis.explanation_methods import METHODS
        from vitviz.analysis.faithfulness import area
        from vitviz.probe.explanation_maps import Recipe, method_maps_of, order_curve

        image, target = subject.prepared.input, int(subject.probabilities.argmax())
        maps = method_maps_of(subject.model, image, Recipe(target, "mean", 0.0))
        areas = {}
        for name, importance in maps.items():
            curve = order_curve(subject.model, image, np.asarray(importance, np.float64), target)
            areas[name] = area(curve.fraction, curve.deletion)
        best, worst = min(areas, key=lambda name: areas[name]), max(areas, key=lambda name: areas[name])
        return MeasuredAnswer(
            list(METHODS).index(best),
            f"Mean confidence for {subject.classes[target]} while patches are blanked: {percent(areas[best])} in the"
            f" order of {METHODS[best].title} (lowest is best), {percent(areas[worst])} in that of"
            f" {METHODS[worst].title}. Complete image: {percent(float(subject.probabilities[target]))}.",
        )


@dataclass(frozen=True)
class SharedAttention(_LayerMeasure):
    """The share of attention that [CLS] and [DIST] have in common in a layer: the sum of the smaller weights."""

    needs = (*HEADS, "distillation")

    def measure_answer(self, subject: MeasuredSubject) -> MeasuredAnswer:
        from vitviz.analysis.attention import shared_mass

        rows = _select_rows(subject, self.layer, MEAN)
        share = float(shared_mass(rows[0], rows[1]))
        layer = _resolve_layer(self.layer, len(subject.attn))
        return MeasuredAnswer(
            share,
            f"In layer {layer}, averaged over the heads, [CLS] and [DIST] share {percent(share)} of their attention.",
        )


@dataclass(frozen=True)
class AblatedProbability(BaseMeasure):
    """The probability of the predicted class without some patches and heads: 'row.column' and 'layer.head', from 1."""

    needs = ("blocks", "hidden_patches", "class_head")
    patches: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for place in (*self.patches, *self.heads):
            if not _PLACE.fullmatch(place):
                raise ValueError(f"expected two numbers from 1 such as '3.4', received {place[:40]!r}")

    def measure_answer(self, subject: MeasuredSubject) -> MeasuredAnswer:
        from vitviz.probe.explanation_maps import predict_ablated

        rows, cols = subject.layout.grid
        layers, most = len(subject.attn), len(subject.attn[0])
        places = [_read_place(place, rows, cols) for place in self.patches]
        heads = [_read_place(place, layers, most) for place in self.heads]
        cells = [row * cols + col for row, col in places]
        after = predict_ablated(subject.model, subject.prepared.input, heads, cells, blanked=False)
        top, now = int(subject.probabilities.argmax()), int(after.argmax())
        changed = f"; {subject.classes[now]} becomes more probable, with {percent(float(after[now]))}"
        return MeasuredAnswer(
            float(after[top]),
            f"The probability of {subject.classes[top]} changes from {percent(float(subject.probabilities[top]))} to"
            f" {percent(float(after[top]))}{changed if now != top else ''}.",
        )


def _read_place(place: str, first: int, second: int) -> tuple[int, int]:
    """Return two numbers of a place from 0, each at most the last one."""
    one, two = map(int, place.split("."))
    return min(one, first) - 1, min(two, second) - 1
