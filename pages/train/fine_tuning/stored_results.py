"""Describe the provenance of stored fine-tuning experiments, and list their trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pages.frame import page
from vitviz.data.datasets import DATASETS
from vitviz.experiments.result import Result, Row, describe_provenance
from vitviz.experiments.transfer_plan import BODIES
from vitviz.text import percent, plain, plural


def describe_origin(found: Result, rows: Sequence[Row]) -> str:
    """Return one line on how the shown rows were made, and what makes them again."""
    settings, of = found.settings, plural(found.missing + len(found.rows), "training")
    were = "was" if found.missing == 1 else "were"
    short = f" {found.missing:,} of {of} {were} not run yet." if found.missing else ""
    made = tuple(found.made[place] for place in sorted({int(row["made"]) for row in rows}))
    return (
        f"Stored, not live: {DATASETS[settings['dataset']].title}, {settings['updates']:,} updates of up to"
        f" {settings['batch_size']} images, {settings['test_pictures']:,} test images,"
        f" {plural(len({row['seed'] for row in rows}), 'seed')}; {plain(describe_provenance(made))}."
        f" `{found.command}`{short}"
    )


def draw_table(found: Result, field: str, titles: Mapping[str, str], key: str) -> None:
    """Every training of a file.

    Args:
        field: of a row, which way it is.
        titles: of the ways.
        key: of the table and of the download.
    """
    table: dict[str, Sequence[object]] = {
        "body": [BODIES[row["source"]] for row in found.rows],
        "way": [titles[row[field]] for row in found.rows],
        "images a class": [row["a_class"] for row in found.rows],
        "seed": [row["seed"] for row in found.rows],
        "test accuracy": [row.get("test") for row in found.rows],
    }
    page.table(table, {"test accuracy": percent}, {}, f"{key}.numbers")
    page.json("Every training (JSON)", [dict(row) for row in found.rows], f"{found.name}.json", f"{key}.json")
