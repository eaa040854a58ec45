"""A class: opened in one click, joined by a link, a picture of it or a code."""

from __future__ import annotations

from pages.classroom.together import entrance, leading, learning
from pages.shell import following, page, registry

entry = registry.BY_SLUG[following.SLUG]
page.header(entry.title, entry.question)
place = following.current()
if place is None:
    entrance.draw()
elif place.leads:
    leading.draw(place)
else:
    learning.draw(place)
