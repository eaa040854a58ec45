"""Quote published findings on each section's question, with their sources."""

from __future__ import annotations

from pages.frame import glossary_terms, page

RAGHU = "[Raghu et al. 2021](https://arxiv.org/abs/2108.08810)"
AMIR = "[Amir et al. 2021](https://arxiv.org/abs/2112.05814)"
OQUAB = "[Oquab et al. 2024](https://arxiv.org/abs/2304.07193)"
DARCET = "[Darcet et al. 2024](https://arxiv.org/abs/2309.16588)"
ALAIN = "[Alain and Bengio 2017](https://arxiv.org/abs/1610.01644)"
ZEILER = "[Zeiler and Fergus 2014](https://arxiv.org/abs/1311.2901)"
FINDINGS = {
    "colours": f"Principal components of a DINO ViT's features separate object parts ({AMIR}); with DINOv2, one colour"
    f" marks the same part across images ({OQUAB}). Both models are far larger.",
    "similar": f"A ViT's tokens keep their position up to the last layers, most clearly with a [CLS] readout ({RAGHU});"
    f" the position bias decreases with depth ({AMIR}).",
    "alike": f"Lower and higher layers are similar in a ViT, while a ResNet's differ by stage; the lowest quarter of"
    f" the ViT resembles the lower half of the ResNet ({RAGHU}, figures 1 and 2).",
    "probe": f"In two CNNs, linear probes become more accurate with depth ({ALAIN}); the tokens of a ViT with [CLS]"
    f" keep their own position up to the last layer ({RAGHU}).",
    "channels": f"The first layers of a CNN respond to edges and textures, the last ones to parts and whole objects"
    f" ({ZEILER}).",
    "sinks": f"Large, long-trained models have tokens of about ten times the usual norm on plain background, from the"
    f" middle layers on (the three largest of six DINOv2 sizes); register tokens remove them ({DARCET}).",
}


def draw_question(text: str) -> None:
    """Draw the section's question below the page's."""
    glossary_terms.write_question(text)


def draw_findings(section: str) -> None:
    """Draw the published findings of a section."""
    page.caption(f":material/menu_book: *Published:* {FINDINGS[section]}")
