"""List all studies in the order of the gallery."""

from pages.studies import (
    attention_over_convolutions,
    augmentation,
    bug,
    data_size,
    faces,
    hybrid_training,
    hyperparameter,
    image_count,
    lecture_results,
    norms,
    one_token,
    patch_size,
    position_errors,
    positions,
    published_sizes,
    residuals,
    robustness,
    spot_the_bug,
    teacher,
    training_time,
    tuning_methods,
)
from pages.studies.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        data_size.STUDY,
        training_time.STUDY,
        augmentation.STUDY,
        published_sizes.STUDY,
        patch_size.STUDY,
        positions.STUDY,
        position_errors.STUDY,
        lecture_results.STUDY,
        hyperparameter.STUDY,
        bug.STUDY,
        spot_the_bug.STUDY,
        residuals.STUDY,
        norms.STUDY,
        hybrid_training.STUDY,
        attention_over_convolutions.STUDY,
        one_token.STUDY,
        teacher.STUDY,
        image_count.STUDY,
        tuning_methods.STUDY,
        robustness.STUDY,
        faces.STUDY,
    )
}
