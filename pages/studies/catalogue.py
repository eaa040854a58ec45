"""List all studies in the order of the gallery."""

from __future__ import annotations

from typing import Any

from pages.studies import augmentation, data_size, published_sizes, training_time
from pages.studies.study import Study

STUDIES: dict[str, Study[Any]] = {
    study.name: study
    for study in (
        data_size.STUDY,
        training_time.STUDY,
        augmentation.STUDY,
        published_sizes.STUDY,
    )
}
