"""Put one head's output or one token of the first image into the run on the second."""

import time
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from threadpoolctl import threadpool_limits

from pages.controls import widgets
from pages.frame import image_sets, page
from pages.lenses.two_images import captions, image_pair, pair_controls
from pages.selection.substitutes import describe_classes
from pages.stores import shared_cache
from pages.views.register import register
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import image_pair as plots
from vitviz.plots.image_pair import Fact, Frame
from vitviz.probe import activation_patching, capture
from vitviz.text import percent, signed

_view = register(__file__, "frames")
VIEW = "two_images.patching"
PARTS = {"head": "one head", "token": "one token"}
QUICK_S = 0.7  # shorter computations show no progress


def draw(pair: image_pair.ImagePair, row: DeltaGenerator) -> None:
    able = pair.subject.able
    missing = [ability.why_not for ability in (able.class_head, able.attention) if not ability]
    if missing:
        st.info(missing[0], icon=":material/block:")
        return
    with row:
        part, target, layer = _read_controls(pair)
        pair_controls.draw_own_image()
    page.untrained_note(pair.model.trained_on)
    runs = patch_pair(pair, part, layer, target, st.empty())
    _view(build_message(pair, runs), key=VIEW)
    note = max(describe_classes(pair.subject.choice, image.source.image) for image in pair.images)
    page.caption(captions.describe_patching(runs), note)
    if part == "head":
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


def _read_controls(pair: image_pair.ImagePair) -> tuple[str, str, int]:
    with st.container(width="content"):
        part = widgets.segmented("two_images.part", "Replace", PARTS)
    layer = pair_controls.choose_layer(pair) if part == "token" else 0  # the map of heads shows all layers
    with st.container(width="content"):
        target = widgets.segmented(
            "two_images.target",
            "Predicted class",
            ["first", "second"],
            format_func="of the {} image".format,
            help="The figure shows changes of the probability of this class.",
        )
    return part, target, layer


def patch_pair(
    pair: image_pair.ImagePair, part: str, layer: int, target: str, progress: DeltaGenerator
) -> image_pair.PatchedRuns:
    """Return the runs on the second image with every head, or every token of a layer, of the first."""
    first, second = pair.images
    sources = (first.source, second.source)
    private = next((source.image for source in sources if source.image.startswith(shared_cache.UPLOAD)), "")
    probabilities = _patch(pair.model, private, sources, layer if part == "token" else -1, progress)
    followed = pair.first if target == "first" else pair.second
    index = int(followed.activations.probabilities.argmax())
    return image_pair.PatchedRuns(
        part=part,
        layer=pair.layers[layer].said if part == "token" else "",
        grid=pair.second.grid(layer),
        prefix=pair.model.layout(*second.prepared.input.shape[-2:]).prefix,
        target=pair.model.classes[index],
        first=float(first.activations.probabilities[index]),
        second=float(second.activations.probabilities[index]),
        after=probabilities[..., index],
    )


@shared_cache.per_image(shared=16, upload=4)
def _patch(
    model: LoadedModel,
    image: str,
    sources: tuple[image_pair.ImageSource, image_pair.ImageSource],
    layer: int,
    _progress: DeltaGenerator,
) -> capture.FloatArray:
    """Run the patched model; layer -1 for heads. `image` is the upload with which the result is removed."""
    donor, receiver = (image_pair.prepare_source(source, model.preparation).input for source in sources)
    began = time.monotonic()

    def report(share: float) -> None:
        page.rerun_if_outdated()
        if time.monotonic() - began > QUICK_S and share < 1:
            _progress.progress(share, f"Running the model on patched activations: {100 * share:.0f} % done.")

    with threadpool_limits(1 if max(model.preparation.image_shape) <= image_pair.SMALL_PX else None):
        if layer < 0:
            patched = activation_patching.patch_heads(model, donor, receiver, report)
        else:
            patched = activation_patching.patch_tokens(model, donor, receiver, layer, report)
    _progress.empty()
    return patched


def build_message(pair: image_pair.ImagePair, runs: image_pair.PatchedRuns) -> bytes:
    """Pack both images and the change of the class probability by head, or by token on the second image."""
    points = runs.points
    span = max(float(np.nanmax(np.abs(points))), 0.1)
    facts = [Fact("change", 1, " points")]
    chances = [image.activations.probabilities for image in pair.images]
    first, second = (
        f"{image.title} · predicted {pair.model.classes[int(row.argmax())]}, {percent(float(row.max()), 0)}"
        for image, row in zip(pair.images, chances, strict=True)
    )
    frames = [plots.photo_frame(first, pair.first.photo)]
    if runs.part == "head":
        rows, cols = ([f"{number + 1}" for number in range(count)] for count in points.shape)
        by_head = Frame("Layer × head", points.shape, facts, points.reshape(1, -1), span=span)
        frames += [
            plots.photo_frame(second, pair.second.photo),
            replace(by_head, row_names=rows, col_names=cols),
        ]
    else:
        prefix = len(runs.prefix)
        if prefix:
            by_prefix = Frame("Prefix", (prefix, 1), facts, points[None, :prefix], span=span)
            names = [f"[{name.upper()}]" for name in runs.prefix]
            frames.append(replace(by_prefix, row_names=names, col_names=[""]))
        frames.append(Frame(second, runs.grid, facts, points[None, prefix:], pair.second.photo, span=span))
    words = (f"{signed(-span, 1)} points", f"change of P({runs.target})", f"+{span:.1f} points")
    return plots.pack_frames(frames, words)


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
    columns["probability"] = after.tolist()
    columns["change in points"] = (100 * (after - runs.second)).tolist()
    st.dataframe(columns, hide_index=True, height=240)
    page.csv("Probabilities (CSV)", columns, "activation_patching.csv", "two_images.csv.patching")
