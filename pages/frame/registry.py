"""The pages: where each stands, what it asks. A page is listed when its file is there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[1]
GROUPS = ("Start", "The model", "Train", "Beyond", "Class")
# The parts of a ViT in the order of the data, as the strip at the foot of every page names them.
PARTS = ("picture", "patches", "E", "positions", "blocks", "head", "classes")


@dataclass(frozen=True)
class PageEntry:
    """One page: its folder under pages/, its address, title, icon, group, and the question that it answers.

    need: the ability (`vitviz.models.abilities`) without which a model has nothing to show there.
    layer: the key of the control that chooses one layer, where it opens on the last.
    parts: what of a ViT it is about, of `PARTS`.
    drawn_by: the large Streamlit modules that draw its first screen (`pages/streamlit_fixes/preload.py`).
    """

    folder: str
    slug: str
    title: str
    icon: str
    group: str
    question: str
    need: str = "heads_over_all"
    layer: str = ""
    parts: tuple[str, ...] = ()
    drawn_by: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The page's script as Streamlit wants it: relative to app.py."""
        return f"pages/{self.folder}/page.py"


_ALL = (
    PageEntry("start", "home", "Start", "home", "Start", "What does a Vision Transformer do?", parts=PARTS),
    PageEntry(
        "lenses/patches",
        "patches",
        "Patches and embedding",
        "grid_view",
        "The model",
        "How does a picture become tokens?",
        need="embedding",
        parts=("picture", "patches", "E"),
    ),
    PageEntry(
        "lenses/filters",
        "filters",
        "Filters of E",
        "texture",
        "The model",
        "What does the first linear map look for?",
        need="embedding",
        parts=("E",),
    ),
    PageEntry(
        "lenses/positions",
        "positions",
        "Positional encodings",
        "explore",
        "The model",
        "How does a token know where it comes from?",
        need="learned_positions",
        parts=("positions",),
        drawn_by=("PlotlyChart",),
    ),
    PageEntry(
        "lenses/block",
        "block",
        "Inside one block",
        "account_tree",
        "The model",
        "What happens to one token in one block?",
        need="blocks",
        layer="block.layer",
        parts=("blocks", "head", "classes"),
        drawn_by=("PlotlyChart",),
    ),
    PageEntry(
        "lenses/attention",
        "attention",
        "Attention explorer",
        "visibility",
        "The model",
        "What does every patch look at?",
        layer="attention.layer",
        parts=("blocks", "classes"),
    ),
    PageEntry(
        "lenses/attention_distance",
        "attention_distance",
        "Attention distance",
        "straighten",
        "The model",
        "How far does every head look?",
        parts=("blocks",),
        drawn_by=("PlotlyChart",),
    ),
    PageEntry(
        "lenses/layers",
        "layers",
        "What layers see",
        "layers",
        "The model",
        "What do the layers see?",
        need="layers",
        parts=("blocks",),
    ),
    PageEntry(
        "train/lab",
        "live_lab",
        "Live lab",
        "science",
        "Train",
        "How does attention come into being?",
        parts=("E", "positions", "blocks", "head"),
    ),
    PageEntry(
        "train/fine_tuning",
        "fine_tuning",
        "Fine-tuning",
        "tune",
        "Train",
        "What is a trained body worth when there are only a few pictures?",
        need="class_head",
        parts=("positions", "blocks", "head"),
    ),
    PageEntry(
        "train/experiments",
        "experiments",
        "Experiments",
        "biotech",
        "Train",
        "What does one change of a model or its training cost?",
        need="blocks",
        parts=("E", "positions", "blocks", "head"),
    ),
    PageEntry(
        "lenses/on_your_picture",
        "on_your_picture",
        "On your picture",
        "compare",
        "Beyond",
        "How far can a picture change until a CNN or a ViT changes its answer?",
        need="class_head",
        parts=("picture", "classes"),
    ),
    PageEntry(
        "studies/data",
        "data",
        "How much data?",
        "stacked_line_chart",
        "Beyond",
        "How many pictures does each model want?",
        parts=("picture", "classes"),
        drawn_by=("PlotlyChart",),
    ),
    PageEntry(
        "lenses/hybrids",
        "hybrids",
        "Hybrids",
        "merge",
        "Beyond",
        "What do convolutions give a transformer?",
        need="class_head",
        parts=("picture", "patches", "E"),
        drawn_by=("PlotlyChart",),
    ),
    PageEntry(
        "lenses/distillation",
        "distillation",
        "DeiT: distillation",
        "school",
        "Beyond",
        "What does a student learn from a teacher?",
        need="distillation",
        parts=("blocks", "head", "classes"),
        drawn_by=("PlotlyChart",),
    ),
    PageEntry(
        "lenses/swin",
        "swin",
        "Swin windows",
        "window",
        "Beyond",
        "What may a token attend to, window by window?",
        need="windows",
        parts=("patches", "positions", "blocks"),
    ),
    PageEntry(
        "which_model",
        "which_model",
        "Which model when?",
        "leaderboard",
        "Beyond",
        "Which model is worth its cost?",
        need="class_head",
        drawn_by=("PlotlyChart", "DataFrame"),
    ),
    PageEntry(
        "classroom",
        "class_room",
        "A class",
        "cast_for_education",
        "Class",
        "How does a class look at the same picture?",
    ),
    PageEntry(
        "lessons",
        "lessons",
        "Lessons",
        "signpost",
        "Class",
        "Which way through the model shall it be?",
    ),
    PageEntry(
        "exercises",
        "exercises",
        "Exercises",
        "assignment",
        "Class",
        "Can you build each part yourself?",
        parts=("patches", "E", "positions", "blocks", "head"),
        drawn_by=("PlotlyChart", "StreamlitSyntaxHighlighter"),
    ),
    PageEntry("glossary", "words", "Words", "dictionary", "Class", "What does this word mean?"),
)
PAGES = tuple(entry for entry in _ALL if (_ROOT / entry.folder / "page.py").is_file())
BY_SLUG = {entry.slug: entry for entry in PAGES}


def beside(entry: PageEntry) -> tuple[PageEntry | None, PageEntry | None]:
    """The page before and the page after one, in the order in which they are read; None at the ends."""
    at = PAGES.index(entry)
    return (PAGES[at - 1] if at else None), (PAGES[at + 1] if at + 1 < len(PAGES) else None)
