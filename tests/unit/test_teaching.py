"""What a teacher is worth, by hand; and the lessons that an experiment gives."""

import pytest

from vitviz.analysis.teacher_effect import (
    Duel,
    describe_answers,
    describe_duels,
    describe_guess,
    describe_lessons,
    duels,
    lessons,
    tally,
    verdicts,
    worth,
)
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.teaching import GIVEN, LESSONS, SIZES, experiment, recipe
from vitviz.plots.distillation import lessons_figure, worth_figure


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
    mean, cls = worth(ROWS, augmented=True)
    assert mean.pictures.tolist() == [50, 400]
    assert mean.mean.tolist() == pytest.approx([0.03, -0.015])
    assert (mean.low[0], mean.high[0]) == pytest.approx((0.01, 0.05))
    assert cls.title == "[CLS] alone"
    assert cls.pictures.tolist() == [50]
    assert cls.mean[0] == pytest.approx(0.0)
    assert worth(ROWS, augmented=False) == []


def test_a_student_wins_by_more_than_its_spread_where_seeds_differ_less_than_it_gains() -> None:
    found = duels(ROWS, augmented=True)
    assert [duel.pictures for duel in found] == [50, 400]  # with 800 there is no twin
    assert found[0].gains == pytest.approx((0.05, 0.01))
    assert [duel.verdict for duel in found] == [
        "even",
        "loses",
    ]  # 3 points against a spread of 4; -1.5 against 1
    assert Duel(50, (0.05, 0.04)).verdict == "wins"
    assert Duel(50, (0.05,)).verdict == "one"
    assert Duel(50, (0.0, 0.0)).verdict == "even"
    assert duels(ROWS, augmented=False) == []


def test_the_sentence_tells_wins_losses_ties_and_single_seeds() -> None:
    found = [*duels(ROWS, augmented=True), Duel(800, (0.02, 0.03)), Duel(1295, (0.04,))]
    assert describe_duels(found) == (
        "At best the teacher is worth +4.0 points, with 1,295 pictures, at worst −1.5, with 400. The student wins by"
        " more than its spread with 800 pictures. The student loses by more than its spread with 400 pictures. With 50"
        " pictures student and twin lie no further apart than the seeds. With 1,295 pictures there is one seed, which"
        " has no spread."
    )
    assert describe_duels(found[:1]).startswith("The teacher is worth +3.0 points, with 50 pictures. With 50")
    assert describe_duels([]) == "No student has a twin of its seed as yet."
    assert verdicts([Duel(50, (0.02, 0.03)), Duel(100, (0.02, 0.03))]) == (
        "The student wins by more than its spread with 50 and 100 pictures."
    )


def test_all_sets_are_counted_by_size() -> None:
    by_set = {
        "Digits": [Duel(50, (0.05, 0.04)), Duel(100, (-0.05, -0.04)), Duel(200, (-0.05, 0.04))],
        "MNIST": [Duel(250, (0.05, 0.04)), Duel(1000, (0.01,))],
        "CIFAR-10": [],
    }
    assert tally(by_set, augmented=True) == (
        "Of 5 sizes of all sets, augmented, the student wins by more than its spread at 2 (Digits 50; MNIST 250),"
        " loses at 1 (Digits 100), and does neither at 1; at 1 there is one seed."
    )
    assert tally({"Digits": []}, augmented=False) == "No student has a twin of its seed as yet."


def test_a_guess_is_judged_by_what_the_seeds_allow() -> None:
    assert describe_guess(Duel(50, (0.05, 0.04)), "wins") == (
        "right. Student less twin is +4.5 points, more than its spread."
    )
    assert describe_guess(Duel(50, (0.05, -0.04)), "wins").startswith(
        "not so. Student less twin is +0.5 points, within"
    )
    assert (
        describe_guess(Duel(50, (-0.02,)), "loses") == "right. Student less twin is −2.0 points, of one seed."
    )


def test_other_answers_are_measured_against_the_mean_of_the_logits() -> None:
    assert describe_answers(worth(ROWS, augmented=True)) == (
        "Against the mean of the logits, in points: [CLS] alone −3.0."
    )
    assert describe_answers([]) == ""


def test_validation_chooses_and_test_pictures_judge() -> None:
    def row(lesson: str, seed: int, validation: float, test: float) -> dict[str, object]:
        return {"lesson": lesson, "pictures": 100, "seed": seed, "validation": validation, "test": test}

    rows = [
        *(row("twin", seed, 0.9, 0.80) for seed in (0, 1)),
        *(row("hard", seed, 0.8, 0.99) for seed in (0, 1)),  # better on the test pictures, and not chosen
        row("soft", 0, 0.85, 0.82),
        row("soft", 1, 0.85, 0.84),
    ]
    said = describe_lessons(lessons(rows)).replace("\N{NO-BREAK SPACE}", " ")
    assert said == (
        "With 100 pictures the validation pictures choose 'soft': 83.0 % of the test pictures against the twin's"
        " 80.0 %, +3.0 points, more than its spread (+2.0 to +4.0 seed by seed)."
    )


def test_a_chosen_lesson_may_lose_in_every_seed() -> None:
    rows = [
        {"lesson": lesson, "pictures": 100, "seed": seed, "validation": 0.9, "test": test}
        for lesson, test in (("twin", 0.8), ("hard", 0.7))
        for seed in (0, 1)
    ]
    assert describe_lessons(lessons(rows)).endswith(
        "−10.0 points, more than its spread (−10.0 to −10.0 seed by seed)."
    )


def test_one_seed_is_called_one() -> None:
    rows = [
        {"lesson": lesson, "pictures": 100, "seed": 0, "validation": 0.9, "test": test}
        for lesson, test in (("twin", 0.8), ("hard", 0.9))
    ]
    assert describe_lessons(lessons(rows)).endswith("one seed each, so another may say otherwise.")


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
    figure = worth_figure(worth(ROWS, augmented=True))
    assert list(figure.data[0].y) == pytest.approx([3.0, -1.5])
    drawn = lessons_figure(["twin", "hard"], [0.8, 0.9], [(0.7, 0.85), (0.88, 0.92)])
    assert list(drawn.data[0].x) == pytest.approx([80.0, 90.0])
    assert list(drawn.data[0].error_x.array) == pytest.approx([5.0, 2.0])
