"""Put one head's output or one token of the first image into the run on the second."""

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.controls import downloads, widgets
from pages.frame import image_sets, page
from pages.lenses.two_images import captions, image_pair, pair_controls
from pages.selection.substitutes import describe_classes
from pages.stores import shared_cache
from pages.views.figures import draw_heat_grid
from vitviz.analysis.logits import normalise_logit_difference
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots.heat_grid import Fact, GridStyle, HeatPanel, image_panel, pack_heat_grid
from vitviz.probe import activation_patching, capture
from vitviz.text import percent, plain, signed

VIEW = "two_images.patching"
PARTS = {"head": "one head", "token": "one token"}
DIRECTIONS = {"first": "the first image", "second": "the second image"}
MEASURES = {"first": "first class", "second": "second class", "difference": "logit difference"}
QUICK_S = 0.7  # shorter computations show no progress


@dataclass(frozen=True)
class PatchingControls:
    """Hold what is replaced, in which image's run, and the measure: a name in `MEASURES`."""

    part: str
    layer: int
    is_noising: bool
    measured: str


def draw(pair: image_pair.ImagePair, row: DeltaGenerator) -> None:
    able = pair.subject.able
    missing = [ability.why_not for ability in (able.class_head, able.attention) if not ability]
    if missing:
        st.info(missing[0], icon=":material/block:")
        return
    with row:
        controls = _read_controls(pair)
        pair_controls.draw_own_image()
    page.untrained_note(pair.model.trained_on)
    part, runs = controls.part, patch_pair(pair, controls, st.empty())
    draw_heat_grid(build_message(pair, runs), key=VIEW)
    note = max(describe_classes(pair.subject.choice, image.source.image) for image in pair.images)
    page.caption(captions.describe_patching(runs), note)
    if part == "head" and not runs.is_noising and not runs.is_difference:
        image_sets.draw(
            "patching", pair.subject.model, captions.describe_measured_patching, "these two images"
        )
    page.findings("two_images.patching")
    page.drawers(
        "two_images.patching",
        math=page.read_math(__file__),
        code=(activation_patching.patch_heads if part == "head" else activation_patching.patch_tokens,),
        numbers=partial(draw_numbers, runs),
    )


def _read_controls(pair: image_pair.ImagePair) -> PatchingControls:
    with st.container(width="content"):
        part = widgets.segmented("two_images.part", "Replace", PARTS)
    layer = pair_controls.choose_layer(pair) if part == "token" else 0  # the map of heads shows all layers
    with page.options("two_images.patching"):
        direction = widgets.segmented(
            "two_images.direction",
            "By that of",
            DIRECTIONS,
            help="The first image in the run on the second (denoising), or the second in the run on the first"
            " (noising). The first shows what suffices for the first image's prediction, the second what it needs.",
        )
        measured = widgets.segmented(
            "two_images.target",
            "Measure",
            MEASURES,
            help="The probability of the class predicted for one image, or the logit of the first image's class minus"
            " that of the second's: 0 as for the second image alone, 1 as for the first.",
        )
    first, second = (int(image.activations.probabilities.argmax()) for image in pair.images)
    if measured == "difference" and first == second:
        st.caption(
            f"Both images are predicted as {plain(pair.model.classes[first])}: their logits do not differ."
        )
        measured = "first"
    return PatchingControls(part, layer, direction == "second", measured)


def patch_pair(
    pair: image_pair.ImagePair, controls: PatchingControls, progress: DeltaGenerator
) -> image_pair.PatchedRuns:
    """Return the runs on one image with every head, or every token of a layer, of the other."""
    receiver, donor = pair.images if controls.is_noising else pair.images[::-1]
    sources = (donor.source, receiver.source)
    private = next((source.image for source in sources if source.image.startswith(shared_cache.UPLOAD)), "")
    is_token, alone = controls.part == "token", [image.activations for image in pair.images]
    logits = _patch(pair.model, private, sources, controls.layer if is_token else -1, progress)
    classes = [int(activations.probabilities.argmax()) for activations in alone]
    is_difference = controls.measured == "difference"
    if is_difference:
        target = " − ".join(plain(pair.model.classes[index]) for index in classes)
        shares = normalise_logit_difference(
            *map(pair.model.read_logits, (logits, *(activations.logits for activations in alone)))
        )
        assert shares is not None  # the classes differ
        after, first, second = np.asarray(shares, np.float32), 1.0, 0.0
    else:
        index = classes[controls.measured == "second"]
        target = pair.model.classes[index]
        after = np.asarray(pair.model.probabilities(logits)[..., index], np.float32)
        first, second = (float(activations.probabilities[index]) for activations in alone)
    return image_pair.PatchedRuns(
        part=controls.part,
        layer=pair.layers[controls.layer].phrase if is_token else "",
        grid=receiver.grid(controls.layer),
        prefix=pair.model.layout(*receiver.prepared.input.shape[-2:]).prefix,
        is_noising=controls.is_noising,
        is_difference=is_difference,
        target=target,
        first=first,
        second=second,
        after=after,
    )


@shared_cache.per_image(shared=16, upload=4)
def _patch(
    model: LoadedModel,
    image: str,
    sources: tuple[image_pair.PairSource, image_pair.PairSource],
    layer: int,
    _progress: DeltaGenerator,
) -> capture.FloatArray:
    """Return the patched model's logits; layer -1 for heads. `image` is the upload with which the result is removed."""
    donor, receiver = (image_pair.prepare_source(source, model.preparation).input for source in sources)
    began = time.monotonic()

    def report(share: float) -> None:
        page.rerun_if_outdated()
        if time.monotonic() - began > QUICK_S and share < 1:
            _progress.progress(share, f"Running the model on patched activations: {100 * share:.0f} % done.")

    with capture.limit_pools(1 if max(model.preparation.image_shape) <= image_pair.SMALL_PX else None):
        if layer < 0:
            patched = activation_patching.patch_heads(model, donor, receiver, report)
        else:
            patched = activation_patching.patch_tokens(model, donor, receiver, layer, report)
    _progress.empty()
    return patched


def build_message(pair: image_pair.ImagePair, runs: image_pair.PatchedRuns) -> bytes:
    """Pack both images and the change of the measure by head, or by token of the image that receives them."""
    changes, unit = runs.changes, "" if runs.is_difference else " points"
    span = max(float(np.nanmax(np.abs(changes))), 0.1)
    digits = 2 if runs.is_difference else 1
    facts, values = [Fact("change", digits, unit)], changes.reshape(1, -1)
    if runs.is_difference:
        facts.append(Fact("logit difference", 2))
        values = np.stack([changes.ravel(), runs.after.ravel()]).astype(np.float32)
    chances = [image.activations.probabilities for image in pair.images]
    titles = [
        f"{image.title} · predicted {pair.model.classes[int(row.argmax())]}, {percent(float(row.max()), 0)}"
        for image, row in zip(pair.images, chances, strict=True)
    ]
    panels = [image_panel(title, image.photo) for title, image in zip(titles, pair.images, strict=True)]
    if runs.part == "head":
        rows, cols = ([f"{number + 1}" for number in range(count)] for count in changes.shape)
        by_head = HeatPanel("Layer × head", changes.shape, facts, values, high=span, note=captions.POINT)
        panels.append(replace(by_head, row_names=rows, col_names=cols, axes=("layer", "head")))
    else:
        prefix, at = len(runs.prefix), 0 if runs.is_noising else 1
        photo = pair.images[at].photo
        by_patch = HeatPanel(
            titles[at], runs.grid, facts, values[:, prefix:], photo, high=span, note=captions.POINT
        )
        cells = [by_patch]
        if prefix:
            by_prefix = HeatPanel("Prefix", (prefix, 1), facts, values[:, :prefix], high=span)
            cells.insert(0, replace(by_prefix, row_names=[f"[{name.upper()}]" for name in runs.prefix]))
        panels = [panels[1 - at], *cells]
    measure = f"logit difference {runs.target}" if runs.is_difference else f"P({runs.target})"
    ends = (f"{signed(-span, digits)}{unit}", f"+{span:.{digits}f}{unit}")
    legend = (ends[0], f"change of {measure}", ends[1])
    return pack_heat_grid(panels, GridStyle("last" if len(panels) > 2 else "equal", legend=legend))


def draw_numbers(runs: image_pair.PatchedRuns) -> None:
    columns: dict[str, list[object]]
    if runs.part == "head":
        layers, heads = np.indices(runs.after.shape).reshape(2, -1) + 1
        present = np.isfinite(runs.after.ravel())
        columns = {"layer": layers[present].tolist(), "head": heads[present].tolist()}
        after = runs.after.ravel()[present]
    else:
        columns = {"token": [captions.name_token(runs, token) for token in range(len(runs.after))]}
        after = runs.after
    columns["normalised logit difference" if runs.is_difference else "probability"] = after.tolist()
    changes = runs.changes.ravel()
    columns["change" if runs.is_difference else "change in points"] = changes[np.isfinite(changes)].tolist()
    st.dataframe(columns, hide_index=True, height=240)
    downloads.csv("Measure (CSV)", columns, "activation_patching.csv", "two_images.csv.patching")
