"""Sentences about position encodings: similarities, wavelengths, structure and resizing."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from pages.lenses.positions.encodings import FloatArray, PositionTable
from vitviz.analysis import position_similarity
from vitviz.analysis.position_similarity import Structure, mean_along
from vitviz.text import percent, plain, plural, signed


def format_similarity(similarity: float) -> str:
    """Return two decimals with a true minus sign, or a dash where the similarity is undefined."""
    return "–" if np.isnan(similarity) else signed(similarity)


def compare_similarities(tables: Sequence[PositionTable], structures: Sequence[Structure]) -> str:
    """Return what sets adjacent positions of the tables apart in one sentence, then the means of each table."""
    details = [describe_similarity(*pair) for pair in zip(tables, structures, strict=True)]
    compared = [
        (f"**{plain(table.title)}**", *map(format_similarity, (structure.either_step, structure.elsewhere)))
        for table, structure in zip(tables, structures, strict=True)
        if np.any(table.values) and len(table.values) > 1
    ]
    if len(compared) < len(tables):
        return " ".join(details)
    means = "; ".join(f"{near} in {name} (elsewhere {far})" for name, near, far in compared)
    return " ".join(
        (
            f"At the selected step, the mean cosine of adjacent patches' vectors is {means}.",
            *details,
        )
    )


def describe_similarity(table: PositionTable, structure: Structure) -> str:
    """Describe how similar the positions of a table are."""
    name = f"**{plain(table.title)}**"
    if not np.any(table.values):
        return f"{name}: nothing is added, so positions cannot be distinguished."
    if len(table.values) == 1:
        return f"{name}: only one position, so there is nothing to compare."
    text = f"{name}: {describe_means(structure)}"
    return f"{text}; {_describe_structure(table, structure)}." if table.kind == "learned" else f"{text}."


def describe_means(structure: Structure) -> str:
    """Describe the mean cosines of adjacent patches, of rows, of columns and of all others."""
    return (
        f"the vectors of adjacent patches have a mean cosine of {format_similarity(structure.either_step)} (1: the"
        f" same direction, 0: unrelated), of patches in the same row"
        f" {format_similarity(mean_along(structure.along_row))}, in the same column"
        f" {format_similarity(mean_along(structure.along_column))}, of all others"
        f" {format_similarity(structure.elsewhere)}"
    )


def _describe_structure(table: PositionTable, structure: Structure) -> str:
    contrast = structure.either_step - structure.elsewhere
    if not table.trained or contrast < 0.05:
        reason = f"at {table.history.moment or 'this step'}" if table.trained else "random weights"
        return f"{'no' if contrast < 0.05 else 'weak'} structure ({reason})"
    along = (mean_along(structure.along_row), mean_along(structure.along_column))
    lines = all(mean - structure.elsewhere > 0.05 for mean in along)
    strength = "clearly" if contrast > 0.25 else "slightly"
    return f"{strength} higher for neighbours, {'' if lines else 'hardly for '}rows and columns"


def describe_table(table: PositionTable, base: float) -> str:
    """Describe the wavelengths or the spread of a table's values."""
    count, dim = table.values.shape
    name = plain(table.title)
    if not table.values.any():
        return "No encoding is added: all values are 0."
    if table.kind in ("learned", "pixels", "random"):
        moment = f" at {table.history.moment}" if table.history.moment else ""
        spread = f"standard deviation {table.values.std():.3f}"
        text = f"{name}{moment}: {count} × {dim} = {table.values.size:,} values, {spread}"
        untrained = table.kind == "learned" and not table.trained
        return f"{text}; initialised with standard deviation 0.02, not trained." if untrained else f"{text}."
    if table.kind == "rotary":
        turns = np.degrees(position_similarity.rotary_turns(table.grid, dim, base, (1, 1)))
        return (
            f"{name}: adds nothing to the tokens; each of the {dim // 2} pairs of a query or key turns with the row or"
            f" the column, by {turns.max():.1f}° per patch at most and {turns[turns > 0].min():.2f}° at least."
        )
    waves = position_similarity.wavelengths(cast(position_similarity.Encoding, table.kind), dim, base)
    longest = max(table.grid) if table.kind.startswith("sincos_2d") else count
    periodic = percent(float(np.mean(waves <= longest)), 0)
    return (
        f"{name}: wavelengths range from {waves.min():.2f} to {waves.max():,.0f} positions; {periodic} of the {dim}"
        " dimensions complete a period on this grid; the values of every dimension repeat after one"
        " wavelength."
    )


def describe_rotation(grid: tuple[int, int], dim: int, base: float, offset: tuple[int, int]) -> str:
    """Describe the score at an offset in patches, and the fastest and the slowest pair there."""
    scores = position_similarity.rotary_scores(grid, dim, base)
    score = scores[grid[0] - 1 + offset[0], grid[1] - 1 + offset[1]]
    turns = np.degrees(np.abs(position_similarity.rotary_turns(grid, dim, base, offset))).max(axis=0)
    return (
        f"At an offset of {plural(abs(offset[0]), 'row')} and {plural(abs(offset[1]), 'column')}, the score of query"
        f" and key is {signed(float(score))} times its value at offset 0: the fastest pair turns by {turns[0]:.0f}°,"
        f" the slowest by {turns[-1]:.1f}°."
    )


def describe_exponent_bug(correct: FloatArray, wrong: FloatArray) -> str:
    """Describe the cosines (N, N) of adjacent positions by the formula and with exponent k/D."""
    adjacent = np.diagonal(wrong, 1)
    return (
        f"With exponent 2i/D, adjacent positions have cosine {correct[5, 6]:.4f} everywhere; with k/D it varies from"
        f" {adjacent.min():.4f} to {adjacent.max():.4f}. The lecture's five pairs use 2i/D; one of its slides has k/D."
    )


def describe_first_table(similarity: FloatArray, dim: int) -> str:
    """Describe the cosines (4, 4) of the first four positions of width `dim`."""
    return (
        f"At d = {dim}, p1 has cosine {similarity[1, 2]:.3f} with p2 and {similarity[1, 3]:.3f} with p3: each column of"
        " values is a sine or cosine of the position, slower from left to right."
    )


def describe_flattening(flat: FloatArray, square: FloatArray) -> str:
    """Describe the cosines (16, 16) of a 1-D and a 2-D encoding on a 4 x 4 grid."""
    row, across, below = (
        [format_similarity(matrix[pair]) for matrix in (flat, square)] for pair in ((2, 3), (3, 4), (0, 4))
    )
    return (
        f"In 1-D, positions 4 and 5 at opposite ends of two rows have cosine {across[0]}, like the neighbours 3 and 4"
        f" ({row[0]}); in 2-D {across[1]} and {row[1]}. Vertical neighbours 1 and 5: 1-D {below[0]}, 2-D {below[1]}."
    )


def describe_sum(summed: FloatArray, concatenated: FloatArray, unique: float) -> str:
    """Describe the ambiguity of summed encodings on a 4 x 4 grid, from cosines (16, 16) and the unique share."""
    return (
        f"PE(1) + PE(2) = PE(2) + PE(1): summed, positions (2, 3) and (3, 2) have cosine"
        f" {format_similarity(summed[6, 9])}; concatenated {format_similarity(concatenated[6, 9])}. Only"
        f" {percent(unique, 0)} of the 16 summed encodings are unique, so telling left, right, above and below apart is"
        " limited to 50 %."
    )


def describe_resizing(
    grids: tuple[tuple[int, int], tuple[int, int]], before: Structure, after: Structure
) -> str:
    """Describe the mean cosines before and after resizing between two grids."""
    (rows, cols), (new_rows, new_cols) = grids
    text = (
        f"From {rows} × {cols} to {new_rows} × {new_cols}, the mean cosine of adjacent patches changes from"
        f" {format_similarity(before.either_step)} to {format_similarity(after.either_step)}, elsewhere from"
        f" {format_similarity(before.elsewhere)} to {format_similarity(after.elsewhere)}"
    )
    return (
        f"{text}; adjacent patches lie closer together on the larger grid." if new_rows > rows else f"{text}."
    )


def describe_accuracy(entry: dict[str, Any], native_px: int) -> str:
    """Describe a stored accuracy at the native and at the largest image size."""
    sizes = entry["sizes"]
    native, largest = sizes.index(native_px), sizes.index(max(sizes))
    return (
        f"Accuracy is {percent(entry['grid'][native])} at {native_px} px; at {sizes[largest]} px it is"
        f" {percent(entry['grid'][largest])} with bicubic interpolation and {percent(entry['list'][largest])} as a list"
        f" ({entry['pictures']:,} test images)."
    )
