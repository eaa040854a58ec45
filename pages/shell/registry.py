"""The pages: where each stands, what it asks. A page is listed when its file is there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[1]
GROUPS = ("Start", "Inside a ViT", "Train", "Beyond ViT")


@dataclass(frozen=True)
class PageEntry:
    """One page: its folder under pages/, its address, title, icon, group, and the question that it answers.

    need: the ability (`vitviz.models.abilities`) without which a model has nothing to show there.
    layer: the key of the control that chooses one layer, where it opens on the last.
    """

    folder: str
    slug: str
    title: str
    icon: str
    group: str
    question: str
    need: str = "heads_over_all"
    layer: str = ""

    @property
    def path(self) -> str:
        """The page's script as Streamlit wants it: relative to app.py."""
        return f"pages/{self.folder}/page.py"


_ALL = (
    PageEntry("start", "home", "Start", "home", "Start", "What does a Vision Transformer do?"),
    PageEntry(
        "inside/patches",
        "patches",
        "Patches and embedding",
        "grid_view",
        "Inside a ViT",
        "How does a picture become tokens?",
        need="embedding",
    ),
    PageEntry(
        "inside/positions",
        "positions",
        "Positional encodings",
        "explore",
        "Inside a ViT",
        "How does a token know where it comes from?",
        need="learned_positions",
    ),
    PageEntry(
        "inside/filters",
        "filters",
        "Filters of E",
        "texture",
        "Inside a ViT",
        "What does the first linear map look for?",
        need="embedding",
    ),
    PageEntry(
        "inside/attention",
        "attention",
        "Attention explorer",
        "visibility",
        "Inside a ViT",
        "What does every patch look at?",
        layer="attention.layer",
    ),
    PageEntry(
        "inside/block",
        "block",
        "Inside one block",
        "account_tree",
        "Inside a ViT",
        "What happens to one token in one block?",
        need="blocks",
        layer="block.layer",
    ),
    PageEntry(
        "inside/distance",
        "attention_distance",
        "Attention distance",
        "straighten",
        "Inside a ViT",
        "How far does every head look?",
    ),
    PageEntry("train/lab", "live_lab", "Live lab", "science", "Train", "How does attention come into being?"),
    PageEntry(
        "beyond/swin",
        "swin",
        "Swin windows",
        "window",
        "Beyond ViT",
        "What may a token attend to, window by window?",
        need="windows",
    ),
    PageEntry(
        "beyond/distillation",
        "distillation",
        "DeiT: distillation",
        "school",
        "Beyond ViT",
        "What does a student learn from a teacher?",
        need="distillation",
    ),
)
PAGES = tuple(entry for entry in _ALL if (_ROOT / entry.folder / "page.py").is_file())
BY_SLUG = {entry.slug: entry for entry in PAGES}
