"""Describe the provenance of stored fine-tuning experiments, and list their trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pages.frame import page
from vitviz.data.datasets import DATASETS
from vitviz.experiments.result import Result, Row, describe_provenance
from vitviz.experiments.transfer_plan import BODIES
from vitviz.text import percent, plain, plural


def describe_origin(stored: Result, rows: Sequence[Row]) -> str:
    """Describe the provenance of stored rows in one line, with the command that reproduces them."""
    settings, total = stored.settings, plural(stored.missing + len(stored.rows), "training")
    were = "was" if stored.missing == 1 else "were"
    missing = f" {stored.missing:,} of {total} {were} not run yet." if stored.missing else ""
    sessions = tuple(stored.made[place] for place in sorted({int(row["made"]) for row in rows}))
    return (
        f"Stored, not live: {DATASETS[settings['dataset']].title}, {settings['updates']:,} updates of up to"
        f" {settings['batch_size']} images, {settings['test_pictures']:,} test images,"
        f" {plural(len({row['seed'] for row in rows}), 'seed')}; {plain(describe_provenance(sessions))}."
        f" `{stored.command}`{missing}"
    )


def draw_table(stored: Result, field: str, titles: Mapping[str, str], key: str) -> None:
    """Draw a table of every training of a result file.

    Args:
        field: the row's field that names the fine-tuning method.
        titles: of the methods.
        key: prefix of the keys of the table and of the download.
    """
    table: dict[str, Sequence[object]] = {
        "backbone": [BODIES[row["source"]] for row in stored.rows],
        "method": [titles[row[field]] for row in stored.rows],
        "images per class": [row["a_class"] for row in stored.rows],
        "seed": [row["seed"] for row in stored.rows],
        "test accuracy": [row.get("test") for row in stored.rows],
    }
    page.table(table, {"test accuracy": percent}, {}, f"{key}.numbers")
    page.json(
        "Every training (JSON)", [dict(row) for row in stored.rows], f"{stored.name}.json", f"{key}.json"
    )
