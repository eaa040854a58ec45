"""What a teacher is worth, by hand; and the lessons that an experiment gives."""

import pytest

from vitviz.analysis.teaching import describe_lessons, describe_worth, lessons, worth
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.teaching import LESSONS, experiment, recipe
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


def test_the_sentence_tells_wins_losses_and_ties() -> None:
    mean, cls = worth(ROWS, augmented=True)
    assert describe_worth(mean) == (
        "At best the teacher is worth +3.0 points, with 50 pictures, at worst −1.5, with 400. The student wins in every"
        " seed with 50 pictures. It loses in every seed with 400 pictures."
    )
    assert describe_worth(cls).startswith("The teacher is worth 0.0 points, with 50 pictures.")
    assert "With 50 the seeds do not agree" in describe_worth(cls)
    one = worth([row for row in ROWS if row["seed"] == 0], augmented=True)[0]
    assert "every seed" not in describe_worth(one) and describe_worth(one).endswith(
        "another may say otherwise."
    )


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
        " 80.0 %, +3.0 points, every seed above every seed of the twin."
    )


def test_a_chosen_lesson_may_lose_in_every_seed() -> None:
    rows = [
        {"lesson": lesson, "pictures": 100, "seed": seed, "validation": 0.9, "test": test}
        for lesson, test in (("twin", 0.8), ("hard", 0.7))
        for seed in (0, 1)
    ]
    assert describe_lessons(lessons(rows)).endswith("−10.0 points, every seed below every seed of the twin.")


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
    assert len(experiment().cells) == 3 * 2 * len(LESSONS)


def test_the_figures_hold_the_numbers() -> None:
    figure = worth_figure(worth(ROWS, augmented=True))
    assert list(figure.data[0].y) == pytest.approx([3.0, -1.5])
    drawn = lessons_figure(["twin", "hard"], [0.8, 0.9], [(0.7, 0.85), (0.88, 0.92)])
    assert list(drawn.data[0].x) == pytest.approx([80.0, 90.0])
    assert list(drawn.data[0].error_x.array) == pytest.approx([5.0, 2.0])
