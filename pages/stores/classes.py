"""The server's classes: one file beside the runs, and the pictures that a class is shown, in this process's memory."""

from __future__ import annotations

import hmac
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from pages.stores import runs, uploads
from vitviz.classes import teacher_images
from vitviz.classes.classes import Classes
from vitviz.classes.code_attempts import Tries
from vitviz.classes.database import NAME, ClassError

if TYPE_CHECKING:
    from pages.stores.session import Visit

_lock = threading.Lock()
_open: dict[str, Classes] = {}
_tries = Tries(10, 300.0)  # of operator's codes and of classes' codes, by visit and by address


def classes() -> Classes:
    """The server's."""
    path = runs.folder() / NAME
    with _lock:
        if str(path) not in _open:
            _open[str(path)] = Classes(path)
        return _open[str(path)]


# ---------------------------------------------------------------- who may


def needs_code() -> bool:
    """Whether this server's operator lets only those open classes who know $VITVIZ_CLASS_CODE."""
    return bool(_operators_code())


def may_open(given: str, address: str) -> bool:
    """Whether a class may be opened with what was given as the operator's code.

    Raises:
        ClassError: if wrong codes came from there too often.
    """
    if not needs_code():
        return True
    name = f"open:{address}"
    if not _tries.may(name):
        raise ClassError("too many wrong codes; try again in five minutes")
    if hmac.compare_digest(given.strip().encode(), _operators_code().encode()):
        return True
    _tries.wrong(name)
    return False


def may_try(visit: Visit) -> bool:
    """Whether a visit may try one more class's code."""
    return _tries.may(visit.token)


def tried_wrong(visit: Visit) -> None:
    """A visit has tried a code of no class."""
    _tries.wrong(visit.token)


def _operators_code() -> str:
    return os.environ.get("VITVIZ_CLASS_CODE", "").strip()


# ---------------------------------------------------------------- pictures that a class is shown


def bring(code: str, image: str) -> None:
    """Has a picture of a class in memory, where it is one: as an upload of nobody's, which goes with the class."""
    key = image.removeprefix("upload:")
    if key == image or uploads.STORE.get(key) is not None:
        return
    picture = teacher_images.find(classes(), code, key)
    if picture is not None:
        uploads.STORE.lend(key, picture, _lender(code))
        stay(code)


def stay(code: str) -> None:
    """Somebody of a class is here: its pictures stay in memory a while longer."""
    uploads.STORE.release(_lender(code))


def forget(code: str) -> None:
    """A class is over: its pictures leave this process's memory."""
    uploads.STORE.forget(_lender(code))


def _lender(code: str) -> str:
    """Stands for a visit among the uploads; no token can be called so."""
    return f"class {code}"


def sweep() -> None:
    """Removes the classes that are over; what cannot be removed now is at the next sweep."""
    if (runs.folder() / NAME).is_file():
        with suppress(ClassError):
            classes().sweep()
