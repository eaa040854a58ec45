"""Draw which parameters of the pretrained model are kept, new or resized."""

from collections.abc import Sequence
from itertools import groupby
from math import prod

import numpy as np

from pages.frame import page
from pages.stores import shared_cache
from pages.stores.model_choice import ModelChoice
from pages.train.fine_tuning.race_controls import RaceSettings
from pages.views.register import register
from vitviz.analysis.fine_tuning import is_statistic, name_part, sort_parts
from vitviz.analysis.position_similarity import cosine_similarity, patch_rows
from vitviz.config import ViTConfig
from vitviz.config_fields import format_size, join_size
from vitviz.models.backbone_transfer import Piece, fitted, fitted_preparation, pieces
from vitviz.plots import fine_tuning as plots
from vitviz.plots.fine_tuning import ModelPart
from vitviz.probe.embedding import stretch_positions
from vitviz.text import plain, plural

draw_plan_view = register(__file__, "plan_view")
MOST_EXAMPLES = 10
TILES = " Each tile is one position: its cosine similarity to all others."


def draw(chosen: RaceSettings) -> None:
    """Draw the model's parts, the position embeddings before and after resizing, and what is trained on."""
    source = chosen.source.config
    target = fitted(source, chosen.task.classes, chosen.method.image_size)
    parameters = pieces(source, target)
    resized = any(piece.fate == "resized" for piece in parameters)
    positions, grids = _compare_positions(chosen, target) if resized else (None, None)
    frozen = chosen.method.body == "head"
    examples = _choose_examples(chosen)
    draw_plan_view(
        plots.plan(group_parts(parameters), positions, grids, frozen, examples), key="fine_tuning.plan"
    )
    details = f" {_count_parameters(parameters)}{TILES if resized else ''}"
    page.caption(describe_images(chosen) + details)


def _choose_examples(chosen: RaceSettings) -> tuple[str, np.ndarray]:
    """Return a title and one training image of each of the first classes."""
    dataset = shared_cache.load_dataset(chosen.task.dataset)
    _, first = np.unique(dataset.labels_of("train"), return_index=True)
    a_class = "all images" if chosen.task.a_class is None else plural(chosen.task.a_class, "image")
    return f"{a_class} per class", dataset.train_images[first[:MOST_EXAMPLES]]


def group_parts(parameters: Sequence[Piece]) -> list[ModelPart]:
    """Group tensors into the model's parts, in their order; merge consecutive layers of equal shape."""
    by_part: dict[str, list[Piece]] = {}
    for piece in parameters:
        if not is_statistic(piece.name):
            by_part.setdefault(name_part(piece.name), []).append(piece)
    parts = [_merge_pieces(title, by_part[title]) for title in sort_parts(by_part)]
    merged: list[ModelPart] = []
    for _, alike in groupby(
        parts, key=lambda part: (part.title.partition(" ")[0], part.shape, part.count, part.fate)
    ):
        group = list(alike)
        first, last = group[0], group[-1]
        title = (
            first.title
            if len(group) == 1
            else f"layers {_parse_layer_number(first)} to {_parse_layer_number(last)}"
        )
        merged.append(
            ModelPart(title, sum(part.count for part in group), first.shape, first.before, first.fate)
        )
    return merged


def _parse_layer_number(part: ModelPart) -> str:
    return part.title.partition(" ")[2]


def _merge_pieces(title: str, tensors: Sequence[Piece]) -> ModelPart:
    largest = max(tensors, key=lambda piece: prod(piece.after))
    return ModelPart(
        title, sum(prod(piece.after) for piece in tensors), largest.after, largest.before, largest.fate
    )


def _count_parameters(parameters: Sequence[Piece]) -> str:
    counts = {fate: 0 for fate in ("kept", "new", "resized")}
    for piece in (piece for piece in parameters if not is_statistic(piece.name)):
        counts[piece.fate] += prod(piece.after)
    resized = f", {counts['resized']:,} are resized with the patch grid" if counts["resized"] else ""
    return f"{counts['new']:,} parameters are new and initialised at random{resized}."


def describe_images(chosen: RaceSettings) -> str:
    """Describe the image counts, and how the images are adapted to the backbone's input."""
    dataset = shared_cache.load_dataset(chosen.task.dataset)
    size = join_size(dataset.picture_shape[:2])
    preparation = fitted_preparation(
        chosen.source.preparation,
        chosen.method.image_size or chosen.source.config.image_size,
        chosen.task.drawn,
    )
    sizes = f"{format_size(size)} px"
    sizes += "" if size == preparation.image_size else f" to {format_size(preparation.image_size)} px"
    notes = {(False, 3): ", grey in all three channels", (True, 1): ", as their luminance"}
    colour = notes.get((chosen.in_colour, preparation.in_chans), "")
    names = ", ".join(map(plain, dataset.classes))
    named = "" if len(dataset.classes) > 6 else f": {names}"
    classes = plural(len(dataset.classes), "class", "classes")
    fits = size == preparation.image_size and not colour
    source = chosen.source.config
    adaptation = (
        f"The backbone was trained at {format_size(source.image_size)} px and now receives"
        f" {format_size(preparation.image_size)} px, on a larger grid"
        if preparation.image_shape > source.image_shape
        else "Images match the backbone's size and channels"
        if fits
        else "Images are converted to the backbone's size and channels"
    )
    return (
        f"{plural(chosen.task.images, 'training image')}, {chosen.held_out:,} for validation,"
        f" {len(dataset.test_images):,} for testing; {classes}{named}. {adaptation} (images: {sizes}{colour})."
    )


def _compare_positions(
    chosen: RaceSettings, target: object
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[tuple[int, int], tuple[int, int]]]:
    """Return the cosine similarities of all positions before and after resizing, and both grids."""
    source = chosen.source.config
    assert isinstance(source, ViTConfig) and isinstance(target, ViTConfig)
    identity = shared_cache.identify_weights(chosen.source, chosen.step)
    cosines = _compute_cosines(identity, chosen.source, chosen.step, source.grid, target.grid)
    return cosines, (source.grid, target.grid)


@shared_cache.shared(max_entries=8)
def _compute_cosines(
    identity: str, _choice: ModelChoice, step: int, old: tuple[int, int], new: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    table = shared_cache.load_model(_choice, step).vit.pos_embed
    assert table is not None
    before = patch_rows(table.detach().numpy(), old)
    return cosine_similarity(before), cosine_similarity(stretch_positions(before, old, new))
