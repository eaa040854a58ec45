"""A reload: a new session of the same visit, at the address that the one before wrote last."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.stores.session import UserSession
from tests.messages import body, unpack
from tests.pages.conftest import OpenApp, opened_again, query_value

ATTENTION, GREY = "pages/lenses/attention/page.py", "preset:vit_digits"
PAINTED = {"patches": [0, 1, 8], "heads": [[1, 0]]}
CODE = "64.DE.16.Q"


def begins_with(app: AppTest) -> dict[str, Any]:
    (view,) = (v for v in app.get("bidi_component") if "attention.ablate" in v.proto.id)
    header: dict[str, Any] = unpack(body(view.proto.bytes))[0]
    return header


def painted(app: AppTest) -> AppTest:
    state = {"ablation": PAINTED | {"mark": begins_with(app)["mark"]}}
    app.session_state["attention.ablate"] = state
    return app.run()


def test_what_is_left_out_stands_in_the_link_and_opens_so(open_app: OpenApp) -> None:
    app = painted(open_app(ATTENTION, model=GREY, image="digits:0", attention__view="ablate"))
    assert query_value(app, "attention.left_out") == CODE
    for session in (app.session_state["_visit"], UserSession("somebody-else")):
        again = opened_again(app, session)
        assert begins_with(again)["ablated"] == PAINTED
        assert any("Without 3 of 64 patches and 1 of 16 heads" in c.value for c in again.caption)
        assert query_value(again, "attention.left_out") == CODE


def test_what_is_left_out_is_kept_from_view_to_view_and_ends_with_another_grid(open_app: OpenApp) -> None:
    app = painted(open_app(ATTENTION, model=GREY, image="digits:0", attention__view="ablate"))
    app.segmented_control(key="attention.view._0").set_value("look").run()
    app.segmented_control(key="attention.view._1").set_value("ablate").run()
    assert begins_with(app)["ablated"] == PAINTED
    mark = begins_with(app)["mark"]
    app.sidebar.selectbox(key="model").set_value("preset:vit_mnist").run()
    assert begins_with(app)["ablated"] == {"patches": [], "heads": []}
    assert begins_with(app)["mark"] != mark
    assert not any("Without" in c.value for c in app.caption)


@pytest.mark.parametrize(
    "value", ["64.DE.16.Q.", "49.DE.16.Q", "64.AAAAAAAAAAQ.16.", 'a"<b>', 1025 * "A", "64..16.g~"]
)
def test_a_hostile_value_leaves_nothing_out(open_app: OpenApp, value: str) -> None:
    app = open_app(
        ATTENTION, model=GREY, image="digits:0", attention__view="ablate", attention__left_out=value
    )
    assert begins_with(app)["ablated"] == {"patches": [], "heads": []}
    assert query_value(app, "attention.left_out") == "64..16."


def test_a_link_stays_below_two_thousand_characters_without_its_longest_value(open_app: OpenApp) -> None:
    def script() -> None:
        import streamlit as st

        from pages.controls import query_params, session_keys

        with query_params.sync_address():
            for index in range(60):
                query_params.set_value(f"p.{index}", "1234567890")
            query_params.set_value("p.long", 900 * "a")
            query_params.set_value("p.longer", 950 * "a")
            query_params.set_value("p.longest", 1025 * "a")
        st.session_state["seen"] = dict(st.session_state[session_keys.WRITTEN])

    app = AppTest.from_function(script).run()
    assert not app.exception
    assert len(app.session_state["seen"]) == 60  # neither of the two has room beside them
    assert app.session_state["seen"]["p.59"] == "1234567890"


def test_a_run_that_ends_late_takes_nothing_from_the_next_and_adds_nothing_to_it() -> None:
    """Back to a study showed the gallery: the run before cleared the address that the next had just read."""

    def script() -> None:
        import streamlit as st
        from streamlit.runtime.scriptrunner import get_script_run_ctx

        from pages.controls import query_params, session_keys

        run = get_script_run_ctx()
        assert run is not None
        with query_params.sync_address():
            query_params.set_value("studies.study", "")
            looked_up = run.__dict__.pop(session_keys._RUN_CACHE)
            st.query_params["studies.study"] = "published_sizes"
            query_params._read_address()  # by the next run, in a thread of its own
            run.__dict__[session_keys._RUN_CACHE] = looked_up
            query_params.set_value("studies.chart", "late")
        st.json([st.session_state[name] for name in (session_keys.INCOMING, session_keys.OUTGOING)])

    app = AppTest.from_function(script).run()
    assert json.loads(app.json[0].value) == [{"studies.study": "published_sizes"}, {}]


def test_a_reload_knows_that_nobody_chose_the_model_and_a_link_does_not(open_app: OpenApp) -> None:
    app = open_app(ATTENTION)
    session = app.session_state["_visit"]
    assert "_by_hand" not in app.session_state
    reloaded = opened_again(app, session)
    assert "_by_hand" not in reloaded.session_state
    twice = opened_again(reloaded, session)
    assert "_by_hand" not in twice.session_state
    assert opened_again(app, UserSession("somebody-else")).session_state["_by_hand"]
    assert opened_again(app, session, pin="0.100,0.100").session_state[
        "_by_hand"
    ]  # not what this visit wrote


def test_a_reload_keeps_what_was_chosen_by_hand_and_controls_of_other_views(open_app: OpenApp) -> None:
    app = open_app(ATTENTION, image="digits:0")
    app.sidebar.selectbox(key="model").set_value("preset:vit_shapes").run()
    app.segmented_control(key="attention.style").set_value("heat").run()
    app.segmented_control(key="attention.view._1").set_value("truth").run()
    again = opened_again(app, app.session_state["_visit"])
    assert again.session_state["_by_hand"]
    again.segmented_control(key="attention.view._0").set_value("look").run()
    assert query_value(again, "attention.style") == "heat"


def test_a_session_notes_few_sessions() -> None:
    from pages.controls import query_params, session_keys

    def script() -> None:
        import streamlit as st

        from pages.controls import query_params

        with query_params.sync_address():
            query_params.set_value("p.a", str(id(st.session_state)))

    session = UserSession("t")
    for _ in range(9):
        app = AppTest.from_function(script)
        app.session_state["_visit"] = session
        app.run()
        assert not app.exception
    assert len(session.notes[query_params._SESSIONS]) == query_params._MAX_SESSIONS  # type: ignore[arg-type]
    assert session_keys.SESSION in app.session_state


def test_a_lesson_stays_open(open_app: OpenApp) -> None:
    link = {"model": GREY, "image": "digits:0", "lesson": "fifteen", "stop": "7"}
    app = open_app(ATTENTION, **link).run()
    again = opened_again(app, app.session_state["_visit"])
    assert query_value(again, "lesson") == "fifteen" and query_value(again, "stop") == "7"
