"""Test each number of the guide of 'Which model', which is text, against what it speaks of."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pytest

from pages.studies import renderer
from pages.studies.study import list_studies
from pages.which_model import scoreboard
from vitviz.analysis.probes import SPLITS, place_probe
from vitviz.analysis.receptive_fields import block_fields
from vitviz.analysis.scoreboard import pareto
from vitviz.analysis.study_numbers import Numbers, read_numbers
from vitviz.analysis.verdict import compare, compare_family
from vitviz.checkpoint_header import Header, read_header
from vitviz.checkpoints import open_model
from vitviz.config import ModelConfig
from vitviz.data.cifar10_few import few_dataset
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.experiments.data_size import GRIDS, TITLES
from vitviz.models import model_cost, published_results
from vitviz.models.abilities import as_cnn, as_swin, as_vit
from vitviz.models.presets import PRESETS
from vitviz.probe.layers import stream_layer_outputs
from vitviz.shifted_windows import global_attention_cost, window_attention_cost

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "pages" / "which_model" / "guide.md").read_text("utf-8")
PAPERS = (ROOT / "pages" / "which_model" / "papers.md").read_text("utf-8")
NAMES = {"CNN": "cnn", "Hybrid": "hybrid", "ViT": "vit"}


def split_row(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def read_row(start: str) -> list[str]:
    """Return the cells of the only table row whose first cell starts so."""
    (row,) = (line for line in TEXT.splitlines() if line.startswith(f"| {start}"))
    return split_row(row)


def read_papers_table(heading: str) -> list[list[str]]:
    """Return the rows under a heading of the published results, without the table's head."""
    section = PAPERS.partition(f"### {heading}")[2].partition("###")[0]
    return [split_row(line) for line in section.splitlines() if line.startswith("| ")][1:]


def read_checkpoint(name: str) -> Header:
    return read_header(ROOT / "checkpoints" / f"{name}.safetensors")


def count_adds(config: ModelConfig, side_px: int) -> float:
    return sum(model_cost.multiply_adds(config, side_px).values())


def read_grid(dataset: str) -> Numbers:
    source = {"result": f"data_size_{dataset}", "where": {"augmented": True}}
    return read_numbers([source], TITLES, series="model", x="pictures")


def test_accuracies_by_training_images() -> None:
    numbers, cells = read_grid("cifar10"), read_row("**Accuracy by training images**")
    for cell, name in zip(cells[1:], NAMES.values(), strict=True):
        parts = []
        for size in (250, 48_000):
            seeds = [100 * value for value in numbers.list_seeds(name, size)]
            parts.append(f"{mean(seeds):.1f} % with {size:,} ({len(seeds)} seeds, ± {stdev(seeds):.1f})")
        assert cell == "; ".join(parts)
    counts = [numbers.evidence[0][0].settings["parameters"][name] for name in NAMES.values()]
    assert f"models of {min(counts):,} to {max(counts):,} parameters" in cells[0]


def test_verdicts_are_one_family() -> None:
    numbers = read_grid("cifar10")
    pairs = (("cnn", 250), ("hybrid", 250), ("hybrid", 48_000))
    alone = [
        compare(numbers.values[name][size], numbers.values["vit"][size], images=numbers.images, chance=0.1)
        for name, size in pairs
    ]
    texts = [verdict.describe().replace("\N{NO-BREAK SPACE}", " ") for verdict in compare_family(alone)]
    assert f"CNN compared with ViT: {texts[0]}." in TEXT
    assert f"Hybrid compared with ViT: {texts[1]} with 250 images; {texts[2]} with 48,000." in TEXT


def test_a_teacher_s_gains_are_counted() -> None:
    duels = []
    for grid in map(read_grid, GRIDS):
        for size in grid.places:
            duels.append(grid.compare("deit", "vit", size))
    assert not any(duel.outcome == "higher" for duel in compare_family(duels))
    above = sum(duel.estimate > 0 for duel in duels)
    assert (
        f"has the higher mean accuracy at {above} of {len(duels)} sizes, but chance can explain each" in TEXT
    )


def test_the_study_s_numbers_of_the_same_difference_are_explained() -> None:
    """The study has more comparisons in one family, and opens with early stopping, of one seed."""
    values = {"dataset": "cifar10", "equal": "updates", "augmented": True}
    caption = renderer.build(list_studies()["data_size"], values).caption
    verdict = re.match(r"With 250 images, CNN has 9.3 points more than ViT \(interval (.+?);", caption)
    assert verdict and f"is wider; of this difference: {verdict[1]}. |" in TEXT
    titles = {name: TITLES[name] for name in NAMES.values()}
    stopped = read_numbers([{"result": "early_stopping_cifar10"}], titles, series="model", x="pictures")
    (accuracy,) = stopped.list_seeds("cnn", 250)
    assert f"early stopping: CNN {100 * accuracy:.1f} % with 250, one training each" in TEXT


def test_costs_and_configurations() -> None:
    growth, bias, fields, images = map(
        read_row, ("**Cost at", "**Inductive bias", "**Receptive", "**Visualizations")
    )
    for place, name in enumerate(NAMES.values(), 1):
        config = read_checkpoint(f"cifar10_{name}").config
        once, twice = count_adds(config, 32), count_adds(config, 64)
        cell = f"{twice / once:.2f} times ({once / 1e6:,.0f} to {twice / 1e6:,.0f} million)"
        if products := model_cost.multiply_adds(config, 64).get(model_cost.ATTENTION):
            cell += f", {100 * products / twice:.0f} % for attention"
        assert growth[place] == cell
        if name == "cnn":
            sides = [field.side_px for field in block_fields(as_cnn(config)).values()]
            width = as_cnn(config).widths[0]
            assert (
                fields[place].startswith(f"{sides[0]} × {sides[0]} px") and f"{sides[-1]} px" in fields[place]
            )
            assert f"{27 * width} first" in bias[place] and f"{width} filters" in images[place]
            continue
        vit, tokens = as_vit(config), model_cost.tokens(config, 32)
        assert f"all {tokens} tokens" in fields[place]
        assert f"{(tokens or 0) * vit.embed_dim:,} learned numbers" in bias[place]
        assert f"{vit.depth * vit.num_heads} attention maps" in images[place]


def test_the_lecture_s_models_have_the_known_sizes() -> None:
    # Swin-L is the paper's; its weights are not listed.
    swin_large = replace(as_swin(PRESETS["swin_base"].config), embed_dim=192, num_heads=(6, 12, 24, 48))
    configs: dict[str, ModelConfig] = {"Swin-L": swin_large}
    for preset, title in (
        *(("vit_base_16", "ViT-B/16"), ("deit_base_16", "DeiT-B/16"), ("swin_tiny", "Swin-T")),
        *(("swin_base", "Swin-B"), ("vit_small_16", "ViT-S/16"), ("deit_tiny_16", "DeiT-Ti/16")),
        ("vit_large_16", "ViT-L/16"),
    ):
        configs[title] = PRESETS[preset].config
    sizes = {
        title: (sum(model_cost.parameters(config).values()) / 1e6, count_adds(config, 224) / 1e9)
        for title, config in configs.items()
    }
    for use in ("General", "High resolution", "Limited compute", "Best accuracy"):
        _, models, millions, adds = read_row(f"**{use}**")
        named = [sizes[title] for title in models.split(" or ")]
        assert millions == " or ".join(f"{size:.1f}" for size, _ in named)
        assert adds == " or ".join(f"{cost:.1f}" for _, cost in named)


def test_claims_are_corrected_by_what_was_measured() -> None:
    counts = {
        name: sum(model_cost.parameters(read_checkpoint(f"cifar10_{name}").config).values())
        for name in ("vit", "cnn", "cnn_wide")
    }
    claim = "the ViT has {vit:,}, the CNN {cnn:,} and the wide CNN {cnn_wide:,}"
    assert claim.format(**counts) in read_row("ViTs have far more")[1]
    model = open_model(ROOT / "checkpoints" / "cifar10_vit.safetensors")
    inputs = prepare_batch(few_dataset().test_images[:96], model.preparation)
    layers = [[layer.places for layer in batch] for batch in stream_layer_outputs(model, inputs, 32)]
    maps = [np.concatenate([batch[place] for batch in layers]) for place in (0, -1)]
    first, last = (place_probe(grids).share for grids in maps)
    assert SPLITS == 10
    assert f"R² {first:.2f} at the input and {last:.2f} after" in read_row("A ViT has no positional")[1]
    student = as_vit(read_checkpoint("cifar10_deit_soft").config)
    assert (student.dropout, student.attention_dropout, student.drop_path) == (0, 0, 0.05)
    assert "no dropout either; its stochastic depth is 0.05" in TEXT


def test_advice_names_the_shipped_and_the_cited_models() -> None:
    cards = [read_checkpoint(f"cifar10_{name}").card for name in NAMES.values()]
    shares = [f"{100 * float(card['test_accuracy']):.1f} %" for card in cards]
    assert f"CNN has {shares[0]}, the hybrid {shares[1]}, the ViT {shares[2]}." in TEXT
    seconds = [f"{float(card['seconds']):,.0f} s" for card in cards]
    assert f"{seconds[0]}, {seconds[1]} and {seconds[2]}." in TEXT
    rated = [entry for entry in scoreboard.list_models() if entry.accuracy is not None]
    for test_set, sentence, unit, digits, word in (
        (
            "cifar10",
            "{5} needs the fewest multiply-adds per image.**  \nIt needs {0} for {1}; {2} needs {3} for {4}.",
            1e6,
            1,
            "million",
        ),
        (
            scoreboard.IMAGENET,
            "{4} on ImageNet-1k for {3} multiply-adds per image; {5} reaches {1} for {0}.",
            1e9,
            2,
            "billion",
        ),
    ):
        entries = sorted((e for e in rated if e.test_set == test_set), key=lambda e: -(e.accuracy or 0))
        best = entries[0]
        if test_set == "cifar10":
            near = [e for e in entries if (e.accuracy or 0) >= (best.accuracy or 0) - 0.05]
            other = min(near, key=lambda entry: entry.multiply_adds)
            cheaper = next(e for e in entries if e.multiply_adds < other.multiply_adds)
            cost = f"{cheaper.multiply_adds / unit:,.0f} {word} for {100 * (cheaper.accuracy or 0):.1f} %"
            assert f"most accurate model with fewer is {cheaper.title}: {cost}." in TEXT
        else:
            other = next(entry for entry in entries if not entry.too_large)
        words = [
            *(f"{other.multiply_adds / unit:,.0f} {word}", f"{100 * (other.accuracy or 0):.{digits}f} %"),
            *(best.title, f"{best.multiply_adds / unit:,.0f} {word}"),
            *(f"{100 * (best.accuracy or 0):.{digits}f} %", other.title),
        ]
        assert sentence.format(*words) in TEXT
    base = published_results.TOP1
    top1 = {name: float(share) for name, _, share, _ in read_papers_table("DeiT and Swin")}
    gain = top1["DeiT-B, distilled"] - top1["DeiT-B"]
    assert (
        f"gains {gain:.1f} points" in TEXT and f"({top1['DeiT-B']} to {top1['DeiT-B, distilled']} %)" in TEXT
    )
    pretrained, scratch = (base[f"vit_base_patch16_224.augreg_{data}in1k"] for data in ("in21k_ft_", ""))
    assert f"reaches {pretrained:.1f} % after" in TEXT and f"and {scratch:.1f} % trained" in TEXT
    large = {t.data: t.accuracy["ImageNet"] for t in published_results.TRANSFERS if t.name == "ViT-L/16"}
    assert f"ViT-L/16 {large['JFT-300M']:.2f} % after 303 million and {large['ImageNet-21k']:.2f} %" in TEXT


@pytest.mark.parametrize("side_px", [224, 896])
def test_windows_cost_less(side_px: int) -> None:
    side = side_px // 4
    ratio = global_attention_cost(side, side, 96) / window_attention_cost(side, side, 96, 7)
    assert re.search(
        rf"\b{ratio:.0f} times (as much as windows of 7 × 7 tokens )?for (an image|one) of {side_px} px", TEXT
    )


def test_cost_over_tokens() -> None:
    config, tokens, adds, shares = PRESETS["vit_base_16"].config, *map(read_row, ("**Tok", "**Bill", "**QKᵀ"))
    for place, side_px in enumerate((224, 448, 896, 1792), 1):
        parts = model_cost.multiply_adds(config, side_px)
        assert tokens[place] == f"{model_cost.tokens(config, side_px):,}"
        assert adds[place] == f"{sum(parts.values()) / 1e9:,.1f}"
        share = 100 * parts[model_cost.ATTENTION] / sum(parts.values())
        assert shares[place] == f"{share:.1f} %"


def test_published_accuracies_are_those_of_the_scoreboard() -> None:
    rows, transfers = read_papers_table("Accuracy and cost"), published_results.TRANSFERS
    for row, transfer in zip(rows, transfers, strict=True):
        images = published_results.TRAINING_IMAGES[transfer.data]
        assert row[:4] == [transfer.name, transfer.data, f"{images:,}", f"{transfer.core_days:,}"]
        assert [float(cell) for cell in row[4:] if cell != "–"] == [*transfer.accuracy.values()]
    vit, bit, student = transfers[0], transfers[3], transfers[4]
    for test_set, cnn in (("ImageNet", student), ("VTAB", bit)):
        rivals = [one for one in transfers if test_set in one.accuracy]
        best = {
            family: max((one for one in rivals if one.family == family), key=lambda o: o.accuracy[test_set])
            for family in ("ViT", "CNN")
        }
        assert best == {"ViT": vit, "CNN": cnn}
        gain = vit.accuracy[test_set] - cnn.accuracy[test_set]
        assert f"{gain:.2f} points more than" in PAPERS and f"instead of {cnn.core_days:,}" in PAPERS


def test_papers_models_have_their_sizes() -> None:
    presets = {
        "ViT-": {"Ti": "vit_tiny_16", "S": "vit_small_16", "B": "vit_base_16", "L": "vit_large_16"},
        "DeiT": {"Ti": "deit_tiny", "S": "deit_small", "B": "deit_base"},
        "Swin": {"T": "swin_tiny", "S": "swin_small", "B": "swin_base"},
    }
    costs = {}
    for name, layers, width, hidden, heads, millions, parameters, adds in read_papers_table("Model sizes"):
        config = as_vit(PRESETS[presets["ViT-"].get(name[4:-3], "vit_huge_14")].config)
        assert [int(layers), int(width.replace(",", "")), int(heads)] == [
            *(config.depth, config.embed_dim, config.num_heads)
        ]
        assert int(hidden.replace(",", "")) == config.embed_dim * config.mlp_ratio
        counted = sum(model_cost.parameters(config).values())
        assert parameters == f"{counted:,}" and counted / 1e6 == pytest.approx(float(millions), rel=0.15)
        costs[name] = count_adds(config, 224)
        assert adds == f"{costs[name] / 1e9:.1f}"
    ratio = costs["ViT-H/14"] / costs["ViT-Ti/16"]
    assert f"{ratio:.0f} times as many multiply-adds as ViT-Ti/16" in PAPERS
    points = []
    for name, adds, top1, _ in read_papers_table("DeiT and Swin"):
        family, _, size = name.partition(",")[0].partition("-")
        suffix = {"DeiT": "_distilled_16" if "distilled" in name else "_16"}.get(family, "")
        cost = count_adds(PRESETS[presets[family][size] + suffix].config, 224)
        assert adds == f"{cost / 1e9:.1f}"
        points.append((cost, float(top1), name))
    front = pareto([point[:2] for point in points], (False, True))
    best = "; ".join(name for (_, _, name), kept in sorted(zip(points, front, strict=True)) if kept)
    assert f"than these: {best}." in PAPERS
