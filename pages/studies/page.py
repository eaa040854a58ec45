"""Studies: a gallery, and one study at a time."""

import streamlit as st

from pages.controls import query_params, widgets
from pages.frame import page
from pages.selection import selection
from pages.studies import gallery, renderer
from pages.studies.study import list_studies

studies = list_studies()
# The gallery's address names no study; a click on the page in the menu sends no query at all.
if "studies.study" not in st.query_params and (query_params.went_back() or not st.query_params.to_dict()):
    widgets.set_control("studies.study", "")
name = widgets.resolve_option("studies.study", ("", *studies))  # '' shows the gallery
if name:
    study = studies[name]
    widgets.store_value("studies.study", name)
    query_params.keep_pending(study.list_keys())
query_params.write_early("studies.study")
if name:
    with page.header("studies", study.title, study.question):
        selection.link_to("studies", "All studies", icon=":material/apps:", **{"studies.study": ""})
    renderer.draw(study)
else:
    page.header("studies")
    gallery.draw_gallery([*studies.values()])
