"""Position encodings that can be shown: computed ones with their controls, and tables of models."""

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pages.controls import widgets
from pages.selection import selection
from pages.stores import parameter_history, shared_cache
from pages.stores.model_choice import ModelChoice
from pages.stores.parameter_history import ParameterHistory
from vitviz.analysis import position_similarity
from vitviz.config import ViTConfig
from vitviz.models.abilities import Ability, abilities, as_vit
from vitviz.probe.embedding import read_position_table

FloatArray = NDArray[np.floating[Any]]
Grid = tuple[int, int]
COMPUTED = {
    "sincos_1d": "1-D sinusoidal",
    "sincos_2d_sum": "2-D sinusoidal, summed",
    "sincos_2d_concat": "2-D sinusoidal, concatenated",
    "rotary": "2-D rotary, q·k",
    "slip": "1-D with exponent bug",
    "random": "Random",
    "none": "No encoding",
}
SINUSOIDAL = (
    "sincos_1d",
    "sincos_2d_sum",
    "sincos_2d_concat",
    "rotary",
    "slip",
)  # computed encodings that have a base
SELECTED_MODEL = "model"
DEFAULT_GRID, DEFAULT_DIM, DEFAULT_BASE = (8, 8), 64, 10000.0
GRIDS: dict[Grid, str] = {(side, side): f"{side} × {side}" for side in (4, 7, 8, 14)}
DIMS = (8, 16, 32, 64, 96, 128, 192, 256, 384, 768)
BASES = {float(base): f"{base:,}" for base in (10, 100, 1000, 10000, 100000)}


@dataclass(frozen=True)
class EncodingControls:
    """Grid, width and base of a computed encoding."""

    grid: Grid = DEFAULT_GRID
    dim: int = DEFAULT_DIM
    base: float = DEFAULT_BASE


@dataclass(frozen=True, eq=False)
class PositionTable:
    """An encoding with its tables at every snapshot.

    kind: selects the formula: learned, pixels, or a name of COMPUTED.
    history: (N, D) at every snapshot, positions of patches only.
    """

    title: str
    note: str
    kind: str
    grid: Grid
    history: ParameterHistory
    trained: bool = False
    of_selected_model: bool = False  # its step is selected in the sidebar

    @property
    def values(self) -> FloatArray:
        """(N, D) at the selected snapshot."""
        return self.history.selected


def draw_encoding_controls(shown: set[str]) -> EncodingControls:
    """Draw the controls of the encodings that are shown, by key."""
    computed, sinusoidal = shown & set(COMPUTED), shown & set(SINUSOIDAL)
    why_not = None if computed else "Only computed encodings have this setting."
    grid, dim = DEFAULT_GRID, DEFAULT_DIM
    grids: dict[Grid | str, str] = dict(GRIDS.items())
    dims: dict[int | str, str] = {width: str(width) for width in DIMS}
    if get_position_ability():  # the first option follows a change of the model
        config = as_vit(selection.get_model_choice().config)
        grid = config.grid
        side = f"{grid[0]} × {grid[1]}"
        grids = {SELECTED_MODEL: f"{side}, as the model", **dict(sorted((GRIDS | {grid: side}).items()))}
        if config.embed_dim >= 8 and config.embed_dim % 4 == 0:
            dim = config.embed_dim
            dims = {width: str(width) for width in sorted({*DIMS, dim})}
            dims = {SELECTED_MODEL: f"{dim}, as the model", **dims}
    first_grid = SELECTED_MODEL if SELECTED_MODEL in grids else grid
    first_dim = SELECTED_MODEL if SELECTED_MODEL in dims else dim
    wanted_grid = widgets.select("positions.grid", "Grid, patches", grids, first_grid, why_not=why_not)
    wanted_dim = widgets.select(
        "positions.dim",
        "Width D",
        dims,
        first_dim,
        help="Number of values per token and per position.",
        why_not=why_not,
    )
    return EncodingControls(
        grid=grid if isinstance(wanted_grid, str) else wanted_grid,
        dim=dim if isinstance(wanted_dim, str) else wanted_dim,
        base=widgets.select(
            "positions.base",
            "Base",
            BASES,
            DEFAULT_BASE,
            help="Approximate ratio of the longest wavelength to the shortest.",
            why_not=None if sinusoidal else "Only sinusoidal encodings have a base.",
        ),
    )


def get_position_ability() -> Ability:
    """Return whether the selected model adds positions to its patches, or the reason why not."""
    return abilities(selection.get_model_choice().config).positions


def list_encodings() -> dict[str, str]:
    """Return the titles of all encodings by key: the selected model's, computed ones, other models'."""
    selected = (
        {SELECTED_MODEL: f"This model · {selection.get_model_choice().title}"}
        if get_position_ability() or getattr(selection.get_model_choice().config, "centred_rotary", False)
        else {}
    )
    others = {
        choice.key: choice.title
        for choice in selection.list_models().values()
        if abilities(choice.config).learned_positions
        and choice.trained_on is not None
        and choice.key != selection.get_current().model
    }
    return selected | COMPUTED | others


def load_encoding(option: str, parameters: EncodingControls, seed: int = 0) -> PositionTable:
    """Compute or load an encoding; parameters and seed apply to computed ones only."""
    if option not in COMPUTED:
        selected = option == SELECTED_MODEL
        choice = selection.get_model_choice() if selected else selection.list_models()[option]
        return _load_model_encoding(choice, selected)
    kind = cast(position_similarity.Encoding, option)
    grid, dim, base = parameters.grid, parameters.dim, parameters.base
    note = "all values are zero" if kind == "none" else f"computed, not learned · width D = {dim}"
    if kind in SINUSOIDAL:
        note += f" · base {base:,.0f}"
    history = ParameterHistory([position_similarity.encode(kind, grid, dim, base, seed)])
    return PositionTable(COMPUTED[kind], note, kind, grid, history)


def _load_model_encoding(choice: ModelChoice, selected: bool) -> PositionTable:
    config = as_vit(choice.config)
    trained, learned = choice.trained_on is not None, config.positions == "learned"
    shown_step = selection.get_current().step if selected else choice.last_step
    history = parameter_history.read_history(choice, "pos_embed", shown_step) if learned else None
    title = {"learned": "Learned", "pixels": "From the pixels"}.get(
        config.positions, COMPUTED.get(config.positions, COMPUTED["none"])
    )
    note = choice.title
    if not selected:  # two learned tables are distinguished by their models
        title, note = choice.title, title.lower()
    if history is not None:
        tables = [position_similarity.patch_rows(values, config.grid) for values in history.values]
        history = replace(history, values=tables)
        return PositionTable(
            title, note, "learned", config.grid, history, trained, of_selected_model=selected
        )
    if learned and not trained:
        note += " · random weights"
    if config.positions == "rotary":
        values = position_similarity.encode("rotary", config.grid, config.width_per_head, config.rope_theta)
        note += f" · per head, base {config.rope_theta:,.0f}"
    else:
        values = _load_single_table(choice, config)
    return PositionTable(title, note, config.positions, config.grid, ParameterHistory([values]), trained)


def _load_single_table(choice: ModelChoice, config: ViTConfig) -> FloatArray:
    selected = selection.get_current()
    step = selected.step if choice.key == selected.model else None
    if config.positions == "pixels":
        name = "pos_embed"
        record = shared_cache.capture_activations(choice, step, selected.image, (name,), selected.offset)
        return position_similarity.patch_rows(record[name], config.grid)
    return read_position_table(shared_cache.load_model(choice, step).vit)


def load_input_image() -> NDArray[np.uint8]:
    """Load the image as the selected model receives it, (S, S, 3)."""
    return selection.prepare_image(selection.get_model_choice().preparation).shown
