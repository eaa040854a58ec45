"""Guide: CNN, hybrid and ViT compared in numbers, and advice computed from results."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import streamlit as st

from pages.frame import page
from pages.selection import selection
from pages.stores import timings
from pages.which_model import scoreboard
from vitviz.analysis import distillation, receptive_fields
from vitviz.analysis.scoreboard import Entry, Timings, on_one_machine
from vitviz.config import ModelConfig
from vitviz.data.datasets import DATASETS
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result_file import Result, describe_provenance, read_result_if_any
from vitviz.models import parameter_count, published_results
from vitviz.models.abilities import abilities, as_cnn, as_swin, as_vit
from vitviz.models.presets import PRESETS
from vitviz.shifted_windows import global_attention_cost, window_attention_cost
from vitviz.text import percent, percent_difference, plain, plural

MODELS = {  # by kind: preset, and the checkpoint trained from it
    "CNN": ("cnn_cifar10", "checkpoint:cifar10_cnn"),
    "Hybrid": ("hybrid_cifar10", "checkpoint:cifar10_hybrid"),
    "ViT": ("vit_cifar10", "checkpoint:cifar10_vit"),
}
_SWIN_LARGE = replace(as_swin(PRESETS["swin_base"].config), embed_dim=192, num_heads=(6, 12, 24, 48))
LESSON: dict[str, dict[str, ModelConfig]] = {  # the lecture's guide: models by use
    "General": {"ViT-B/16": PRESETS["vit_base_16"].config, "DeiT-B/16": PRESETS["deit_base_16"].config},
    "High resolution": {"Swin-T": PRESETS["swin_tiny"].config, "Swin-B": PRESETS["swin_base"].config},
    "Limited compute": {
        "ViT-S/16": PRESETS["vit_small_16"].config,
        "DeiT-Ti/16": PRESETS["deit_tiny_16"].config,
    },
    "Best accuracy": {"ViT-L/16": PRESETS["vit_large_16"].config, "Swin-L": _SWIN_LARGE},
}
EXPERIMENT, EXPERIMENT_TITLE = "data_size_cifar10", "How much data? (CIFAR-10)"
EXPERIMENT_MODELS = {"CNN": "cnn", "Hybrid": "hybrid", "ViT": "vit"}
COMPUTED = "computed from the configurations"
ACCURACY = "Accuracy by training images"


@dataclass(frozen=True)
class Criterion:
    """One row of the comparison: a cell per kind of model, and the source of the numbers."""

    name: str
    cells: Mapping[str, str]
    source: str


@dataclass(frozen=True)
class Advice:
    """One sentence of the guide, the numbers that support it, and their source."""

    sentence: str
    support: str
    source: str


def draw() -> None:
    entries, known = scoreboard.list_models(), timings.list_model_timings()
    experiment = read_result_if_any(EXPERIMENT)
    st.subheader("Comparison", anchor=False)
    st.html(Path(__file__).with_name("comparison.css"))
    with st.container(key="which_model-comparison"):
        st.markdown(_format_table(compare_models(entries, known, experiment)))
    st.caption(
        "The lecture: a CNN is local and translation-equivariant, needs less data, and its cost grows with the number"
        " of pixels. A ViT is global from the first layer, needs more data, and its cost grows with the square of the"
        " number of tokens. Numbers describe the three shipped CIFAR-10 models unless a row names others."
    )
    st.subheader("The lecture's guide", anchor=False)
    st.markdown(write_lesson_guide())
    st.subheader("Short guide", anchor=False)
    for advice in write_guide(entries, experiment):
        st.markdown(f"**{advice.sentence}**  \n{advice.support}  \n:small[:gray[{advice.source}]]")
    if experiment is not None:
        page.provenance(_describe_provenance(experiment))
    with st.container(horizontal=True):
        selection.link_to("data", "How much data?")
        selection.link_to("studies", "Does a teacher help?", **{"studies.study": "teacher"})
        selection.link_to("attention", "Are attention maps faithful?", **{"attention.view": "truth"})
        selection.link_to("swin", "Cost of window attention", **{"swin.view": "cost"})


def _format_table(criteria: list[Criterion]) -> str:
    lines = [f"| | {' | '.join(MODELS)} |", "|" + "---|" * (len(MODELS) + 1)]
    lines += [
        f"| **{c.name}** :small[:gray[{c.source}]] | {' | '.join(c.cells[kind] for kind in MODELS)} |"
        for c in criteria
    ]
    return "\n".join(lines)


def write_lesson_guide() -> str:
    """Return the lecture's four recommendations as a table, with parameters and multiply-adds at 224 px."""
    lines = ["| Use | Models | Parameters, million | Billion multiply-adds at 224 px |", "|---|---|---|---|"]
    for use, named in LESSON.items():
        sizes = [sum(parameter_count.parameters(config).values()) / 1e6 for config in named.values()]
        adds = [sum(parameter_count.multiply_adds(config, 224).values()) / 1e9 for config in named.values()]
        cells = (" or ".join(f"{count:.1f}" for count in counts) for counts in (sizes, adds))
        lines.append(f"| **{use}** | {' or '.join(named)} | {' | '.join(cells)} |")
    return "\n".join(lines)


# ---------------------------------------------------------------- comparison


def compare_models(entries: tuple[Entry, ...], known: Timings, experiment: Result | None) -> list[Criterion]:
    by_key = {entry.key: entry for entry in entries}
    shipped = {kind: by_key.get(key) for kind, (_, key) in MODELS.items()}
    configs = {
        kind: PRESETS[preset].config if (entry := shipped[kind]) is None else entry.config
        for kind, (preset, _) in MODELS.items()
    }
    return [
        Criterion("Inductive bias", {kind: _describe_bias(c) for kind, c in configs.items()}, COMPUTED),
        _compare_accuracy(shipped, experiment),
        Criterion(
            "Cost at twice the image size",
            {kind: _describe_growth(c) for kind, c in configs.items()},
            COMPUTED,
        ),
        _compare_timings(configs, known),
        Criterion("Receptive field", {kind: _describe_range(c) for kind, c in configs.items()}, COMPUTED),
        Criterion("Visualizations", {kind: _describe_maps(c) for kind, c in configs.items()}, COMPUTED),
    ]


def _describe_bias(config: ModelConfig) -> str:
    side = config.image_size
    if abilities(config).receptive_field:
        first = 9 * config.in_chans * as_cnn(config).widths[0]
        return f"{first:,} first-layer weights are shared by all {side**2:,} pixels; no position embeddings"
    weights, count = parameter_count.parameters(config), parameter_count.tokens(config, side)
    positions = weights[parameter_count.POSITIONS] - parameter_count.prefix(config)
    embedding = f"{positions:,} learned numbers encode the positions of {count} tokens"
    if abilities(config).stem:
        return f"{len(as_vit(config).stem)} convolutions first; then {embedding}"
    return f"patch embedding E is shared by all patches; {embedding}"


def _describe_growth(config: ModelConfig) -> str:
    side = config.image_size
    once, twice = (sum(parameter_count.multiply_adds(config, side * factor).values()) for factor in (1, 2))
    share = parameter_count.multiply_adds(config, 2 * side).get(parameter_count.ATTENTION, 0) / twice
    attention = f", {percent(share, 0)} for attention" if share else ""
    return f"{twice / once:.2f} times ({once / 1e6:,.0f} to {twice / 1e6:,.0f} million){attention}"


def _describe_range(config: ModelConfig) -> str:
    if abilities(config).receptive_field:
        sides = [field.side_px for field in receptive_fields.block_fields(as_cnn(config)).values()]
        block = next((i for i, side in enumerate(sides) if side >= config.image_size), None)
        full = f"; the whole image of {config.image_size} px from block {block}" if block else ""
        return f"{sides[0]} × {sides[0]} px after the first layer, {sides[-1]} px after the last block{full}"
    return f"all {parameter_count.tokens(config, config.image_size)} tokens in every layer"


def _describe_maps(config: ModelConfig) -> str:
    if abilities(config).receptive_field:
        return f"{as_cnn(config).widths[0]} filters of 3 × 3 px, and feature maps; no attention"
    vit = as_vit(config)
    maps, side = vit.depth * vit.num_heads, vit.patch_size
    filters = (
        f"{vit.embed_dim} filters of {side} × {side} px" if abilities(vit).embedding else "no patch embedding"
    )
    return f"{maps} attention maps per image ({vit.depth} layers of {vit.num_heads} heads); {filters}"


def _compare_timings(configs: Mapping[str, ModelConfig], known: Timings) -> Criterion:
    by_kind = {kind: known.get((config, config.image_size)) for kind, config in configs.items()}
    cells = {
        kind: "not timed yet"
        if timing is None
        else f"{1000 * timing.median_s:.2f} ms ({1000 * timing.low_s:.2f} to {1000 * timing.high_s:.2f})"
        for kind, timing in by_kind.items()
    }
    source = "measured on this server" if any(by_kind.values()) else "can be measured in the scoreboard"
    return Criterion("Time per image", cells, source)


def _compare_accuracy(shipped: Mapping[str, Entry | None], experiment: Result | None) -> Criterion:
    if experiment is None or not (extremes := _find_extremes(experiment)):
        cells = {
            kind: "not shipped"
            if entry is None or entry.accuracy is None
            else f"{percent(entry.accuracy)} with {entry.training_pictures or 0:,}"
            for kind, entry in shipped.items()
        }
        return Criterion(ACCURACY, cells, "test accuracy of the shipped models, one seed each")
    sizes, accuracies = extremes
    cells = {
        kind: "; ".join(
            f"{percent(mean(seeds))} with {size:,}"
            + (f" ({len(seeds)} seeds, ± {100 * stdev(seeds):.1f})" if len(seeds) > 1 else "")
            for size, seeds in zip(sizes, accuracies[kind], strict=True)
        )
        for kind in MODELS
    }
    counts = [experiment.settings["parameters"][name] for name in EXPERIMENT_MODELS.values()]
    source = (
        f"models of {min(counts):,} to {max(counts):,} parameters, one recipe: {EXPERIMENT_TITLE};"
        " ± one standard deviation over the seeds"
    )
    return Criterion(ACCURACY, cells, source)


def _describe_provenance(experiment: Result) -> str:
    missing = GRIDS["cifar10"].cells_of_a_half - len(experiment.where(augmented=True))
    return (
        f"{EXPERIMENT_TITLE}: `{experiment.command}`, {describe_provenance(experiment.made)}"
        + (f"; {plural(missing, 'training')} missing" if missing > 0 else "")
        + "."
    )


def _find_extremes(experiment: Result) -> tuple[list[int], dict[str, list[list[float]]]] | None:
    """Return the fewest and most images that all kinds share, and by kind the accuracies of all seeds at both."""
    names = EXPERIMENT_MODELS.values()
    sizes = set.intersection(*({row["pictures"] for row in _select_rows(experiment, model=n)} for n in names))
    if not sizes:
        return None
    ends = sorted({min(sizes), max(sizes)})
    return ends, {
        kind: [[row["test"] for row in _select_rows(experiment, model=name, pictures=size)] for size in ends]
        for kind, name in EXPERIMENT_MODELS.items()
    }


def _select_rows(experiment: Result, **values: Any) -> list[Any]:
    return [row for row in experiment.where(augmented=True, **values) if "test" in row]


# ---------------------------------------------------------------- guide


def write_guide(entries: tuple[Entry, ...], experiment: Result | None) -> list[Advice]:
    """Return the sentences that are supported by available results; their direction and numbers are computed."""
    advice = [
        _advise_small_data(experiment),
        _advise_cifar10(entries),
        _advise_low_compute(entries),
        _advise_pretraining(),
        _advise_distillation(entries),
        _advise_high_resolution(),
        _advise_accuracy(entries),
    ]
    return [sentence for sentence in advice if sentence is not None]


def _advise_small_data(experiment: Result | None) -> Advice | None:
    extremes = None if experiment is None else _find_extremes(experiment)
    if extremes is None:
        return None
    sizes, accuracies = extremes
    means = {kind: mean(seeds[0]) for kind, seeds in accuracies.items()}
    best, *_, worst = sorted(means, key=lambda kind: -means[kind])
    support = ", ".join(f"{kind} {percent(accuracy)}" for kind, accuracy in means.items())
    counts = sorted({len(seeds[0]) for seeds in accuracies.values()})
    seeds = plural(counts[-1], "seed") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    return Advice(
        f"With {sizes[0]:,} training images, choose the {best}, not the {worst}.",
        f"CIFAR-10, equal updates, {'mean of ' if counts[-1] > 1 else ''}{seeds}: {support}.",
        "measured by this project",
    )


def _select_cifar10(entries: tuple[Entry, ...]) -> list[Entry]:
    rated = [e for e in entries if e.test_set == "cifar10" and e.accuracy is not None]
    return sorted(rated, key=lambda e: e.accuracy or 0)


def _advise_cifar10(entries: tuple[Entry, ...]) -> Advice | None:
    best = {e.family: e for e in _select_cifar10(entries)}  # The last of a family is its best.
    if not {"CNN", "ViT"} <= best.keys():
        return None
    cnn, vit = best["CNN"], best["ViT"]
    gap = percent_difference(cnn.accuracy or 0, vit.accuracy or 0)
    order = ("CNN", "ViT") if gap > 0 else ("ViT", "CNN")
    regained = (
        percent_difference(best["Hybrid"].accuracy or 0, vit.accuracy or 0) if "Hybrid" in best else 0.0
    )
    stem = (
        f"; a convolutional stem closes {regained:.1f} of their gap of {gap:.1f} points"
        if 0 < regained < gap
        else ""
    )
    return Advice(
        f"Trained on CIFAR-10 only, a {order[0]} is more accurate than a {order[1]}{stem}.",
        "; ".join(
            f"{plain(e.title)} {percent(e.accuracy or 0)} ({e.training_s or 0:,.0f} s)"
            for e in sorted(best.values(), key=lambda e: -(e.accuracy or 0))
        ),
        "measured by this project: CIFAR-10 test images, one seed and recipe each, seconds of training on one core,"
        " without the teacher's"
        + ("" if on_one_machine(best.values()) else "; different machines are not comparable"),
    )


def _advise_low_compute(entries: tuple[Entry, ...]) -> Advice | None:
    rated = _select_cifar10(entries)
    if len(rated) < 2:
        return None
    best = max(rated, key=lambda e: e.accuracy or 0)
    cheap = min(
        (e for e in rated if (e.accuracy or 0) >= (best.accuracy or 0) - 0.05), key=lambda e: e.multiply_adds
    )
    return Advice(
        f"For few multiply-adds per image, choose {plain(cheap.title)}.",
        f"Of the models within 5 points of the best, it needs the fewest: {cheap.multiply_adds / 1e6:,.0f} million"
        f" for {percent(cheap.accuracy or 0)}"
        + (
            "; no model is more accurate."
            if cheap is best
            else f"; {plain(best.title)} needs {best.multiply_adds / 1e6:,.0f} million for"
            f" {percent(best.accuracy or 0)}."
        ),
        "measured by this project, one seed and recipe each; training time and inference time are other costs",
    )


def _advise_pretraining() -> Advice:
    with_more, alone = (
        published_results.TOP1[f"vit_base_patch16_224.{tag}"]
        for tag in ("augreg_in21k_ft_in1k", "augreg_in1k")
    )
    jft, in21k = (
        next(t for t in published_results.TRANSFERS if t.preset == "vit_large_16" and t.data == dataset)
        for dataset in ("JFT-300M", "ImageNet-21k")
    )
    return Advice(
        "A ViT is more accurate after pretraining on more images."
        if with_more > alone
        else "More pretraining images did not help this ViT.",
        f"ViT-B/16 reaches {with_more:.1f} % after pretraining on 14 million images and {alone:.1f} % trained on"
        f" 1.28 million only; ViT-L/16 {jft.accuracy['ImageNet']:.2f} % after 303 million and"
        f" {in21k.accuracy['ImageNet']:.2f} % after 14 million.",
        f"cited: {published_results.TIMM}; {published_results.VIT_PAPER}",
    )


def _advise_distillation(entries: tuple[Entry, ...]) -> Advice:
    top1 = {model.name: model.top1 for model in published_results.PAPER_MODELS}
    gain = top1["DeiT-B, distilled"] - top1["DeiT-B"]
    by_key = {e.key: e.accuracy for e in entries}
    student, twin = (by_key.get(f"checkpoint:{name}") for name in ("cifar10_deit_soft", "cifar10_vit"))
    shipped = (
        f" On CIFAR-10 with one seed: {percent(student)} with soft distillation, {percent(twin)} without."
        if student is not None and twin is not None
        else ""
    )
    duels, selected = load_duels(), load_selected_duels()
    outcomes = [duel.outcome for by_size in duels.values() for duel in by_size]
    better, worse = outcomes.count("higher"), outcomes.count("lower")
    gains = [duel.verdict.estimate for by_size in duels.values() for duel in by_size]
    chosen = sum(duel.outcome == "higher" for duel in selected) or "none"
    best = (
        " If the distillation method is selected by validation accuracy, the student is more accurate than the same"
        f" model without a teacher at {chosen} of {len(selected)} sizes."
    )
    small = (
        f"on small datasets, hard labels are shown to help at {better or 'none'} of {len(outcomes)} sizes"
        f"{f' and to harm at {worse}' if worse else ''}; {sum(gain > 0 for gain in gains)} of {len(gains)} mean"
        " differences are positive"
    )
    return Advice(
        f"A teacher helps a ViT on ImageNet-1k; {small if duels else 'no result for small datasets yet'}.",
        f"DeiT-B gains {gain:.1f} points from the hard labels of a CNN ({top1['DeiT-B']} to"
        f" {top1['DeiT-B, distilled']} %).{shipped}"
        f"{f' {distillation.describe_tally(duels, augmented=True)}' if duels else ''}{best if selected else ''}",
        f"cited: {published_results.DEIT_PAPER}"
        + ("; measured by this project" if shipped else "")
        + ("; students of 'How much data?', augmented" if duels else ""),
    )


def load_duels() -> dict[str, list[distillation.Duel]]:
    """Return students with hard labels against their twins for all dataset sizes, by the dataset's title."""
    by_title = {}
    for name in GRIDS:
        study_result = read_result_if_any(f"data_size_{name}")
        if study_result and (duels := distillation.compute_duels(study_result.rows, augmented=True)):
            by_title[DATASETS[name].title] = duels
    return by_title


def load_selected_duels() -> list[distillation.Duel]:
    """Return the method of distillation that validation images select for each dataset size, against its twin."""
    selected: list[distillation.Duel] = []
    for name in GRIDS:
        study_result = read_result_if_any(f"teaching_{name}")
        lessons = distillation.group_lessons(study_result.rows if study_result else [])
        pairs = distillation.select_lessons(lessons)
        selected += [duel for pair in pairs if (duel := distillation.create_duel(*pair))]
    return selected


def _advise_high_resolution() -> Advice:
    sides = [px // 4 for px in (224, 896)]
    ratio = [global_attention_cost(s, s, 96) / window_attention_cost(s, s, 96, 7) for s in sides]
    return Advice(
        "For large images, choose window attention.",
        f"Global attention costs {ratio[0]:.0f} times as much as windows of 7 × 7 tokens for an image of 224 px, and"
        f" {ratio[1]:.0f} times for one of 896 px (patches of 4 px).",
        "computed: Liu et al. 2021, eq. 1 and 2, width 96",
    )


def _advise_accuracy(entries: tuple[Entry, ...]) -> Advice:
    rated = [e for e in entries if e.test_set == scoreboard.IMAGENET and e.accuracy is not None]
    best = max(rated, key=lambda e: e.accuracy or 0)
    small = max((e for e in rated if not e.too_large), key=lambda e: e.accuracy or 0)
    days = "" if best.core_days is None else f" and {best.core_days:,.0f} TPUv3-core-days"
    return Advice(
        f"Highest accuracy of the models listed: {plain(best.title)}, at a high cost.",
        f"{percent(best.accuracy or 0, 2)} on ImageNet-1k for {best.multiply_adds / 1e9:,.0f} billion multiply-adds per"
        f" image{days}; {plain(small.title)} reaches {percent(small.accuracy or 0, 2)} for"
        f" {small.multiply_adds / 1e9:,.0f} billion.",
        f"cited: {best.source}; {small.source}",
    )
