"""Name the list of pages where tools outside this project import it from."""

from pages.stores.registry import BY_SLUG, PAGES

__all__ = ["BY_SLUG", "PAGES"]
