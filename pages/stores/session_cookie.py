"""Sign the cookie that identifies a user, so that only tokens that this server issued are accepted.

The key lies in the runs' folder: all processes of a server, and those after a restart, accept each other's cookies.
"""

import base64
import hashlib
import hmac
import logging
import os
import re
import secrets
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from pages.stores.runs_folder import find_runs_of, get_folder

COOKIE = "vitviz_visit"
TLS_PREFIX = "__Host-"  # browsers accept such a cookie from this host alone, and over TLS
_KEY_FILE = "session.key"
_KEY_BYTES = 32
_TOKEN = re.compile(r"[A-Za-z0-9_-]{22}")


def describe_cookie(token: str, cookies: Mapping[str, str], url: str | None) -> dict[str, str | bool]:
    """Return the cookie's value for the browser, and whether it replaces one that this server did not sign."""
    signed_token = sign_token(token, get_folder())
    return {"token": signed_token, "replaces": _get(cookies, _get_name(url)) not in ("", signed_token)}


def read_token(cookies: Mapping[str, str], url: str | None) -> str | None:
    """Return the token in a browser's cookies if this server issued it.

    A cookie from before tokens were signed is accepted only for the runs that it made by then.
    """
    folder, signed_token = get_folder(), _get(cookies, _get_name(url))
    token = signed_token.partition(".")[0]
    if _TOKEN.fullmatch(token) and hmac.compare_digest(
        signed_token.encode("utf-8", "replace"), sign_token(token, folder).encode()
    ):
        return token
    token, (_, created_s) = _get(cookies, COOKIE), _load_key(folder)
    return token if _TOKEN.fullmatch(token) and find_runs_of(hash_token(token), created_s) else None


def hash_token(token: str) -> str:
    """Return the owner's id of a token in files; it does not allow acting as the user."""
    return hashlib.sha256(token.encode()).hexdigest()[:16]


def sign_token(token: str, folder: Path) -> str:
    """Return the cookie's value for a token: the token and its signature with the key in a runs' folder."""
    signature = hmac.digest(_load_key(folder)[0], token.encode(), "sha256")
    return f"{token}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def _get(cookies: Mapping[str, str], name: str) -> str:
    cookie = cookies.get(name)
    return cookie if isinstance(cookie, str) else ""


def _get_name(url: str | None) -> str:
    """Return the cookie's name for a page's address as the browser sees it."""
    return f"{TLS_PREFIX if isinstance(url, str) and url.startswith('https:') else ''}{COOKIE}"


@lru_cache(maxsize=8)
def _load_key(folder: Path) -> tuple[bytes, float]:
    """Return the folder's key and its creation time; without a folder, a key that lasts as long as this process."""
    path, draft = folder / _KEY_FILE, folder / f".{_KEY_FILE}.{secrets.token_hex(6)}.tmp"
    try:
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
            try:
                os.link(draft, path)  # unlike a rename, keeps the key that another process wrote meanwhile
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        key = path.read_bytes()
        if len(key) == _KEY_BYTES:
            return key, path.stat().st_mtime
        problem = f"expected {_KEY_BYTES} bytes in {path}, found {len(key)}"
    except OSError as error:
        problem = str(error)
    logging.getLogger(__name__).warning("Sessions end with this process: %s. Remove the file.", problem)
    return secrets.token_bytes(_KEY_BYTES), 0.0
