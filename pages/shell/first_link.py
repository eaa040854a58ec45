"""A link to a page, opened as the very first visit of a server, without Streamlit's mistaken 'page not found'.

Until `st.navigation` has been called once in a process, Streamlit looks for pages by file name in the folder `pages`,
does not find ours (they stand in its sub-folders), says so in a dialog, and then shows the right page beneath it.
"""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

_SCRIPT = """
export default () => {
  let tries = 0;
  const timer = setInterval(() => {
    const dialogs = [...document.querySelectorAll('[role="dialog"]')];
    const dialog = dialogs.find((one) => one.textContent.includes('Page not found'));
    dialog?.querySelector('button[aria-label="Close"]')?.click();
    if (dialog || ++tries > 40) clearInterval(timer);
  }, 50);
  return () => clearInterval(timer);
};
"""
_dismiss = st.components.v2.component("vitviz_first_link", js=_SCRIPT, html="<span></span>")


def is_first() -> bool:
    """Whether this is the run that Streamlit began in its old mode; ask before `st.navigation`."""
    return bool(PagesManager.uses_pages_directory)


def dismiss() -> None:
    """Closes the mistaken dialog in the visitor's browser."""
    _dismiss(key="first_link", height=1)
