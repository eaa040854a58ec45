"""Keep a user's own weights in memory, under an unguessable id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pages.stores import uploads
from pages.stores.model_choice import ModelChoice

if TYPE_CHECKING:
    from pages.stores.session import UserSession
    from vitviz.models.loaded_model import LoadedModel

KEY = "weights:"
PRIVACY = (
    "Your file stays in this server's memory for this session. It is written to disk only if you fine-tune it, with the"
    " run. Anyone with its link can view and delete the model."
)


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """An opened model and its size."""

    model: LoadedModel
    nbytes: int


STORE: uploads.Store[OpenedModel] = uploads.Store(per_user=2, total_bytes=512 * 2**20)
uploads.STORES.append(STORE)


def list_weights(user: UserSession) -> list[str]:
    """Return ids of the user's weights, newest first, without those that were evicted."""
    user.weights = tuple(name for name in user.weights if STORE.get(name) is not None)
    return list(user.weights)


def adopt_weights(user: UserSession, name: str) -> bool:
    """Add weights whose unguessable id a link contains to the user's session."""
    if name in user.weights or STORE.get(name) is None:
        return name in user.weights
    user.weights = (name, *user.weights)
    return True


def get_model(key: str) -> LoadedModel:
    """Return the model of a key 'weights:ID'.

    Raises:
        KeyError: if it has expired.
    """
    entry = STORE.get(key.removeprefix(KEY))
    if entry is None:
        raise KeyError(key)
    return entry.model


def open_weights(user: UserSession, data: bytes, limit_mb: int) -> str:
    """Open a safetensors file of any publisher, store the model and return its key.

    Raises:
        vitviz.models.pretrained_list.PretrainedError: if the file is too large or not these weights.
    """
    from vitviz.models.formats import open_model
    from vitviz.models.pretrained_list import PretrainedError

    if len(data) > limit_mb * 2**20:
        raise PretrainedError(
            f"expected at most {limit_mb} MB, received {len(data) / 2**20:,.0f} MB; 16-bit weights are half as large"
        )
    opened = open_model(data)
    size = sum(tensor.nbytes for tensor in opened.model.state_dict().values())
    try:
        name = STORE.add(OpenedModel(opened, size), user.token)
    except uploads.StoreFull as error:
        raise PretrainedError(str(error)) from error
    adopt_weights(user, name)
    return f"{KEY}{name}"


def remove_weights(key: str) -> None:
    STORE.remove(key.removeprefix(KEY))


def list_choices(user: UserSession) -> tuple[ModelChoice, ...]:
    # Another user's upload may have evicted an entry since it was listed.
    entries = ((name, STORE.get(name)) for name in list_weights(user))
    return tuple(_build_choice(name, entry) for name, entry in entries if entry is not None)


def _build_choice(name: str, entry: OpenedModel) -> ModelChoice:
    opened = entry.model
    classes = len(opened.classes)
    head = f"{classes:,} classes" if classes else "no head"
    return ModelChoice(
        key=f"{KEY}{name}",
        title=opened.title,
        note=f"Your own weights, {head}; training data unknown.",
        config=opened.config,
        preparation=opened.preparation,
        trained_on=opened.trained_on,
        steps=(0,),
    )


def is_expired(key: object) -> bool:
    """Return True if a key names uploaded weights that are no longer in memory."""
    return isinstance(key, str) and key.startswith(KEY) and STORE.get(key.removeprefix(KEY)) is None
