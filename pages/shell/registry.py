"""The pages: where each stands, what it asks. A page is listed when its file is there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[1]
GROUPS = ("Start", "Inside a ViT", "Train", "Beyond ViT")


@dataclass(frozen=True)
class PageEntry:
    """One page: its folder under pages/, its address, title, icon, group, and the question that it answers."""

    folder: str
    slug: str
    title: str
    icon: str
    group: str
    question: str

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
    ),
    PageEntry(
        "inside/positions",
        "positions",
        "Positional encodings",
        "explore",
        "Inside a ViT",
        "How does a token know where it comes from?",
    ),
    PageEntry(
        "inside/filters",
        "filters",
        "Filters of E",
        "texture",
        "Inside a ViT",
        "What does the first linear map look for?",
    ),
    PageEntry(
        "inside/attention",
        "attention",
        "Attention explorer",
        "visibility",
        "Inside a ViT",
        "What does every patch look at?",
    ),
    PageEntry(
        "inside/block",
        "block",
        "Inside one block",
        "account_tree",
        "Inside a ViT",
        "What happens to one token in one block?",
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
    ),
    PageEntry(
        "beyond/distillation",
        "distillation",
        "DeiT: distillation",
        "school",
        "Beyond ViT",
        "What does a student learn from a teacher?",
    ),
)
PAGES = tuple(entry for entry in _ALL if (_ROOT / entry.folder / "page.py").is_file())
BY_SLUG = {entry.slug: entry for entry in PAGES}
