"""Swin: windows, shifts and masks that one can step through."""

from __future__ import annotations

from pages._shared import page, registry
from pages._shared.swin_lens import stepper, subject, travel

entry = registry.BY_SLUG["swin"]
page.header(entry.title, entry.question)
stepper.draw()
choice, step = subject.swin()
travel.draw()
travel.draw_measured(choice, step)
