"""Cite papers as links."""

from __future__ import annotations

import re

from pages.frame import page

PAPERS = {
    "Dong et al. 2021": "https://arxiv.org/abs/2103.03404",
    "Dosovitskiy et al. 2021": "https://arxiv.org/abs/2010.11929",
    "Goyal et al. 2017": "https://arxiv.org/abs/1706.02677",
    "He et al. 2016": "https://arxiv.org/abs/1512.03385",
    "Hendrycks and Gimpel 2016": "https://arxiv.org/abs/1606.08415",
    "Smith 2017": "https://arxiv.org/abs/1506.01186",
    "Steiner et al. 2022": "https://arxiv.org/abs/2106.10270",
    "Touvron et al. 2021 (CaiT)": "https://arxiv.org/abs/2103.17239",
    "Touvron et al. 2021": "https://arxiv.org/abs/2012.12877",
    "Vaswani et al. 2017": "https://arxiv.org/abs/1706.03762",
    "Xiao et al. 2021": "https://arxiv.org/abs/2106.14881",
    "Xiong et al. 2020": "https://arxiv.org/abs/2002.04745",
    "Zhang et al. 2020": "https://arxiv.org/abs/1912.03194",
}
_CITED = re.compile("|".join(map(re.escape, PAPERS)))


def link_papers(text: str) -> str:
    """Replace every paper's name by a Markdown link."""
    return _CITED.sub(lambda match: f"[{match[0]}]({PAPERS[match[0]]})", text)


def cite_papers(text: str) -> None:
    """Draw published findings as a citation, or say that none is cited."""
    if not text:
        page.caption("No paper is cited for this hyperparameter.")
        return
    page.caption(f":material/menu_book: *Published, with larger models and datasets:* {link_papers(text)}")
