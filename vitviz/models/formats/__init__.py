"""Open checkpoints of other projects: one module a publisher says how its names and shapes differ from ours."""

from vitviz.models.formats.format_detection import apply_given, open_model

__all__ = ["apply_given", "open_model"]
