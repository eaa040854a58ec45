"""A control that is impossible is disabled, and says why in its help."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.controls import widgets

WHY = "A CNN has no heads."
KINDS: dict[str, Callable[..., object]] = {
    "select": lambda **told: widgets.select("p.a", "A", (1, 2), **told),
    "segmented": lambda **told: widgets.segmented("p.a", "A", (1, 2), **told),
    "select_slider": lambda **told: widgets.select_slider("p.a", "A", (1, 2), **told),
    "slider": lambda **told: widgets.slider("p.a", "A", 1, 2, 1, **told),
    "number": lambda **told: widgets.number("p.a", "A", 1, 2, 1, **told),
    "real": lambda **told: widgets.real("p.a", "A", 1.0, 1.0, **told),
    "text": lambda **told: widgets.text("p.a", "A", "1", 9, **told),
    "toggle": lambda **told: widgets.toggle("p.a", "A", True, **told),
}


def drawn(kind: str, **reported: str | None) -> tuple[bool, str]:
    def script(kind: str, reported: dict[str, str | None]) -> None:
        from tests.pages.test_widgets import KINDS

        KINDS[kind](**reported)

    app = AppTest.from_function(script, args=(kind, reported)).run()
    assert not app.exception
    (control,) = app.main.children.values()
    return control.proto.disabled, control.proto.help  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_impossible_says_why(kind: str) -> None:
    assert drawn(kind, why_not=WHY, help="Counted from 1.") == (True, WHY)
    assert drawn(kind, why_not=None, help="Counted from 1.") == (False, "Counted from 1.")


def test_a_button_that_is_impossible_says_why() -> None:
    def script() -> None:
        from pages.controls import widgets

        widgets.button("Check", help="Measures.")
        widgets.button("Measure", help="Measures.", why_not="predict first")

    buttons = AppTest.from_function(script).run().main.button
    assert [(one.disabled, one.help) for one in buttons] == [
        (False, "Measures."),
        (True, "Disabled: predict first."),
    ]


def test_every_control_that_may_be_disabled_has_a_help() -> None:
    """A reason beside it would take a row; beside an answered question's options stands the verdict."""
    silent = [
        f"{path}:{call.lineno}"
        for path in sorted((Path(__file__).parents[2] / "pages").rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call)
        and path.name != "answer_input.py"
        and {"disabled"} <= {word.arg for word in call.keywords}
        and "help" not in {word.arg for word in call.keywords}
    ]
    assert silent == []


def test_a_section_clears_the_controls_of_the_one_before_as_soon_as_it_is_drawn() -> None:
    """Streamlit keeps them until the run ends: two 'Options' stood beside each other while a section computed."""

    def script() -> None:
        import streamlit as st

        from pages.controls import widgets

        def draw() -> None:
            with widgets.continue_row():
                st.text("first")
                st.text("second")

        widgets.choose_section("p.view", {"many": ("Many", draw), "none": ("None", lambda: None)})()

    app = AppTest.from_function(script).run()
    kinds = [[*map(type, app.main.children[0].children.values())]]
    for name in ("none", "none", "many"):
        app.session_state["p.view"] = name
        app.run()
        row = app.main.children[0].children
        kinds.append([type(row[place]) for place in sorted(row)][:3])
    titles, text, _ = kinds[0]
    assert not app.exception and kinds[2:] == [[titles], [titles, text, text]]
    assert kinds[1][0] is titles and len(kinds[1]) == 3 and text not in kinds[1]


def test_one_of_two_groups_is_chosen(open_app):
    app = open_app("pages/lenses/attention/page.py", model="preset:vit_digits", image="digits:0")
    rows = [app.segmented_control(key=f"attention.view._{row}") for row in (0, 1)]
    assert [row.value for row in rows] == ["look", None]
    rows[1].set_value("ablate").run()
    assert [app.segmented_control(key=f"attention.view._{row}").value for row in (0, 1)] == [None, "ablate"]
    assert app.session_state["_kept"]["attention.view"] == "ablate"
    assert app.query_params["attention.view"] == "ablate"


def test_a_list_says_anew_what_its_option_is_called_now() -> None:
    """A browser keeps the name under which an option was chosen until the server says it again."""

    def script() -> None:
        import streamlit as st

        from pages.controls import widgets

        name = "ship" if st.session_state.get("times", 0) < 2 else "cat"
        st.session_state["times"] = st.session_state.get("times", 0) + 1
        widgets.select("p.a", "A", ("top", "other"), format_func=lambda one: f"{one}: {name}")

    app = AppTest.from_function(script).run()
    assert not app.run().selectbox[0].proto.set_value  # nothing has changed: a visitor's hand is left alone
    assert app.run().selectbox[0].proto.set_value and app.selectbox[0].proto.raw_value == "top: cat"
