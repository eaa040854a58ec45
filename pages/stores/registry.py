"""List the pages in menu order, with their titles and questions; registry.toml holds them."""

import tomllib
from collections.abc import Iterator, Mapping
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
    drawn_by: Streamlit's large JavaScript modules on its first screen (`pages/streamlit_fixes/optional/preload.py`).
    requires: the abilities without which a view cannot be drawn, separated by spaces, by the value of `SLUG.view`;
        '' is any other view.
    photo: the photo that it opens on with the shipped photo model, where somebody lands on it first; '' for none.
    class_views: its views about classes, which open on `default`: the photo model has none.
    default: the checkpoint that it opens on else, where somebody lands on it first.
    images: the image that it opens on with that model, by the value of `SLUG.view`; '' is any other view.
    sidebar: False if the page uses no selection.
    controls: the names of the controls in its links, separated by spaces, if it has sections.
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
    photo: str = ""
    class_views: tuple[str, ...] = ()
    default: str = ""
    images: Mapping[str, str] = field(default_factory=dict, hash=False)
    sidebar: bool = True
    controls: str = ""

    @property
    def path(self) -> str:
        """Return the script's path relative to app.py."""
        return f"pages/{self.folder}/page.py"


def _read_entries() -> Iterator[PageEntry]:
    """Read the entries whose script is there."""
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    for slug, table in tables.items():
        lists = {name: tuple(table.get(name, ())) for name in ("parts", "drawn_by", "class_views")}
        entry = PageEntry(slug=slug, **(table | lists))
        if (_ROOT / entry.folder / "page.py").is_file():
            yield entry


PAGES = tuple(_read_entries())
BY_SLUG = {entry.slug: entry for entry in PAGES}


def get_neighbours(entry: PageEntry) -> tuple[PageEntry | None, PageEntry | None]:
    at = PAGES.index(entry)
    return (PAGES[at - 1] if at else None), (PAGES[at + 1] if at + 1 < len(PAGES) else None)
