"""Read and draw validation accuracy during training of hybrid, ViT, CNN and Swin, from their checkpoints."""

import numpy as np

from pages.stores import catalogue
from pages.studies.study import Values
from vitviz.analysis.run_comparison import describe_recipe_differences, time_to_accuracy
from vitviz.analysis.study_numbers import ALL, Numbers
from vitviz.checkpoint_header import Header
from vitviz.experiments.result_file import ResultError
from vitviz.plots.chart import Chart
from vitviz.plots.hybrids import Course, courses_figure
from vitviz.plots.theme import Mode
from vitviz.text import percent, plain

CHECKPOINTS = {"CNN": "cifar10_cnn", "Hybrid": "cifar10_hybrid", "ViT": "cifar10_vit", "Swin": "cifar10_swin"}
AXES = {"seconds": "Seconds", "pictures": "Images seen"}
TITLES = {"seconds": "seconds of training", "pictures": "images seen"}
UNITS = {"seconds": "s", "pictures": "images"}


def load_headers() -> dict[str, Header]:
    """Load the headers of the checkpoints that are shipped, by family."""
    paths = {family: catalogue.CHECKPOINTS / f"{name}.safetensors" for family, name in CHECKPOINTS.items()}
    return {family: catalogue.read_header(path) for family, path in paths.items() if path.is_file()}


def list_machines(headers: dict[str, Header]) -> list[str]:
    return sorted({str(header.card.get("machine", "an unnamed machine")) for header in headers.values()})


def list_axes(values: Values) -> dict[str, str]:
    """Return the axes on which the trainings can be compared: not the seconds of different machines."""
    comparable = len(list_machines(load_headers())) == 1
    return {axis: title for axis, title in AXES.items() if comparable or axis == "pictures"}


def build_courses(over: str) -> dict[str, Course]:
    """Return the course of each training, by family.

    Raises:
        ResultError: if a checkpoint is missing.
    """
    headers = load_headers()
    if missing := CHECKPOINTS.keys() - headers.keys():
        raise ResultError(f"the CIFAR-10 checkpoints of {', '.join(sorted(missing))} are missing here")
    return {family: _build_course(family, header, over) for family, header in headers.items()}


def _build_course(family: str, header: Header, over: str) -> Course:
    records = [r for r in header.history if r.get("kind") == "evaluation" and r.get("split") == "validation"]
    batch = 1 if header.train is None else header.train.batch_size
    x = [float(r["seconds"]) if over == "seconds" else float(r["step"] * batch) for r in records]
    return Course(family, family, np.array(x), np.array([float(r["accuracy"]) for r in records]))


def read(values: Values, numbers: None) -> Numbers:
    """Return the final accuracies, and the words of the sentences."""
    courses, headers, unit = build_courses(values["over"]), load_headers(), UNITS[values["over"]]
    best = float(courses["ViT"].accuracy.max())
    needs = {
        name: time_to_accuracy(courses[name].x, courses[name].accuracy, best) for name in ("ViT", "Hybrid")
    }
    final = {family: float(course.accuracy[-1]) for family, course in courses.items()}
    trains = {family: header.train for family, header in headers.items() if header.train is not None}
    extra = {
        "best accuracy": percent(best),
        "vit needs": f"{needs['ViT'] or np.nan:,.0f}\N{NO-BREAK SPACE}{unit}",
        "hybrid needs": f"{needs['Hybrid'] or np.nan:,.0f}\N{NO-BREAK SPACE}{unit}",
        "final accuracies": ", ".join(f"{family} {percent(accuracy)}" for family, accuracy in final.items()),
        "differences": describe_recipe_differences(trains),
        "times longer": f"{(trains['ViT'].epochs or 0) / (trains['Hybrid'].epochs or 1):.1f}",
        "machines": "; ".join(map(plain, list_machines(headers))),
    }
    accuracy = {family: {ALL: {0: share}} for family, share in final.items()}
    return Numbers(dict(zip(final, final, strict=True)), accuracy, dict.fromkeys(final, ()), extra=extra)


def chart(values: Values, numbers: Numbers, mode: Mode) -> Chart:
    over = values["over"]
    return courses_figure([*build_courses(over).values()], TITLES[over], UNITS[over], mode)
