"""Translate addresses of views that have become studies."""

from collections.abc import Mapping

# By address and view: the study. The first is the page's default view, if the whole page has moved.
STUDIES: dict[str, dict[str, str]] = {
    "data": {
        "sizes": "data_size",
        "time": "training_time",
        "augmented": "augmentation",
        "papers": "published_sizes",
    },
    "experiments": {
        "knob": "hyperparameter",
        "slip": "bug",
        "spot": "spot_the_bug",
        "gradient": "residuals",
        "norms": "norms",
        "positions": "positions",
    },
    "hybrids": {
        "training": "hybrid_training",
        "asked": "attention_over_convolutions",
        "flat": "one_token",
    },
    "distillation": {"worth": "teacher"},
    "fine_tuning": {"grown": "image_count", "ways": "tuning_methods"},
    "positions": {"matter": "positions"},
}
MOVED_PAGES = ("data", "experiments")


def translate(slug: str, query: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return today's address of an address of any version."""
    views = STUDIES.get(slug, {})
    default = next(iter(views.values())) if slug in MOVED_PAGES else None
    study = views.get(query.get(f"{slug}.view", ""), default)
    if study is None:  # the page still draws the view
        return slug, dict(query)
    rest = {key: text for key, text in query.items() if key not in (f"{slug}.view", "hybrids.results")}
    if query.get("hybrids.results") == "1":  # the results were a toggle, not a prediction
        rest["hybrids.question"] = "shown"
    return "studies", {"studies.study": study, **rest}
