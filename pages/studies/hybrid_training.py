"""Study validation accuracy of hybrid, ViT, CNN and Swin during training, from the records in their checkpoints."""

from collections.abc import Mapping, Sequence

import numpy as np

from pages.stores import catalogue
from pages.studies.study import Choice, Study, Table, View
from vitviz.analysis.run_comparison import describe_recipe_differences, time_to_accuracy
from vitviz.checkpoint_header import Header
from vitviz.plots.hybrids import Course, courses_figure
from vitviz.plots.theme import Mode
from vitviz.text import percent, plain

CHECKPOINTS = {  # by family
    "CNN": "cifar10_cnn",
    "Hybrid": "cifar10_hybrid",
    "ViT": "cifar10_vit",
    "Swin": "cifar10_swin",
}
AXES = {"seconds": "Seconds", "pictures": "Images seen"}
TITLES = {"seconds": "seconds of training", "pictures": "images seen"}
UNITS = {"seconds": "s", "pictures": "images"}


def load_headers() -> dict[str, Header]:
    paths = {family: catalogue.CHECKPOINTS / f"{name}.safetensors" for family, name in CHECKPOINTS.items()}
    return {family: catalogue.read_header(path) for family, path in paths.items() if path.is_file()}


def list_machines(headers: Mapping[str, Header]) -> list[str]:
    return sorted({str(header.card.get("machine", "an unnamed machine")) for header in headers.values()})


def list_axes() -> dict[str, str]:
    """Return the axes on which the trainings can be compared; none if a model is missing."""
    headers = load_headers()
    if not {"Hybrid", "ViT"} <= headers.keys():
        return {}
    comparable = len(list_machines(headers)) == 1  # seconds of different machines are not
    return {axis: title for axis, title in AXES.items() if comparable or axis == "pictures"}


def build(mode: Mode, over: str) -> View:
    headers, unit = load_headers(), UNITS[over]
    courses = [build_course(family, header, over) for family, header in headers.items()]
    by_family = {course.family: course for course in courses}
    best = float(by_family["ViT"].accuracy.max())
    return View(
        courses_figure(courses, TITLES[over], unit, mode),
        describe_curves(courses, unit),
        notes=describe_trainings(headers, list_machines(headers)),
        table=Table(
            {
                "model": list(by_family),
                "final accuracy": [float(course.accuracy[-1]) for course in courses],
                f"ViT's best accuracy after, {unit}": [
                    time_to_accuracy(course.x, course.accuracy, best) for course in courses
                ],
            },
            {"final accuracy": percent},
            "hybrid_training.csv",
        ),
    )


def build_course(family: str, header: Header, over: str) -> Course:
    records = [r for r in header.history if r.get("kind") == "evaluation" and r.get("split") == "validation"]
    batch = 1 if header.train is None else header.train.batch_size
    x = [float(r["seconds"]) if over == "seconds" else float(r["step"] * batch) for r in records]
    return Course(family, family, np.array(x), np.array([float(r["accuracy"]) for r in records]))


def describe_curves(courses: Sequence[Course], unit: str) -> str:
    """Return when the hybrid reaches the ViT's best accuracy, and the final accuracies."""
    by_family = {course.family: course for course in courses}
    hybrid, vit = by_family["Hybrid"], by_family["ViT"]
    best = float(vit.accuracy.max())
    hybrid_x = time_to_accuracy(hybrid.x, hybrid.accuracy, best)
    vit_x = time_to_accuracy(vit.x, vit.accuracy, best) or 0.0
    reached = (
        f"reaches the ViT's best accuracy, {percent(best)}, after {hybrid_x:,.0f} {unit}" if hybrid_x else ""
    )
    start = f"The hybrid {reached or f'never reaches the best accuracy of the ViT, {percent(best)}'}"
    ends = ", ".join(f"{course.family} {percent(float(course.accuracy[-1]))}" for course in courses)
    return (
        f"{start}; the ViT after {vit_x:,.0f}. Their schedules and augmentations differ, so this does not compare the"
        f" two architectures. Final accuracy: {ends}."
    )


def describe_trainings(headers: Mapping[str, Header], machines: Sequence[str]) -> str:
    """Return machines, seeds and differences of the trainings.

    Args:
        headers: by family.
        machines: on which they were trained.
    """
    trains = {family: header.train for family, header in headers.items() if header.train is not None}
    differences = describe_recipe_differences(trains)
    where = (
        f"All were trained on {plain(machines[0])}."
        if len(machines) == 1
        else f"Trained on different machines, so seconds are not compared: {'; '.join(map(plain, machines))}."
    )
    vit, hybrid = (headers[family].train for family in ("ViT", "Hybrid"))
    ratio = (vit.epochs or 0) / (hybrid.epochs or 1) if vit and hybrid else 1.0
    longer = (
        f" The ViT trains {ratio:.1f} times as many epochs as the hybrid, which delays its best accuracy."
        if ratio > 1
        else ""
    )
    return (
        f"{where} One seed each, recorded in the checkpoints."
        + (f" The runs differ ({differences})." if differences else "")
        + f" The learning rate decays towards the end, so compare the final accuracies too.{longer}"
    )


STUDY = Study(
    "hybrid_training",
    "Hybrids over training",
    "Does a hybrid reach the ViT's accuracy sooner?",
    3,
    (),
    build=build,
    choices=(Choice("hybrids.over", "x axis", list_axes),),
    code=(time_to_accuracy,),
)
