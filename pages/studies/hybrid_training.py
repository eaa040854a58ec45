"""Read and draw validation accuracy during training of hybrid, ViT, CNN and Swin, from their checkpoints."""

import numpy as np

from pages.stores import catalogue
from pages.studies.study import Values
from vitviz.analysis.study_numbers import ALL, Numbers
from vitviz.analysis.verdict import measure_interval
from vitviz.checkpoint_header import Header
from vitviz.experiments.result_file import ResultError
from vitviz.plots.chart import Chart
from vitviz.plots.race import RaceCurves, draw_curves
from vitviz.plots.scoreboard import FAMILY
from vitviz.plots.theme import Mode

CHECKPOINTS = {"CNN": "cifar10_cnn", "Hybrid": "cifar10_hybrid", "ViT": "cifar10_vit", "Swin": "cifar10_swin"}
IMAGES = 2000  # of validation


def build_courses() -> list[RaceCurves]:
    """Return the validation accuracy of each training over the images that it has seen.

    Raises:
        ResultError: if a checkpoint is missing.
    """
    paths = {family: catalogue.CHECKPOINTS / f"{name}.safetensors" for family, name in CHECKPOINTS.items()}
    if missing := [family for family, path in paths.items() if not path.is_file()]:
        raise ResultError(f"the CIFAR-10 checkpoints of {', '.join(missing)} are missing here")
    return [_build_course(family, catalogue.read_header(path)) for family, path in paths.items()]


def _build_course(family: str, header: Header) -> RaceCurves:
    records = [r for r in header.history if r.get("kind") == "evaluation" and r.get("split") == "validation"]
    batch = 1 if header.train is None else header.train.batch_size
    images = np.array([r["step"] * batch for r in records], np.float64)
    accuracy = np.array([float(r["accuracy"]) for r in records])
    ends = np.array([measure_interval([share], IMAGES) for share in accuracy])
    return RaceCurves(family, FAMILY[family], np.stack([images, accuracy]), band=ends.T)


def read(values: Values, numbers: None) -> Numbers:
    """Return the final accuracies."""
    accuracy = {course.title: {ALL: {0: float(course.mean[1, -1])}} for course in build_courses()}
    return Numbers(
        dict(zip(accuracy, accuracy, strict=True)), accuracy, dict.fromkeys(accuracy, ()), images=2000
    )


def chart(values: Values, numbers: Numbers, mode: Mode) -> Chart:
    courses = build_courses()
    figure = draw_curves(courses, 0.1, max(float(course.mean[0, -1]) for course in courses), height_px=400)
    seen = "images seen"
    across = {"title": {"text": seen}, "tickformat": ",.0f", "nticks": 6}
    across["unifiedhovertitle"] = {"text": f"%{{x:,.0f}} {seen}"}
    figure.layout(meta=f"Accuracy over {seen}", xaxis=across)
    return figure
