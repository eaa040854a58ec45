"""Scoreboard: all models over two selectable quantities, one model in detail, and a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import streamlit as st
from torch import nn

from pages.controls import downloads, widgets
from pages.frame import page
from pages.questions import prediction
from pages.selection import model_usage, selection
from pages.stores import catalogue, shared_cache, timings
from pages.stores.model_choice import ModelChoice
from pages.views.figures import draw_chart
from pages.which_model import captions
from vitviz.analysis.scoreboard import (
    QUANTITIES,
    BoardEntry,
    Quantity,
    Timing,
    Timings,
    by_formula,
    family_of,
    on_one_machine,
    pareto,
)
from vitviz.csv_table import Columns
from vitviz.lessons import formula_measures, lesson
from vitviz.models import model_cost, presets, pretrained_list, published_results
from vitviz.models.abilities import abilities
from vitviz.plots import scoreboard as plots
from vitviz.text import percent, plain, plural

IMAGENET = "imagenet"
TEST_SETS = ("cifar10", IMAGENET, "digits", "mnist", "shapes")
TITLES = {IMAGENET: "ImageNet-1k"}
QUESTION = lesson.Question(
    "Swin-T has 28.3 million parameters, ViT-S/16 has 22.1 million. Which needs more multiply-adds for one image"
    " of 224 px?",
    formula_measures.MoreMultiplyAdds("vit_small_16", "swin_tiny"),
)
QUANTITY_TITLES = {name: quantity.title.capitalize() for name, quantity in QUANTITIES.items()}
ROUGH_ADDS_PER_S = 6e10  # only to estimate the duration of the measurement
_CALLS = 6  # of a large model: warm-up, repeats, and the call whose memory is measured
_START_S = 0.15


@dataclass(frozen=True)
class BoardControls(widgets.ControlValues, page="which_model"):
    """The test set, both axes, and the model shown in detail."""

    set: str
    x: str
    y: str
    model: str


def get_title(test_set: str) -> str:
    return TITLES.get(test_set) or catalogue.get_dataset_title(test_set)


def list_models() -> tuple[BoardEntry, ...]:
    entries = map(_load_shipped, catalogue.list_checkpoints())
    return (*(entry for entry in entries if entry), *_list_published())


def _load_shipped(choice: ModelChoice) -> BoardEntry | None:
    if choice.path is None or choice.trained_on is None:
        return None
    header = catalogue.read_header(choice.path)
    card = header.card
    dataset = get_title(choice.trained_on)
    seconds, images = card.get("seconds"), int(card.get("test_images", 0))
    return BoardEntry(
        key=choice.key,
        title=choice.title,
        family=family_of(choice.config, dataset),
        config=choice.config,
        size_px=choice.preparation.image_size,
        test_set=choice.trained_on,
        accuracy=choice.accuracy,
        images=images,
        source=f"measured by this project on {images:,} test images",
        trained_on=dataset,
        training_images=count_training_images(header.history),
        training_s=float(seconds) if isinstance(seconds, int | float) else None,
        trained_with=str(card.get("machine", "")),
    )


def count_training_images(history: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the number of distinct training images: images seen per epoch, from the last record."""
    steps = [record for record in history if record.get("seen") and record.get("epoch")]
    if not steps:
        return None
    return int(
        float(f"{steps[-1]['seen'] / steps[-1]['epoch']:.4g}")
    )  # The epoch is stored with five digits.


@lru_cache(maxsize=1)
def _list_published() -> tuple[BoardEntry, ...]:
    return (*map(_build_pretrained, pretrained_list.PRETRAINED), *_list_paper_models())


def _build_pretrained(name: str) -> BoardEntry:
    weights = pretrained_list.PRETRAINED[name]
    top1 = published_results.TOP1.get(name)
    return BoardEntry(
        key=f"pretrained:{name}",
        title=weights.title,
        family="DeiT" if name.startswith("deit") else family_of(weights.config, weights.trained_on),
        config=weights.config,
        size_px=weights.opens_at_px,
        test_set=IMAGENET,
        accuracy=None if top1 is None else top1 / 100,
        images=0,
        source="no classifier head" if top1 is None else published_results.cite_accuracy(name),
        trained_on=weights.trained_on,
        training_images=published_results.TRAINING_IMAGES.get(weights.trained_on),
    )


def _list_paper_models() -> list[BoardEntry]:
    """Return the ViT paper's models, whose JFT-300M weights are unpublished, at their fine-tuning resolution."""
    return [
        BoardEntry(
            key=f"paper:{transfer.preset}:{transfer.data}",
            title=f"{transfer.name}, {transfer.side_px} px, {transfer.data}",
            family=transfer.family,
            config=replace(presets.PRESETS[transfer.preset].config, image_size=transfer.side_px),
            size_px=transfer.side_px,
            test_set=IMAGENET,
            accuracy=transfer.accuracy["ImageNet"] / 100,
            images=0,
            source=published_results.VIT_PAPER,
            trained_on=transfer.data,
            training_images=published_results.TRAINING_IMAGES.get(transfer.data),
            core_days=transfer.core_days,
        )
        for transfer in published_results.TRANSFERS
        if transfer.preset
    ]


def draw() -> None:
    _draw_board(list_models())
    _draw_question()


@st.fragment
def _draw_question() -> None:
    drawer = st.expander(
        "Predict first", icon=":material/experiment:", key="which_model.predict", on_change="rerun"
    )
    if drawer.open:
        with drawer:
            prediction.ask_question(QUESTION, "which_model.first")


def _draw_board(all_entries: Sequence[BoardEntry]) -> None:
    available = {entry.test_set for entry in all_entries}
    test_sets = [name for name in TEST_SETS if name in available]
    selected = selection.get_current().model
    of_selected = [entry.test_set for entry in all_entries if entry.key == selected]
    first = of_selected[0] if of_selected and of_selected[0] in test_sets else test_sets[0]
    widgets.follow_default(BoardControls.key("set"), first)
    with page.row():
        with st.container(width=150):
            test_set = widgets.select(
                BoardControls.key("set"), "Test set", test_sets, first, format_func=get_title
            )
        with page.options("which_model.board"):
            x = _choose_axis("x", "x axis", "adds")
            y = _choose_axis("y", "y axis", "accuracy")
    entries = {entry.key: entry for entry in all_entries if entry.test_set == test_set}
    known = timings.list_model_timings()
    with st.container(key="stacks-board"):  # Names need the full width of the figure.
        left, right = st.columns([3, 1], gap="medium")
    with right:
        titles = {key: entry.title for key, entry in entries.items()}
        detailed = selected if selected in entries else next(iter(entries))
        widgets.follow_default(BoardControls.key("model"), detailed)
        key = widgets.select(BoardControls.key("model"), "Model in detail", titles, detailed)
        draw_model(entries[key], known)
        listed = list(entries.values())
        _draw_timing_button(listed, known)
        draw_sources(entries[key])
    with left:
        _draw_points(listed, entries[key], (QUANTITIES[x], QUANTITIES[y]), known)
    _draw_table(listed, known)


def _choose_axis(name: str, label: str, default: str) -> str:
    with st.container(width=248):
        return widgets.select(BoardControls.key(name), label, QUANTITY_TITLES, default)


def build_points(
    entries: Sequence[BoardEntry], selected: BoardEntry, x: Quantity, y: Quantity, known: Timings
) -> list[plots.BoardPoint]:
    complete = [
        (entry, x_value, y_value)
        for entry in entries
        if (x_value := x.value(entry, known)) is not None and (y_value := y.value(entry, known)) is not None
    ]
    fronts = pareto([(across, up) for _, across, up in complete], (x.more_is_better, y.more_is_better))
    return [
        plots.BoardPoint(
            (name := entry.title.removeprefix(f"{get_title(entry.test_set)} "))[:1].upper() + name[1:],
            entry.family,
            x_value,
            y_value,
            hollow=not entry.measured_here,
            front=front,
            chosen=entry is selected,
            **_compute_error_bars(entry, x, y, known),
            note=entry.source,
        )
        for (entry, x_value, y_value), front in zip(complete, fronts, strict=True)
    ]


def _compute_error_bars(entry: BoardEntry, x: Quantity, y: Quantity, known: Timings) -> dict[str, float]:
    timed = known.get(entry.shape)
    bars = {"y_error": 196 * entry.error} if y.name == "accuracy" else {}  # of a 95 % interval
    if x.name == "ms" and timed is not None:
        bars |= {"x_low": 1000 * timed.low_s, "x_high": 1000 * timed.high_s}
    return bars


def _draw_points(
    entries: Sequence[BoardEntry], selected: BoardEntry, axes: tuple[Quantity, Quantity], known: Timings
) -> None:
    points = build_points(entries, selected, *axes, known)
    if not points:
        missing = next((q for q in axes if all(q.value(e, known) is None for e in entries)), axes[0])
        reason = "Not timed yet" if missing.name in ("ms", "memory") else "Not published"
        st.info(f"{reason}: {missing.title}.", icon=":material/timer:")
        return
    across, up = (plots.Axis(q.title, q.unit, q.log) for q in axes)
    front = "best for its cost" if captions.is_cost(axes) else "best in both numbers"
    draw_chart(
        plots.board_figure(points, across, up, selection.get_theme(), front=front), "which_model.board"
    )
    page.caption(captions.describe_front(points, len(entries), axes))
    if "training" in {q.name for q in axes} and not on_one_machine(entries):
        page.caption("Training times are from different machines and not comparable.")


def draw_model(entry: BoardEntry, known: Timings) -> None:
    adds = model_cost.multiply_adds(entry.config, entry.size_px)
    length = model_cost.tokens(entry.config, entry.size_px)
    numbers = {
        "Accuracy": "no classifier head" if entry.accuracy is None else f"**{percent(entry.accuracy, 2)}**",
        "Parameters": f"**{entry.parameters:,}**",
        f"Multiply-adds at {entry.size_px} px": f"**{entry.multiply_adds / 1e6:,.1f} million**",
        "of these, QKᵀ and AV": percent(adds.get(model_cost.ATTENTION, 0) / sum(adds.values())),
        "Tokens": f"{length:,}" if length else "",
        "Training images": f"{entry.training_images:,}" if entry.training_images else "",
        "Pretraining": f"{entry.core_days:,.0f} TPUv3-core-days" if entry.core_days else "",
        "Time per image": "" if entry.shape in known else describe_timing(entry, known),
    }
    first, *others = (f"| {name} | {number} |" for name, number in numbers.items() if number)
    st.markdown("\n".join([first, "|---|---|", *others]))
    if entry.shape in known:
        st.markdown(describe_timing(entry, known))


def draw_sources(entry: BoardEntry) -> None:
    """Draw the code that opens a model, and how its numbers were measured."""
    kind, _, name = entry.key.partition(":")
    if kind in ("checkpoint", "pretrained"):
        model_usage.draw_lines(entry.title, name, entry.config, "which_model")
    notes = [] if entry.accuracy is None else [f"Accuracy on {get_title(entry.test_set)}: {entry.source}."]
    notes.append(
        f"Trained on {' on '.join(filter(None, (plain(entry.trained_on), plain(entry.trained_with))))}."
    )
    adds = model_cost.multiply_adds(entry.config, entry.size_px)
    notes.append(captions.describe_parts(adds, windows=bool(abilities(entry.config).windows)))
    page.provenance("  \n".join(notes))


def _draw_table(entries: Sequence[BoardEntry], known: Timings) -> None:
    columns = build_columns(sorted(entries, key=lambda entry: -(entry.accuracy or 0)), known)
    measured = {name: columns[name] for name in SHOWN if any(value is not None for value in columns[name])}
    page.table(measured, {"Accuracy": partial(percent, digits=2)}, _FORMATS, "which_model.table")
    downloads.csv("All models and columns (CSV)", columns, "models.csv", "which_model.csv")


SHOWN = ("Model", "Accuracy", "Parameters", "Multiply-adds", "ms per image", "Memory, MB")  # the CSV has all
_FORMATS = {
    "Parameters": st.column_config.NumberColumn(format="compact"),
    "Multiply-adds": st.column_config.NumberColumn(format="compact"),
    "ms per image": st.column_config.NumberColumn(format="%.1f", help="Measured on this server."),
    "Memory, MB": st.column_config.NumberColumn(format="%.1f", help="Weights and peak memory for one image."),
}


def build_columns(entries: Sequence[BoardEntry], known: Timings) -> Columns:
    """Return the table, one row per model; None for missing numbers."""
    columns: dict[str, Sequence[object]] = {
        "Model": [entry.title for entry in entries],
        "Kind": [entry.family for entry in entries],
        "Accuracy": [entry.accuracy for entry in entries],
        "Parameters": [entry.parameters for entry in entries],
        "Multiply-adds": [entry.multiply_adds for entry in entries],
        "ms per image": [QUANTITIES["ms"].value(entry, known) for entry in entries],
        "ms, range": [format_range(entry, known.get(entry.shape)) for entry in entries],
        "Memory, MB": [QUANTITIES["memory"].value(entry, known) for entry in entries],
        "px": [entry.size_px for entry in entries],
        "Trained on": [entry.trained_on for entry in entries],
        "Training images": [entry.training_images for entry in entries],
        "Training, s": [entry.training_s for entry in entries],
        "Core-days": [entry.core_days for entry in entries],
        "Source of accuracy": [entry.source for entry in entries],
    }
    for part in (
        model_cost.EMBEDDING,
        model_cost.POSITIONS,
        model_cost.LAYERS,
        model_cost.HEAD,
    ):
        columns[f"Parameters: {part}"] = [
            model_cost.parameters(entry.config).get(part, 0) for entry in entries
        ]
    return columns


# ---------------------------------------------------------------- timing


def _draw_timing_button(entries: Sequence[BoardEntry], known: Timings) -> None:
    by_shape = {entry.shape: entry for entry in entries if not entry.too_large and entry.shape not in known}
    waiting = sorted(by_shape.values(), key=lambda entry: entry.multiply_adds)
    if not waiting:
        return
    seconds = sum(_START_S + _CALLS * entry.multiply_adds / ROUGH_ADDS_PER_S for entry in waiting)
    hint = (
        f"Takes about {max(1, seconds):,.0f} s, one image at a time in fp32. Missing weights are replaced by random"
        " ones, which take the same time."
    )
    if large := sum(entry.too_large for entry in entries):
        hint += f" Estimated by formula: {plural(large, 'model')} of more than 100 million parameters."
    label = f"Measure the time of {plural(len(waiting), 'model')}"
    if st.button(label, key="which_model.time", type="primary", help=hint):
        _time_models(waiting)
        st.rerun()


def _time_models(waiting: Sequence[BoardEntry]) -> None:
    bar = st.progress(0.0)
    for number, entry in enumerate(waiting):
        page.rerun_if_outdated()
        bar.progress(number / len(waiting), f"{entry.title}, {number + 1} of {len(waiting)}")
        time_model(entry)
    bar.empty()


def time_model(entry: BoardEntry) -> Timing:
    """Time a model with its own weights, or with random weights if they are missing."""
    choice = selection.list_models().get(entry.key)
    if choice is not None:
        return timings.time_model(entry.shape, lambda: shared_cache.load_model(choice).model, random=False)
    return timings.time_model(entry.shape, lambda: _create_random_model(entry), random=True)


def _create_random_model(entry: BoardEntry) -> nn.Module:
    """Return an untrained model; it is not cached because it may be large."""
    from vitviz.models.zoo import create_model

    return create_model(entry.config, seed=0).eval().requires_grad_(False)


def describe_timing(entry: BoardEntry, known: Timings) -> str:
    """Return the time per image with its range and memory, an estimate, or why there is none."""
    timing = known.get(entry.shape)
    if timing is not None:
        weights = ", random weights" if timing.random else ""
        return (
            f"**{1000 * timing.median_s:,.1f} ms** per image on this server, median of {timing.repeats}"
            f" ({format_range(entry, timing)} ms) on {plural(timing.threads, 'thread')}{weights};"
            f" {timing.held_bytes / 1e6:,.1f} MB beside the weights"
        )
    if not entry.too_large:
        return "not timed yet"
    estimate = by_formula(entry, known)
    return (
        "too large to time" if estimate is None else f"too large to time: about {estimate:,.0f} ms by formula"
    )


def format_range(entry: BoardEntry, timing: Timing | None) -> str | None:
    """Return '12.1 to 13.4', 'by formula' for an estimate, or None without a timing."""
    if timing is None:
        return "by formula" if entry.too_large else None
    return f"{1000 * timing.low_s:,.1f} to {1000 * timing.high_s:,.1f}"
