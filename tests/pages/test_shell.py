"""The shell: nouns in the sidebar, the link, uploads, controls."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartParser
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner import RerunData
from streamlit.runtime.state.session_state import STREAMLIT_INTERNAL_KEY_PREFIX
from streamlit.testing.v1 import AppTest, local_script_runner

from pages.controls import query_params, widgets
from pages.selection import selection, sidebar, thumbnails
from pages.stores import catalogue, registry, uploads
from pages.stores.session import UserSession
from pages.streamlit_fixes import installation
from tests.files import png
from tests.pages.conftest import OpenApp, ship, upload
from tests.visitor import run_apart
from vitviz.data import image_worker
from vitviz.models.model_cost import too_large
from vitviz.models.presets import VIT_DIGITS
from vitviz.models.zoo import create_model
from vitviz.plots.theme import HEADS, PALETTES
from vitviz.text import plain

ROOT = Path(__file__).parents[2]
NOUNS = ("model", "step", "image", "pin", "crop")
PLAIN = {"model": "preset:vit_digits", "step": "0", "image": "digits:0", "crop": "0.5"}  # without a link


def query(app: AppTest) -> dict[str, str]:
    return {
        key: values[0] if isinstance(values, list) else values for key, values in app.query_params.items()
    }


def test_first_session_shows_every_noun_and_writes_the_link_in_full(open_app):
    app = open_app()
    assert query(app) == PLAIN
    assert len(app.sidebar.get("image")) >= 2
    assert any("random weights" in text.value for text in app.sidebar.markdown)


def test_a_link_shows_the_same_again(open_app):
    first = open_app(model="preset:vit_tiny_16", image="sample:coffee", pin="0.250,0.750", crop="0.2")
    again = open_app(**{key: query(first)[key] for key in NOUNS})
    assert query(again) == query(first)
    assert query(again)["image"] == "sample:coffee"
    assert any("cup of coffee" in text.value for text in again.sidebar.markdown)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model", "checkpoint:../../etc/passwd"),
        ("model", "<script>alert(1)</script>"),
        ("step", "-1"),
        ("step", "1e999"),
        ("image", "digits:-1"),
        ("image", "digits:٣"),
        ("image", "sample:../cat"),
        ("image", "upload:"),
        ("image", "x" * 10_000),
        ("pin", "nan,nan"),
        ("pin", "1,2,3"),
        ("pin", "javascript"),
        ("crop", "inf"),
    ],
)
def test_hostile_values_fall_back_silently(open_app, key, value):
    app = open_app(**{key: value})
    assert query(app) == PLAIN
    assert not app.warning


def test_unknown_parameters_are_dropped(open_app):
    assert query(open_app(nonsense="1")) == PLAIN


def test_changing_the_model_changes_the_link_and_the_default_image(open_app):
    app = open_app()
    app.sidebar.selectbox(key="model").set_value("preset:vit_tiny_16").run()
    assert query(app)["model"] == "preset:vit_tiny_16"
    assert query(app)["image"] == "sample:cat"


def test_a_chosen_image_stays_when_the_model_changes(open_app):
    app = open_app()
    app.sidebar.number_input(key="nouns.index").set_value(7).run()
    assert query(app)["image"] == "digits:7"
    app.sidebar.selectbox(key="model").set_value("preset:vit_tiny_16").run()
    assert query(app)["image"] == "digits:7"


def test_an_address_that_was_under_way_does_not_undo_a_choice(open_app):
    app = open_app(image="digits:3")
    before = query(app)
    app.sidebar.number_input(key="nouns.index").set_value(5).run()
    app.query_params.update(before)  # what a browser sends that has not heard of the new address
    app.run()
    assert query(app)["image"] == "digits:5"


def test_going_back_shows_the_image_before(open_app, monkeypatch):
    app = open_app(image="digits:3")
    before = query(app)
    app.sidebar.number_input(key="nouns.index").set_value(5).run()
    monkeypatch.setattr(query_params, "_STALE_S", 0.0)  # the choice is long ago
    app.query_params.update(before)
    app.run()
    assert query(app)["image"] == "digits:3"
    assert app.sidebar.number_input(key="nouns.index").value == 3


def test_another_data_set_starts_at_its_first_image(open_app):
    app = open_app()
    app.sidebar.selectbox(key="nouns.dataset").set_value("shapes").run()
    assert query(app)["image"] == "shapes:0"


def test_nouns_are_kept_from_page_to_page(open_app):
    other = next(entry for entry in registry.PAGES if entry.slug != "home")
    app = open_app(pin="0.100,0.900", image="digits:5")
    app.switch_page(other.path).run()
    returned = query(app)
    assert (returned["pin"], returned["image"]) == ("0.100,0.900", "digits:5")


def test_an_upload_is_shown_and_removed(open_app):
    app = upload(open_app(model="preset:vit_tiny_16"), png(), "red.png")
    image = query(app)["image"]
    assert re.fullmatch(r"upload:[\w-]{22}", image)
    assert not app.exception and not app.warning
    assert uploads.PRIVACY in next(b for b in app.sidebar.button if "Delete" in b.label).help
    np.testing.assert_array_equal(uploads.STORE.get(image.removeprefix("upload:"))[0, 0], (200, 30, 30))

    next(button for button in app.sidebar.button if "Delete" in button.label).click().run()
    assert query(app)["image"] == "sample:cat"
    assert uploads.STORE.get(image.removeprefix("upload:")) is None
    assert not app.exception


def test_an_upload_is_decoded_for_its_user(open_app, monkeypatch):
    users = []
    decode = image_worker.decode_in_worker
    monkeypatch.setattr(
        image_worker,
        "decode_in_worker",
        lambda *args: users.append(image_worker._user.get()) or decode(*args),
    )
    app = upload(open_app(model="preset:vit_tiny_16"), png(), "red.png")
    assert users == [app.session_state["_visit"].token]


def test_an_open_upload_is_not_evicted(open_app, monkeypatch):
    app = upload(open_app(model="preset:vit_tiny_16"), png(), "red.png")
    image = query(app)["image"].removeprefix("upload:")
    monkeypatch.setattr(uploads.STORE, "total_bytes", uploads.STORE.get(image).nbytes)
    other = upload(open_app(model="preset:vit_tiny_16"), png(), "red.png")
    assert "full" in "".join(text.value for text in other.sidebar.warning) and not other.exception
    assert query(app.run())["image"] == f"upload:{image}" and uploads.STORE.get(image) is not None


def test_an_upload_is_never_written_to_disk(open_app):
    open_app()
    boundary, content = b"cut", bytes(3 * 2**20)
    head = b'Content-Disposition: form-data; name="file"; filename="photo.jpg"'
    body = b"--%b\r\n%b\r\n\r\n%b\r\n--%b--\r\n" % (boundary, head, content, boundary)

    async def arrives():
        yield body

    headers = Headers({"content-type": "multipart/form-data; boundary=cut"})
    file = run_apart(MultiPartParser(headers, arrives()).parse())["file"]
    size, on_disk = file.size, file.file._rolled
    file.file.close()
    assert size == len(content)
    assert not on_disk, "the photo went through a temporary file"


def test_a_bad_file_says_why_and_the_previous_image_stays(open_app):
    app = open_app(image="digits:3")
    upload(app, b"hello", "not-a-picture.png")
    assert query(app)["image"] == "digits:3"
    assert len(app.sidebar.warning) == 1
    assert not app.exception


def test_a_link_to_a_vanished_upload_says_so(open_app):
    app = open_app(image="upload:abcdefghijklmnopqrstuv")
    assert app.sidebar.warning[0].value == plain(sidebar.IMAGE_EXPIRED)
    assert query(app)["image"] == "digits:0"


def test_a_session_that_ended_leaves_nothing(monkeypatch):
    monkeypatch.setattr(uploads, "_GRACE_S", -1.0)
    store = uploads.Store()
    gone, here = (store.add(np.zeros((4, 4, 3), np.uint8), session) for session in ("gone", "here"))
    store.release("gone")
    store.release("here")
    store.touch("here")
    store.sweep()
    assert store.get(gone) is None
    assert store.get(here) is not None


def test_a_checkpoint_offers_its_steps_and_comes_first(open_app, no_shipped_checkpoints):
    write_checkpoint(no_shipped_checkpoints, "digits_vit")
    app = open_app()
    assert query(app)["model"] == "checkpoint:digits_vit"
    assert query(app)["step"] == "40"
    assert any("Trained on Digits" in text.value for text in app.sidebar.caption)
    app.sidebar.select_slider(key="step").set_value(0).run()
    assert query(app)["step"] == "0"
    assert any("Before training on Digits" in text.value for text in app.sidebar.caption)
    assert any("random weights" in text.value for text in app.sidebar.markdown)
    assert query(open_app(step="40"))["step"] == "40"
    assert query(open_app(step="41"))["step"] == "40"


def test_a_damaged_checkpoint_is_not_offered(open_app, no_shipped_checkpoints):
    (no_shipped_checkpoints / "torn.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{}")
    assert "checkpoint:torn" not in catalogue.list_models(UserSession("a visit"))
    open_app()


def write_checkpoint(folder: Path, name: str) -> None:
    states = {step: create_model(VIT_DIGITS, seed=step).state_dict() for step in (0, 10, 40)}
    history = [{"kind": "evaluation", "split": "validation", "step": 10, "accuracy": 0.5}]
    ship(folder, name, states=states, history=history)


@pytest.mark.parametrize(
    ("text", "pin"),
    [("cls", "cls"), ("0.5,1", "0.500,1.000"), ("0.5,0.5", "0.500,0.500"), ("-0.1,0", None), ("reg0", None)],
)
def test_a_link_s_pin_is_read_or_none_is_written(open_app, text, pin):
    assert query(open_app(pin=text)).get("pin") == pin


def get_thumbnail(app: AppTest) -> list[str]:
    return [str(image.proto) for image in app.sidebar.get("image")][-1:]  # none if a fragment ran without it


@pytest.mark.parametrize(
    ("slug", "section", "view"),
    [
        ("attention", "look", "attention.explorer"),
        ("attention", "matrix", "attention.matrix"),
        ("attention", "compare", "attention.left"),
        ("attention", "depth", "attention.lens_maps"),
        ("attention", "methods", "attention.methods"),
        ("layers", "token", "layers.similar"),
        ("layers", "sinks", "layers.lengths"),
        ("block", "", "block.flow"),
        ("two_images", "match", "two_images.match"),
    ],
)
def test_a_pin_in_a_view_that_reruns_alone_moves_the_thumbnail_s_circle(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, slug: str, section: str, view: str
) -> None:
    link = {"model": "preset:vit_digits", "image": "digits:3", f"{slug}.view": section}
    app = open_app(registry.BY_SLUG[slug].path, **link, attention__beside="image")
    assert "pin" not in query(app)
    circled = get_thumbnail(open_app(registry.BY_SLUG[slug].path, **link, pin="0.062,0.188"))
    assert get_thumbnail(app) != circled
    states = WidgetStates()
    (node,) = [one for one in app.main.get("bidi_component") if one.proto.id.endswith(f"-{view}")]
    events = json.dumps([{"event": "pin", "value": "0.0625,0.1875"}])
    states.widgets.add(
        id=f"{STREAMLIT_INTERNAL_KEY_PREFIX}_{node.proto.id}__events", json_trigger_value=events
    )
    alone = app._fragment_storage.resolve_target(selection.VIEW)
    monkeypatch.setattr(
        local_script_runner, "RerunData", lambda **returned: RerunData(**returned, fragment_id_queue=alone)
    )
    app._run(states)
    assert query(app)["pin"] == "0.062,0.188"
    assert get_thumbnail(app) == circled


@pytest.mark.parametrize(
    ("value", "text"), [(True, "1"), (0.1, "0.1"), (3, "3"), ((1, 0.5), "1,0.5"), ("mean", "mean")]
)
def test_values_in_a_link_are_short(value, text):
    assert widgets.encode_value(value) == text


def test_every_listed_page_has_its_script_and_its_group():
    assert registry.PAGES[0].slug == "home"
    for entry in registry.PAGES:
        assert (ROOT / entry.path).is_file()
        assert entry.group in registry.GROUPS
        assert entry.question.endswith("?") or entry.slug in ("lessons", "studies")


def test_what_the_model_does_not_see_is_dimmed():
    image = np.full((40, 80, 3), 255, np.uint8)
    shown = thumbnails.draw_crop(image, (0.0, 20.0, 40.0, 40.0), None, "dark", side_px=80)
    assert shown.shape == (80, 160, 3)
    assert (shown[40, 80] == 255).all()
    assert (shown[40, 10] < 200).all()


def test_few_pixels_stay_squares():
    image = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    shown = thumbnails.draw_crop(image, (0.0, 0.0, 8.0, 8.0), None, "light", side_px=80)
    np.testing.assert_array_equal(shown[10::20, 10::20], image)


def test_filters_are_tiles_with_grey_at_zero():
    filters = np.zeros((3, 1, 4, 4), np.float32)
    filters[1, 0, 0, 0] = 2.0
    sheet = thumbnails.draw_filters(filters, side_px=43)  # tiles of 20, three gaps of 2
    assert sheet.shape == (86, 86, 4)
    assert tuple(sheet[10, 10]) == (128, 128, 128, 255)
    assert sheet[0, 22, 0] == 255
    assert sheet[10, 70, 3] == 0  # there is no fourth filter


def test_every_preset_has_an_image():
    for choice in catalogue.list_models(UserSession("a visit")).values():
        assert thumbnails.draw_architecture(choice.config, "light").shape == (144, 144, 4)
    big = replace(
        next(iter(catalogue.list_models(UserSession("a visit")).values())).config, embed_dim=64 * 24, depth=32
    )
    assert too_large(big)


def test_no_bare_expression_of_a_page_is_written_under_it():
    """With Streamlit's magic the lab wrote 'None' below its drawers: what one of two calls in a line returned."""
    assert (
        tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8"))["runner"]["magicEnabled"] is False
    )


def test_the_config_has_the_palette_of_the_plots():
    theme = tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8"))["theme"]
    assert tuple(theme["chartCategoricalColors"]) == HEADS
    for mode, palette in PALETTES.items():
        colours = theme[mode]
        assert colours["primaryColor"] == palette.primary
        assert colours["backgroundColor"] == palette.paper
        assert colours["secondaryBackgroundColor"] == palette.panel
        assert colours["textColor"] == palette.ink
        assert colours["grayTextColor"] == palette.muted
        assert colours["borderColor"] == palette.line


def test_a_browser_that_says_no_source_of_images_breaks_nothing(open_app) -> None:
    """Seen once in many sessions: a segmented control that is mounted anew says None, required or not."""
    app = open_app()
    app.session_state["nouns.source"] = None
    app.run()
    assert not app.exception
    assert app.sidebar.segmented_control(key="nouns.source").value == "dataset"


def test_every_run_of_the_app_puts_the_guards_in_place(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(installation, "install", lambda: asked.append("install"))
    open_app().run()
    assert len(asked) >= 2
