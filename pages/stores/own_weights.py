"""Keep a user's own weights in temporary files, mapped into memory, under an unguessable id."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pages.stores import uploads
from pages.stores.model_choice import ModelChoice
from vitviz.config_fields import Size
from vitviz.text import cut, plural
from vitviz.upload_limits import WEIGHTS_DISK_MB, WEIGHTS_PER_USER

if TYPE_CHECKING:
    from pathlib import Path

    from pages.stores.session import UserSession
    from vitviz.config import Preparation
    from vitviz.models.formats.uploaded_weights import TemporaryFolder
    from vitviz.models.loaded_model import LoadedModel

KEY = "weights:"
PRIVACY = (
    f"Your last {WEIGHTS_PER_USER} uploads stay in temporary files on this server for this session; a run that"
    " fine-tunes them keeps a copy."
    " Anyone with the link can view the model; only you can change or delete it."
)


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """An opened model, the size of its file, and the folder that is deleted with the last model that uses it."""

    model: LoadedModel
    nbytes: int
    folder: TemporaryFolder
    file_name: str = ""  # tells two models of one architecture apart


def read_limit_mb(name: str, default: int, least: int = 1) -> int:
    """Return a limit in MB that the operator sets in an environment variable.

    Raises:
        ValueError: if it is no whole number of at least `least`.
    """
    text = os.environ.get(name, "").strip() or str(default)
    if not text.isdecimal() or int(text) < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, received {text!r}")
    return int(text)


# What all users' weights may take on disk.
STORE: uploads.Store[OpenedModel] = uploads.Store(
    per_user=WEIGHTS_PER_USER, total_bytes=read_limit_mb("VITVIZ_OWN_WEIGHTS_MB", WEIGHTS_DISK_MB) << 20
)
uploads.STORES.append(STORE)


def adopt_weights(user: UserSession, name: str) -> bool:
    """Add weights whose unguessable id a link contains to the user's session."""
    if name in user.weights or STORE.get(name) is None:
        return name in user.weights
    user.update("weights", [name])
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


def open_weights(user: UserSession, file_name: str, upload: bytes, limit_mb: int) -> str:
    """Open a safetensors file or a zipped folder of any publisher, store the model and return its key.

    Raises:
        vitviz.models.pretrained_list.PretrainedError: if the file is too large or no model opens from it.
    """
    from vitviz.models.formats.uploaded_weights import TemporaryFolder, is_folder_zip, write_upload
    from vitviz.models.pretrained_list import PretrainedError

    if len(upload) > limit_mb * 2**20:
        raise PretrainedError(
            f"expected at most {limit_mb} MB, received {len(upload) / 2**20:,.0f} MB; 16-bit weights are half as large"
        )
    folder, limit = TemporaryFolder(), STORE.total_bytes
    source = write_upload(upload, folder.path, limit, is_zip=is_folder_zip(file_name, upload))
    return add_model(user, replace(open_folder(folder, source), file_name=cut(file_name, 40)))


def open_folder(folder: TemporaryFolder, source: Path, title: str = "") -> OpenedModel:
    """Open the file or folder `source` inside a temporary folder, which then holds the model's weights alone.

    Raises:
        vitviz.models.pretrained_list.PretrainedError: if no model opens from it, or it is too large.
    """
    from vitviz.malloc import give_back
    from vitviz.models.formats import open_model
    from vitviz.models.formats.uploaded_weights import move_to_disk
    from vitviz.models.pretrained_list import PretrainedError

    opened = open_model(source, title=title)
    size, limit = move_to_disk(opened, folder.path), STORE.total_bytes
    give_back()  # the tensors as they were read
    if size > limit:
        raise PretrainedError(
            f"its 32-bit weights take {size / 2**20:,.0f} MB of disk, more than the {limit / 2**20:,.0f} MB that all"
            " users share here"
        )
    return OpenedModel(opened, size, folder)


def identify_model(key: str) -> str:
    """Return a key that changes with a model's weights, labels and preparation."""
    entry = STORE.get(key.removeprefix(KEY))
    return key if entry is None else f"{key}@{entry.model.digest}"


def add_model(user: UserSession, entry: OpenedModel) -> str:
    """Store an opened model as this user's and return its key.

    Raises:
        vitviz.models.pretrained_list.PretrainedError: if the server has no room for it.
    """
    from vitviz.models.pretrained_list import PretrainedError

    try:
        name = STORE.add(entry, user.token)
    except uploads.StoreFull as error:
        raise PretrainedError(str(error).removesuffix(".")) from error
    adopt_weights(user, name)
    return f"{KEY}{name}"


def is_owner(user: UserSession, key: str) -> bool:
    """Return True if this user uploaded the weights; others may view them by their link."""
    return STORE.is_of(key.removeprefix(KEY), user.token)


def change_model(
    user: UserSession,
    key: str,
    labels: tuple[str, ...],
    preparation: Preparation,
    num_heads: int | None = None,
    image_size: Size | None = None,
) -> None:
    """Replace a user's model by one with other labels, heads, grid and preparation of images, under the same key.

    Args:
        num_heads: one of `list_head_counts`; None: as it is.
        image_size: one of `list_image_sizes`, which names the grid; None: as it is.

    Raises:
        vitviz.models.pretrained_list.PretrainedError: if there is not one label per class.
        KeyError: if it has expired or is another user's.
    """
    from vitviz.models.formats import apply_given
    from vitviz.models.formats.checkpoint_settings import check_labels
    from vitviz.models.loaded_model import change_image_size, drop_notes

    entry = STORE.get(key.removeprefix(KEY))
    if entry is None or not is_owner(user, key):
        raise KeyError(key)
    model, current = entry.model, getattr(entry.model.config, "num_heads", None)
    if num_heads not in (None, current):
        model = apply_given(model, {"num_heads": num_heads})
    resized = image_size not in (None, model.preparation.image_size)
    if image_size is not None and resized:
        model = change_image_size(model, image_size)
        preparation = replace(preparation, image_size=image_size)
    classes = check_labels(labels, model.config.num_classes)
    digest = hashlib.sha256(repr((model.digest, classes, preparation)).encode()).hexdigest()
    stated = [
        name
        for name, is_changed in (
            ("num_heads", num_heads not in (None, current)),
            ("image_size", resized),
            ("labels", classes != model.classes),
            ("mean", preparation.mean != model.preparation.mean),
        )
        if is_changed
    ]
    changed = replace(
        model,
        classes=classes,
        preparation=preparation,
        digest=digest,
        notes=drop_notes(entry.model.notes, stated),
    )
    STORE.lend(key.removeprefix(KEY), replace(entry, model=changed), user.token)


def confirm_assumptions(user: UserSession, key: str) -> None:
    """Remove the notes on assumptions of a user's model; the others stay.

    Raises:
        KeyError: if it has expired or is another user's.
    """
    from vitviz.models.loaded_model import list_assumptions

    entry = STORE.get(key.removeprefix(KEY))
    if entry is None or not is_owner(user, key):
        raise KeyError(key)
    assumed = list_assumptions(entry.model.notes)
    notes = tuple(note for note in entry.model.notes if note not in assumed)
    STORE.lend(key.removeprefix(KEY), replace(entry, model=replace(entry.model, notes=notes)), user.token)


def list_choices(user: UserSession) -> tuple[ModelChoice, ...]:
    """Return the user's weights, newest first, without those that were evicted."""
    entries = {name: STORE.get(name) for name in user.weights}
    user.update("weights", remove=[name for name, entry in entries.items() if entry is None])
    return tuple(_build_choice(name, entry) for name, entry in entries.items() if entry is not None)


def _build_choice(name: str, entry: OpenedModel) -> ModelChoice:
    from vitviz.models.loaded_model import list_assumptions

    opened = entry.model
    classes = len(opened.classes)
    is_regression = getattr(opened.config, "class_output", "softmax") == "raw"
    head = plural(classes, "value") if is_regression else plural(classes, "class", "classes")
    return ModelChoice(
        key=f"{KEY}{name}",
        title=opened.title,
        file_name=entry.file_name,
        note=f"Your own weights, {head if classes else 'no head'}; training data unknown.",
        config=opened.config,
        preparation=opened.preparation,
        trained_on=opened.trained_on,
        steps=(0,),
        assumptions=list_assumptions(opened.notes),
    )


def is_expired(key: object) -> bool:
    """Return True if a key names uploaded weights that are no longer in memory."""
    return isinstance(key, str) and key.startswith(KEY) and STORE.get(key.removeprefix(KEY)) is None
