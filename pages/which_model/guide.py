"""Guide: CNN, hybrid and ViT compared in numbers, and advice; the sentences stand in guide.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import streamlit as st

from pages.frame import page
from pages.selection import selection
from pages.stores import timings
from pages.which_model import scoreboard
from vitviz.analysis import receptive_fields
from vitviz.analysis.scoreboard import Entry
from vitviz.analysis.study_numbers import Numbers, read_numbers
from vitviz.analysis.verdict import Verdict, compare, compare_family
from vitviz.config import ModelConfig
from vitviz.config_fields import join_size
from vitviz.experiments.data_size import GRIDS, TITLES
from vitviz.experiments.result_file import ResultError, describe_provenance
from vitviz.models import parameter_count, published_results
from vitviz.models.abilities import abilities, as_cnn, as_swin, as_vit
from vitviz.models.presets import PRESETS
from vitviz.shifted_windows import global_attention_cost, window_attention_cost
from vitviz.text import percent, plain, plural

NEAR = 0.05  # of the highest accuracy
MODELS = {"CNN": "cnn", "Hybrid": "hybrid", "ViT": "vit"}  # of the experiment, by kind


@cache
def read_guide() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def draw() -> None:
    guide, words = read_guide(), collect_words()
    st.subheader("Comparison", anchor=False)
    st.html(Path(__file__).with_name("comparison.css"))
    with st.container(key="which_model-comparison"):
        st.markdown(write_comparison(guide, words))
    st.caption(guide["caption"])
    st.subheader("The lecture's guide", anchor=False)
    st.markdown(write_lecture_guide(guide))
    st.subheader("Short guide", anchor=False)
    for advice in guide["advice"]:
        if lines := fill(advice, words):
            st.markdown(f"**{lines['sentence']}**  \n{lines['support']}  \n:small[:gray[{lines['source']}]]")
    if "provenance" in words:
        page.provenance(f"How much data? (CIFAR-10): {words['provenance']}.")
    with st.container(horizontal=True):
        selection.link_to("data", "How much data?")
        selection.link_to("studies", "Does a teacher help?", **{"studies.study": "teacher"})
        selection.link_to("attention", "Are attention maps faithful?", **{"attention.view": "truth"})
        selection.link_to("swin", "Cost of window attention", **{"swin.view": "cost"})


def fill(lines: Mapping[str, str], words: Mapping[str, str]) -> dict[str, str] | None:
    """Return lines with their placeholders filled; None if a number is missing here."""
    filled = {}
    for name, text in lines.items():
        head, *parts = " ".join(text.split()).split("{")
        for part in parts:
            key, _, rest = part.partition("}")
            if key not in words:
                return None
            head += words[key] + rest
        filled[name] = head
    return filled


def write_comparison(guide: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """Return the comparison as a Markdown table: a row for each criterion, a column for each kind of model."""
    kinds = [*guide["models"]]
    rows = [f"| | {' | '.join(kinds)} |", "|" + "---|" * (len(kinds) + 1)]
    for criterion in guide["criterion"]:
        if cells := fill(criterion, words):
            source = f"**{cells['name']}** :small[:gray[{cells['source']}]]"
            rows.append(f"| {source} | {' | '.join(cells[kind] for kind in kinds)} |")
    return "\n".join(rows)


def write_lecture_guide(guide: Mapping[str, Any]) -> str:
    """Return the lecture's four recommendations as a table, with parameters and multiply-adds at 224 px."""
    lines = ["| Use | Models | Parameters, million | Billion multiply-adds at 224 px |", "|---|---|---|---|"]
    for use, named in guide["lecture"].items():
        configs = [_get_config(preset) for preset in named.values()]
        sizes = [sum(parameter_count.parameters(config).values()) / 1e6 for config in configs]
        adds = [sum(parameter_count.multiply_adds(config, 224).values()) / 1e9 for config in configs]
        cells = (" or ".join(f"{count:.1f}" for count in counts) for counts in (sizes, adds))
        lines.append(f"| **{use}** | {' or '.join(named)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _get_config(preset: str) -> ModelConfig:
    if preset == "swin_large":  # of the paper; its weights are not listed
        return replace(as_swin(PRESETS["swin_base"].config), embed_dim=192, num_heads=(6, 12, 24, 48))
    return PRESETS[preset].config


def collect_words() -> dict[str, str]:
    """Return the numbers of the guide's sentences, by their placeholders."""
    entries = scoreboard.list_models()
    words = {**_describe_published(), **_describe_board(entries)}
    by_key, known = {entry.key: entry for entry in entries}, timings.list_model_timings()
    for kind, (preset, checkpoint) in read_guide()["models"].items():
        entry = by_key.get(f"checkpoint:{checkpoint}")
        config = PRESETS[preset].config if entry is None else entry.config
        timing = known.get((config, config.image_size))
        described = {**_describe_config(config), **({} if entry is None else _describe_entry(entry))}
        described["time"] = "not timed yet" if timing is None else f"{1000 * timing.median_s:.2f} ms"
        words |= {f"{kind}.{name}": text for name, text in described.items()}
    try:
        return words | _describe_data_sizes()
    except ResultError:
        return words


def _describe_config(config: ModelConfig) -> dict[str, str]:
    height, width = config.image_shape
    sizes = [join_size((factor * height, factor * width)) for factor in (1, 2)]
    once, twice = (parameter_count.multiply_adds(config, size) for size in sizes)
    adds = [sum(counts.values()) for counts in (once, twice)]
    words = {
        "pixels": f"{height * width:,}",
        "growth": f"{adds[1] / adds[0]:.2f} times ({adds[0] / 1e6:,.0f} to {adds[1] / 1e6:,.0f} million)",
        "attention": percent(twice.get(parameter_count.ATTENTION, 0) / adds[1], 0),
    }
    if abilities(config).receptive_field:
        cnn = as_cnn(config)
        fields = [field.side_px for field in receptive_fields.block_fields(cnn).values()]
        shared = 9 * config.in_chans * cnn.widths[0]
        ends = {"first px": f"{fields[0]}", "last px": f"{fields[-1]}"}
        return words | ends | {"shared": f"{shared:,}", "filters": f"{cnn.widths[0]}"}
    vit = as_vit(config)
    positions = parameter_count.parameters(config)[parameter_count.POSITIONS] - parameter_count.prefix(config)
    return words | {
        "stem": f"{len(vit.stem)}",
        "positions": f"{positions:,}",
        "tokens": f"{parameter_count.tokens(config, config.image_size)}",
        "maps": f"{vit.depth * vit.num_heads}",
        "filters": f"{vit.embed_dim}",
    }


def _describe_entry(entry: Entry, digits: int = 1, unit: float = 1e6) -> dict[str, str]:
    return {
        "title": plain(entry.title),
        "accuracy": percent(entry.accuracy or 0, digits),
        "adds": f"{entry.multiply_adds / unit:,.0f}",
        "seconds": f"{entry.training_s or 0:,.0f} s",
        "source": entry.source,
    }


def _describe_board(entries: tuple[Entry, ...]) -> dict[str, str]:
    """Return the shipped CIFAR-10 model that needs fewest multiply-adds, and the cited models of ImageNet-1k."""

    def rate(test_set: str) -> list[Entry]:
        rated = [entry for entry in entries if entry.test_set == test_set and entry.accuracy is not None]
        return sorted(rated, key=lambda entry: -(entry.accuracy or 0))

    named: dict[str, dict[str, str]] = {}
    if shipped := rate("cifar10"):
        near = [entry for entry in shipped if (entry.accuracy or 0) >= (shipped[0].accuracy or 0) - NEAR]
        cheap = min(near, key=lambda entry: entry.multiply_adds)
        named = {"best": _describe_entry(shipped[0]), "cheap": _describe_entry(cheap)}
    cited = rate(scoreboard.IMAGENET)
    small = next(entry for entry in cited if not entry.too_large)
    named |= {"highest": _describe_entry(cited[0], 2, 1e9), "small": _describe_entry(small, 2, 1e9)}
    return {f"{name}.{key}": text for name, words in named.items() for key, text in words.items()}


def _describe_published() -> dict[str, str]:
    top1 = {model.name: model.top1 for model in published_results.PAPER_MODELS}
    base = published_results.TOP1
    large = {
        t.data: t.accuracy["ImageNet"] for t in published_results.TRANSFERS if t.preset == "vit_large_16"
    }
    windows = {
        px: global_attention_cost(px // 4, px // 4, 96) / window_attention_cost(px // 4, px // 4, 96, 7)
        for px in (224, 896)
    }
    return {
        "ViT-B 21k": f"{base['vit_base_patch16_224.augreg_in21k_ft_in1k']:.1f}",
        "ViT-B 1k": f"{base['vit_base_patch16_224.augreg_in1k']:.1f}",
        "ViT-L JFT": f"{large['JFT-300M']:.2f}",
        "ViT-L 21k": f"{large['ImageNet-21k']:.2f}",
        "DeiT-B": f"{top1['DeiT-B']}",
        "DeiT-B, distilled": f"{top1['DeiT-B, distilled']}",
        "DeiT gain": f"{top1['DeiT-B, distilled'] - top1['DeiT-B']:.1f}",
        **{f"windows {px}": f"{ratio:.0f}" for px, ratio in windows.items()},
        "timm": published_results.TIMM,
        "vit paper": published_results.VIT_PAPER,
        "deit paper": published_results.DEIT_PAPER,
    }


def _read_grid(dataset: str) -> Numbers:
    source = {"result": f"data_size_{dataset}", "where": {"augmented": True}}
    return read_numbers([source], TITLES, series="model", x="pictures")


def _compare(numbers: Numbers, first: str, second: str, size: int) -> Verdict:
    sides = numbers.values[first][size], numbers.values[second][size]
    return compare(*sides, images=numbers.images, chance=numbers.chance)


def _describe_data_sizes() -> dict[str, str]:
    """Return accuracies with the fewest and most images, and the sizes at which a teacher helps."""
    numbers = _read_grid("cifar10")
    stored, rows = numbers.evidence[0]
    few, many = numbers.get_place("first"), numbers.get_place("last")
    duels = [_compare(grid, "deit", "vit", size) for grid in map(_read_grid, GRIDS) for size in grid.places]
    counts = [stored.settings["parameters"][name] for name in MODELS.values()]
    words = {
        "few images": f"{few:,}",
        "few verdict": _compare(numbers, "cnn", "vit", few).describe(),
        "gains": f"{sum(duel.estimate > 0 for duel in duels)}",
        "shown gains": f"{sum(duel.outcome == 'higher' for duel in compare_family(duels)) or 'none'}",
        "sizes": f"{len(duels)}",
        "fewest parameters": f"{min(counts):,}",
        "most parameters": f"{max(counts):,}",
        "provenance": f"`{stored.command}`, {describe_provenance(stored.made)}",
    }
    for kind, name in MODELS.items():
        for end, size in (("few", few), ("many", many)):
            seeds = numbers.list_seeds(name, size)
            spread = (
                f"{plural(len(seeds), 'seed')}, ± {100 * stdev(seeds):.1f}" if len(seeds) > 1 else "one seed"
            )
            words[f"{kind}.{end}"] = f"{percent(fmean(seeds))} with {size:,} ({spread})"
    return words
