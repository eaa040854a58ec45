"""Draw the drawer of numbers: parameters by part, tokens, memory, speed, and the records as CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.controls import downloads
from pages.frame import page, run_panel
from pages.stores import record_arrays, runs, shared_cache
from pages.train.lab import run_view
from vitviz.analysis.run_comparison import parameters_by_part, time_to_accuracy
from vitviz.csv_table import Columns
from vitviz.models.abilities import abilities, as_vit
from vitviz.text import percent

if TYPE_CHECKING:
    from vitviz.config import ModelConfig
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run, Status

_OPTIMIZER_STATE = {
    "adamw": "AdamW stores two more values",
    "adam": "Adam stores two more values",
    "sgd": "SGD stores one more value",
    "muon": "Muon stores one more value (two for AdamW's parameters)",
}


def draw(run: Run) -> None:
    """Draw parameters by part, key figures of the run, and the CSV download."""
    import pandas as pd

    config, status, log = run.config(), run.status(), runs.open_log(run.id).read()
    parts = parameters_by_part(get_parameter_shapes(config.model))
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(f"**Parameters: {sum(parts.values()):,}**")
        _draw_parts(parts)
    with right:
        st.markdown("**Key figures**")
        facts = _collect_facts(config, sum(parts.values()), status, log)
        st.dataframe(
            pd.DataFrame(facts.items(), columns=["Quantity", "Value"]), hide_index=True, width="stretch"
        )
    names = ("step", "epoch", "seconds", *record_arrays.STEP_METRICS)
    columns = dict(zip(names, log.training(), strict=True))
    downloads.csv("Records as CSV", columns, f"{run.id.replace('/', '-')}.csv", "live_lab.records_csv")


def _draw_parts(parts: dict[str, int]) -> None:
    total = max(1, sum(parts.values()))
    table: Columns = {
        "Part": list(parts),
        "Parameters": list(parts.values()),
        "Share": [count / total for count in parts.values()],
    }
    formats = {"Parameters": st.column_config.NumberColumn(format="localized")}
    page.table(table, {"Share": percent}, formats, "live_lab.parts")


def _collect_facts(config: RunConfig, total: int, status: Status, log: runs.RunLog) -> dict[str, str]:
    curve = log.validation()
    return {
        "Sequence length, tokens": _describe_tokens(config.model),
        "Weights, fp32": f"{4 * total / 2**20:.2f} MiB; {_OPTIMIZER_STATE[config.train.optimizer]} per weight",
        "Images per second": f"{status.images_per_second:,.0f}" if status.images_per_second else "–",
        **{
            f"{percent(level, 0)} validation accuracy": "not reached"
            if (at := time_to_accuracy(curve[2], curve[-1], level)) is None
            else f"after {run_panel.format_duration(at)}"
            for level in run_view.LEVELS
        },
    }


def _describe_tokens(model: ModelConfig) -> str:
    if not abilities(model).heads_over_all:
        return "no single sequence"
    config = as_vit(model)
    rows, cols = config.grid
    patches = f"{rows} × {cols} {'patch' if rows * cols == 1 else 'patches'}"
    prefix = "".join(f" + [{name.upper()}]" for name in config.prefix_tokens)
    return f"{rows * cols + len(config.prefix_tokens)} = {patches}{prefix}"


@shared_cache.shared(max_entries=32)
def get_parameter_shapes(model: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Return the shape of every parameter, without allocating any."""
    from vitviz.models.zoo import empty_model

    return {name: tuple(p.shape) for name, p in empty_model(model).named_parameters()}


def count_parameters(model: ModelConfig) -> int:
    return sum(parameters_by_part(get_parameter_shapes(model)).values())
