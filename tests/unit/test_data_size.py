"""Accuracy over training images: means, spreads, sentences and the recipes of the grid."""

import re
from dataclasses import replace

import numpy as np
import pytest

from vitviz.analysis.data_size import (
    add_equal_time_accuracy,
    compute_augmentation_gains,
    compute_mean_lines,
    describe_crossings,
    describe_excluded_rows,
    describe_missing_sizes,
    describe_seeds,
    describe_sizes,
    find_leads,
    group_curves,
    select_one_machine,
)
from vitviz.data.dataset import DatasetError
from vitviz.data.datasets import load_dataset
from vitviz.experiments.data_size import EVEN_UP_TO, GRIDS, RACERS, TITLES, race
from vitviz.plots.data_size import COLOURS, SYMBOLS
from vitviz.training.batches import SPLIT_SEED, prepare_training_data, validation_split

NAMES = {"cnn": "CNN", "vit": "ViT"}
NUMBER = r"CNN|ViT|[+\N{MINUS SIGN}]?\d[\d,]*(?:\.\d+)?"


def row(
    model: str, pictures: int, seed: int, test: float, augmented: bool = True, **more: object
) -> dict[str, object]:
    return {"model": model, "pictures": pictures, "seed": seed, "augmented": augmented, "test": test, **more}


ROWS = [
    row("cnn", 50, 0, 0.8),
    row("cnn", 50, 1, 0.7),
    row("vit", 50, 0, 0.5),
    row("vit", 50, 1, 0.6),
    row("cnn", 1000, 0, 0.90),
    row("vit", 1000, 0, 0.91),
]


def test_a_point_is_the_mean_of_its_seeds_and_spans_them() -> None:
    cnn, vit = group_curves(ROWS, NAMES, augmented=True)
    assert cnn.pictures.tolist() == [50, 1000]
    assert cnn.mean.tolist() == pytest.approx([0.75, 0.9])
    assert (cnn.low[0], cnn.high[0], cnn.seeds[0]) == (0.7, 0.8, 2)
    assert vit.mean[0] == pytest.approx(0.55)
    assert group_curves(ROWS, NAMES, augmented=False) == []


def test_a_training_that_diverged_is_no_point() -> None:
    broken = {"model": "vit", "pictures": 50, "seed": 2, "augmented": True, "diverged": "nan"}
    (_, vit) = group_curves([*ROWS, broken], NAMES, augmented=True)
    assert vit.seeds[0] == 2


def test_a_lead_is_clear_where_the_seeds_do_not_overlap() -> None:
    few, many = find_leads(group_curves(ROWS, NAMES, augmented=True))
    assert (few.first.name, few.clear) == ("cnn", True)
    assert few.margin == pytest.approx(0.2)
    assert (many.first.name, many.pictures) == ("vit", 1000)
    near = [*(row("cnn", 50, seed, test) for seed, test in ((0, 0.8), (1, 0.6))), row("vit", 50, 0, 0.65)]
    (one,) = find_leads(group_curves(near, NAMES, augmented=True))
    assert (one.first.name, one.clear, one.seeds, one.certainty) == ("cnn", False, 1, "one seed")
    (two,) = find_leads(group_curves([*near, row("vit", 50, 1, 0.65)], NAMES, augmented=True))
    assert (two.clear, two.certainty) == (False, "the ranges over the seeds overlap")


def test_one_seed_is_never_a_clear_lead() -> None:
    """Its lowest lies above the other's highest whatever the two are."""
    (_, many) = find_leads(group_curves(ROWS, NAMES, augmented=True))
    assert (many.seeds, many.clear) == (1, False)


def test_the_sentences_say_where_the_lead_goes() -> None:
    text = describe_sizes(group_curves(ROWS, NAMES, augmented=True))
    sentences = [re.findall(NUMBER, sentence) for sentence in re.split(r"\. |; (?=[A-Z])", text)]
    assert sentences[0] == ["CNN", "50", "75.0", "20.0", "ViT"]
    assert ["CNN", "ViT", "50", "1,000"] in sentences  # where the lead changes
    assert ["CNN", "ViT", "+20.0", "50", "\N{MINUS SIGN}1.0", "1,000"] in sentences
    assert sentences[-1] == ["1", "2"]  # seeds


def test_a_lead_that_another_seed_could_turn_is_told_as_such() -> None:
    near = [*ROWS, row("cnn", 1000, 1, 0.92), row("vit", 1000, 1, 0.93)]
    text = describe_sizes(group_curves(near, NAMES, augmented=True))
    assert text.count("(the ranges over the seeds overlap)") == 2  # of the last lead, and of the change to it
    assert (
        describe_sizes(group_curves(ROWS, NAMES, augmented=True)).count("(the ranges over the seeds overlap)")
        == 0
    )
    level = [row(name, 50, seed, 0.8) for name in NAMES for seed in (0, 1)]
    tied = describe_sizes(group_curves(level, NAMES, augmented=True))
    assert re.findall(NUMBER, tied)[:4] == ["CNN", "ViT", "50", "80.0"]


def test_a_lead_goes_to_nobody_who_was_not_there_before() -> None:
    titles = {**NAMES, "swin": "Swin"}
    found = group_curves([*ROWS, row("swin", 1000, 0, 0.99)], titles, augmented=True)
    assert "Swin leads with 1,000 images: 99.0" in describe_sizes(found)
    assert "lead changes" not in describe_sizes(found)
    assert "lead changes" in describe_sizes(group_curves(ROWS, NAMES, augmented=True))


def test_what_was_not_measured_is_told_by_size() -> None:
    titles = {**NAMES, "swin": "Swin", "deit": "DeiT"}
    found = group_curves([*ROWS, row("swin", 50, 0, 0.7)], titles, augmented=True)
    text = describe_missing_sizes(found, (50, 1000, 4000, 16000), titles)
    by_size = [re.findall(r"Swin|DeiT|all models|[\d,]+\d", part) for part in text.split(";")]
    assert by_size == [["DeiT", "50"], ["Swin", "DeiT", "1,000"], ["all models", "4,000", "16,000"]]
    assert describe_missing_sizes(group_curves(ROWS, NAMES, augmented=True), (50, 1000), NAMES) == ""


def test_few_rows_are_not_called_none() -> None:
    assert describe_sizes([]) == "No results are stored."
    alone = group_curves([row("cnn", 50, 0, 0.8)], NAMES, augmented=True)
    assert describe_sizes(alone).startswith("Only one model")
    assert "line is the mean of 2 seeds" in describe_seeds(
        group_curves(ROWS[:4], NAMES, augmented=True), "line"
    )


def test_equal_time_reads_every_curve_when_the_quickest_was_done() -> None:
    quick = row("vit", 50, 0, 0.5, training_core_s=10.0, curve=[[1, 5.0, 0.2], [2, 10.0, 0.4]])
    slow = row("cnn", 50, 0, 0.8, training_core_s=40.0, curve=[[1, 0.0, 0.0], [2, 20.0, 0.6], [3, 40.0, 0.8]])
    found = {r["model"]: r for r in add_equal_time_accuracy([quick, slow])}
    assert found["vit"]["timed"] == pytest.approx(0.4)
    assert found["cnn"]["timed"] == pytest.approx(0.3)  # half way to 20 s
    assert {r["budget_s"] for r in found.values()} == {10.0}


def test_seconds_of_two_machines_are_not_compared() -> None:
    places = [("cnn", 0, "A"), ("vit", 0, "A"), ("cnn", 1, "B"), ("vit", 1, "B"), ("vit", 2, "B")]
    places += [("cnn", 3, "C"), ("cnn", 4, "C"), ("cnn", 5, "C"), ("cnn", 6, "C")]
    even = [row(name, 50, seed, 0.5, on=machine) for name, seed, machine in places]
    kept = select_one_machine(even, lambda of: str(of["on"]))
    assert {r["on"] for r in kept} == {"B"} and len(kept) == 3, "most models, then most rows"
    assert select_one_machine([], str) == []
    assert re.findall(r"\d+", describe_excluded_rows(even, kept, NAMES)) == ["6"]
    apart = [row("cnn", 50, 0, 0.5, on="A"), row("deit", 50, 0, 0.5, on="A"), row("vit", 50, 0, 0.5, on="B")]
    kept = select_one_machine(apart, lambda of: str(of["on"]))
    assert [r["model"] for r in kept] == ["cnn", "deit"]
    assert re.findall(NUMBER, describe_excluded_rows(apart, kept, NAMES)) == ["1", "ViT", "50"]
    assert describe_excluded_rows(kept, kept, NAMES) == ""


def test_lines_over_time_are_means_at_equal_updates_and_their_crossing_is_told() -> None:
    rows = [
        row("cnn", 50, 0, 0.0, curve=[[1, 1.0, 0.2], [2, 11.0, 0.8]]),
        row("cnn", 50, 1, 0.0, curve=[[1, 3.0, 0.4], [2, 13.0, 0.8]]),
        row("vit", 50, 0, 0.0, curve=[[1, 2.0, 0.5], [2, 12.0, 0.6]]),
    ]
    lines = compute_mean_lines(rows, NAMES)
    np.testing.assert_allclose(lines["cnn"][1], [[2.0, 12.0], [0.3, 0.8]])
    # CNN rises by 0.05 a second, ViT by 0.01: they meet 0.2 / 0.04 = 5 s after the start at 2 s.
    assert re.findall(NUMBER, describe_crossings(lines)) == ["ViT", "2.0", "CNN", "7.0"]


def test_a_gain_is_of_one_seed_in_both_halves() -> None:
    plain = [row("cnn", 50, 0, 0.7, augmented=False), row("vit", 1000, 5, 0.1, augmented=False)]
    (cnn,) = compute_augmentation_gains([*ROWS, *plain], NAMES)  # the ViT's plain seed has no augmented one
    assert (cnn.name, cnn.pictures.tolist(), cnn.seeds.tolist()) == ("cnn", [50], [1])
    assert cnn.mean[0] == pytest.approx(0.8 - 0.7)  # of the seed that both have, not of the mean of two


@pytest.mark.parametrize("name", GRIDS)
def test_every_cell_of_a_grid_makes_its_updates(name: str) -> None:
    grid = GRIDS[name]
    for pictures in grid.sizes:
        train = grid.trained_on(pictures, seed=1)
        updates = -(-round((train.epochs or 0) * pictures) // train.batch_size)
        assert updates == grid.updates, pictures
        assert train.batch_size <= pictures
        assert grid.size_of(train) == pictures and grid.size_of(replace(train, learning_rate=1.0)) is None
        plain = grid.trained_on(pictures, augmented=False)
        assert (plain.flip, plain.shift_px) == (False, 0)
    assert grid.trained_on(grid.sizes[0]).shift_px > 0


def test_a_grid_knows_its_pictures() -> None:
    grid = GRIDS["digits"]
    kept, held_out = validation_split(load_dataset("digits"), grid.train.validation_fraction, SPLIT_SEED)
    assert (len(kept), len(held_out)) == (grid.sizes[-1], grid.held_out)


def test_a_race_is_trained_as_the_stored_points_were() -> None:
    config = race("digits", 100, seed=1, augmented=False)
    assert [member.name for member in config.members] == list(RACERS)
    grid = GRIDS["digits"]
    assert config.train == grid.trained_on(100, 1, False)
    assert all(member.model == grid.models[member.name] for member in config.members)
    with pytest.raises(ValueError, match="no grid"):
        race("digits", 99)
    with pytest.raises(ValueError, match="no grid"):
        race("imagenet", 50)


def test_no_model_is_told_by_its_colour_alone() -> None:
    patches = {"patch_2", "patch_4", "patch_8"}
    for names in (TITLES.keys(), patches):  # of one figure
        assert len({COLOURS[name] for name in names}) == len({SYMBOLS[name] for name in names}) == len(names)
    assert COLOURS.keys() == SYMBOLS.keys() == TITLES.keys() | patches


@pytest.mark.parametrize("name", sorted(GRIDS))
def test_every_size_has_its_pictures_the_small_ones_as_many_of_every_class(name: str) -> None:
    try:
        dataset = load_dataset(name)
    except DatasetError:
        pytest.skip(f"{name} is not on this machine")
    grid, before = GRIDS[name], 0
    for size in grid.sizes:
        found = prepare_training_data(dataset, grid.preparation, grid.trained_on(size)).train.labels.bincount(
            minlength=10
        )
        assert int(found.sum()) == size
        assert int(found.min()) >= before, "a larger size has no fewer of any class"
        assert len(set(found.tolist())) == 1 or size > EVEN_UP_TO
        before = int(found.min())
