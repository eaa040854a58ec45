"""Study published accuracies after pretraining on datasets a thousand times as large."""

from pages.questions.prediction_gate import ask_options
from pages.studies.study import Study, Table, View
from vitviz.plots.data_size import pretraining_figure
from vitviz.plots.theme import Mode

# Dosovitskiy et al. 2021, table 5 (fine-tuned at a higher resolution); BiT: Kolesnikov et al. 2020, table 2 for the
# two smaller datasets, table 1 for the largest.
MILLIONS_OF_IMAGES = {"ImageNet-1k": 1.28, "ImageNet-21k": 14.0, "JFT-300M": 303.0}
ACCURACY: dict[str, tuple[float | None, float, float]] = {
    "BiT (ResNet-152×4)": (81.30, 85.39, 87.54),
    "ViT-B/32": (73.38, 81.28, 80.73),
    "ViT-B/16": (77.91, 83.97, 84.15),
    "ViT-L/32": (71.16, 80.99, 84.37),
    "ViT-L/16": (76.53, 85.15, 87.12),
    "ViT-H/14": (None, 85.13, 88.04),  # not trained on the smallest
}
GUESS = "data.papers_guess"
NEVER = "never"  # the answer that no ViT leads after any dataset


def build(mode: Mode) -> View:
    return View(
        pretraining_figure(ACCURACY, tuple(MILLIONS_OF_IMAGES.values()), mode),
        describe_leaders(),
        ask_options(
            GUESS,
            "papers",
            f"{next(iter(ACCURACY))} is a CNN. What is the smallest pretraining dataset with which a ViT exceeds it?",
            {name: f"{name}, {size:g} million images" for name, size in MILLIONS_OF_IMAGES.items()}
            | {NEVER: "None of them"},
            describe_prediction,
        ),
        notes=f"Cited, not measured here. {_compare_sizes('ViT-L/16', 'ViT-B/16')}",
        table=Table(
            {
                "dataset": list(MILLIONS_OF_IMAGES),
                "images": [f"{size:g} M" for size in MILLIONS_OF_IMAGES.values()],
                **{title: list(values) for title, values in ACCURACY.items()},
            },
            {},
            "published_sizes.csv",
        ),
    )


def describe_prediction(guess: str) -> str:
    """Compare the predicted dataset with the first one after which a ViT leads."""
    first = next(
        (name for place, name in enumerate(MILLIONS_OF_IMAGES) if _find_best_vit(place)[1] > 0), NEVER
    )
    labels = {NEVER: "none of them"} | {name: name for name in MILLIONS_OF_IMAGES}
    return f"Your prediction: {labels[guess]}: {'right' if guess == first else f'wrong. Published: {labels[first]}'}."


def describe_leaders() -> str:
    """Compare the best ViT with the CNN for the smallest and the largest dataset, from the cited accuracies."""
    names = list(MILLIONS_OF_IMAGES)
    few, many = _find_best_vit(0), _find_best_vit(-1)
    return (
        f"Pretrained on {names[0]} ({MILLIONS_OF_IMAGES[names[0]]:g} million images) the best ViT, {few[0]}, is"
        f" {_format_points(few[1])} the CNN; on {names[-1]} ({MILLIONS_OF_IMAGES[names[-1]]:g} million) the best,"
        f" {many[0]}, is {_format_points(many[1])}."
    )


def _find_best_vit(place: int) -> tuple[str, float]:
    """Return the best ViT for a dataset by index, and its lead over the CNN in points."""
    cnn, *vits = ACCURACY
    cnn_accuracy = ACCURACY[cnn][place] or 0.0
    leads = {title: (ACCURACY[title][place] or 0.0) - cnn_accuracy for title in vits}
    title = max(leads, key=leads.__getitem__)
    return title, leads[title]


def _format_points(points: float) -> str:
    return f"{abs(points):.1f} points {'below' if points < 0 else 'above'}"


def _compare_sizes(large: str, small: str) -> str:
    better = [
        name
        for name, a, b in zip(MILLIONS_OF_IMAGES, ACCURACY[large], ACCURACY[small], strict=True)
        if (a or 0) > (b or 0)
    ]
    worse = [name for name in MILLIONS_OF_IMAGES if name not in better]
    return f"{large} is above {small} for {' and '.join(better)}, and below it for {' and '.join(worse)}."


STUDY = Study(
    name="published_sizes",
    title="Data size in the papers",
    question="With how many pretraining images does a ViT exceed a CNN?",
    minutes=3,
    experiments=(),
    build=build,
    keys=(GUESS,),
)
