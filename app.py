"""Run the app: page configuration, sidebar and navigation. `streamlit run app.py`.

The server imports this module once and serves `app`; every session runs it as a script.
"""

import streamlit as st
from starlette.middleware import Middleware

from pages.classroom import class_bar, class_question, follow_mode, teacher_key
from pages.controls import link_notice, query_params
from pages.frame import foot, health_check, menu, slots, startup
from pages.frame.page import mount_browser, show_file_errors
from pages.lessons import editor, open_lesson, panel
from pages.questions import prediction
from pages.selection import sidebar
from pages.stores import registry
from pages.streamlit_fixes import installation
from pages.streamlit_fixes.optional import module_files, preload
from pages.streamlit_fixes.required import request_limits, upload_guard, websocket_limits


def draw() -> None:
    """Draw one run of the page."""
    upload_guard.install()
    installation.install()
    slots.fill(
        ask_question=prediction.ask_question,
        offer_question=class_question.offer_question,
        load_pending=class_question.load_pending,
        is_hidden=class_question.is_hidden,
        get_followed_lesson=follow_mode.get_followed_lesson,
    )
    # Before the navigation: the browser would take the page's icon for its own, and fetch it from a host of fonts.
    st.set_page_config(page_icon="static/favicon.svg", layout="wide", initial_sidebar_state=280)
    st.logo("/app/static/logo.svg", size="large", icon_image="/app/static/favicon.svg")
    page = st.navigation(menu.list_pages(), position="top")
    slug = page.url_path or "home"
    st.set_page_config("vitviz" if slug == "home" else f"{page.title} · vitviz")
    menu.forward(slug)
    body = st.container()
    mount_browser(slug)  # mounts the shared view frame before the first view
    with query_params.sync_address(), body, class_bar.follow_class(slug):
        open_lesson.read_address(slug)
        sidebar.draw(slug)
        with panel.draw_beside(slug):
            notice = st.container()
            with show_file_errors():
                page.run()
            with notice:
                link_notice.draw(slug, registry.BY_SLUG[slug].controls if slug in registry.BY_SLUG else "")
            foot.draw(slug)
            editor.draw_add_button(slug)


if __name__ == "__main__":
    draw()
else:
    is_fixed = installation.is_enabled()
    app = st.App(
        __file__,
        routes=[*teacher_key.list_routes(), *(preload.list_routes() if is_fixed else ())],
        lifespan=startup.lifespan,
        middleware=[
            Middleware(health_check.CheckHealth),
            *([Middleware(module_files.SendFiles)] if is_fixed else ()),
            Middleware(request_limits.LimitBodies),
            *websocket_limits.middleware(),
        ],
    )
