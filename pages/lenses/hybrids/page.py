"""Hybrids: a convolutional stem computes the tokens of a ViT."""

from pages.controls import query_params
from pages.frame import page
from pages.lenses.hybrids import stem
from pages.selection import selection

page.header("hybrids")
query_params.keep_page_pending("hybrids")
stem.draw()
with page.row():
    selection.link_to("studies", "Hybrids over training", **{"studies.study": "hybrid_training"})
    selection.link_to(
        "studies", "Attention over convolutions", **{"studies.study": "attention_over_convolutions"}
    )
    selection.link_to("studies", "One token", **{"studies.study": "one_token"})
