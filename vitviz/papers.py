"""Cite papers and their findings from papers.toml."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _read() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("papers.toml").read_text("utf-8"))


@cache
def list_links() -> dict[str, str]:
    """Return a Markdown link of every paper, by its key."""
    return {key: f"[{name}]({url})" for key, (name, url) in _read()["papers"].items()}


def cite(text: str) -> str:
    """Replace every `{key}` of a text by the paper's link: `cite("see {raghu2021}, figure 1")`.

    Raises:
        KeyError: if papers.toml has no such paper.
    """
    return text.format_map(list_links())


def link_names(text: str) -> str:
    """Replace every paper's name by its link: 'Raghu et al. 2021'."""
    by_name = {name: f"[{name}]({url})" for name, url in _read()["papers"].values()}
    names = "|".join(map(re.escape, sorted(by_name, key=len, reverse=True)))
    return re.sub(names, lambda match: by_name[match[0]], text)


def find_findings(subject: str) -> str:
    """Return what papers found on a subject, such as a study's name, in Markdown; '' if none is cited."""
    return cite(" ".join(_read()["findings"].get(subject, "").split()))
