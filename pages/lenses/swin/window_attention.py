"""Attention maps of a trained Swin: any layer and head, inside the query's window."""

from functools import partial
from typing import Any

from pages.controls import widgets
from pages.frame import page
from pages.selection import attention_maps, selection
from pages.selection import subject as subjects
from pages.selection.attention_maps import MapSelection
from pages.views.explorer import ExplorerOptions, draw_explorer, send_options
from vitviz.config import ModelConfig
from vitviz.models.swin import WindowAttention
from vitviz.models.token_layout import heads_by_layer
from vitviz.plots.attention_message import Head
from vitviz.plots.swin import block_title

KEY = "swin.attention"
GROUP = "swin"


def draw_controls(config: ModelConfig, names: list[str]) -> tuple[MapSelection, bool]:
    """Return the selected map, and whether low attention is dimmed; names of the blocks in order of depth."""
    heads = heads_by_layer(config)
    with page.row():
        layer = widgets.select(
            "swin.layer",
            "Layer",
            list(range(1, len(heads) + 1)),
            format_func=lambda number: block_title(names[number - 1]),
        )
        options: list[Head] = [*range(1, heads[layer - 1] + 1), "mean"]
        head = widgets.select("swin.head", "Head", options, format_func=attention_maps.name_head)
        dim = widgets.toggle("swin.dim", "Dim", help="Darkens the image instead of colouring it.")
    return MapSelection(layer, head), dim


def draw() -> None:
    subject = subjects.capture_attention(subjects.load_current())
    page.untrained_note(subject.model.trained_on)
    pin = selection.get_current().pin
    map_selection, dim = draw_controls(subject.model.config, [name for name, _ in subject.windows])
    send_options(GROUP, str(pin), ExplorerOptions(style="dim" if dim else "overlay"))
    view = attention_maps.build_view(subject, map_selection, subject.ground(seen=False), GROUP)
    on_change = partial(selection.apply_click, KEY, layer="swin.layer", head="swin.head")
    draw_explorer(*view, key=KEY, on_change=on_change)
    page.caption(attention_maps.describe_attention(subject, map_selection, pin))
    parameters: dict[str, Any] = {"attention.layer": map_selection.layer}
    selection.link_to("attention", "Open page: Attention", **parameters)
    page.drawers("swin.attention", math=page.read_math(__file__), code=(WindowAttention.forward,))
