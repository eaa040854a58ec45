"""What the papers say, with their sources; beside it stands what was measured here, whether it agrees or not."""

from __future__ import annotations

from pages.frame import glossary_terms, page

RAGHU = "[Raghu et al. 2021](https://arxiv.org/abs/2108.08810)"
AMIR = "[Amir et al. 2021](https://arxiv.org/abs/2112.05814)"
OQUAB = "[Oquab et al. 2024](https://arxiv.org/abs/2304.07193)"
DARCET = "[Darcet et al. 2024](https://arxiv.org/abs/2309.16588)"
ALAIN = "[Alain and Bengio 2017](https://arxiv.org/abs/1610.01644)"
ZEILER = "[Zeiler and Fergus 2014](https://arxiv.org/abs/1311.2901)"
SAID = {
    "colours": f"{AMIR} colour the features of a DINO ViT by their principal components and find parts of objects;"
    f" {OQUAB} find with DINOv2 that one colour is one part across pictures. Both have far larger models.",
    "similar": f"{RAGHU} find that a ViT's tokens keep their place up to the last layers, most where it reads [CLS];"
    f" {AMIR} find the bias towards place to fade with depth.",
    "alike": f"{RAGHU}, figures 1 and 2: in a ViT lower and higher layers are much alike, in a ResNet they differ by"
    " stage; the lowest quarter of the ViT is like the lower half of the ResNet.",
    "probe": f"{ALAIN}: in two CNNs linear probes read more the deeper the layer; {RAGHU} find that the tokens"
    " of a ViT with [CLS] stay tied to their own place up to the top.",
    "channels": f"{ZEILER} show edges and textures for the first layers of a CNN, parts and whole objects for"
    " the last.",
    "sinks": f"{DARCET} find tokens of about ten times the usual norm on plain background, in large models trained for"
    " long (of six sizes of DINOv2 the three largest), from the middle layers on; extra register tokens take them in.",
}


def ask(text: str) -> None:
    """The section's own question, under the page's."""
    glossary_terms.write(text)


def say(section: str) -> None:
    """The papers' findings, marked as theirs."""
    page.caption(f":material/menu_book: *Found elsewhere:* {SAID[section]}")
