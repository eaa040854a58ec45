"""Studies: a gallery, and one study at a time."""

from dataclasses import dataclass

from pages.controls import query_params, widgets
from pages.frame import page
from pages.selection import selection
from pages.studies import gallery, renderer
from pages.studies.catalogue import STUDIES


@dataclass(frozen=True)
class StudyControls(widgets.ControlValues, page="studies"):
    """The study that is shown, a key of `STUDIES`; '' shows the gallery."""

    study: str


name = widgets.resolve_option(StudyControls.key("study"), ("", *STUDIES))
if name:
    study = STUDIES[name]
    widgets.store_value(StudyControls.key("study"), name)
    with page.header("studies", study.title, study.question):
        selection.link_to("studies", "All studies", icon=":material/apps:", **{"studies.study": ""})
    query_params.keep_pending((*(choice.key for choice in study.choices), *study.keys))
    renderer.draw(study)
else:
    page.header("studies")
    gallery.draw([*STUDIES.values()])
