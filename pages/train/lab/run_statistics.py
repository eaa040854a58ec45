"""The drawer of numbers: where a run's parameters sit, its sequence, its speed, and its records as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.frame import page
from pages.stores import cached, records, runs
from pages.train.lab import run_view
from vitviz.analysis.milestones import parameters_by_part, time_to
from vitviz.models.abilities import abilities, as_vit
from vitviz.text import percent

if TYPE_CHECKING:
    from vitviz.config import ModelConfig
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run, Status

_KEEPS = {
    "adamw": "AdamW keeps two more numbers",
    "adam": "Adam keeps two more numbers",
    "sgd": "SGD keeps one more number",
    "muon": "Muon keeps one more number (AdamW's part two)",
}


def draw(run: Run) -> None:
    """What a teacher points at: where the parameters sit, tokens, memory, speed, time to an accuracy."""
    import pandas as pd

    config, status, log = run.config(), run.status(), runs.log(run.id).read()
    parts = parameters_by_part(parameter_shapes(config.model))
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(f"**Parameters: {sum(parts.values()):,}**")
        _parts(parts)
    with right:
        st.markdown("**Numbers to point at**")
        facts = _facts(config, sum(parts.values()), status, log)
        st.dataframe(pd.DataFrame(facts.items(), columns=["What", "Value"]), hide_index=True, width="stretch")
    _csv(run, log)


def _parts(parts: dict[str, int]) -> None:
    total = max(1, sum(parts.values()))
    table = {
        "Part": list(parts),
        "Parameters": list(parts.values()),
        "Share": [count / total for count in parts.values()],
    }
    st.dataframe(
        page.styled(table, {"Share": percent}),
        hide_index=True,
        width="stretch",
        column_config={"Parameters": st.column_config.NumberColumn(format="localized")},
    )


def _facts(config: RunConfig, total: int, status: Status, log: runs.Log) -> dict[str, str]:
    curve = log.validation()
    times = time_to(run_view.LEVELS, curve[-1], curve[2]) if curve.shape[1] else [None] * len(run_view.LEVELS)
    return {
        "Tokens in the sequence": _tokens(config.model),
        "Weights, fp32": f"{4 * total / 2**20:.2f} MiB; {_KEEPS[config.train.optimizer]} for each",
        "Images per second": f"{status.images_per_second:,.0f}" if status.images_per_second else "–",
        **{
            f"{percent(level, 0)} validation accuracy": "not reached"
            if at is None
            else f"after {run_view.clock(at)}"
            for level, at in zip(run_view.LEVELS, times, strict=True)
        },
    }


def _tokens(model: ModelConfig) -> str:
    if not abilities(model).heads_over_all:
        return "not one sequence"
    config = as_vit(model)
    rows, cols = config.grid
    patches = f"{rows} × {cols} {'patch' if rows * cols == 1 else 'patches'}"
    prefix = "".join(f" + [{name.upper()}]" for name in config.prefix_tokens)
    return f"{rows * cols + len(config.prefix_tokens)} = {patches}{prefix}"


@cached.shared(most=32)
def parameter_shapes(model: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Every parameter's shape, without allocating any."""
    from vitviz.models.zoo import empty_model

    return {name: tuple(p.shape) for name, p in empty_model(model).named_parameters()}


def parameters(model: ModelConfig) -> int:
    """How many numbers a model of this shape learns."""
    return sum(parameters_by_part(parameter_shapes(model)).values())


def _csv(run: Run, log: runs.Log) -> None:
    table = log.training()
    names = ("step", "epoch", "seconds", *records.STEP_METRICS)
    lines = [",".join(names)] + [",".join(f"{v:.6g}" for v in row) for row in np.asarray(table).T]
    st.download_button(
        "Records as CSV",
        # Made when it is asked for: a file of an earlier poll would be gone by then.
        lambda: "\n".join(lines),
        f"{run.id.replace('/', '-')}.csv",
        "text/csv",
        icon=":material/download:",
        on_click="ignore",
    )
