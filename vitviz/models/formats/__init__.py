"""Open checkpoints of other projects: one module a publisher says how its names and shapes differ from ours."""

from vitviz.models.formats.opening import open_model

__all__ = ["open_model"]
