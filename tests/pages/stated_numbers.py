"""What a page says, and which numbers of it a test looks at."""

from __future__ import annotations

import re
from collections.abc import Iterable

from streamlit.testing.v1 import AppTest

ELSEWHERE = re.compile(r":material/menu_book:[^\n]*")  # a paper's own numbers


def words(app: AppTest) -> str:
    """What the page says, without what papers say, one part a line."""
    parts = [part.value for part in (*app.main.markdown, *app.main.caption)]
    text = (
        "\n".join(parts).replace("\N{NO-BREAK SPACE}", " ").replace("\N{WORD JOINER}", "").replace("\\", "")
    )
    return ELSEWHERE.sub("", text).replace("\N{MINUS SIGN}", "-")


def shares(text: str) -> set[str]:
    return {*re.findall(r"(\d+(?:\.\d+)?) %", re.sub(r"95\s% interval", "", text))}


def points(text: str) -> set[str]:
    """Numbers of points, without their sign."""
    return {*re.findall(r"(\d+\.\d) points", text)}


def written(values: Iterable[float], digits: int = 1) -> set[str]:
    """As a caption writes them: shares in percent, or points without a sign."""
    rounded = {f"{abs(value):.{digits}f}" for value in values}
    return {"100" if float(text) == 100 else text for text in rounded}
