"""Hand out a model's intermediates by name, and put others in their place, without hooks."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

import torch
from torch import Tensor

ATTENTION_PARTS = ("q", "k", "v", "scores", "attn")  # what every attention records, in this order

Observer = Callable[[str, Tensor], None]
RecordRequest = bool | Iterable[str] | Observer | None


@dataclass(frozen=True, eq=False)
class Replacement:
    """Values that take the place of an intermediate; both tensors broadcast to its shape.

    where: boolean, True where the values count.
    """

    values: Tensor
    where: Tensor


class IntermediateRecorder:
    """Keeps the intermediates that a request names; an observer is called instead, so nothing is kept.

    `replaced` names intermediates that are computed, then replaced (activation patching): heads' outputs
    ('blocks.2.heads') and the outputs of embedding and blocks ('embedded', 'blocks.2').
    """

    def __init__(self, request: RecordRequest, replaced: Mapping[str, Replacement] | None = None) -> None:
        self.tensors: dict[str, Tensor] = {}
        self._replaced = dict(replaced or {})
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
        names = [f"{name}.{part}" for part in parts]
        return any(part in self._replaced for part in names) or (self.active and any(map(self.wants, names)))

    def replace(self, name: str, tensor: Tensor) -> Tensor:
        """Record an intermediate and return it, or what is to take its place."""
        if name in self._replaced:
            given = self._replaced.pop(name)
            tensor = torch.where(given.where, given.values, tensor)
        self(name, tensor)
        return tensor

    def check_replaced(self) -> None:
        """Raise if a replacement names no intermediate that can be replaced.

        Raises:
            ValueError: with the names that are left.
        """
        if self._replaced:
            raise ValueError(
                "expected heads' outputs or outputs of the embedding and of blocks to replace,"
                f" received {', '.join(sorted(self._replaced))}"
            )

    def __call__(self, name: str, tensor: Tensor) -> None:
        if not self.active or not self.wants(name):
            return
        if self._observer is not None:
            self._observer(name, tensor)
        else:
            self.tensors[name] = tensor
