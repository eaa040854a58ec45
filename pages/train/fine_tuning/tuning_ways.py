"""Ways to fine-tune: rates, layers, what is frozen, how large the images are; the stored experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.train.fine_tuning import stored_results
from pages.views.race import draw_race as race_view
from vitviz.analysis.one_change import Variant, describe_knob, gain, variant
from vitviz.experiments.result import Result, read_result_if_any
from vitviz.experiments.tuning_plan import LARGER, NAME, PLAN, USUAL, WAYS
from vitviz.plots.one_change import payload
from vitviz.text import gained, percent, plural
from vitviz.training.layer_rates import rate_scales

MATH = r"""
All ways begin with the same backbone (but for the last), see the same images in the same order and make the same number
of updates with AdamW. Of a backbone with layers $1 \dots L$ and a head, layer-wise decay $\gamma$ gives layer
$\ell$ the
rate $\eta\,\gamma^{\,L + 1 - \ell}$ (Clark et al. 2020): what is nearest to the pixels moves least. On larger
images there are more patches of the same size, and the grid of learned positions is stretched to them.
"""
TITLES = {name: way.title for name, way in WAYS.items()}
AGAINST = f"Against '{WAYS[USUAL].title}', points"
_WRITTEN = dict.fromkeys(("Mean", "Lowest", "Highest"), percent) | {AGAINST: gained}


@dataclass(frozen=True)
class TuningControls(widgets.ControlValues, page="fine_tuning"):
    """The backbone, the number of images per class, and the method that is predicted to be best."""

    way_body: str
    way_pictures: int
    way_guess: str


def draw() -> None:
    """The choice of backbone and images, a guess, every way's curve and seeds, how they were made."""
    found = read_result_if_any(NAME)
    if found is None:
        words = f"No measured ways lie here. `python -m vitviz.experiment {NAME}` makes them."
        st.info(words, icon=":material/timer:")
        return
    with page.row():
        bodies = tuple(name for name in PLAN.sources if any(row["source"] == name for row in found.rows))
        key = TuningControls.key("way_body")
        source = widgets.segmented(key, "A backbone trained on", bodies, format_func=PLAN.sources.__getitem__)
        sizes = sorted({int(row["a_class"]) for row in found.rows if row["source"] == source})
        default = sizes[len(sizes) // 2]
        pictures = widgets.segmented(TuningControls.key("way_pictures"), "Images a class", sizes, default)
    shown = load_variants(found, source, pictures)
    answered = len([one for one in shown if one.test]) < 2 or _ask_prediction(source, pictures, shown)
    drawn = shown if answered else [one for one in shown if one.name == USUAL]
    note = f"{found.settings['test_pictures']:,} test images, read once at the end"
    race_view(payload(drawn, 1 / 10, count_epochs(found, pictures), note), key="fine_tuning.ways_view")
    words = (
        describe_knob(shown, USUAL)
        if answered
        else "This is what the page begins with; a guess shows the other ways."
    )
    how = stored_results.describe_origin(found, found.where(source=source, a_class=pictures))
    page.caption(words)
    page.provenance(how)
    if answered:
        columns = build_columns(shown, source)
        formats = {"Core-seconds": st.column_config.NumberColumn(format="%.1f")}
        page.table(columns, _WRITTEN, formats, "fine_tuning.ways_table")
    page.drawers(
        "fine_tuning.ways",
        math=MATH,
        code=(rate_scales,),
        numbers=partial(stored_results.draw_table, found, "way", TITLES, "fine_tuning.ways")
        if answered
        else None,
    )


def load_variants(found: Result, source: str, pictures: int) -> list[Variant]:
    """Return what was measured of each way, in their order."""
    shown = []
    for name, way in WAYS.items():
        rows = list(found.where(source=source, a_class=pictures, way=name))
        if rows:
            shown.append(variant(name, way.title, rows, count_epochs(found, pictures)))
    return shown


def count_epochs(found: Result, pictures: int) -> float:
    """Return how often every training sees each of its images; there are ten classes."""
    count = 10 * pictures
    return float(found.settings["updates"]) * min(int(found.settings["batch_size"]), count) / count


def _ask_prediction(source: str, pictures: int, shown: Sequence[Variant]) -> bool:
    ways = {one.name: one for one in shown if one.test}
    return prediction_gate.require_prediction(
        TuningControls.key("way_guess"),
        (source, pictures),
        f"With {plural(pictures, 'picture')} a class, which way is best?",
        {name: one.title for name, one in ways.items()},
        lambda guess: describe_prediction(ways, guess),
    )


def describe_prediction(ways: dict[str, Variant], guess: str) -> str:
    """Return True if a guessed way was the best, by the means over the seeds, and whether the seeds agree."""
    said, best = ways[guess], max(one.mean for one in ways.values())
    if said.mean == best:
        return f"You said '{said.title}': right, {percent(best)}."
    first = next(one for one in ways.values() if one.mean == best)
    behind = gain(said, first)
    agree = "" if behind is None else f": {behind.said}, {behind.sure}"
    return f"You said '{said.title}': {percent(said.mean)}, and '{first.title}' has {percent(best)}{agree}."


def build_columns(shown: Sequence[Variant], source: str) -> dict[str, list[object]]:
    """Return every way's numbers, as the file has them, and what it does."""
    own = next((one for one in shown if one.name == USUAL), None)
    gains = [None if own is None else gain(one, own) for one in shown]
    larger = f" ({LARGER[source]} px)"
    return {
        "Way": [one.title for one in shown],
        "Mean": [one.mean if one.test else None for one in shown],
        "Lowest": [min(one.test.values()) if one.test else None for one in shown],
        "Highest": [max(one.test.values()) if one.test else None for one in shown],
        AGAINST: [None if found is None else found.mean for found in gains],
        "Core-seconds": [sum(one.seconds) / len(one.seconds) if one.seconds else None for one in shown],
        "What it does": [f"{WAYS[one.name].does}{larger * (one.name == 'larger')}" for one in shown],
    }
