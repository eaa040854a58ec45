"""CNN, hybrid or ViT: the lesson's comparison filled with numbers, and a short guide whose sentences are measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

import streamlit as st

from pages.selection import selection
from pages.stores import timings
from pages.which_model import models, teacher_gain
from vitviz.analysis import teacher_effect
from vitviz.analysis.receptive_fields import cnn_layers
from vitviz.analysis.scoreboard import Entry, Timings, on_one_machine
from vitviz.config import ModelConfig
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result import Result, ResultError, read_result, told
from vitviz.models import parameter_count, published_results
from vitviz.models.abilities import abilities, as_cnn, as_vit
from vitviz.models.presets import PRESETS
from vitviz.shifted_windows import global_attention_cost, window_attention_cost
from vitviz.text import apart, percent, plain, plural

SHAPES = {  # the preset of each kind, and the checkpoint that was trained of it
    "CNN": ("cnn_cifar10", "checkpoint:cifar10_cnn"),
    "Hybrid": ("hybrid_cifar10", "checkpoint:cifar10_hybrid"),
    "ViT": ("vit_cifar10", "checkpoint:cifar10_vit"),
}
# A source is a long line, and not what is compared. On a phone the four columns stand one under the other: beside each
# other they would be a word wide.
COLUMNS = (
    ".st-key-which_model-comparison td:first-child { width: 31%; }"
    " @media (max-width: 640px) {"
    " .st-key-which_model-comparison td:first-child { width: auto; }"
    " .st-key-which_model-comparison :is(table, tbody, tr, td) { display: block; }"
    " .st-key-which_model-comparison td { border: 0; }"
    " .st-key-which_model-comparison thead { display: none; }"
    + "".join(
        f" .st-key-which_model-comparison td:nth-child({place})::before {{ content: '{kind}: '; font-weight: 600; }}"
        for place, kind in enumerate(SHAPES, start=2)
    )
    + " }"
)
GRID = "data_size_cifar10"  # the experiment of 'How much data?'
KINDS = {"CNN": "cnn", "Hybrid": "hybrid", "ViT": "vit"}  # its models
COUNTED = "counted from the shipped shapes"


@dataclass(frozen=True)
class Row:
    """One criterion of the comparison: a cell for each kind, and where the numbers come from."""

    criterion: str
    cells: Mapping[str, str]
    source: str


@dataclass(frozen=True)
class Advice:
    """One sentence of the guide, what supports it, and where that comes from."""

    sentence: str
    support: str
    source: str


def draw() -> None:
    """The table, then the guide."""
    everything, known, grid = models.board(), timings.models(), stored()
    st.subheader("The lesson's comparison, measured", anchor=False)
    st.html(f"<style>{COLUMNS}</style>")
    with st.container(key="which_model-comparison"):
        st.markdown(_table(comparison(everything, known, grid)))
    st.caption(
        "The lecture's words: a CNN has a bias for neighbours and moves with the picture, needs less data and costs in"
        " proportion to the pixels; a ViT has neither, needs more, costs with the square of its tokens and sees far at"
        " once. The numbers say how far that holds for the three shipped models of CIFAR-10, or for those that a row"
        " names."
    )
    st.subheader("A short guide", anchor=False)
    for advice in guide(everything, known, grid):
        st.markdown(f"**{advice.sentence}**  \n{advice.support}  \n:small[:gray[{advice.source}]]")
    with st.container(horizontal=True):
        selection.link_to("data", "How much data?")
        selection.link_to("distillation", "Does a teacher help?", **{"distillation.view": "worth"})
        selection.link_to("attention", "Are attention maps true?", **{"attention.view": "truth"})
        selection.link_to("swin", "What windows cost", **{"swin.view": "cost"})


def _table(rows: list[Row]) -> str:
    lines = [f"| | {' | '.join(SHAPES)} |", "|" + "---|" * (len(SHAPES) + 1)]
    lines += [
        f"| **{row.criterion}** :small[:gray[{row.source}]] | {' | '.join(row.cells[kind] for kind in SHAPES)} |"
        for row in rows
    ]
    return "\n".join(lines)


def stored() -> Result | None:
    """The grid of models and data sizes, where it has been measured."""
    try:
        return read_result(GRID)
    except ResultError:
        return None


# ---------------------------------------------------------------- the comparison


def comparison(everything: tuple[Entry, ...], known: Timings, grid: Result | None) -> list[Row]:
    """The five criteria, each computed."""
    configs = {kind: PRESETS[name].config for kind, (name, _) in SHAPES.items()}
    own = {kind: _of(everything, key) for kind, (_, key) in SHAPES.items()}
    configs |= {kind: entry.config for kind, entry in own.items() if entry is not None}
    return [
        Row("Inductive bias", {kind: _bias(config) for kind, config in configs.items()}, COUNTED),
        _data(own, grid),
        Row("Cost of twice the side", {kind: _growth(config) for kind, config in configs.items()}, COUNTED),
        _clock(configs, known),
        Row("Long range", {kind: _range(config) for kind, config in configs.items()}, COUNTED),
        Row("What can be drawn", {kind: _drawn(config) for kind, config in configs.items()}, COUNTED),
    ]


def _bias(config: ModelConfig) -> str:
    side = config.image_size
    if abilities(config).receptive_field:
        first = 9 * config.in_chans * as_cnn(config).widths[0]
        return f"its first {first:,} weights are the same at all {side**2:,} pixels; none tells where it is"
    weights, count = parameter_count.parameters(config), parameter_count.tokens(config, side)
    said = f"{weights[parameter_count.POSITIONS] - parameter_count.prefix(config):,} learned numbers tell "
    said += f"its {count} tokens where they are"
    if abilities(config).stem:
        return f"{len(as_vit(config).stem)} convolutions first; then {said}"
    return f"E is the same for every patch; {said}"


def _growth(config: ModelConfig) -> str:
    side = config.image_size
    once, twice = (sum(parameter_count.multiply_adds(config, side * times).values()) for times in (1, 2))
    share = parameter_count.multiply_adds(config, 2 * side).get(parameter_count.ATTENTION, 0) / twice
    with_attention = f", {percent(share, 0)} of it attention" if share else ""
    return f"{twice / once:.2f} times ({once / 1e6:,.0f} to {twice / 1e6:,.0f} million){with_attention}"


def _range(config: ModelConfig) -> str:
    if abilities(config).receptive_field:
        names, sides = cnn_layers(as_cnn(config))
        enough = next((i for i, side in enumerate(sides) if side >= config.image_size), None)
        whole = f", {config.image_size} px first after block {enough}" if enough else ""
        return f"3 × 3 px after the first layer{whole}, {sides[-1]} px after all {len(names) - 1} blocks"
    count = parameter_count.tokens(config, config.image_size)
    return f"all {count} tokens in every layer, the first too"


def _drawn(config: ModelConfig) -> str:
    if abilities(config).receptive_field:
        return f"{as_cnn(config).widths[0]} filters of 3 × 3 px, and maps; no attention"
    vit = as_vit(config)
    maps, side = vit.depth * vit.num_heads, vit.patch_size
    filters = f"{vit.embed_dim} filters of {side} × {side} px" if abilities(vit).embedding else "no E"
    return f"{maps} maps of attention a picture ({vit.depth} layers of {vit.num_heads} heads); {filters}"


def _of(everything: tuple[Entry, ...], key: str) -> Entry | None:
    return next((entry for entry in everything if entry.key == key), None)


def _clock(configs: Mapping[str, ModelConfig], known: Timings) -> Row:
    found = {kind: known.get((config, config.image_size)) for kind, config in configs.items()}
    cells = {
        kind: "not timed yet"
        if one is None
        else f"{1000 * one.median_s:.2f} ms ({1000 * one.low_s:.2f} to {1000 * one.high_s:.2f})"
        for kind, one in found.items()
    }
    source = "timed on this machine" if any(found.values()) else "the scoreboard times them"
    return Row("A picture here", cells, source)


def _data(own: Mapping[str, Entry | None], grid: Result | None) -> Row:
    if grid is not None and (few := _few(grid)):
        sizes, cells = few
        words = {
            kind: "; ".join(
                f"{percent(mean(values))} with {size:,}"
                + (f" ({len(values)} seeds, ± {100 * stdev(values):.1f})" if len(values) > 1 else "")
                for size, values in zip(sizes, cells[kind], strict=True)
            )
            for kind in SHAPES
        }
        own_sizes = [grid.settings["parameters"][name] for name in KINDS.values()]
        source = (
            f"models of {min(own_sizes):,} to {max(own_sizes):,} parameters, one recipe: {plain(grid.title)};"
            f" ± one standard deviation over the seeds; {_made(grid)}"
        )
        return Row("Data: accuracy by training pictures", words, source)
    cells_now = {
        kind: "not shipped here"
        if entry is None or entry.accuracy is None
        else f"{percent(entry.accuracy)} with {entry.training_pictures or 0:,}"
        for kind, entry in own.items()
    }
    return Row(
        "Data: accuracy by training pictures", cells_now, "the shipped models' test pictures, one seed each"
    )


def _made(grid: Result) -> str:
    """When and where a grid was measured, and how much of its augmented half was not."""
    missing = GRIDS["cifar10"].cells_of_a_half - len(grid.where(augmented=True))
    return told(grid.made) + (f"; {plural(missing, 'training')} not made as yet" if missing > 0 else "")


def _few(grid: Result) -> tuple[list[int], dict[str, list[list[float]]]] | None:
    """(fewest and most pictures that all three have, accuracies by kind and size over seeds); None if a kind lacks."""
    sizes = set.intersection(*({row["pictures"] for row in _rows(grid, model=m)} for m in KINDS.values()))
    if not sizes:
        return None
    ends = sorted({min(sizes), max(sizes)})
    return ends, {
        kind: [[row["test"] for row in _rows(grid, model=name, pictures=size)] for size in ends]
        for kind, name in KINDS.items()
    }


def _rows(grid: Result, **values: Any) -> list[Any]:
    return [row for row in grid.where(augmented=True, **values) if "test" in row]


# ---------------------------------------------------------------- the guide


def guide(everything: tuple[Entry, ...], known: Timings, grid: Result | None) -> list[Advice]:
    """Sentences whose direction and numbers are computed; one that cannot be supported here is left out."""
    found = [
        _few_pictures(grid),
        _this_set(everything),
        _little_compute(everything),
        _more_data(),
        _distilled(everything),
        _high_resolution(),
        _most_accurate(everything),
    ]
    return [advice for advice in found if advice is not None]


def _few_pictures(grid: Result | None) -> Advice | None:
    few = None if grid is None else _few(grid)
    if grid is None or few is None:
        return None
    sizes, cells = few
    means = {kind: mean(values[0]) for kind, values in cells.items()}
    first, *_, last = sorted(means, key=lambda kind: -means[kind])
    support = ", ".join(f"{kind} {percent(value)}" for kind, value in means.items())
    counts = sorted({len(values[0]) for values in cells.values()})
    seeds = plural(counts[-1], "seed") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    return Advice(
        f"With {sizes[0]:,} pictures take the {first}, not the {last}.",
        f"CIFAR-10, equal updates, {'mean of ' if counts[-1] > 1 else ''}{seeds}: {support}.",
        f"`{grid.command}`, {_made(grid)}",
    )


def _this_set(everything: tuple[Entry, ...]) -> Advice | None:
    own = [e for e in everything if e.test_set == "cifar10" and e.accuracy is not None]
    own.sort(key=lambda e: e.accuracy or 0)
    best = {e.family: e for e in own}  # of a family the last, and so the best
    if not {"CNN", "ViT"} <= best.keys():
        return None
    cnn, vit = best["CNN"], best["ViT"]
    gap = apart(cnn.accuracy or 0, vit.accuracy or 0)
    winner = "a CNN" if gap > 0 else "a plain ViT"
    regained = apart(best["Hybrid"].accuracy or 0, vit.accuracy or 0) if "Hybrid" in best else 0.0
    regains = (
        f"; a ViT on a convolutional stem has {regained:.1f} of the {gap:.1f} points between"
        if 0 < regained < gap
        else ""
    )
    return Advice(
        f"Trained on CIFAR-10 alone, {winner} does better{regains}.",
        "; ".join(
            f"{plain(e.title)} {percent(e.accuracy or 0)} ({e.training_s or 0:,.0f} s)"
            for e in sorted(best.values(), key=lambda e: -(e.accuracy or 0))
        ),
        "measured here: CIFAR-10's test pictures, one seed each, each by its own recipe, seconds of training on one"
        " core, a teacher's not counted"
        + ("" if on_one_machine(best.values()) else "; of different machines, which do not compare"),
    )


def _little_compute(everything: tuple[Entry, ...]) -> Advice | None:
    own = [e for e in everything if e.test_set == "cifar10" and e.accuracy is not None]
    if len(own) < 2:
        return None
    best = max(own, key=lambda e: e.accuracy or 0)
    near = min(
        (e for e in own if (e.accuracy or 0) >= (best.accuracy or 0) - 0.05), key=lambda e: e.multiply_adds
    )
    return Advice(
        f"For few multiply-adds a picture: {plain(near.title)}.",
        f"It has the fewest of those within 5 points of the best: {near.multiply_adds / 1e6:,.0f} million"
        f" for {percent(near.accuracy or 0)}"
        + (
            "; none has more right."
            if near is best
            else f"; {plain(best.title)} takes {best.multiply_adds / 1e6:,.0f} million for"
            f" {percent(best.accuracy or 0)}."
        ),
        "measured here, one seed each, each by its own recipe; counted here. Its training and its milliseconds are"
        " other costs",
    )


def _more_data() -> Advice:
    with_more, alone = (
        published_results.TOP1[f"vit_base_patch16_224.{tag}"]
        for tag in ("augreg_in21k_ft_in1k", "augreg_in1k")
    )
    jft, in21k = (
        next(t for t in published_results.TRANSFERS if t.preset == "vit_large_16" and t.data == data)
        for data in ("JFT-300M", "ImageNet-21k")
    )
    gain = with_more - alone
    return Advice(
        "A ViT is worth most with pre-trained weights: take those that saw more."
        if gain > 0
        else "More pre-training pictures did not help this ViT.",
        f"ViT-B/16 has {with_more:.1f} % after 14 million pictures and {alone:.1f} % after 1.28 million alone;"
        f" ViT-L/16 {jft.accuracy['ImageNet']:.2f} % after 303 million and {in21k.accuracy['ImageNet']:.2f} % after 14"
        " million.",
        f"cited: {published_results.TIMM}; {published_results.VIT_PAPER}",
    )


def _distilled(everything: tuple[Entry, ...]) -> Advice | None:
    top1 = {one.name: one.top1 for one in published_results.BESIDE}
    gain = top1["DeiT-B, distilled"] - top1["DeiT-B"]
    own = {e.key: e for e in everything}
    pair = [own.get(f"checkpoint:{name}") for name in ("cifar10_deit_soft", "cifar10_vit")]
    here = ""
    if all(e is not None and e.accuracy is not None for e in pair):
        student, twin = (e.accuracy or 0 for e in pair if e is not None)
        here = (
            f" Here, on CIFAR-10 and one seed: {percent(student)} with soft labels, {percent(twin)} without."
        )
    pairs, chosen = teacher_gain.pairs(), [duel.verdict for duel in teacher_gain.chosen()]
    verdicts = [duel.verdict for found in pairs.values() for duel in found]
    wins, loses = verdicts.count("wins"), verdicts.count("loses")
    best = f", in the way that validation chooses at {chosen.count('wins') or 'none'} of {len(chosen)}"
    elsewhere = (
        f"in our small trainings with hard labels by more than its seeds' spread at {wins or 'none'} of"
        f" {len(verdicts)} numbers of pictures{f', and it harms at {loses}' if loses else ''}{best if chosen else ''}"
    )
    return Advice(
        f"A teacher helps a ViT on ImageNet-1k; {elsewhere if pairs else 'whether it does here is to be measured'}.",
        f"DeiT-B gains {gain:.1f} points from the hard labels of a CNN ({top1['DeiT-B']} to"
        f" {top1['DeiT-B, distilled']} %).{here}{f' {teacher_effect.tally(pairs, augmented=True)}' if pairs else ''}",
        f"cited: {published_results.DEIT_PAPER}"
        + ("; measured here" if here else "")
        + ("; students of the grids of 'How much data?', augmented" if pairs else "")
        + ("; lessons chosen on validation pictures" if chosen else ""),
    )


def _high_resolution() -> Advice:
    sides = [px // 4 for px in (224, 896)]
    ratio = [global_attention_cost(s, s, 96) / window_attention_cost(s, s, 96, 7) for s in sides]
    return Advice(
        "For large pictures take windows.",
        f"Attention over all patches of 4 px costs {ratio[0]:.0f} times what windows of 7 cost at 224 px and"
        f" {ratio[1]:.0f} times at 896 px.",
        "by the formulas of Liu et al. 2021, eq. 1 and 2, width 96",
    )


def _most_accurate(everything: tuple[Entry, ...]) -> Advice | None:
    rated = [e for e in everything if e.test_set == models.IMAGENET and e.accuracy is not None]
    best = max(rated, key=lambda e: e.accuracy or 0)
    small = max((e for e in rated if not e.too_large), key=lambda e: e.accuracy or 0)
    days = "" if best.core_days is None else f" and {best.core_days:,.0f} TPUv3-core-days"
    return Advice(
        f"For the last points of accuracy: {plain(best.title)}, at its price.",
        f"{percent(best.accuracy or 0, 2)} on ImageNet-1k for {best.multiply_adds / 1e9:,.0f} billion multiply-adds a"
        f" picture{days}; {plain(small.title)} has {percent(small.accuracy or 0, 2)} for"
        f" {small.multiply_adds / 1e9:,.0f} billion.",
        f"cited: {best.source}; {small.source}",
    )
