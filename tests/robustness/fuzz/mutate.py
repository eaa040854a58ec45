"""Real files, spoilt: bytes flipped, cut, doubled and spliced, numbers made absurd, zip entries packed as bombs."""

from __future__ import annotations

import random
import re
import struct
import zipfile

from tests.robustness import zip_traps

NUMBERS = (
    b"1e999",
    b"-1e308",
    b"1e-300",
    b"-1",
    b"0",
    b"NaN",
    b"Infinity",
    b"9" * 30,
    b"0.5",
    b"null",
    b"true",
    b'"x"',
    b"[]",
    b"{}",
)
WORDS = (
    b"\x00",
    b"\xff" * 4,
    b"\xff\xff\xff\x7f",
    b"[" * 500,
    b'"' + b"a" * 5000 + b'"',
    b"<img src=x>",
    b"../..",
    b"\n",
)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_BOMB_BYTES = 400 * 2**20


def spoil(dice: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """One to four changes of a real file; `others` are what parts of it may be exchanged with."""
    if zipfile_like(data) and dice.random() < 0.1:
        return bomb(dice, data)
    for _ in range(dice.randint(1, 4)):
        data = dice.choice((_flip, _flip, _cut, _double, _splice, _number, _number, _word))(
            dice, data, others
        )
    return data


def zipfile_like(data: bytes) -> bool:
    """Whether it begins as a zip does."""
    return data[:2] == b"PK"


def bomb(dice: random.Random, data: bytes) -> bytes:
    """A zip of the same names whose one entry unpacks to far more than it says, by any method that there is."""
    method = dice.choices((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA), (10, 10, 1))[
        0
    ]  # slow to make
    if method not in _packed:
        _packed[method] = zip_traps.packed(_BOMB_BYTES, method)
    names = [
        name.decode("utf-8", "replace")
        for name in re.findall(rb"[\w/]+\.(?:png|json|jsonl|safetensors)", data)
    ]
    name = dice.choice(names or ["a/b.png"])
    returned = dice.choice((0, 1000, _BOMB_BYTES))
    return zip_traps.archive([zip_traps.Entry(name, _packed[method], method, returned)])


_packed: dict[int, bytes] = {}


def _flip(dice: random.Random, data: bytes, others: list[bytes]) -> bytes:
    if not data:
        return data
    at = min(int(dice.expovariate(8) * len(data)), len(data) - 1)  # headers lie at the start
    return data[:at] + bytes([data[at] ^ dice.choice((1, 128, 255, dice.randrange(1, 256)))]) + data[at + 1 :]


def _cut(dice: random.Random, data: bytes, others: list[bytes]) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] if dice.random() < 0.5 else data[:at] + data[at + dice.randrange(64) :]


def _double(dice: random.Random, data: bytes, others: list[bytes]) -> bytes:
    at = dice.randrange(len(data) + 1)
    part = data[at : at + dice.randrange(1, 256)]
    return data[:at] + part * dice.choice((1, 2, 50)) + data[at:]


def _splice(dice: random.Random, data: bytes, others: list[bytes]) -> bytes:
    other = dice.choice(others)
    return data[: dice.randrange(len(data) + 1)] + other[dice.randrange(len(other) + 1) :]


def _number(dice: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """A number of a text becomes an absurd one; where there is no text, four bytes of the header do."""
    places = list(_NUMBER.finditer(data, 0, 20_000))
    if places and dice.random() < 0.8:
        place = dice.choice(places)
        return data[: place.start()] + dice.choice(NUMBERS) + data[place.end() :]
    at = dice.randrange(max(1, min(len(data), 128)))
    return (
        data[:at]
        + struct.pack(dice.choice("<>") + "I", dice.choice((0, 1, 2**31, 2**32 - 1, 65536)))
        + data[at + 4 :]
    )


def _word(dice: random.Random, data: bytes, others: list[bytes]) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + dice.choice(WORDS) + data[at:]
