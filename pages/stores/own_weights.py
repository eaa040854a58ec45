"""A visitor's own weights of a known architecture: a model of this visit, in the server's memory, under an id that
nobody can guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pages.stores import uploads
from pages.stores.model_choice import ModelChoice

if TYPE_CHECKING:
    from pages.stores.session import Visit
    from vitviz.models.loaded_model import LoadedModel

KEY = "weights:"
PRIVACY = (
    "Your file is read into this server's memory for this visit and never written to disk, unless you fine-tune it: a"
    " run keeps what it began with. Whoever has its link sees the model too, and can remove it."
)


@dataclass(frozen=True, eq=False)
class Entry:
    """An opened model and what it holds."""

    model: LoadedModel
    nbytes: int


STORE: uploads.Store[Entry] = uploads.Store(per_visit=2, total_bytes=512 * 2**20)
uploads.STORES.append(STORE)


def architectures(limit_mb: int) -> list[str]:
    """Names whose weights can come in a file of so many MB, 16 bits a weight."""
    from vitviz.models.pretrained_list import PRETRAINED
    from vitviz.models.size import millions

    return [name for name, entry in PRETRAINED.items() if 2 * millions(entry.config) <= limit_mb]


def mine(visit: Visit) -> list[str]:
    """Ids of a visit's weights, newest first; what had to make room drops out."""
    visit.weights = tuple(name for name in visit.weights if STORE.get(name) is not None)
    return list(visit.weights)


def adopt(visit: Visit, name: str) -> bool:
    """Adds weights whose unguessable id a link holds to a visit."""
    if name in visit.weights or STORE.get(name) is None:
        return name in visit.weights
    visit.weights = (name, *visit.weights)
    return True


def model(key: str) -> LoadedModel:
    """The model of a key 'weights:ID'.

    Raises:
        KeyError: if it is not, or no longer, there.
    """
    entry = STORE.get(key.removeprefix(KEY))
    if entry is None:
        raise KeyError(key)
    return entry.model


def keep(visit: Visit, architecture: str, data: bytes, limit_mb: int) -> str:
    """Opens a safetensors file as this architecture and keeps the model; returns its key.

    Raises:
        vitviz.models.pretrained_list.PretrainedError: if the file is too large or not these weights.
    """
    from vitviz.models.pretrained import PretrainedError, open_own

    if len(data) > limit_mb * 2**20:
        raise PretrainedError(
            f"the file has {len(data) / 2**20:,.0f} MB, more than the {limit_mb} MB taken; 16-bit weights are half"
            " as large"
        )
    opened = open_own(architecture, data)
    size = sum(tensor.nbytes for tensor in opened.model.state_dict().values())
    name = STORE.add(Entry(opened, size), visit.token)
    adopt(visit, name)
    return f"{KEY}{name}"


def remove(key: str) -> None:
    """Forgets weights at once."""
    STORE.remove(key.removeprefix(KEY))


def choices(visit: Visit) -> tuple[ModelChoice, ...]:
    """A visit's own weights as models to choose."""
    held = (
        (name, STORE.get(name)) for name in mine(visit)
    )  # another visit's upload may just have taken the room
    return tuple(_choice(name, entry) for name, entry in held if entry is not None)


def _choice(name: str, entry: Entry) -> ModelChoice:
    opened = entry.model
    classes = len(opened.classes)
    head = f"{classes:,} classes" if classes else "no head"
    return ModelChoice(
        key=f"{KEY}{name}",
        title=opened.title,
        note=f"Your own weights, {head}; what they were trained on, their file does not say.",
        config=opened.config,
        preparation=opened.preparation,
        trained_on=opened.trained_on,
        steps=(0,),
    )


def gone(key: object) -> bool:
    """Whether a key names weights that were uploaded once and are no longer here."""
    return isinstance(key, str) and key.startswith(KEY) and STORE.get(key.removeprefix(KEY)) is None
