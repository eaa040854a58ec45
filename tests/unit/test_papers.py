"""Check papers.toml: every paper has an address and is cited, and every citation of the project names one of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vitviz import glossary
from vitviz.papers import _read, cite, find_findings, link_names, list_links

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"[A-Z]\w+ et al\. (?:19|20)\d\d")
SOURCE = {
    path: path.read_text("utf-8")
    for folder in ("pages", "vitviz")
    for path in (ROOT / folder).rglob("*.*")
    if path.suffix in (".py", ".md", ".toml") and path.name != "papers.toml"
}


def test_a_paper_is_stored_once_with_a_name_and_an_address() -> None:
    papers = _read()["papers"]
    assert len({address for _, address in papers.values()}) == len(papers)
    assert len({name for name, _ in papers.values()}) == len(papers)
    for key, (name, address) in papers.items():
        assert re.search(r"(19|20)\d\d( \(\w+\))?$", name) and address.startswith("https://"), key
        if "arxiv.org" in address:
            assert re.fullmatch(r"https://arxiv\.org/abs/\d{4}\.\d{4,5}", address), key


def test_every_paper_is_cited() -> None:
    text = "\n".join([*SOURCE.values(), *_read()["findings"].values()])
    sources = {term.source for term in glossary.TERMS}
    unused = [
        key
        for key, (name, _) in _read()["papers"].items()
        if key not in sources and f"{{{key}}}" not in text and name not in text
    ]
    assert unused == []


def test_every_citation_of_a_page_is_a_paper_of_the_file() -> None:
    names = {name for name, _ in _read()["papers"].values()}
    shown = [text for path, text in SOURCE.items() if path.is_relative_to(ROOT / "pages")]
    missing = {name for text in shown for name in NAMED.findall(text)} - names
    assert missing == set()


def test_no_page_holds_an_address_of_a_paper() -> None:
    assert [path for path, text in SOURCE.items() if "arxiv.org" in text] == []


def test_every_finding_names_papers_of_the_file() -> None:
    assert all(find_findings(subject) for subject in _read()["findings"])
    assert find_findings("no such study") == ""
    assert cite("see {raghu2021}") == "see [Raghu et al. 2021](https://arxiv.org/abs/2108.08810)"
    with pytest.raises(KeyError):
        cite("{nobody1900}")


def test_names_become_links() -> None:
    linked = list_links()
    assert link_names("see Touvron et al. 2021 (CaiT), fig. 1") == f"see {linked['touvron2021cait']}, fig. 1"
    assert link_names("$x$ (Ba et al. 2016)") == f"$x$ ({linked['ba2016']})"
