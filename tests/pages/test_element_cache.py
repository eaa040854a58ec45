"""What is made once is sent again as it was; another place, page or value has its own."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from pages.streamlit_fixes.optional import element_cache

SCRIPT = """
import streamlit as st
from pages.streamlit_fixes.optional import element_cache

def made(word, count):
    st.session_state["made"] = st.session_state.get("made", 0) + 1
    for number in range(count):
        with st.container(border=True):
            st.markdown(f"{word} {number}")

for _ in range(st.session_state.get("before", 0)):
    st.caption("before")
place, own = st.container(), st.session_state.get("own", False)
element_cache.draw_cached(place, made, st.session_state.get("word", "card"), 3, private=own)
st.caption("after")
"""


def kept() -> list[object]:
    """The messages in the cache."""
    return [entry.value for entry in element_cache._messages._entries.values() if entry.value]


def words(app: AppTest) -> list[str]:
    assert not app.exception
    return [text.value for text in app.markdown]


def test_it_is_made_once_for_all_sessions_and_looks_the_same() -> None:
    element_cache._messages.clear()
    first, second = AppTest.from_string(SCRIPT).run(), AppTest.from_string(SCRIPT).run()
    first.run()
    cards = ["card 0", "card 1", "card 2"]
    assert words(first) == words(second) == cards
    assert (first.session_state["made"], "made" in second.session_state) == (1, False)
    assert [text.value for text in second.caption] == ["after"]
    assert len(second.main.children[0].children) == 3


def test_another_value_or_place_is_made_anew() -> None:
    element_cache._messages.clear()
    app = AppTest.from_string(SCRIPT).run()
    app.session_state["word"] = "other"
    assert words(app.run()) == ["other 0", "other 1", "other 2"]
    app.session_state["before"] = 2
    assert words(app.run()) == ["other 0", "other 1", "other 2"]
    assert app.session_state["made"] == 3
    assert [text.value for text in app.caption] == ["before", "before", "after"]


def test_what_is_a_users_own_is_not_kept() -> None:
    element_cache._messages.clear()
    app = AppTest.from_string(SCRIPT)
    app.session_state["own"] = True
    assert words(app.run()) == words(app.run()) == ["card 0", "card 1", "card 2"]
    assert app.session_state["made"] == 2 and not kept()


def test_what_is_drawn_elsewhere_cannot_be_sent_again() -> None:
    element_cache._messages.clear()
    app = AppTest.from_string(
        "import streamlit as st\nfrom pages.streamlit_fixes import element_cache\n"
        "element_cache.draw_cached(st.container(), lambda: st.sidebar.caption('beside'))"
    ).run()
    assert app.exception and not kept()


TABLE = """
import streamlit as st
from vitviz.text import gained
from pages.frame import page

found = {"Model": ["a", "b"], "Accuracy": [st.session_state.get("first", 0.5), None]}
page.table(found, {"Accuracy": gained} if "gains" in st.session_state else {}, {}, "still.table")
"""


def test_a_table_is_put_together_once_and_anew_for_other_numbers() -> None:
    element_cache._messages.clear()
    app = AppTest.from_string(TABLE, default_timeout=300).run()
    (table,) = app.dataframe
    assert not app.exception and table.value["Accuracy"].tolist()[0] == 0.5 and table.proto.placeholder == "–"
    before, made = table.proto.arrow_data.data, len(kept())
    assert app.run().dataframe[0].proto.arrow_data.data == before
    assert len(kept()) == made
    app.session_state["first"] = 0.25
    assert app.run().dataframe[0].value["Accuracy"].tolist()[0] == 0.25
    app.session_state["gains"] = True
    (table,) = app.run().dataframe
    assert b"+0.2" in table.proto.arrow_data.styler.display_values and table.proto.placeholder == "–"
