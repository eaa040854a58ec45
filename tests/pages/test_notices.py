"""Notices: a rerun leaves them, dismissing or acting on them removes them."""

from __future__ import annotations

import pytest

from pages.stores import registry
from tests.pages.conftest import OpenApp

MISSING_RUN = "0123456789abcdef0123456789abcdef"
LINKS: dict[str, tuple[str, dict[str, str]]] = {
    "live_lab._notice": ("live_lab", {"live_lab__run": MISSING_RUN}),
    "fine_tuning._notice": ("fine_tuning", {"fine_tuning__run": MISSING_RUN}),
    "_lesson_gone": ("block", {"lesson": "nonsense"}),
    "_notice": ("block", {"image": f"upload:{'x' * 24}"}),
}


@pytest.mark.parametrize("key", LINKS)
def test_a_notice_of_a_link_stays_until_it_is_dismissed(open_app: OpenApp, key: str) -> None:
    slug, link = LINKS[key]
    app = open_app(registry.BY_SLUG[slug].path, **link)
    shown = [warning.value for warning in app.warning]
    assert len(shown) == 1
    for _ in range(2):
        app.run()
        assert [warning.value for warning in app.warning] == shown
    app.button(key=f"{key}.dismiss").click().run()
    assert not app.warning and not app.exception


def test_another_image_answers_the_notice_about_the_last_one(open_app: OpenApp) -> None:
    app = open_app(registry.BY_SLUG["block"].path, **LINKS["_notice"][1])
    assert app.warning
    app.sidebar.number_input(key="nouns.index").set_value(3).run()
    assert not app.warning
