"""List all studies in the order of the gallery."""

from importlib import import_module

from pages.studies.study import Study

NAMES = (  # of their modules and in addresses
    "data_size",
    "training_time",
    "augmentation",
    "published_sizes",
    "patch_size",
    "positions",
    "position_errors",
    "lecture_results",
    "hyperparameter",
    "bug",
    "spot_the_bug",
    "residuals",
    "norms",
    "hybrid_training",
    "attention_over_convolutions",
    "one_token",
    "teacher",
    "image_count",
    "tuning_methods",
    "robustness",
    "faces",
)
STUDIES: dict[str, Study] = {name: import_module(f"pages.studies.{name}").STUDY for name in NAMES}
