"""Gains from a teacher, computed by hand, and the recipes of the distillation experiment."""

import re

import pytest

from vitviz.analysis.distillation import (
    NO_TWIN,
    Duel,
    compute_duels,
    compute_teacher_gains,
    describe_answers,
    describe_duel,
    describe_duels,
    describe_lessons,
    describe_tally,
    describe_verdicts,
    group_lessons,
)
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.distillation import GIVEN, LESSONS, SIZES, experiment, recipe
from vitviz.plots.distillation import lessons_figure, teacher_gain_figure


def grid_row(model: str, pictures: int, seed: int, test: float, **more: float) -> dict[str, object]:
    return {"model": model, "pictures": pictures, "seed": seed, "augmented": True, "test": test, **more}


ROWS = [
    grid_row("vit", 50, 0, 0.70),
    grid_row("vit", 50, 1, 0.60),
    grid_row("deit", 50, 0, 0.75, test_cls=0.71),
    grid_row("deit", 50, 1, 0.61, test_cls=0.59),
    grid_row("vit", 400, 0, 0.90),
    grid_row("vit", 400, 1, 0.90),
    grid_row("deit", 400, 0, 0.88),
    grid_row("deit", 400, 1, 0.89),
    grid_row("deit", 800, 0, 0.99),  # without a twin it says nothing
]


def test_a_student_is_compared_with_the_twin_of_its_seed() -> None:
    mean, cls = compute_teacher_gains(ROWS, augmented=True)
    assert mean.pictures.tolist() == [50, 400]
    assert mean.mean.tolist() == pytest.approx([0.03, -0.015])
    assert (mean.low[0], mean.high[0]) == pytest.approx((0.01, 0.05))
    assert cls.title == "[CLS] only"
    assert cls.pictures.tolist() == [50]
    assert cls.mean[0] == pytest.approx(0.0)
    assert compute_teacher_gains(ROWS, augmented=False) == []


def test_a_student_wins_by_more_than_its_spread_where_seeds_differ_less_than_it_gains() -> None:
    found = compute_duels(ROWS, augmented=True)
    assert [duel.pictures for duel in found] == [50, 400]  # with 800 there is no twin
    assert found[0].gains == pytest.approx((0.05, 0.01))
    assert [duel.verdict for duel in found] == [
        "even",
        "loses",
    ]  # 3 points against a spread of 4; -1.5 against 1
    assert Duel(50, (0.05, 0.04)).verdict == "wins"
    assert Duel(50, (0.05,)).verdict == "one"
    assert Duel(50, (0.0, 0.0)).verdict == "even"
    assert compute_duels(ROWS, augmented=False) == []


def test_the_sentence_tells_wins_losses_ties_and_single_seeds() -> None:
    found = [*compute_duels(ROWS, augmented=True), Duel(800, (0.02, 0.03)), Duel(1295, (0.04,))]
    ends, better, worse, even, single = describe_duels(found).split(". ")
    assert re.findall(r"[+−]?\d[\d,.]*", ends) == ["−1.5", "400", "+4.0", "1,295"]
    assert "better" in better and "800" in better and "worse" in worse and "400" in worse
    assert "within the seed spread" in even and "50" in even and "one seed" in single and "1,295" in single
    assert re.findall(r"[+−]?\d[\d,.]*\d", describe_duels(found[:1])) == ["+3.0", "50", "50"]
    assert describe_duels([]) == NO_TWIN
    text = describe_verdicts([Duel(50, (0.02, 0.03)), Duel(100, (0.02, 0.03))])
    assert "better" in text and re.findall(r"\d+", text) == ["50", "100"]


def test_all_sets_are_counted_by_size() -> None:
    by_set = {
        "Digits": [Duel(50, (0.05, 0.04)), Duel(100, (-0.05, -0.04)), Duel(200, (-0.05, 0.04))],
        "MNIST": [Duel(250, (0.05, 0.04)), Duel(1000, (0.01,))],
        "CIFAR-10": [],
    }
    text = describe_tally(by_set, augmented=True)
    assert re.findall(r"\d+(?: \([^)]*\))?", text) == [
        "5",
        "2 (Digits 50; MNIST 250)",
        "1 (Digits 100)",
        "1",
        "1",
    ]
    assert describe_tally({"Digits": []}, augmented=False) == NO_TWIN


def test_a_measured_difference_states_its_certainty() -> None:
    for gains, written, certainty in (
        ((0.05, 0.04), "+4.5 points", "more than the seed spread"),
        ((0.05, -0.04), "+0.5 points", "within the seed spread"),
        ((-0.02,), "−2.0 points", "one seed"),
    ):
        assert f"{written} ({certainty})" in describe_duel(Duel(50, gains))


def test_other_answers_are_measured_against_the_mean_of_the_logits() -> None:
    assert "[CLS] only −3.0" in describe_answers(compute_teacher_gains(ROWS, augmented=True))
    assert describe_answers([]) == ""


def test_validation_chooses_and_test_pictures_judge() -> None:
    def row(lesson: str, seed: int, validation: float, test: float) -> dict[str, object]:
        return {"lesson": lesson, "pictures": 100, "seed": seed, "validation": validation, "test": test}

    rows = [
        *(row("twin", seed, 0.9, 0.80) for seed in (0, 1)),
        *(row("hard", seed, 0.8, 0.99) for seed in (0, 1)),  # better on the test images, and not chosen
        row("soft", 0, 0.85, 0.82),
        row("soft", 1, 0.85, 0.84),
    ]
    text = describe_lessons(group_lessons(rows))
    numbers = re.findall(r"soft|hard|more|within|[+−]?\d+(?:\.\d+)?", text)
    assert numbers == ["100", "soft", "83.0", "80.0", "+3.0", "more", "+2.0", "+4.0"]


def test_a_chosen_lesson_may_lose_in_every_seed() -> None:
    rows = [
        {"lesson": lesson, "pictures": 100, "seed": seed, "validation": 0.9, "test": test}
        for lesson, test in (("twin", 0.8), ("hard", 0.7))
        for seed in (0, 1)
    ]
    assert describe_lessons(group_lessons(rows)).endswith(
        "−10.0 points, more than the seed spread (−10.0 to −10.0)."
    )


def test_one_seed_is_called_one() -> None:
    rows = [
        {"lesson": lesson, "pictures": 100, "seed": 0, "validation": 0.9, "test": test}
        for lesson, test in (("twin", 0.8), ("hard", 0.9))
    ]
    assert describe_lessons(group_lessons(rows)).endswith("+10.0 points, one seed each.")


def test_every_lesson_is_another_recipe() -> None:
    train = GRIDS["digits"].trained_on(100)
    recipes = [recipe(lesson, train) for lesson in LESSONS]
    assert len({*recipes}) == len(LESSONS)
    assert recipes[0] == train
    assert recipes[1].distillation == "hard"
    assert (recipes[2].distillation_temperature, recipes[2].distillation_weight) == (1.0, 0.1)
    with pytest.raises(ValueError, match="lesson must be"):
        recipe("gentle", train)
    for dataset, sizes in SIZES.items():
        assert len(experiment(dataset).cells) == 3 * len(sizes) * len(GIVEN[dataset])


def test_the_figures_hold_the_numbers() -> None:
    figure = teacher_gain_figure(compute_teacher_gains(ROWS, augmented=True)).to_plotly()
    assert list(figure.data[0].y) == pytest.approx([3.0, -1.5])
    drawn = lessons_figure(["twin", "hard"], [0.8, 0.9], [(0.7, 0.85), (0.88, 0.92)]).to_plotly()
    assert list(drawn.data[0].x) == pytest.approx([80.0, 90.0])
    assert list(drawn.data[0].error_x.array) == pytest.approx([5.0, 2.0])
