"""Views of the attention explorer and the block page for every kind of model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState
from streamlit.testing.v1 import AppTest

import vitviz
from pages.lenses.attention import faithfulness
from pages.lenses.attention.map_controls import CONCENTRATED_HEAD
from pages.selection import attention_maps, pinned_token_captions
from pages.stores import catalogue, registry, shared_cache
from pages.stores.session import UserSession
from tests.messages import charts, message, read_panels
from tests.pages.conftest import ship
from vitviz.analysis.attention import restore_rows
from vitviz.config import ViTConfig
from vitviz.data import datasets
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.models.abilities import abilities
from vitviz.models.presets import PRESETS
from vitviz.models.token_layout import TokenLayout
from vitviz.plots.attention_message import strip_view
from vitviz.probe.capture import Capture, capture, stream_attention
from vitviz.text import signed

CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
PAGE = "pages/lenses/attention/page.py"
BLOCK = "pages/lenses/block/page.py"
DRAWN = {
    "look": "attention.explorer",
    "matrix": "attention.matrix",
    "methods": "attention.methods",
    "truth": "attention.twin",
    "ablate": "attention.ablate",
    "depth": "attention.lens_maps",
    "compare": "attention.right",
}  # by its key
MISSING_ABILITIES = {
    ("preset:swin_digits", "matrix"): "heads_over_all",
    ("preset:swin_digits", "methods"): "rollout",
    ("preset:swin_digits", "depth"): "logit_lens",
}
PARTLY = ("preset:swin_digits", "methods")  # the methods that are defined are drawn beside the reason
MODELS = (
    "preset:vit_digits",
    "preset:deit_digits",
    "preset:hybrid_cifar10",  # averages its patches, no [CLS]
    "preset:swin_digits",
    "preset:recipe_a",  # post-norm
    "preset:recipe_c",  # heads on slices, softmax inside
    "preset:recipe_d",  # reads the first patch
)


@pytest.mark.parametrize("model", MODELS)
def test_every_view_of_every_kind_of_model(open_app, model):
    for view in DRAWN:
        link = {"attention__view": view, "attention__beside": "model"}
        app = open_app(PAGE, model=model, image="digits:0", **link)
        assert app.title[0].value == "Attention"
        shown = [node.proto.id for node in app.main.get("bidi_component") if node.proto.bytes]
        missing = MISSING_ABILITIES.get((model, view))
        drawn = missing is None or (model, view) == PARTLY
        assert any(key.endswith(DRAWN[view]) for key in shown) == drawn, (view, shown)
        assert [info.value for info in app.main.info] == (
            [explain_missing(model, missing)] if missing else []
        )


def explain_missing(model: str, ability: str) -> str:
    preset = PRESETS[model.removeprefix("preset:")]
    return getattr(abilities(preset.config), ability).why_not


def test_a_first_layer_and_a_fill_change_the_maps_and_the_curves(open_app):
    link = {"model": "preset:vit_digits", "image": "digits:3"}

    def draw(**controls):
        return open_app(PAGE, **link, **controls)

    maps = [
        read_panels(
            message(draw(attention__view="methods", attention__from_layer=layer), "attention.methods")
        )
        for layer in ("1", "3")
    ]
    titles = maps[0][0]
    changed = [(a != b).any() for a, b in zip(*(values for _, _, values in maps), strict=True)]
    assert dict(zip(titles, changed, strict=True)) == {
        "Raw attention": False,
        "Rollout": True,
        "Gradient-weighted rollout": True,
        "LeGrad": True,
        "AttnLRP": True,
        "Gradient × input": False,
    }
    tables = [
        next(
            text.value
            for text in draw(attention__view="truth", attention__fill=fill).main.markdown
            if text.value.startswith("| Order")
        )
        for fill in ("colour", "patch", "blur")
    ]
    assert len({*tables}) == 3 and all("AttnLRP" in table for table in tables)


def test_a_model_without_attention_is_explained(open_app):
    app = open_app(PAGE, model="preset:cnn_digits")
    why = (
        explain_missing("preset:cnn_digits", "attention").removeprefix("This model").partition(": choose")[0]
    )
    assert any(why in note.value for note in app.sidebar.caption)


@pytest.mark.parametrize("head", ["3", "mean"])
def test_one_layer_and_one_head_of_the_models_attention_travel(open_app, head):
    app = open_app(PAGE, model="preset:vit_digits", attention__layer="2", attention__head=head)
    header, arrays = message(app, "attention.explorer")
    named, strip = message(app, "attention.explorer.strip")
    assert (header["layer"], header["heads"], header["strip"]) == (2, 4, named["tag"])
    subject = shared_cache.load_model(catalogue.list_models(UserSession("a visit"))["preset:vit_digits"])
    image = shared_cache.prepare_image("digits:0", subject.preparation, (0.5, 0.5)).input
    attn = capture(subject.model, image[None]).attention()[:, 0]
    assert arrays["layer_codes"].dtype == np.uint16
    for sent, expected in (
        (restore_rows(arrays["layer_codes"], arrays["layer_max"]), attn[1]),
        (restore_rows(strip["codes"], strip["max"]), attn.mean(axis=1) if head == "mean" else attn[:, 2]),
    ):
        np.testing.assert_allclose(sent, expected, atol=float(attn.max()) / 65000)


def test_the_call_in_the_code_drawer_gives_the_map_of_the_page(open_app):
    """The page counts from 1, the call from 0."""
    opened = {"attention__layer": "2", "attention__head": "3", "pin": "0.4,0.6"}
    app = open_app(PAGE, model="preset:vit_digits", image="digits:0", **opened)
    app.session_state["attention.look.drawer.code"] = True
    app.run()
    comment, call = app.main.code[0].value.splitlines()
    assert "count from 0" in comment
    choice = catalogue.list_models(UserSession("a visit"))["preset:vit_digits"]
    names = {
        "vitviz": vitviz,
        "model": shared_cache.load_model(choice),
        "image": shared_cache.load_image("digits:0"),
    }
    _, arrays = message(app, "attention.explorer")
    token = int(call.rpartition("=")[2].rstrip(")"))
    shown = restore_rows(arrays["layer_codes"], arrays["layer_max"])[2, token, 1:]  # behind [CLS]
    np.testing.assert_allclose(eval(call, names).ravel(), shown, atol=1e-4)


def test_the_layer_survives_a_deeper_model(open_app):
    app = open_app(PAGE, model="preset:vit_digits", attention__layer="3")
    app.sidebar.selectbox(key="model").set_value("preset:vit_tiny_16").run()
    assert message(app, "attention.explorer")[0]["layer"] == 3
    assert next(s for s in app.slider if s.label == "Layer").value == 3


@pytest.mark.parametrize("model", ["preset:vit_digits", "preset:swin_digits"])
def test_a_change_of_layer_sends_no_strip_and_a_change_of_head_does(open_app, model):
    def sent(app):
        return [
            n.proto.bytes
            for n in app.get("bidi_component")
            if n.proto.id.endswith("attention.explorer.strip")
        ]

    app = open_app(PAGE, model=model, attention__layer="1", attention__head="1")
    before = sent(app)
    app.session_state["attention.layer"] = 2
    app.run()
    assert message(app, "attention.explorer")[0]["layer"] == 2 and sent(app) == before
    app.session_state["attention.head"] = 2
    app.run()
    assert sent(app) != before
    assert (
        message(app, "attention.explorer")[0]["strip"] == message(app, "attention.explorer.strip")[0]["tag"]
    )


def test_a_change_of_view_sends_no_weights(open_app):
    app = open_app(PAGE, model="preset:vit_digits")
    _, before = message(app, "attention.explorer")
    sent = [n.proto.bytes for n in app.get("bidi_component") if n.proto.id.endswith("attention.explorer")]
    app.session_state["attention.style"] = "heat"
    app.session_state["attention.opacity"] = 0.5
    app.run()
    again = [n.proto.bytes for n in app.get("bidi_component") if n.proto.id.endswith("attention.explorer")]
    assert again == sent
    header, _ = message(app, "attention.options")
    assert (header["style"], header["opacity"]) == ("heat", 0.5)


def test_a_swin_shows_its_windows_and_refuses_rollout(open_app):
    app = open_app(PAGE, model="preset:swin_digits", attention__layer="2")
    header, arrays = message(app, "attention.explorer")
    assert header["windowed"] and header["slots"] == 16
    assert sorted(arrays["layer_slots"][0].ravel().tolist()) == list(range(256))
    assert "window" in app.caption[0].value
    refused = open_app(PAGE, model="preset:swin_digits", attention__view="methods")
    assert refused.info[0].value == explain_missing("preset:swin_digits", "rollout")
    assert next(s for s in refused.select_slider if s.key == "attention.discard").disabled
    assert read_panels(message(refused, "attention.methods"))[0] == ["Gradient × input"]


def test_a_layer_that_the_model_lacks_falls_back(open_app):
    app = open_app(PAGE, model="preset:vit_digits", attention__layer="99", attention__head="nine")
    header, _ = message(app, "attention.explorer")
    assert (header["layer"], header["head"]) == (4, 1)


def test_the_class_changes_what_is_explained(open_app):
    maps = []
    for chosen in ("0", "1"):
        app = open_app(PAGE, model="preset:vit_digits", attention__view="methods", attention__class=chosen)
        maps.append(read_panels(message(app, "attention.methods"))[2])
    np.testing.assert_array_equal(maps[0][:2], maps[1][:2])  # raw attention and rollout know no class
    assert not np.allclose(maps[0][2], maps[1][2])


def test_ablated_heads_change_the_probabilities_and_undo_restores_them(open_app):
    app = open_app(PAGE, model="preset:vit_digits", image="digits:0", attention__view="ablate")
    _, whole = message(app, "attention.after")
    app.session_state["attention.ablate"] = {
        "ablation": {"patches": [0, 1, 9], "heads": [[3, 0], [3, 1], [3, 2], [3, 3]], "mark": 1}
    }
    app.run()
    header, without = message(app, "attention.after")
    own = compute_probabilities("preset:vit_digits", "digits:0")
    np.testing.assert_allclose(without["before"], [own[name] for name in header["names"]], rtol=1e-4)
    assert not np.allclose(without["now"], without["before"], atol=1e-5)
    assert any("Without 3 of 64 patches and 4 of 16 heads" in c.value for c in app.caption)
    np.testing.assert_allclose(whole["now"], whole["before"], rtol=1e-5)
    app.session_state["attention.ablate"] = {"ablation": {"patches": [], "heads": [], "mark": 1}}
    app.run()
    np.testing.assert_allclose(message(app, "attention.after")[1]["now"], whole["now"], rtol=1e-6)


def compute_probabilities(model: str, image: str) -> dict[str, float]:
    """Return the class probabilities of the complete model, from a separate forward pass."""
    subject = shared_cache.load_model(catalogue.list_models(UserSession("a visit"))[model])
    shown_image = shared_cache.prepare_image(image, subject.preparation, (0.5, 0.5)).input
    with torch.no_grad():
        chances = subject.model(torch.tensor(shown_image[None])).softmax(-1)[0]
    return dict(zip(subject.classes, chances.tolist(), strict=True))


def all_pairs(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Return the attention (heads, query, key) of the explorer's layer; a Swin's rows hold slots of their windows."""
    rows = restore_rows(arrays["layer_codes"], arrays["layer_max"])
    if not header["windowed"]:
        return rows
    (slots,), (window_of,) = arrays["layer_slots"], arrays["layer_window_of"]
    every = np.zeros((*rows.shape[:2], rows.shape[1]), np.float32)
    for query, window in enumerate(window_of):
        every[:, query, slots[window]] = rows[:, query]
    return every


@pytest.mark.parametrize("model", ["preset:vit_digits", "preset:swin_digits"])
@pytest.mark.parametrize("direction", ["row", "column"])
def test_what_can_be_kept_is_what_is_shown(open_app, model, direction):
    link = {"attention__layer": "2", "attention__direction": direction, "pin": "0.1,0.9"}
    app = open_app(PAGE, model=model, image="digits:0", **link)
    app.session_state["attention.look.drawer.numbers"] = True
    app.run()
    table = app.dataframe[0].value
    assert list(table.columns[:3]) == ["token", "position", "head 1"]
    token = {65: 1 + 7 * 8, 256: 14 * 16 + 1}[len(table)]
    everyone = all_pairs(*message(app, "attention.explorer"))
    shown = everyone[:, token] if direction == "row" else everyone[:, :, token]
    kept = table[[f"head {head}" for head in range(1, len(shown) + 1)]].to_numpy().T
    np.testing.assert_allclose(kept, shown, atol=float(everyone.max()) / 200)
    if direction == "row":
        assert table["head 1"].sum() == pytest.approx(1, abs=1e-4)
    assert len(table) == (256 if "swin" in model else 65) and table["position"].iloc[-1].startswith("row ")
    labels = [button.label for button in app.get("download_button")]
    assert labels[:3] == ["View, PNG", "All heads, PNG", "Through layers, WebP"]


def test_training_data_are_named_beside_the_prediction():
    from types import SimpleNamespace

    from pages.lenses.attention.captions import describe_training

    def caption(image: str, trained_on: str, began_with: str | None = None) -> str:
        model = SimpleNamespace(trained_on=trained_on, began_with=began_with)
        return describe_training(SimpleNamespace(model=model, image=image, classes=("0",) * 10), random=False)

    assert "never" in caption("sample:cat", "digits") and "10 classes" in caption("sample:cat", "digits")
    for image, trained_on in (("digits:3", "digits"), ("cifar10-few:8", "cifar10")):
        assert "test set" in caption(image, trained_on) and "classes" not in caption(image, trained_on)
    assert "never" not in caption("upload:x", "digits") and "10 classes" in caption("upload:x", "digits")
    tuned = caption("sample:cat", "digits", "MNIST ViT")
    assert "MNIST ViT" in tuned
    assert " only" not in tuned and "never" not in tuned, "the pretraining data are unknown"


@pytest.fixture
def headless(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Register a backbone like DINOv2 with registers: no head, four registers, layer scale."""
    from vitviz.models import presets

    config = ViTConfig(
        image_size=32,
        patch_size=4,
        embed_dim=24,
        depth=2,
        num_heads=2,
        num_classes=0,
        num_registers=4,
        position_on_prefix=False,
        layer_scale=1.0,
    )
    preset = replace(presets.PRESETS["vit_shapes"], name="headless", title="Headless", config=config)
    monkeypatch.setitem(presets.PRESETS, "headless", preset)
    catalogue.list_presets.cache_clear()
    yield "preset:headless"
    catalogue.list_presets.cache_clear()


def test_a_model_without_a_head_is_explained_in_every_view(open_app, headless):
    from vitviz.models import presets

    for view in DRAWN:
        app = open_app(PAGE, model=headless, image="shapes:0", attention__view=view)
        texts = [node.value for node in (*app.caption, *app.info)]
        if view not in ("compare", "matrix"):
            reason = abilities(presets.PRESETS["headless"].config).class_head.why_not
            assert any(reason in text for text in texts), (view, texts)
    app = open_app(PAGE, model=headless, image="shapes:0", pin="reg2", attention__view="look")
    header, _ = message(app, "attention.explorer")
    assert header["prefix"] == ["cls", "reg1", "reg2", "reg3", "reg4"]
    assert "[REG2]" in app.caption[0].value
    app = open_app(PAGE, model=headless, image="shapes:0", attention__view="methods")
    assert read_panels(message(app, "attention.methods"))[0] == ["Raw attention", "Rollout"]
    assert not open_app(BLOCK, model=headless, image="shapes:0", pin="reg2").exception
    app = open_app(PAGE, model=headless, image="shapes:0", attention__view="ablate")
    app.button(key="nouns.able").click().run()
    assert not app.exception and app.query_params["model"] != headless
    assert not any(reason in info.value for info in app.info) and message(app, "attention.ablate")


@pytest.mark.parametrize(
    ("layer", "pin", "reach"), [("1", "0.99,0.99", 16), ("2", "0.99,0.99", 4), ("2", "0.5,0.5", 16)]
)
def test_a_masked_token_of_a_shifted_window_is_out_of_reach(
    open_app: Callable[..., AppTest], layer: str, pin: str, reach: int
) -> None:
    """The last window of a shifted 4 x 4 partition holds 4 patches from each of four sides of the image."""
    app = open_app(PAGE, model="preset:swin_digits", image="digits:3", pin=pin, attention__layer=layer)
    captions = "\n".join(caption.value for caption in app.main.caption)
    assert f" {reach} of the 16 × 16 tokens" in captions


@pytest.mark.parametrize(
    ("model", "controls", "scores"),
    [
        ("preset:vit_digits", {}, "q·k / √16"),
        ("preset:recipe_d", {}, "q·k / √32"),  # the lecture's scale: the width, not the head's
        ("preset:swin_digits", {"attention__layer": "1"}, "q·k / √16 + B"),
        ("preset:swin_digits", {"attention__layer": "2"}, "q·k / √16 + B + mask"),
        ("preset:swin_mnist", {"attention__layer": "4"}, "q·k / √16 + B"),  # one window covers its stage
    ],
)
def test_the_formula_is_the_models_own(open_app, model, controls, scores):
    header, _ = message(open_app(PAGE, model=model, image="digits:0", **controls), "attention.explorer")
    assert header["scores"] == scores


def capture_instead(monkeypatch: pytest.MonkeyPatch, attn: np.ndarray) -> None:
    """Let every model return this attention (layers, heads, query, key); no strip of it stays for other tests."""
    arrays = {f"blocks.{layer}.attn": heads[None] for layer, heads in enumerate(attn)}
    captured = Capture(arrays, np.zeros((1, 2), np.float32), None)
    monkeypatch.setattr("pages.stores.shared_cache.capture_loaded", lambda *_: captured)
    monkeypatch.setattr(
        attention_maps, "_build_strip", lambda subject, layers, head: strip_view(subject.attn, head)
    )


def test_a_fused_look_is_a_share_of_itself_and_a_column_counts_every_query(open_app, monkeypatch):
    rng = np.random.default_rng(0)
    attn = rng.exponential(size=(4, 4, 65, 65)) ** 8
    attn /= attn.sum(axis=-1, keepdims=True)
    attn[:, :, 0, 9] = 5.0  # [CLS] looks at one patch more than any patch does
    capture_instead(monkeypatch, attn.astype(np.float32))
    row = open_app(PAGE, model="preset:vit_digits", image="digits:0", attention__head="max")
    caption = next(c.value for c in row.main.caption if "strongest patches" in c.value)
    assert 0 < int(re.search(r"(\d+)\N{NO-BREAK SPACE}%", caption)[1]) <= 100
    column = open_app(PAGE, model="preset:vit_digits", pin="0.06,0.19", attention__direction="column")
    assert any("[CLS] (5.000)" in c.value for c in column.main.caption)


@pytest.mark.parametrize(
    ("side", "patches", "number"),
    [
        (8, "five", "2 different"),
        (2, "the 4 patches", "2 different"),
        (1, "only patch", "50.0\N{NO-BREAK SPACE}%"),
    ],
)
def test_a_caption_counts_no_more_patches_than_exist(side, patches, number):
    layout = TokenLayout(("cls",), (side, side), 32 // side)
    lines = np.full((2, layout.num_tokens), 0.1, np.float32)
    lines[0, 1] = lines[1, -1] = 0.5
    caption = pinned_token_captions._describe_row(lines, "mean", layout)
    assert patches in caption and number in caption


def test_one_methods_sentence_ends_where_there_is_no_other(open_app):
    app = open_app(PAGE, model="preset:swin_digits", image="digits:0", attention__view="truth")
    caption = next(c.value for c in app.main.caption if "Adebayo" in c.value)
    assert re.search(r"on this image: [a-z ×]+ −?\d\.\d\d ± \d\.\d\d\. A map", caption)


def test_before_its_training_a_model_is_random(open_app, no_shipped_checkpoints):
    config = ViTConfig(image_size=32, patch_size=16, in_chans=1, embed_dim=16, depth=1, num_heads=1)
    ship(no_shipped_checkpoints, "two", config)
    for model, step, words in (
        ("checkpoint:two", "0", "Random weights"),
        ("checkpoint:two", "9", "Trained on Digits"),
        ("weights:expired", "0", "Trained on Digits"),  # the step is the missing model's
    ):
        app = open_app(PAGE, model=model, step=step, image="digits:0")
        assert any(words in caption.value for caption in app.main.caption)


@pytest.mark.parametrize("model", ["preset:vit_digits", "preset:deit_digits", "preset:recipe_d"])
@pytest.mark.parametrize("causal", [False, True])
def test_the_matrix_belongs_to_the_head_and_its_mask_keeps_row_sums(open_app, model, causal):
    choices = {"attention__view": "matrix", "attention__layer": "2", "attention__head": "1"}
    app = open_app(PAGE, model=model, image="digits:0", attention__causal=str(int(causal)), **choices)
    header, arrays = message(app, "attention.matrix")
    attn = restore_rows(arrays["codes"], arrays["max"])
    assert header["causal"] is causal and attn.shape == (len(attn), len(attn))
    np.testing.assert_allclose(attn.sum(axis=1), 1, atol=1e-3)
    assert bool(attn[0, 0] == pytest.approx(1)) is causal
    assert bool((np.triu(attn, 1) == 0).all()) is causal
    (caption,) = [text.value for text in app.main.caption if "every row sums to 1" in text.value]
    assert (f"{len(attn) * (len(attn) - 1) // 2:,} of {attn.size:,} pairs" in caption) is causal
    assert app.query_params["attention.causal"] in (str(int(causal)), [str(int(causal))])


def test_the_sentence_is_marked_as_an_illustration(open_app):
    app = open_app(PAGE, model="preset:swin_digits", image="digits:0", attention__view="matrix")
    header, _ = message(app, "attention.sentence")
    assert " ".join(header["words"]) == "Bark is a dog and he is cute"
    assert any("illustration" in text.value for text in app.main.markdown)
    assert app.main.info  # a Swin has no row over all tokens


def test_it_opens_on_the_most_concentrated_map_of_a_correct_prediction() -> None:
    entry = registry.BY_SLUG["attention"]
    dataset, _, number = entry.images[""].partition(":")
    model, images = (
        vitviz.load(CHECKPOINTS / f"{entry.default}.safetensors"),
        datasets.load_dataset(dataset),
    )
    rows: list[np.ndarray] = []

    def keep(layer: int, attention: np.ndarray) -> None:
        if layer == model.config.depth - 1:  # type: ignore[union-attr]
            rows.append(attention[:, :, 0, 1:])  # [CLS] to the patches

    logits = stream_attention(model.model, prepare_batch(images.test_images, model.preparation), keep)
    weights = np.sort(np.concatenate(rows), -1)
    held = weights[..., -(weights.shape[-1] // 10) :].sum(-1)
    held[logits.argmax(1) != images.test_labels] = 0
    assert np.unravel_index(held.argmax(), held.shape) == (int(number), CONCENTRATED_HEAD - 1)
    assert held.max() > 0.9


@pytest.mark.parametrize("model", [*MODELS, "checkpoint:cifar10_deit_soft"])
def test_the_shares_of_a_logit_sum_to_it(open_app, model):
    app = open_app(PAGE, model=model, image="digits:0", attention__view="shares")
    (chart,) = charts(app)
    bars = next(trace for trace in chart["data"] if trace["type"] == "bar")
    *parts, logit = bars["x"]
    assert sum(parts) == pytest.approx(logit, abs=1e-6) and bars["base"][1] == pytest.approx(parts[0])
    caption = next(note.value for note in app.main.caption if "adds most to the logit" in note.value)
    assert f"of {signed(logit)}; all heads add" in caption
    (link,) = [
        link for link in app.main.get("page_link") if link.proto.label.startswith("Attention of layer")
    ]
    assert "attention.view=look" in link.proto.query_string


def test_shares_follow_the_explained_class(open_app):
    app = open_app(PAGE, model="preset:vit_digits", attention__view="shares", attention__class="3")
    assert any("to the logit of 3:" in note.value for note in app.main.caption)


def test_curves_of_faithfulness_are_drawn_while_others_are_computed(
    open_app: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[int] = []
    build_figure = faithfulness.build_figure

    def record(subject: Any, curves: faithfulness.FaithfulnessCurves, target: int) -> Any:
        shown.append(len(curves.curves))
        return build_figure(subject, curves, target)

    monkeypatch.setattr(faithfulness, "SHOW_S", -1.0)
    monkeypatch.setattr(faithfulness, "build_figure", record)
    app = open_app(PAGE, model="preset:vit_digits", image="digits:0", attention__view="truth")
    assert not app.exception and len(charts(app)) == 1
    assert shown[:3] == [1, 2, 3] and shown == sorted(shown)


def test_faithfulness_ends_when_another_view_is_chosen(
    open_app: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streamlit finishes a run before a control's of its own fragment: the curves were drawn for half a minute."""
    computed: list[int] = []
    compute = faithfulness._compute_curve

    def choose_view(*args: Any) -> Any:
        computed.append(len(computed))
        if len(computed) == 2:
            context = get_script_run_ctx()
            assert context is not None and context.script_requests is not None
            context.script_requests.request_rerun(RerunData(fragment_id=ThreadState.get().fragment_id))
        return compute(*args)

    monkeypatch.setattr(faithfulness, "_compute_curve", choose_view)
    app = open_app(PAGE, model="preset:vit_digits", image="digits:0", attention__view="truth")
    both_runs = len(computed)
    app.run()
    assert not app.exception and len(charts(app)) == 1
    assert both_runs == 2 + len(computed) - both_runs > 4
