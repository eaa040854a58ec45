"""Show the attention explorer in a notebook."""

from vitviz.browser.html import collect_modules, read_linker, read_styles
from vitviz.plots.attention_message import EXPLORER_FILES

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise ImportError("view.explore() needs anywidget: run pip install anywidget") from error

_RENDER = """
let urls = null;
export default {{
  async render({{ model, el }}) {{
    urls ??= link({modules});
    const {{ render }} = await import(urls['vitviz/browser/view_frame.js']);
    return render(model, el, urls);
  }},
}};
"""


class Explorer(anywidget.AnyWidget):
    """The attention explorer of one image in a notebook's cell."""

    message = traitlets.Bytes().tag(sync=True)
    _esm = read_linker() + _RENDER.format(
        modules=collect_modules(["vitviz/browser/view_frame.js", EXPLORER_FILES[0]])
    )
    _css = read_styles(["vitviz/browser/base.css", *EXPLORER_FILES[1:]])
