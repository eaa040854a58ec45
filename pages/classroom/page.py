"""A class: opened in one click, joined by a link, a picture of it or a code."""

from __future__ import annotations

from pages.classroom import join_form, learner_view, membership, teacher_view
from pages.frame import page, registry

entry = registry.BY_SLUG[membership.SLUG]
page.header(entry.title, entry.question)
place = membership.current()
if place is None:
    join_form.draw()
elif place.leads:
    teacher_view.draw(place)
else:
    learner_view.draw(place)
