"""Draw the small pictures beside a lesson's text as SVG, 300 px wide."""

from collections.abc import Callable
from html import escape
from math import cos, log10, pi

from vitviz.models.published_results import TRANSFERS
from vitviz.plots.theme import FAMILIES, PALETTES, Mode, Palette

WIDTH = 300
HISTORY = (
    (2017, "Transformer", "attention alone translates text"),
    (2018, "BERT", "[CLS] stands for a whole text"),
    (2019, "Stand-alone attention", "replaces a CNN's convolutions"),
    (2020, "DETR", "a Transformer on a CNN's features"),
    (2020, "ViT", "patches read like words, no CNN"),
)
USES = {"Captioning": "‘a house in the sun’", "Handwriting": "‘hi’", "Detection": "", "Segmentation": ""}
RATES, EPOCHS = {"new head": 1e-3, "backbone": 1e-5}, 10  # of `vitviz.training.lesson_recipe`


def draw_history(mode: Mode) -> str:
    """Draw the years from the Transformer to the ViT."""
    palette, step = PALETTES[mode], 42
    parts = [_line(f"M48 16V{16 + step * (len(HISTORY) - 1)}", palette.line, 3)]
    for place, (year, name, idea) in enumerate(HISTORY):
        y = 16 + step * place
        color = FAMILIES["vit"] if name == "ViT" else palette.muted
        parts.append(f'<circle cx="48" cy="{y}" r="7" fill="{color}"/>')
        parts.append(_write(4, y + 4, str(year), palette.muted))
        parts.append(_write(64, y + 2, name, palette.ink, bold=True))
        parts.append(_write(64, y + 17, idea, palette.muted))
    return _wrap(parts, step * len(HISTORY))


def draw_uses(mode: Mode) -> str:
    """Draw what is predicted from the tokens of an image: a sentence, letters, boxes, a region."""
    palette, step = PALETTES[mode], 68
    height = step * len(USES)
    parts = [
        f'<rect x="92" y="4" width="44" height="{height - 8}" rx="8" fill="{FAMILIES["vit"]}"/>',
        f'<text x="114" y="{height / 2 + 4}" fill="#fff" font-weight="700" text-anchor="middle">ViT</text>',
    ]
    for place, (use, output) in enumerate(USES.items()):
        top = step * place + 8
        arrows = f"M64 {top + 24}h20m-5 -4l5 4l-5 4M142 {top + 24}h20m-5 -4l5 4l-5 4"
        parts += [_draw_input(4, top, palette, use), _line(arrows, palette.muted, 2)]
        parts.append(_write(172, top + 8, use, palette.ink, bold=True))
        if output:
            parts.append(_write(172, top + 28, output, palette.ink))
        else:
            parts.append(_draw_input(172, top + 14, palette, use, marked=True))
    return _wrap(parts, height)


def draw_pretraining(mode: Mode) -> str:
    """Draw the ViT paper's table 2: ImageNet accuracy over core-days of pretraining."""
    palette = PALETTES[mode]
    parts = [
        _line("M34 12V170H292", palette.muted, 1),
        _write(4, 208, "TPUv3-core-days of pretraining", palette.muted),
    ]
    parts.append(_write(40, 12, "ImageNet, %", palette.muted))
    for days in (300, 1000, 3000, 10000):
        parts.append(_write(_place_days(days), 188, f"{days:,}", palette.muted, "middle"))
    for accuracy in (85, 86, 87, 88):
        parts.append(_write(4, _place_accuracy(accuracy) + 4, f"{accuracy}", palette.muted))
    for model in TRANSFERS:
        x, y = _place_days(model.core_days), _place_accuracy(model.accuracy["ImageNet"])
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{FAMILIES[model.family.lower()]}"/>')
        data = "" if model.data == "JFT-300M" else f", {model.data}"
        name, down = model.name.partition(",")[0] + data, 20 if model.family == "CNN" else 4
        across, anchor = (10, "start") if x < WIDTH / 2 else (-10, "end") if down == 4 else (6, "end")
        parts.append(_write(x + across, y + down, name, palette.ink, anchor))
    return _wrap(parts, 214)


def draw_recipe(mode: Mode) -> str:
    """Draw the learning rates of the lecture's fine-tuning, a cosine for the new head and one for the backbone."""
    palette = PALETTES[mode]
    parts = [_line("M44 12V150H292", palette.muted, 1), _write(168, 186, "epoch", palette.muted, "middle")]
    parts.append(_write(52, 12, "learning rate", palette.muted))
    for power, label in ((-3, "10⁻³"), (-5, "10⁻⁵"), (-7, "10⁻⁷")):
        parts.append(_write(4, _place_rate(10.0**power) + 4, label, palette.muted))
    for (name, rate), color in zip(RATES.items(), (palette.primary, palette.muted), strict=True):
        rates = [rate * (1 + cos(pi * epoch / EPOCHS)) / 2 for epoch in range(EPOCHS)]
        steps = "".join(
            f"{'L' if i else 'M'}{52 + 24 * i} {_place_rate(r):.1f}h24" for i, r in enumerate(rates)
        )
        parts += [
            _line(steps, color, 3),
            _write(60, _place_rate(rate) + 22, name, palette.ink),
        ]
    parts += [_write(64 + 24 * i, 168, str(i + 1), palette.muted, "middle") for i in range(EPOCHS)]
    return _wrap(parts, 190)


PICTURES: dict[str, Callable[[Mode], str]] = {
    "history": draw_history,
    "uses": draw_uses,
    "pretraining": draw_pretraining,
    "recipe": draw_recipe,
}
CAPTIONS = {  # with the papers' keys
    "history": "From text to images: {vaswani2017}, {devlin2018}, {ramachandran2019}, {carion2020}, {dosovitskiy2021}.",
    "uses": "One kind of tokens, four outputs: {liu2023}, {li2021}, {li2022}, {strudel2021}.",
    "pretraining": "Pretrained on JFT-300M, ViT-L/16 is above BiT-L on ImageNet after a fifteenth of its core-days:"
    " {dosovitskiy2021}, table 2.",
    "recipe": "The head is new and random, so it learns at a hundred times the pretrained backbone's rate.",
}


def _place_days(days: float) -> float:
    return 60 + 220 * log10(days / 230) / log10(12300 / 230)


def _place_accuracy(accuracy: float) -> float:
    return 158 - 36 * (accuracy - 85)


def _place_rate(rate: float) -> float:
    return 24 + 29 * log10(1e-3 / rate)


def _draw_input(x: float, y: float, palette: Palette, use: str, marked: bool = False) -> str:
    """Return a photo of a house and a sun, or written letters; marked with the boxes or regions that are predicted."""
    frame = f'<rect width="52" height="44" rx="3" fill="{palette.panel}" stroke="{palette.line}"/>'
    sun, house = '<circle cx="41" cy="11" r="6"', '<path d="M8 40V22L21 10L34 22V40Z"'
    if use == "Handwriting":
        drawn = _line(
            "M12 34C18 26 20 6 16 8S14 34 14 34S20 20 25 24S24 36 30 33L35 22C33 30 34 36 40 32M36 15v1",
            palette.ink,
            2,
        )
    elif marked and use == "Segmentation":
        drawn = f'{sun} fill="{FAMILIES["deit"]}"/>{house} fill="{FAMILIES["swin"]}"/>'
    else:
        drawn = f'{sun} fill="none" stroke="{palette.ink}"/>{house} fill="none" stroke="{palette.ink}"/>'
    if marked and use == "Detection":
        drawn += _line("M5 8H37V42H5ZM33 3H49V19H33Z", FAMILIES["swin"], 2)
    return f'<g transform="translate({x} {y})">{frame}{drawn}</g>'


def _line(path: str, color: str, width: float) -> str:
    return f'<path d="{path}" fill="none" stroke="{color}" stroke-width="{width}" stroke-linecap="round"/>'


def _write(x: float, y: float, text: str, color: str, anchor: str = "start", *, bold: bool = False) -> str:
    weight = ' font-weight="700"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'
    )


def _wrap(parts: list[str], height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        f' font-family="sans-serif" font-size="12">{"".join(parts)}</svg>'
    )
