"""Show the attention explorer in a notebook, and leave it in the notebook's file for readers without a kernel."""

import base64
from dataclasses import dataclass
from html import escape
from typing import Any

from vitviz.browser.html import render_html

MOST_BYTES = 1_000_000  # of a page with its model: notebooks are stored with their outputs
# A frame keeps the page's styles to itself. Its script removes the image and sets the frame's height, so that the image
# stays where a reader runs no scripts.
_OUTPUT = (
    '<img alt="{title}" src="data:image/png;base64,{image}" style="max-width:100%">'
    '<iframe class="vitviz" title="{title}" srcdoc="{page}" style="width:100%;height:0;border:0"></iframe>'
)


@dataclass(frozen=True, eq=False)
class Explorer:
    """The attention explorer of one image, as the output of a notebook's cell.

    Attributes:
        title: names the model.
        message: data of the explorer.
        image: PNG of the last layer's heads.
    """

    title: str
    message: bytes
    image: bytes

    def __repr__(self) -> str:
        return f"Explorer({self.title!r})"

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        image, title = base64.b64encode(self.image).decode(), escape(self.title)
        page = escape(render_html(self.title, [self.message]))
        return {
            "text/plain": repr(self),
            "image/png": image,
            "text/html": _OUTPUT.format(title=title, image=image, page=page),
        }
