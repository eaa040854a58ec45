"""List the pages in menu order, with their titles and questions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_ROOT = Path(__file__).parents[1]
GROUPS = ("Start", "The model", "Train", "Compare", "Studies", "Class")
# The parts of a ViT in the order of the data, shown at the foot of every page.
PARTS = ("image", "patches", "E", "positions", "blocks", "head", "classes")


@dataclass(frozen=True)
class PageEntry:
    """One page: folder under pages/, address, title, icon, menu group and question.

    need: the ability (`vitviz.models.abilities`) that the page requires of a model.
    layer: key of the layer control, if the page opens on the last layer.
    parts: the parts of a ViT that it covers, from `PARTS`.
    drawn_by: Streamlit's large JavaScript modules on its first screen (`pages/streamlit_fixes/preload.py`).
    requires: the abilities without which a view cannot be drawn, separated by spaces, by the value of `SLUG.view`;
        '' is any other view.
    default: the checkpoint that it opens on until the user selects a model or an image.
    images: the image that it opens on with that model, by the value of `SLUG.view`; '' is any other view.
    sidebar: False if the page uses no selection.
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
    requires: Mapping[str, str] = field(default_factory=dict, hash=False)
    default: str = ""
    images: Mapping[str, str] = field(default_factory=dict, hash=False)
    sidebar: bool = True

    @property
    def path(self) -> str:
        """Return the script's path relative to app.py."""
        return f"pages/{self.folder}/page.py"


_ALL = (
    PageEntry(
        "start",
        "home",
        "Start",
        "home",
        "Start",
        "What does a Vision Transformer do?",
        need="class_head",
        parts=PARTS,
        requires={"": "class_head whole_record"},
    ),
    PageEntry(
        "lessons",
        "lessons",
        "Lessons",
        "signpost",
        "Start",
        "Choose a lesson",
        sidebar=False,
    ),
    PageEntry(
        "glossary", "words", "Glossary", "dictionary", "Start", "What does a term mean?", sidebar=False
    ),
    PageEntry(
        "lenses/patches",
        "patches",
        "Patches",
        "grid_view",
        "The model",
        "How does an image become tokens?",
        need="embedding",
        parts=("image", "patches", "E"),
        requires={"": "embedding"},
    ),
    PageEntry(
        "lenses/filters",
        "filters",
        "Filters of E",
        "texture",
        "The model",
        "Which patterns do the patch embedding's filters detect?",
        need="embedding",
        parts=("E",),
        requires={"": "filters", "express": "embedding"},
        default="cifar10_vit_p8",
    ),
    PageEntry(
        "lenses/positions",
        "positions",
        "Positions",
        "explore",
        "The model",
        "How does a token know its position?",
        need="learned_positions",
        parts=("positions",),
        requires={"resize": "learned_positions"},
        default="cifar10_vit",
    ),
    PageEntry(
        "lenses/block",
        "block",
        "Inside a block",
        "account_tree",
        "The model",
        "What happens to a token in a block?",
        need="blocks",
        layer="block.layer",
        parts=("blocks", "head", "classes"),
        requires={"": "blocks"},
    ),
    PageEntry(
        "lenses/attention",
        "attention",
        "Attention",
        "visibility",
        "The model",
        "Which tokens does each token attend to?",
        layer="attention.layer",
        parts=("blocks", "classes"),
        requires={"": "attention"},
        default="cifar10_vit",
        images={"": "cifar10-few:134"},  # most concentrated of the correct predictions; a test measures it
    ),
    PageEntry(
        "lenses/attention_distance",
        "attention_distance",
        "Attention distance",
        "straighten",
        "The model",
        "How far does each head attend?",
        parts=("blocks",),
        requires={"": "distance whole_record"},
        default="cifar10_vit",
    ),
    PageEntry(
        "lenses/layers",
        "layers",
        "What layers see",
        "layers",
        "The model",
        "How do the layers of a ViT and a CNN represent an image?",
        need="layers",
        parts=("blocks",),
        requires={"": "layers"},
        default="cifar10_vit",
    ),
    PageEntry(
        "lenses/two_images",
        "two_images",
        "Two images",
        "join_inner",
        "The model",
        "Which patches of two images have similar tokens?",
        need="layers",
        parts=("image", "blocks"),
        requires={"": "layers"},
        default="digits_vit",
        images={"": "digits:18"},
    ),
    PageEntry(
        "train/lab",
        "live_lab",
        "Live lab",
        "science",
        "Train",
        "How does attention emerge during training?",
        parts=("E", "positions", "blocks", "head"),
    ),
    PageEntry(
        "train/fine_tuning",
        "fine_tuning",
        "Fine-tuning",
        "tune",
        "Train",
        "Does a pretrained model help with little data?",
        need="class_head",
        parts=("positions", "blocks", "head"),
    ),
    PageEntry(
        "lenses/on_your_image",
        "on_your_picture",
        "CNN or ViT on your image",
        "compare",
        "Compare",
        "How much must an image change before a CNN or a ViT changes its prediction?",
        need="class_head",
        parts=("image", "classes"),
        requires={"": "class_head many_images"},
        default="cifar10_vit",
        images={"parts": "sample:cat"},  # whose parts are annotated
    ),
    PageEntry(
        "lenses/hybrids",
        "hybrids",
        "Hybrids",
        "merge",
        "Compare",
        "What do convolutions add to a transformer?",
        need="class_head",
        parts=("image", "patches", "E"),
        requires={"": "stem"},
        default="cifar10_hybrid",
    ),
    PageEntry(
        "lenses/distillation",
        "distillation",
        "DeiT",
        "school",
        "Compare",
        "What does a student learn from its teacher?",
        need="distillation",
        parts=("blocks", "head", "classes"),
        requires={"": "distillation", "lesson": ""},
        default="cifar10_deit_soft",
        images={"": "cifar10-few:96"},  # where the two heads differ most; a test measures it
    ),
    PageEntry(
        "lenses/swin",
        "swin",
        "Swin",
        "window",
        "Compare",
        "How does information spread if attention stays inside windows?",
        need="windows",
        parts=("patches", "positions", "blocks"),
        requires={"": "windows"},
        default="cifar10_swin",
    ),
    PageEntry(
        "which_model",
        "which_model",
        "Which model",
        "leaderboard",
        "Compare",
        "Which model gives the best accuracy for its cost?",
        need="class_head",
        drawn_by=("DataFrame",),
    ),
    PageEntry(
        "studies",
        "studies",
        "Studies",
        "biotech",
        "Studies",
        "What do many training runs show about one question?",
        parts=("image", "E", "positions", "blocks", "head", "classes"),
        sidebar=False,
    ),
    PageEntry(
        "classroom",
        "class_room",
        "Classroom",
        "cast_for_education",
        "Class",
        "How do we explore a model together?",
        sidebar=False,
    ),
    PageEntry(
        "exercises",
        "exercises",
        "Exercises",
        "assignment",
        "Class",
        "Can you build each part yourself?",
        parts=("patches", "E", "positions", "blocks", "head"),
        drawn_by=("StreamlitSyntaxHighlighter",),
    ),
)
PAGES = tuple(entry for entry in _ALL if (_ROOT / entry.folder / "page.py").is_file())
BY_SLUG = {entry.slug: entry for entry in PAGES}


def get_neighbours(entry: PageEntry) -> tuple[PageEntry | None, PageEntry | None]:
    at = PAGES.index(entry)
    return (PAGES[at - 1] if at else None), (PAGES[at + 1] if at + 1 < len(PAGES) else None)
