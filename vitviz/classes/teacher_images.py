"""Pictures of a teacher's own that the class may see: on the server's disk as long as the class lasts."""

from __future__ import annotations

import io
import re
import secrets
import time

import numpy as np
from numpy.typing import NDArray

from vitviz.classes.classes import Classes
from vitviz.classes.database import ClassError

MOST_PICTURES = 6  # of a class; the oldest makes room
MOST_BYTES = 16 * 2**20
MOST_OF_ALL_BYTES = 2**30  # of all classes' together: 200 could have 6 of the largest each, 19 GB
_ID = re.compile(r"[A-Za-z0-9_-]{22}")


def keep(classes: Classes, code: str, picture: NDArray[np.uint8]) -> str:
    """Keeps a picture (H, W, 3) for a class, without loss; returns an id that nobody can guess.

    Raises:
        ClassError: if the class is gone, the picture is too large, the server keeps no more, or nothing can be written.
    """
    from PIL import Image

    held = io.BytesIO()
    Image.fromarray(picture).save(held, "PNG", compress_level=3)
    if held.tell() > MOST_BYTES:
        raise ClassError(
            f"the picture takes {held.tell() >> 20} MB; a class is shown up to {MOST_BYTES >> 20} MB"
        )
    key = secrets.token_urlsafe(16)
    with classes.database.writing() as file:
        if file.execute("SELECT 1 FROM class WHERE code = ?", (code,)).fetchone() is None:
            raise ClassError("this class is over")
        file.execute("INSERT INTO picture VALUES (?, ?, ?, ?)", (key, code, time.time(), held.getvalue()))
        file.execute(
            "DELETE FROM picture WHERE code = ? AND id NOT IN"
            " (SELECT id FROM picture WHERE code = ? ORDER BY rowid DESC LIMIT ?)",
            (code, code, MOST_PICTURES),
        )
        (stored,) = file.execute("SELECT SUM(LENGTH(png)) FROM picture").fetchone()
        if stored > MOST_OF_ALL_BYTES:
            raise ClassError("the classes on this server show as much as it keeps; a smaller picture may fit")
    return key


def find(classes: Classes, code: str, key: str) -> NDArray[np.uint8] | None:
    """A class's picture (H, W, 3); None where it has none of this id.

    Raises:
        ClassError: if the file cannot be read.
    """
    from PIL import Image, UnidentifiedImageError

    if not _ID.fullmatch(key):
        return None
    with classes.database.reading() as file:
        row = (
            file and file.execute("SELECT png FROM picture WHERE id = ? AND code = ?", (key, code)).fetchone()
        )
    if not row:
        return None
    try:
        with Image.open(io.BytesIO(row[0])) as image:
            return np.asarray(image.convert("RGB"))
    except (UnidentifiedImageError, OSError, ValueError):  # spoilt on the disk
        return None


def remove(classes: Classes, code: str) -> None:
    """Forgets all pictures of a class.

    Raises:
        ClassError: if the file cannot be written.
    """
    with classes.database.writing() as file:
        file.execute("DELETE FROM picture WHERE code = ?", (code,))
