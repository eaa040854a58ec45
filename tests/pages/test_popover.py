"""What lies behind a closed button is not drawn, and its controls say what they would say."""

from __future__ import annotations

from tests.pages.conftest import OpenApp, query_value

LAB, BLOCKS = "pages/train/lab/page.py", "live_lab.depth"
FILTERS = "pages/lenses/filters/page.py"


def test_a_closed_form_counts_as_its_link_says_and_opens_with_it(open_app: OpenApp) -> None:
    app = open_app(LAB, live_lab__depth="3", live_lab__learning_rate="0.002")
    assert not app.main.get("popover")[0].proto.popover.open
    assert not [field for field in app.number_input if field.key == BLOCKS]
    assert query_value(app, BLOCKS) == "3" and query_value(app, "live_lab.learning_rate") == "0.002"

    app.session_state["live_lab.setup"] = True
    app.run()
    app.number_input(key=BLOCKS).set_value(5).run()
    assert query_value(app, BLOCKS) == "5"

    app.session_state["live_lab.setup"] = False  # as a click beside it does
    app.run()
    app.run()
    assert not [field for field in app.number_input if field.key == BLOCKS]
    assert query_value(app, BLOCKS) == "5" and query_value(app, "live_lab.learning_rate") == "0.002"

    app.session_state["live_lab.setup"] = True
    app.run()
    assert app.number_input(key=BLOCKS).value == 5
    assert not app.exception


def test_a_form_says_the_same_open_and_closed(open_app: OpenApp) -> None:
    app = open_app(LAB, live_lab__recipe="deit_digits")
    link, described = dict(app.query_params), app.button(key="live_lab._start").help
    app.session_state["live_lab.setup"] = True
    app.run()
    assert not app.exception
    (caption,) = [caption.value for caption in app.caption if "New run" in caption.value]
    assert dict(app.query_params) == link and caption == f"New run: {described}"


def test_a_value_that_is_no_option_falls_back_behind_a_closed_button_too(open_app: OpenApp) -> None:
    app = open_app(FILTERS, filters__count="29")
    assert query_value(app, "filters.count") == "28"
    app = open_app(FILTERS, filters__count="56")
    assert query_value(app, "filters.count") == "56"
    assert not [box for box in app.selectbox if box.key == "filters.count"]
    app.session_state["filters.options"] = True
    app.run()
    assert app.selectbox(key="filters.count").value == 56


def test_words_behind_a_closed_button_are_left_for_those_that_are_read(open_app: OpenApp) -> None:
    app = open_app(LAB)
    assert not [text for text in app.caption if text.value.startswith("Patches become tokens")]
