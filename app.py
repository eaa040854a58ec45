"""The app: page config, the three nouns, the pages. `streamlit run app.py`."""

import streamlit as st

from pages.shell import (
    browser,
    bundles,
    damaged,
    first_link,
    foot,
    guards,
    led,
    lesson,
    lesson_panel,
    lighter,
    link,
    menu,
    my_lesson,
    sidebar,
    warm,
)

first = first_link.is_first()
guards.install()
lighter.install()
bundles.install()

st.set_page_config("vitviz", page_icon="static/favicon.svg", layout="wide", initial_sidebar_state=320)
st.logo("/app/static/logo.svg", size="large", icon_image="/app/static/favicon.svg")
page = st.navigation(menu.pages(), position="top")
slug = page.url_path or "home"
if first:  # before the page, which may take its time on a server that has just started
    first_link.dismiss()
with link.kept(), led.by_class(slug):
    lesson.settle(slug)
    with st.sidebar:
        sidebar.draw(slug)
    with lesson_panel.beside(slug):
        with damaged.said():
            page.run()
        foot.draw(slug)
    with st.sidebar:
        my_lesson.draw(slug)
browser.keep()
warm.begin()
