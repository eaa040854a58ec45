"""A class's code: short, told apart when it is read from a screen, and too many to be guessed.

Six of thirty signs, without those that look alike (0 and O, 1, I and L, U and V): 7.3 * 10^8 codes, which live for
hours. Whoever has one may look on, as with any link.
"""

from __future__ import annotations

import secrets

SIGNS = "ABCDEFGHJKMNPQRSTVWXYZ23456789"
LENGTH = 6


def new_code() -> str:
    """A code that nobody can guess."""
    return "".join(secrets.choice(SIGNS) for _ in range(LENGTH))


def read_code(text: str) -> str | None:
    """A code as somebody typed it, in any case, with spaces or hyphens; None where it is none."""
    if len(text) > 4 * LENGTH:
        return None
    code = "".join(text.split()).replace("-", "").upper()
    return code if len(code) == LENGTH and set(code) <= set(SIGNS) else None


def spaced(code: str) -> str:
    """As it is shown: 'K7Q M4T'; the space does not break."""
    return f"{code[: LENGTH // 2]}\N{NO-BREAK SPACE}{code[LENGTH // 2 :]}"
