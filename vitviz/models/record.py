"""Hand out a model's intermediates by name to callers that ask for them, without hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase

from torch import Tensor

ATTENTION_PARTS = ("q", "k", "v", "scores", "attn")  # what every attention records, in this order

Observer = Callable[[str, Tensor], None]
RecordRequest = bool | Iterable[str] | Observer | None


class Recorder:
    """Keeps the intermediates that a request names; an observer is called instead, so nothing is kept."""

    def __init__(self, request: RecordRequest) -> None:
        self.tensors: dict[str, Tensor] = {}
        self._observer: Observer | None = request if callable(request) else None
        self._all = request is True or self._observer is not None
        self._patterns: tuple[str, ...] = ()
        if not (request is None or isinstance(request, bool) or callable(request)):
            self._patterns = (request,) if isinstance(request, str) else tuple(request)
        self.active = self._all or bool(self._patterns)

    def wants(self, name: str) -> bool:
        """Return True if this intermediate was requested."""
        return self._all or any(fnmatchcase(name, pattern) for pattern in self._patterns)

    def wants_any(self, name: str, parts: Iterable[str]) -> bool:
        """Return True if a part of this layer (`NAME.PART`) was requested."""
        return self.active and any(self.wants(f"{name}.{part}") for part in parts)

    def __call__(self, name: str, tensor: Tensor) -> None:
        if not self.active or not self.wants(name):
            return
        if self._observer is not None:
            self._observer(name, tensor)
        else:
            self.tensors[name] = tensor
