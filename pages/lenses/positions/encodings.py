"""What can stand in the mosaic: computed encodings, the chosen model's table, and other models' tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pages.selection import selection
from pages.stores import cached, parameter_history
from pages.stores.model_choice import ModelChoice
from vitviz.analysis import position_similarity
from vitviz.config import ViTConfig
from vitviz.models.abilities import Ability, abilities, as_vit
from vitviz.probe.positions import table_of

FloatArray = NDArray[np.floating[Any]]
COMPUTED = {
    "sincos_1d": "1-D sinusoidal",
    "sincos_2d_sum": "2-D sinusoidal, summed",
    "sincos_2d_concat": "2-D sinusoidal, concatenated",
    "slip": "1-D with the slip",
    "random": "Random",
    "none": "None",
}
WAVES = ("sincos_1d", "sincos_2d_sum", "sincos_2d_concat", "slip")  # of COMPUTED, those that have a base
DEFAULT_BASE = 10000.0
OWN = "model"
DEFAULT_GRID, DEFAULT_DIM = (8, 8), 64
_KINDS = {"learned": "learned", "pixels": "pixels"} | {name: name for name in COMPUTED}


@dataclass(frozen=True, eq=False)
class Table:
    """An encoding with its tables over time and how it is called.

    kind: how its formula reads: learned, pixels, or a name of COMPUTED.
    tables: (moments, N, D), the patches' positions alone.
    frame: the moment of the chosen step.
    """

    title: str
    note: str
    kind: str
    grid: tuple[int, int]
    tables: FloatArray
    moments: list[str]
    frame: int = 0
    trained: bool = False
    own: bool = False  # the chosen model's, whose step the sidebar decides

    @property
    def now(self) -> FloatArray:
        """(N, D) at the chosen step."""
        table: FloatArray = self.tables[self.frame]
        return table


def own_grid() -> tuple[int, int]:
    """The chosen model's grid of patches; 8 x 8 where it has none of one size."""
    return as_vit(selection.choice().config).grid if own() else DEFAULT_GRID


def own_dim() -> int:
    """The chosen model's width where every encoding exists for it, else 64."""
    dim = as_vit(selection.choice().config).embed_dim if own() else DEFAULT_DIM
    return dim if dim >= 8 and dim % 4 == 0 else DEFAULT_DIM


def own() -> Ability:
    """Whether the chosen model adds positions to its patches, or could; else why not."""
    return abilities(selection.choice().config).positions


def options() -> dict[str, str]:
    """Every encoding that can be shown, by key: this model's first, computed ones, then other models'."""
    this = {OWN: f"This model · {selection.choice().title}"} if own() else {}
    others = {
        choice.key: choice.title
        for choice in selection.models().values()
        if abilities(choice.config).learned_positions
        and choice.trained_on is not None
        and choice.key != selection.current().model
    }
    return this | COMPUTED | others


def find(option: str, grid: tuple[int, int], dim: int, base: float, seed: int = 0) -> Table:
    """The encoding of an option; grid, dim, base and seed matter to computed ones alone."""
    if option in COMPUTED:
        kind = cast(position_similarity.Encoding, option)
        note = "every code is zero" if kind == "none" else f"width D = {dim}"
        if kind not in ("none", "random"):
            note += f" · base {base:,.0f}"
        return Table(
            COMPUTED[kind],
            note,
            kind,
            grid,
            position_similarity.encode(kind, grid, dim, base, seed)[None],
            [""],
        )
    return _of_model(selection.choice() if option == OWN else selection.models()[option], own=option == OWN)


def _of_model(choice: ModelChoice, *, own: bool) -> Table:
    config = as_vit(choice.config)
    trained = choice.trained_on is not None
    film = parameter_history.parameter(choice, "pos_embed") if config.positions == "learned" else []
    title = {"learned": "Learned", "pixels": "From the pixels"}.get(
        config.positions, COMPUTED.get(config.positions, "None")
    )
    where = choice.title
    if not own:  # two learned tables side by side are told apart by their models
        title, where = choice.title, title.lower()
    if film:
        steps = [step for step, _ in film]
        tables = np.stack([position_similarity.patch_rows(values, config.grid) for _, values in film])
        wanted = selection.current().step if own else steps[-1]
        frame = int(np.abs(np.array(steps) - wanted).argmin())
        moments = parameter_history.moments(choice, steps)
        return Table(
            title=title,
            note=where,
            kind="learned",
            grid=config.grid,
            tables=tables,
            moments=moments,
            frame=frame,
            trained=trained,
            own=own,
        )
    table = _still(choice, config)
    note = where if trained or config.positions != "learned" else f"{where} · random weights"
    return Table(title, note, _KINDS[config.positions], config.grid, table[None], [""], trained=trained)


def _still(choice: ModelChoice, config: ViTConfig) -> FloatArray:
    now = selection.current()
    step = now.step if choice.key == now.model else None
    if config.positions == "pixels":
        record = selection.captured(choice, step, ("pos_embed",))
        return position_similarity.patch_rows(record["pos_embed"], config.grid)
    return table_of(cached.loaded(choice, step).vit)


@cached.shared(most=128)
def measured(table: FloatArray, grid: tuple[int, int]) -> position_similarity.Wishes:
    """The four wishes of a table, kept."""
    return position_similarity.wishes(table, grid)


def picture() -> NDArray[np.uint8]:
    """What the chosen model sees, (S, S, 3)."""
    return selection.prepared(selection.choice().preparation).shown
