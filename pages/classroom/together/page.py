"""A class: opened in one click, joined by a link, a picture of it or a code."""

from __future__ import annotations

from pages.classroom.together import learning, opening, teaching
from pages.shell import following, page, registry

entry = registry.BY_SLUG[following.SLUG]
page.header(entry.title, entry.question)
place = following.current()
if place is None:
    opening.draw()
elif place.leads:
    teaching.draw(place)
else:
    learning.draw(place)
