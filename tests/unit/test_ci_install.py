""".ci/install.py tells uv what pip is told of where packages come from, and leaves to pip what uv has no word for."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

INSTALL = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[2] / ".ci" / "install.py")))

LISTED = """:env:.find-links='/wheels'
:env:.default-timeout='180'
global.cert='/certs.crt'
global.extra-index-url='file:///one\\nfile:///two'
global.find-links='/elsewhere'
install.no-cache-dir='true'
freeze.all='true'
"""


def test_what_pip_is_told_uv_is_told() -> None:
    assert INSTALL.for_uv(INSTALL.settings(LISTED)) == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": "/wheels",  # the environment's word holds against a file's
        "UV_HTTP_TIMEOUT": "180",
        "SSL_CERT_FILE": "/certs.crt",
        "UV_INDEX": "file:///one file:///two",
    }


def test_a_setting_that_uv_has_no_word_for_is_pips(capsys: pytest.CaptureFixture[str]) -> None:
    assert INSTALL.for_uv(INSTALL.settings(LISTED + "global.only-binary=':all:'\n")) is None
    assert capsys.readouterr().out == "pip is told only-binary: uv has no word for it\n"
