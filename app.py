"""The app: page config, the three nouns, the pages. `streamlit run app.py`.

A server reads this file once, as a module, and serves what it calls `app`; every visit runs it anew, as a script.
"""

import streamlit as st

from pages.shell import (
    browser,
    damaged,
    document,
    foot,
    led,
    lesson,
    lesson_panel,
    link,
    menu,
    my_lesson,
    patched,
    sidebar,
    socket_limits,
    warm,
)


def draw() -> None:
    """One run of one visit."""
    patched.install()
    st.set_page_config("vitviz", page_icon="static/favicon.svg", layout="wide", initial_sidebar_state=320)
    st.logo("/app/static/logo.svg", size="large", icon_image="/app/static/favicon.svg")
    page = st.navigation(menu.pages(), position="top")
    slug = page.url_path or "home"
    body = st.container()
    browser.keep()  # below the page and before it: the frame of all views is then there when the first of them comes
    with link.kept(), body, led.by_class(slug):
        lesson.settle(slug)
        with st.sidebar:
            sidebar.draw(slug)
        with lesson_panel.beside(slug):
            with damaged.said():
                page.run()
            foot.draw(slug)
        with st.sidebar:
            my_lesson.draw(slug)


if __name__ == "__main__":
    draw()
else:
    app = st.App(
        __file__, routes=document.routes(), lifespan=warm.lifespan, middleware=socket_limits.middleware()
    )
