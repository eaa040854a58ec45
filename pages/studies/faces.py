"""Draw a test face in every arrangement, above the study of rearranged faces."""

import numpy as np

from pages.frame import page
from pages.stores import shared_cache
from pages.studies.study import Values
from vitviz.analysis.study_numbers import Numbers
from vitviz.data.dataset import DatasetError
from vitviz.data.faces import arranged, faces_dataset

ARRANGEMENTS = {
    "whole": "unchanged",
    "wrong": "parts in wrong places",
    "turned": "upside down",
    "shuffled": "patches shuffled",
}
_PX = 96
_EXAMPLE = 1  # index of the test face that is drawn


def draw_above(values: Values, numbers: Numbers) -> None:
    """Draw one test face in every arrangement; nothing if the dataset is missing."""
    try:
        page.images(_load_examples(), [*ARRANGEMENTS.values()], "Test face, ", _PX)
    except DatasetError:
        return


@shared_cache.shared(max_entries=1)
def _load_examples() -> list[np.ndarray]:
    dataset = faces_dataset()
    face = dataset.test_images[dataset.labels_of("test") == 1][_EXAMPLE : _EXAMPLE + 1]
    return [arranged(face, name)[0] for name in ARRANGEMENTS]
