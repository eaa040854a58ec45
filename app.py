"""The app: page config, the three nouns, the pages. `streamlit run app.py`.

A server reads this file once, as a module, and serves what it calls `app`; every visit runs it anew, as a script.
"""

import streamlit as st

from pages.classroom import class_bar
from pages.controls import query_params
from pages.frame import browser, file_errors, foot, menu, socket_limits, startup
from pages.lessons import add_stop, open_lesson, panel
from pages.selection import sidebar
from pages.streamlit_fixes import installation, preload


def draw() -> None:
    """One run of one visit."""
    installation.install()
    st.set_page_config("vitviz", page_icon="static/favicon.svg", layout="wide", initial_sidebar_state=320)
    st.logo("/app/static/logo.svg", size="large", icon_image="/app/static/favicon.svg")
    page = st.navigation(menu.pages(), position="top")
    slug = page.url_path or "home"
    body = st.container()
    browser.keep()  # below the page and before it: the frame of all views is then there when the first of them comes
    with query_params.kept(), body, class_bar.by_class(slug):
        open_lesson.settle(slug)
        with st.sidebar:
            sidebar.draw(slug)
        with panel.beside(slug):
            with file_errors.said():
                page.run()
            foot.draw(slug)
        with st.sidebar:
            add_stop.draw(slug)


if __name__ == "__main__":
    draw()
else:
    app = st.App(
        __file__, routes=preload.routes(), lifespan=startup.lifespan, middleware=socket_limits.middleware()
    )
