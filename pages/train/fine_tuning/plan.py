"""Before it starts: what is kept of the trained model, what is new, what is resized."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import prod

import numpy as np

from pages.frame import page
from pages.stores import cached
from pages.stores.model_choice import ModelChoice
from pages.train.fine_tuning.plan_view import plan_view
from pages.train.fine_tuning.race_controls import RaceSettings
from vitviz.analysis.fine_tuning import in_order, is_statistic, part_of
from vitviz.analysis.position_similarity import cosine_similarity, patch_rows
from vitviz.config import ViTConfig
from vitviz.models.transfer import Piece, fitted, fitted_preparation, pieces
from vitviz.plots import fine_tuning as plots
from vitviz.plots.fine_tuning import Part
from vitviz.probe.positions import stretched
from vitviz.text import plain, plural, round_share

TILES = " Each tile is one position: its cosine similarity to all others."


def draw(chosen: RaceSettings) -> None:
    """The boxes, the positions where they are resized, and what the numbers say."""
    source = chosen.source.config
    target = fitted(source, chosen.task.classes, chosen.method.image_size)
    found = pieces(source, target)
    resized = any(piece.fate == "resized" for piece in found)
    positions, grids = _compare_positions(chosen, target) if resized else (None, None)
    frozen = chosen.method.body == "head"
    plan_view(plots.plan(group_parts(found), positions, grids, frozen), key="fine_tuning.plan")
    page.caption(f"{_count_parameters(found)} {_describe_preparation(chosen)}{TILES if resized else ''}")


def group_parts(found: Sequence[Piece]) -> list[Part]:
    """Return the tensors as parts of the model, in their order; layers of one shape are one part."""
    by_part: dict[str, list[Piece]] = {}
    for piece in found:
        if not is_statistic(piece.name):
            by_part.setdefault(part_of(piece.name), []).append(piece)
    made = [_merge_pieces(title, by_part[title]) for title in in_order(by_part)]
    joined: list[Part] = []
    for _, alike in groupby(
        made, key=lambda part: (part.title.partition(" ")[0], part.shape, part.count, part.fate)
    ):
        group = list(alike)
        first, last = group[0], group[-1]
        title = first.title if len(group) == 1 else f"layers {_parse_layer_number(first)} to {_parse_layer_number(last)}"
        joined.append(Part(title, sum(part.count for part in group), first.shape, first.before, first.fate))
    return joined


def _parse_layer_number(part: Part) -> str:
    """'3' of 'layer 3'."""
    return part.title.partition(" ")[2]


def _merge_pieces(title: str, own: Sequence[Piece]) -> Part:
    largest = max(own, key=lambda piece: prod(piece.after))
    return Part(title, sum(prod(piece.after) for piece in own), largest.after, largest.before, largest.fate)


def _count_parameters(found: Sequence[Piece]) -> str:
    counts = {fate: 0 for fate in ("kept", "new", "resized")}
    for piece in (piece for piece in found if not is_statistic(piece.name)):
        counts[piece.fate] += prod(piece.after)
    total = sum(counts.values())
    resized = f", {counts['resized']:,} are resized with the grid" if counts["resized"] else ""
    return (
        f"Backbone (all but the head): {round_share(counts['kept'] / total)} of the {total:,} numbers are kept,"
        f" {counts['new']:,} are new and begin random{resized}."
    )


def _describe_preparation(chosen: RaceSettings) -> str:
    """Return how the new images are brought to what the backbone reads."""
    data = cached.load_dataset(chosen.task.dataset)
    height = data.picture_shape[0]
    how = fitted_preparation(
        chosen.source.preparation,
        chosen.method.image_size or chosen.source.config.image_size,
        chosen.task.drawn,
    )
    size = f"{height} px" + ("" if height == how.image_size else f" to {how.image_size} px")
    said = {(False, 3): ", grey in all three channels", (True, 1): ", as their luminance"}
    colour = said.get((chosen.in_colour, how.in_chans), "")
    names = ", ".join(map(plain, data.classes))
    named = "" if len(data.classes) > 6 else f": {names}"
    classes = plural(len(data.classes), "class", "classes")
    fits = height == how.image_size and not colour
    own = chosen.source.config.image_size
    how_read = (
        f"The backbone was trained at {own} px and now reads {how.image_size} px, on a larger grid of patches"
        if how.image_size > own
        else "Images match the backbone's size and channels"
        if fits
        else "Images are resized; the backbone stays unchanged"
    )
    return (
        f"{how_read}: {size}{colour}. {plural(chosen.task.pictures, 'picture')} to learn"
        f" from, {chosen.held_out:,} held out for the curves, {len(data.test_images):,} to test; {classes}{named}."
    )


def _compare_positions(
    chosen: RaceSettings, target: object
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[tuple[int, int], tuple[int, int]]]:
    """Return the cosines of all positions before and after, and their grids."""
    source = chosen.source.config
    assert isinstance(source, ViTConfig) and isinstance(target, ViTConfig)
    identity = cached.identify_weights(chosen.source, chosen.step)
    cosines = _compute_cosines(identity, chosen.source, chosen.step, source.grid, target.grid)
    return cosines, (source.grid, target.grid)


@cached.shared(max_entries=8)
def _compute_cosines(
    identity: str, _choice: ModelChoice, step: int, old: tuple[int, int], new: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    table = cached.load_model(_choice, step).vit.pos_embed
    assert table is not None
    before = patch_rows(table.detach().numpy(), old)
    return cosine_similarity(before), cosine_similarity(stretched(before, old, new))
