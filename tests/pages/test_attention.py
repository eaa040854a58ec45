"""The attention explorer and the block page, on every kind of model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from pages.selection import attention_maps
from pages.stores import cached, catalogue
from pages.stores.session import Visit
from tests.messages import message
from vitviz.analysis.attention import restore_rows
from vitviz.checkpoints import Checkpoint, save_checkpoint
from vitviz.config import TrainConfig, ViTConfig
from vitviz.models.layout import TokenLayout
from vitviz.models.presets import GREY_32
from vitviz.models.zoo import create_model

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
REASONS = {
    ("preset:swin_digits", "matrix"): "heads that see the whole picture",
    ("preset:swin_digits", "methods"): "rollout is not defined",
    ("preset:swin_digits", "depth"): "the head cannot read them before",
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
        assert app.title[0].value == "Attention explorer"
        shown = [node.proto.id for node in app.main.get("bidi_component") if node.proto.bytes]
        reason = REASONS.get((model, view), "")
        drawn = reason == "" or (model, view) == PARTLY
        assert any(key.endswith(DRAWN[view]) for key in shown) == drawn, (view, shown)
        assert len(app.main.info) == bool(reason) and all(reason in info.value for info in app.main.info)


def test_no_attention_is_said(open_app):
    app = open_app(PAGE, model="preset:cnn_digits")
    assert "no attention between patches" in app.info[0].value


def test_one_layer_and_one_head_travel_never_all(open_app):
    app = open_app(PAGE, model="preset:vit_digits", attention__layer="2", attention__head="3")
    header, arrays = message(app, "attention.explorer")
    assert (header["layer"], header["head"], header["heads"]) == (2, 3, 4)
    named, strip = message(app, "attention.explorer.strip")
    assert header["strip"] == named["tag"]
    assert arrays["layer_codes"].shape == (4, 65, 65) and strip["codes"].shape == (4, 65, 65)
    assert arrays["layer_codes"].dtype == np.uint8
    # The chosen head of the layer, and the chosen layer of the head, are one and the same map.
    np.testing.assert_array_equal(arrays["layer_codes"][2], strip["codes"][1])


def test_what_travels_is_the_models_attention(open_app):

    app = open_app(PAGE, model="preset:vit_digits", attention__layer="4", attention__head="mean")
    _, arrays = message(app, "attention.explorer")
    subject = cached.loaded(catalogue.models(Visit("a visit"))["preset:vit_digits"])
    image = cached.prepared("digits:0", subject.preparation, (0.5, 0.5)).input
    from vitviz.probe.capture import capture

    attn = capture(subject.model, image[None]).attention()[:, 0]
    restored = restore_rows(arrays["layer_codes"], arrays["layer_max"])
    np.testing.assert_allclose(restored, attn[3], atol=float(attn.max()) / 254)
    _, strip = message(app, "attention.explorer.strip")
    fused = restore_rows(strip["codes"], strip["max"])
    np.testing.assert_allclose(fused, attn.mean(axis=1), atol=float(attn.max()) / 254)


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
    assert "rollout is not defined" in refused.info[0].value
    assert next(s for s in refused.select_slider if s.label == "Rollout discards").disabled
    assert message(refused, "attention.methods")[0]["titles"] == ["Gradient × input"]


def test_a_layer_that_the_model_lacks_falls_back(open_app):
    app = open_app(PAGE, model="preset:vit_digits", attention__layer="99", attention__head="nine")
    header, _ = message(app, "attention.explorer")
    assert (header["layer"], header["head"]) == (4, 1)


def test_the_class_changes_what_is_explained(open_app):
    maps = []
    for chosen in ("0", "1"):
        app = open_app(PAGE, model="preset:vit_digits", attention__view="methods", attention__class=chosen)
        maps.append(message(app, "attention.methods")[1]["maps"])
    np.testing.assert_array_equal(maps[0][:2], maps[1][:2])  # raw attention and rollout know no class
    assert not np.allclose(maps[0][2], maps[1][2])


def test_silenced_heads_move_the_probabilities_and_undo_restores_them(open_app):
    app = open_app(PAGE, model="preset:vit_digits", image="digits:0", attention__view="ablate")
    _, whole = message(app, "attention.after")
    app.session_state["attention.ablate"] = {
        "ablation": {"patches": [0, 1, 9], "heads": [[3, 0], [3, 1], [3, 2], [3, 3]], "mark": 1}
    }
    app.run()
    header, without = message(app, "attention.after")
    own = answer_of_the_whole("preset:vit_digits", "digits:0")
    np.testing.assert_allclose(without["before"], [own[name] for name in header["names"]], rtol=1e-4)
    assert not np.allclose(without["now"], without["before"], atol=1e-5)
    assert any("Without 3 of 64 patches and 4 of 16 heads" in c.value for c in app.caption)
    np.testing.assert_allclose(whole["now"], whole["before"], rtol=1e-5)
    app.session_state["attention.ablate"] = {"ablation": {"patches": [], "heads": [], "mark": 1}}
    app.run()
    np.testing.assert_allclose(message(app, "attention.after")[1]["now"], whole["now"], rtol=1e-6)


def answer_of_the_whole(model: str, image: str) -> dict[str, float]:
    """What the model gives each class, with everything in place: of a pass of its own."""
    subject = cached.loaded(catalogue.models(Visit("a visit"))[model])
    picture = cached.prepared(image, subject.preparation, (0.5, 0.5)).input
    with torch.no_grad():
        chances = subject.model(torch.tensor(picture[None])).softmax(-1)[0]
    return dict(zip(subject.classes, chances.tolist(), strict=True))


def all_pairs(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> np.ndarray:
    """(heads, query, key) of the explorer's layer; a Swin's rows lie in the slots of their windows."""
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
    assert list(table.columns[:3]) == ["token", "place", "head 1"]
    token = {65: 1 + 7 * 8, 256: 14 * 16 + 1}[len(table)]
    everyone = all_pairs(*message(app, "attention.explorer"))
    shown = everyone[:, token] if direction == "row" else everyone[:, :, token]
    kept = table[[f"head {head}" for head in range(1, len(shown) + 1)]].to_numpy().T
    np.testing.assert_allclose(kept, shown, atol=float(everyone.max()) / 200)
    if direction == "row":
        assert table["head 1"].sum() == pytest.approx(1, abs=1e-4)
    assert len(table) == (256 if "swin" in model else 65) and table["place"].iloc[-1].startswith("row ")
    labels = [button.label for button in app.get("download_button")]
    assert labels[:3] == ["View, PNG", "All heads, PNG", "Through layers, WebP"]


def test_a_random_model_says_what_its_answer_is_worth(open_app):
    app = open_app(PAGE, model="preset:vit_digits", image="sample:cat")
    assert any("Random weights: these probabilities mean nothing" in c.value for c in app.caption)


def test_a_digits_model_says_that_it_was_never_shown_a_cat():
    from types import SimpleNamespace

    from pages.lenses.attention.predictions import provenance

    def said(image: str, trained_on: str, began_with: str | None = None) -> str:
        model = SimpleNamespace(trained_on=trained_on, began_with=began_with)
        return provenance(SimpleNamespace(model=model, image=image, classes=("0",) * 10), random=False)

    assert "never shown a picture such as this" in said("sample:cat", "digits")
    assert "from its test set" in said("digits:3", "digits") and "from its" in said(
        "cifar10-few:8", "cifar10"
    )
    assert "whatever the picture shows" in said("upload:x", "digits")
    tuned = said("sample:cat", "digits", "MNIST ViT")
    assert "from the weights of MNIST ViT on" in tuned
    assert "nothing else" not in tuned and "never shown" not in tuned, "who knows what those have seen"


@pytest.fixture
def headless(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A backbone as DINOv2 with registers: no head, four registers, layer scale."""
    from vitviz.models import zoo

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
    preset = replace(zoo.PRESETS["vit_shapes"], name="headless", title="Headless", config=config)
    monkeypatch.setitem(zoo.PRESETS, "headless", preset)
    catalogue._presets.cache_clear()
    yield "preset:headless"
    catalogue._presets.cache_clear()


def test_a_model_without_a_head_says_what_has_no_meaning(open_app, headless):
    for view in DRAWN:
        app = open_app(PAGE, model=headless, image="shapes:0", attention__view=view)
        texts = [node.value for node in (*app.caption, *app.info)]
        if view not in ("compare", "matrix"):
            assert any("no head for classes" in text for text in texts), (view, texts)
    app = open_app(PAGE, model=headless, image="shapes:0", pin="reg2", attention__view="look")
    header, _ = message(app, "attention.explorer")
    assert header["prefix"] == ["cls", "reg1", "reg2", "reg3", "reg4"]
    assert "[REG2]" in app.caption[0].value
    app = open_app(PAGE, model=headless, image="shapes:0", attention__view="methods")
    assert message(app, "attention.methods")[0]["titles"] == ["Raw attention", "Rollout"]
    assert not open_app(BLOCK, model=headless, image="shapes:0", pin="reg2").exception


@pytest.mark.parametrize(
    ("layer", "pin", "reach"), [("1", "0.99,0.99", 16), ("2", "0.99,0.99", 4), ("2", "0.5,0.5", 16)]
)
def test_a_masked_token_of_a_shifted_window_is_out_of_reach(
    open_app: Callable[..., AppTest], layer: str, pin: str, reach: int
) -> None:
    """The last window of a shifted 4 x 4 partition holds patches from four sides of the picture, 4 from each."""
    app = open_app(PAGE, model="preset:swin_digits", image="digits:3", pin=pin, attention__layer=layer)
    said = "\n".join(caption.value for caption in app.main.caption)
    assert f"may look at {reach} of the 16 × 16 tokens, those of its window" in said


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


def test_a_fused_look_is_a_share_of_itself_and_a_column_counts_every_query(open_app, monkeypatch):
    from pages.selection.subject import Subject

    rng = np.random.default_rng(0)
    attn = rng.exponential(size=(4, 4, 65, 65)) ** 8
    attn /= attn.sum(axis=-1, keepdims=True)
    attn[:, :, 0, 9] = 5.0  # [CLS] looks at one patch more than any patch does
    monkeypatch.setattr(Subject, "attn", property(lambda _: attn.astype(np.float32)))
    for store in ("_LAYERS", "_STRIPS"):  # what is made of this noise is not kept for other tests
        monkeypatch.setattr(f"pages.selection.subject.{store}", WeakKeyDictionary())
    row = open_app(PAGE, model="preset:vit_digits", image="digits:0", attention__head="max")
    said = next(c.value for c in row.main.caption if "strongest patches" in c.value)
    assert 0 < int(re.search(r"puts (\d+)", said)[1]) <= 100
    column = open_app(PAGE, model="preset:vit_digits", pin="0.06,0.19", attention__direction="column")
    assert any("is looked at most by [CLS]" in c.value for c in column.main.caption)


@pytest.mark.parametrize(
    ("side", "words", "ends"),
    [
        (8, "on its five strongest patches and", "name 2 different patches as their strongest."),
        (2, "on the 4 patches and", "name 2 different patches as their strongest."),
        (1, "on its only patch and", "give each token 50.0\N{NO-BREAK SPACE}%."),
    ],
)
def test_no_more_patches_are_said_than_there_are(side, words, ends):
    layout = TokenLayout(("cls",), (side, side), 32 // side)
    lines = np.full((2, layout.num_tokens), 0.1, np.float32)
    lines[0, 1] = lines[1, -1] = 0.5
    said = attention_maps._of_row(lines, "mean", layout)
    assert words in said and said.endswith(ends)


def test_one_methods_sentence_ends_where_there_is_no_other(open_app):
    app = open_app(PAGE, model="preset:swin_digits", image="digits:0", attention__view="truth")
    said = next(c.value for c in app.main.caption if "Adebayo" in c.value)
    assert re.search(r"keeps (this much|the most) of its order with other random weights, −?\d\.\d\d", said)
    assert "; ." not in said and ", ." not in said


def test_before_its_training_a_model_is_random(open_app, no_shipped_checkpoints):
    config = ViTConfig(image_size=32, patch_size=16, in_chans=1, embed_dim=16, depth=1, num_heads=1)
    states = {step: create_model(config, seed=step).state_dict() for step in (0, 9)}
    checkpoint = Checkpoint(
        config,
        GREY_32,
        TrainConfig(dataset="digits"),
        tuple("0123456789"),
        [],
        states,
        {"title": "Two steps"},
    )
    save_checkpoint(no_shipped_checkpoints / "two.safetensors", checkpoint)
    for step, words in (("0", "Random weights: these probabilities"), ("9", "Trained on Digits")):
        app = open_app(PAGE, model="checkpoint:two", step=step, image="digits:0")
        assert any(words in caption.value for caption in app.main.caption)


@pytest.mark.parametrize("model", ["preset:vit_digits", "preset:deit_digits", "preset:recipe_d"])
@pytest.mark.parametrize("causal", [False, True])
def test_the_matrix_is_the_head_s_and_its_mask_leaves_rows_of_one(open_app, model, causal):
    choices = {"attention__view": "matrix", "attention__layer": "2", "attention__head": "1"}
    app = open_app(PAGE, model=model, image="digits:0", attention__causal=str(int(causal)), **choices)
    header, arrays = message(app, "attention.matrix")
    attn = (arrays["codes"].astype(float) / 255) ** 2 * arrays["max"][:, None]
    assert header["causal"] is causal and attn.shape == (len(attn), len(attn))
    np.testing.assert_allclose(attn.sum(axis=1), 1, atol=0.05)  # eight bits a weight
    assert bool(attn[0, 0] == pytest.approx(1)) is causal
    assert bool((np.triu(attn, 1) == 0).all()) is causal
    (said,) = [text.value for text in app.main.caption if "every row sums to 1" in text.value]
    assert ("The mask takes" in said) is causal
    assert app.query_params["attention.causal"] in (str(int(causal)), [str(int(causal))])


def test_the_sentence_is_marked_as_an_illustration(open_app):
    app = open_app(PAGE, model="preset:swin_digits", image="digits:0", attention__view="matrix")
    header, _ = message(app, "attention.sentence")
    assert " ".join(header["words"]) == "Bark is a dog and he is cute"
    assert any("illustration" in text.value and "set by hand" in text.value for text in app.main.markdown)
    assert app.main.info  # a Swin has no row over all tokens
