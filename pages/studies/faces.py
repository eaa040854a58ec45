"""Study how models trained only on faces classify faces with rearranged parts."""

from collections.abc import Sequence
from statistics import mean

import numpy as np

from pages.frame import page
from pages.questions.prediction_gate import ask_highest
from pages.stores import shared_cache
from pages.studies.study import Evidence, Study, Table, View
from vitviz.data.dataset import DatasetError
from vitviz.data.faces import EACH, TEST, arranged, faces_dataset
from vitviz.experiments.faces import BACKGROUND, MODELS, NAME, TITLES, TRAIN
from vitviz.experiments.result_file import Result, read_result_if_any
from vitviz.plots.robustness import faces_figure
from vitviz.plots.theme import Mode
from vitviz.text import percent

ARRANGEMENTS = {
    "whole": "unchanged",
    "wrong": "parts in wrong places",
    "turned": "upside down",
    "shuffled": "patches shuffled",
    BACKGROUND: "no face",
}
TRAINING_FACES = EACH - TEST
GUESS = "studies.faces_guess"
_PX = 96
_EXAMPLE = 1  # index of the test face that is drawn


def build(mode: Mode) -> View | None:
    """Return the share of images classified as a face, by arrangement, model and seed."""
    stored = read_result_if_any(NAME)
    if stored is None:
        return None
    shares = compute_shares(stored)
    by_title = {TITLES[name]: list(rows.values()) for name, rows in shares.items()}
    return View(
        picture=faces_figure(
            list(ARRANGEMENTS.values()), by_title, [MODELS[name].family for name in shares], mode
        ),
        caption=describe_faces(stored),
        prediction=ask_highest(
            GUESS,
            NAME,
            "With patches shuffled, which model accepts the largest share of faces?",
            {TITLES[name]: mean(rows["shuffled"]) for name, rows in shares.items()},
            percent,
        ),
        evidence=(
            Evidence(
                stored,
                stored.rows,
                f"{stored.settings['epochs']:g} epochs on {TRAINING_FACES} faces and as many backgrounds"
                f" ({percent(TRAIN.validation_fraction, 0)} held out for validation) from scikit-image's subset of"
                " *Labeled Faces in the Wild*, none of them rearranged; one recipe for all models",
            ),
        ),
        notes=f"{describe_faces(stored, 'wrong')} {stored.rows[0]['of']} test faces. Telling faces from backgrounds"
        " does not require learning where the parts belong.",
        table=Table(
            {
                "faces": list(ARRANGEMENTS.values()),
                **{title: [mean(values) for values in rows] for title, rows in by_title.items()},
            },
            dict.fromkeys(by_title, percent),
            "faces.csv",
        ),
        above=_draw_examples,
    )


def compute_shares(stored: Result) -> dict[str, dict[str, list[float]]]:
    """Return the share of images classified as a face, by model and arrangement, one per seed."""
    runs = {name: [run for run in stored.where(model=name) if "faces" in run] for name in TITLES}
    return {
        name: {row: [run["faces"][row] / run["of"] for run in rows] for row in ARRANGEMENTS}
        for name, rows in runs.items()
        if rows
    }


def describe_faces(stored: Result, arrangement: str = "shuffled") -> str:
    """Compare the models' shares of rearranged faces that are still classified as faces."""
    shares = compute_shares(stored)
    by_model = "; ".join(
        f"{TITLES[name]} {_format_share(rows[arrangement])}" for name, rows in shares.items()
    )
    if not {"cnn", "vit"} <= shares.keys():
        return f"Accepted as faces with {ARRANGEMENTS[arrangement]}: {by_model}."
    compared = compare_seeds(shares["cnn"][arrangement], shares["vit"][arrangement])
    return f"With {ARRANGEMENTS[arrangement]}, {compared[0].lower()}{compared[1:-1]}: {by_model}."


def compare_seeds(cnn: Sequence[float], vit: Sequence[float]) -> str:
    """Return a sentence that compares the shares of CNN and ViT over seeds with the lecture's claim."""
    if len(cnn) == len(vit) == 1:
        return "One seed each does not decide the lecture's claim."
    if min(cnn) > max(vit):
        more = "The CNN accepts more faces than the ViT for all seeds, as the lecture claims"
        return f"{more}, but the ViTs also accept more than half." if min(vit) > 0.5 else f"{more}."
    if min(vit) > max(cnn):
        return "The ViT accepts more faces than the CNN for all seeds, the opposite of the lecture's claim."
    return "The ranges of CNN and ViT over seeds overlap, so the claimed difference is not visible."


def _format_share(shares: Sequence[float]) -> str:
    if len(shares) == 1:
        return f"{percent(shares[0], 0)} (one seed)"
    ends = (
        f"all {len(shares)} seeds"
        if min(shares) == max(shares)
        else f"{100 * min(shares):.0f} to {100 * max(shares):.0f} over {len(shares)} seeds"
    )
    return f"{percent(mean(shares), 0)} ({ends})"


def _draw_examples() -> None:
    """Draw one test face in every arrangement; nothing if the dataset is missing."""
    try:
        images = _load_examples()
    except DatasetError:
        return
    page.images(
        images, [ARRANGEMENTS[name] for name in ARRANGEMENTS if name != BACKGROUND], "Test face, ", _PX
    )


@shared_cache.shared(max_entries=1)
def _load_examples() -> list[np.ndarray]:
    dataset = faces_dataset()
    face = dataset.test_images[dataset.labels_of("test") == 1][_EXAMPLE : _EXAMPLE + 1]
    return [arranged(face, name)[0] for name in ARRANGEMENTS if name != BACKGROUND]


STUDY = Study(
    "faces",
    "Faces with moved parts",
    "Which model still accepts a face with its parts in wrong places?",
    3,
    (NAME,),
    build,
    keys=(GUESS,),
    code=(arranged,),
)
