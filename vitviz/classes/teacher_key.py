"""Create, revoke and accept the teacher's key, which opens a class's lead elsewhere; only its hash is stored."""

import hashlib
import hmac
import secrets

from vitviz.classes.class_store import LEADS, ClassStore
from vitviz.classes.database import ClassError


def create_key(classes: ClassStore, code: str, owner: str) -> str:
    """Return a new key of the class's teacher, in place of an earlier one, which is revoked.

    Raises:
        ClassError: if this session does not lead the class, or the database cannot be written.
    """
    key = secrets.token_urlsafe(24)
    revoke_key(classes, code, owner)
    classes.database.execute("INSERT INTO teacher_key VALUES (?, ?)", code, _hash_key(code, key))
    return key


def revoke_key(classes: ClassStore, code: str, owner: str) -> None:
    """Revoke the teacher's key and every lead that it opened; this session and the opener go on leading.

    Raises:
        ClassError: if this session does not lead the class, or the database cannot be written.
    """
    with classes.database.writing() as file:
        query = f"SELECT 1 FROM class WHERE code = ? AND {LEADS}"
        if file.execute(query, (code, owner, owner)).fetchone() is None:
            raise ClassError("this browser does not lead the class")
        file.execute("DELETE FROM teacher_key WHERE code = ?", (code,))
        file.execute("DELETE FROM key_holder WHERE code = ? AND owner != ?", (code, owner))


def accept_key(classes: ClassStore, code: str, key: str, owner: str) -> bool:
    """Make a session a teacher of the class by its key; return False if the key is wrong or was revoked."""
    rows = classes.database.fetch("SELECT hash FROM teacher_key WHERE code = ?", code)
    if not rows or not hmac.compare_digest(rows[0][0], _hash_key(code, key)) or classes.load(code) is None:
        return False
    classes.database.execute("INSERT OR IGNORE INTO key_holder VALUES (?, ?)", code, owner)
    return True


def _hash_key(code: str, key: str) -> bytes:
    return hashlib.sha256(f"key:{code}:{key}".encode()).digest()
