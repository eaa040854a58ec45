"""Check the start page: map, opened parts, second map, stored messages and links."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pages.controls import query_params
from pages.frame import warm_up
from pages.start import lens_links, map_messages, map_session, stored_map
from pages.stores import catalogue, lessons, registry, shared_cache
from pages.stores.session import UserSession
from tests.messages import body, unpack
from tests.pages.conftest import ROOT, OpenApp, opened_again, put_shipped
from tests.strokes import encode_strokes
from vitviz.data import drawings
from vitviz.models.presets import PRESETS
from vitviz.plots.blob import open_blob
from vitviz.probe import forward_pass as probe
from vitviz.text import plain
from vitviz.weight_identity import resolve_identity

ONE = encode_strokes([np.array([[250, 70], [256, 440]])])
SHIPPED = Path(__file__).parents[2] / "checkpoints"
FAMILIES = ("vit_digits", "deit_cifar10", "hybrid_cifar10", "swin_digits", "cnn_digits")


def views(app) -> dict[str, tuple[dict, dict]]:
    """Header and arrays of the map and of what is open in it."""
    found = {
        mount.proto.id.rpartition("home.map")[2]: mount.proto.bytes
        for mount in app.main.get("bidi_component")
    }
    ends = {"map": "", "part": ".part", "map2": "2", "part2": "2.part"}
    return {name: unpack(body(found[end])) for name, end in ends.items() if end in found}


def query(app) -> dict[str, str]:
    return {key: value[0] if isinstance(value, list) else value for key, value in app.query_params.items()}


def act(app, **returned):
    """What a view sends, in one run."""
    app.session_state["home.map"] = returned
    return app.run()


@pytest.mark.parametrize("preset", [name for name in FAMILIES if name in PRESETS])
def test_every_family_has_its_map_and_a_computed_caption(open_app: OpenApp, preset: str) -> None:
    app = open_app(model=f"preset:{preset}")
    header, arrays = views(app)["map"]
    assert [part["id"] for part in header["parts"]][0] == "picture"
    best = header["classes"]["names"][int(arrays["probabilities"].argmax())]
    assert any(plain(f"rediction: {best} (") in caption.value for caption in app.main.caption)
    assert views(app)["part"][0] == {"part": "", "map": "home.map", "arrays": {}}
    for part in header["parts"]:
        slug, _, query = (part["link"] or {"href": "block?model=preset"})["href"].partition("?")
        assert slug in registry.BY_SLUG and "model=preset" in query


def test_the_numbers_are_those_of_the_chosen_image(open_app: OpenApp) -> None:
    app = open_app(model="preset:vit_digits", image="digits:5")
    header, arrays = views(app)["map"]
    choice = catalogue.list_models(UserSession("one"))["preset:vit_digits"]
    found = shared_cache.capture_activations(choice, 0, "digits:5", ("logits",), (0.5, 0.5))
    np.testing.assert_allclose(arrays["logits"], found.logits[0], rtol=1e-5)
    assert header["label"].startswith("Digits no. 5")


def test_a_second_model_stands_below_on_the_same_image(open_app: OpenApp) -> None:
    app = open_app(model="preset:vit_digits", image="digits:5", pin="0.900,0.100")
    assert "map2" not in views(app) and "home.beside" not in query(app)
    app.main.selectbox(key="home.beside").set_value("preset:cnn_digits").run()
    assert not app.exception
    first, second = views(app)["map"][0], views(app)["map2"][0]
    assert (first["family"], second["family"]) == ("vit", "cnn")
    assert second["label"].startswith("Digits no. 5") and second["pin"] == first["pin"] == "0.900,0.100"
    assert query(app)["model"] == "preset:vit_digits" and query(app)["home.beside"] == "preset:cnn_digits"
    choice = catalogue.list_models(UserSession("one"))["preset:cnn_digits"]
    found = shared_cache.capture_activations(choice, 0, "digits:5", ("logits",), (0.5, 0.5))
    np.testing.assert_allclose(views(app)["map2"][1]["logits"], found.logits[0], rtol=1e-5)
    for part in second["parts"]:  # its links lead to lenses of this model, not of the sidebar's
        assert part["link"] is None or "model=preset%3Acnn_digits" in part["link"]["href"]
    for mount in app.main.get("bidi_component"):
        assert len(mount.proto.bytes) <= 150_000


def test_what_is_open_in_the_second_map_is_its_own(open_app: OpenApp) -> None:
    app = open_app(model="preset:vit_digits", home__beside="preset:deit_digits", home__beside_part="block.2")
    assert views(app)["part"][0] == {"part": "", "map": "home.map", "arrays": {}}
    part = views(app)["part2"][0]
    assert (part["part"], part["map"]) == ("block.2", "home.map2")
    (shown,) = [each for each in views(app)["map2"][0]["parts"] if each["id"] == "block.2"]
    assert "model=preset%3Adeit_digits" in shown["link"]["href"]
    app.session_state["home.map2"] = {"pin": "cls"}
    app.run()
    assert query(app)["pin"] == "cls" and views(app)["map"][0]["pin"] == "cls"


@pytest.mark.parametrize("returned", ["preset:vit_digits", "preset:none", "<b>"])
def test_a_link_to_no_second_model_shows_none(open_app: OpenApp, returned: str) -> None:
    app = open_app(model="preset:vit_digits", home__beside=returned)
    assert "map2" not in views(app) and "home.beside" not in query(app)


def test_a_second_model_of_another_set_reads_an_image_of_its_own(open_app: OpenApp) -> None:
    app = open_app(model="preset:vit_digits", image="digits:5", home__beside="preset:swin_cifar10")
    label = views(app)["map2"][0]["label"]
    assert not label.startswith("Digits")
    (number,) = re.findall(r" no\. (\d+)", label)
    assert any(f"test image no. {number}" in text.value for text in app.main.markdown)


def test_a_pin_of_the_map_is_the_noun(open_app: OpenApp) -> None:
    app = open_app(model="preset:vit_digits")
    app = act(app, pin="0.0625,0.1875")
    header = views(app)["map"][0]
    assert header["pin"] == "0.062,0.188"
    assert query(app)["pin"] == "0.062,0.188"
    assert all("pin=0.062%2C0.188" in part["link"]["href"] for part in header["parts"] if part["link"])


def test_only_a_pinned_token_is_followed_and_stands_in_the_link_be_it_the_centre(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_params, "_STALE_S", 0.0)
    app = open_app(model="preset:vit_mnist", image="digits:5")  # 7 x 7: the centre lies in a patch
    assert not views(app)["map"][0]["pinned"] and "pin" not in query(app)
    assert views(act(app, pin="0.5,0.5"))["map"][0]["pinned"] and query(app)["pin"] == "0.500,0.500"
    assert views(open_app(**query(app)))["map"][0]["pinned"]
    del app.query_params["pin"]  # as Back does
    assert not views(act(app))["map"][0]["pinned"] and "pin" not in query(app)


def test_masks_stand_in_the_link_while_they_fit_the_model(open_app: OpenApp) -> None:
    app = act(open_app(model="preset:vit_digits"), mask="0000181800000000.0100")
    header = views(app)["map"][0]
    assert header["masks"] == query(app)["home.mask"] == "0000181800000000.0100"
    assert views(open_app(**query(app)))["map"][0]["masks"] == "0000181800000000.0100"
    app = act(app, mask="")
    assert views(app)["map"][0]["masks"] == "" and "home.mask" not in query(app)
    assert [map_session.fits_grid("0" * digits, 49) for digits in (12, 13)] == [False, True]


@pytest.mark.parametrize(
    ("event", "sent"),
    [
        *(("mask", mask) for mask in ("0018", "000018180000000g", "0000181800000000.", "x" * 1000, 7)),
        *(("pin", pin) for pin in ("", "nan,nan", "9,9", "<b>", "cls,1", "x" * 1000)),
        *(("open", part) for part in ("{", "block.9 norm", "block.1;", 5, " norm")),
    ],
)
def test_what_is_no_pin_no_mask_and_no_part_changes_nothing(
    open_app: OpenApp, event: str, sent: object
) -> None:
    app = act(open_app(model="preset:vit_digits"), **{event: sent})
    header = views(app)["map"][0]
    assert (header["pin"], header["masks"]) == ("0.500,0.500", "") and "home.mask" not in query(app)
    assert views(app)["part"][0]["part"] == ""


def test_a_part_opens_closes_and_stands_in_the_link(open_app: OpenApp) -> None:
    app = open_app(model="preset:vit_digits")
    app = act(app, open="block.2 blocks.1.attn[:,0] weight:head.bias")
    part, arrays = views(app)["part"]
    assert (part["part"], part["subject"]) == ("block.2", views(app)["map"][0]["subject"])
    assert part["names"] == ["blocks.1.attn[:,0]", "weight:head.bias"]
    assert arrays["0"].shape == (4, 65) and np.allclose(arrays["0"].sum(axis=1), 1, atol=1e-5)
    assert query(app)["home.part"] == "block.2"
    assert views(act(app, pin="0.500,0.500"))["part"][0]["names"] == part["names"]  # repeated in every run
    assert views(act(app, open="head"))["part"][0] == {"part": "head", "map": "home.map", "arrays": {}}
    app = act(app, open="")
    assert views(app)["part"][0]["part"] == "" and "home.part" not in query(app)


def test_records_of_another_image_have_another_subject(open_app: OpenApp) -> None:
    subjects = {
        views(open_app(model="preset:vit_digits", image=image))["map"][0]["subject"]
        for image in ("digits:1", "digits:2")
    }
    assert len(subjects) == 2


@pytest.mark.parametrize("returned", ["block.9", "../x", "<script>", "block.1;"])
def test_a_link_to_no_part_opens_none(open_app: OpenApp, returned: str) -> None:
    app = open_app(model="preset:vit_digits", home__part=returned)
    assert views(app)["part"][0]["part"] == ""


@pytest.mark.parametrize(
    "names", ["blocks.9", "norm[999]", "x" * 5000, " ".join(f"norm[{i}]" for i in range(65)), "../x"]
)
def test_a_request_for_no_record_is_answered_by_the_reason(open_app: OpenApp, names: str) -> None:
    app = open_app(model="preset:vit_digits")
    part = views(act(app, open=f"block.1 {names}"))["part"][0]
    assert part["part"] == "block.1" and part["error"] and not part["arrays"]


def test_an_open_part_that_the_next_model_lacks_is_closed(open_app: OpenApp) -> None:
    app = open_app(model="preset:vit_digits", home__part="prefix")
    app.sidebar.selectbox(key="model").set_value("preset:swin_digits").run()
    assert views(app)["part"][0]["part"] == ""
    assert "home.part" not in query(app)


OF_A_VIT = {
    "picture": "patches",
    "patches": "patches",
    "embed": "filters",
    "prefix": "patches",
    "block.2": "block",
}
OF_A_CNN = {"picture": "filters", "stem": "filters", "stage.1": "filters", "head": "filters"}
LEADS = {
    "vit_digits": {**OF_A_VIT, "positions": "positions", "head": "attention"},
    "deit_cifar10": {**OF_A_VIT, "positions": "positions", "head": "distillation"},
    "hybrid_cifar10": {**OF_A_CNN, "block.2": "block", "positions": "positions", "head": "attention"},
    "swin_digits": {"picture": "patches", "block.2": "swin", "merge.2": "swin", "head": "attention"},
    "cnn_digits": OF_A_CNN,
    "recipe_e": {"picture": "", "patches": "", "head": "filters"},
}


def test_every_part_leads_to_a_page_that_can_show_it() -> None:
    from vitviz.models.abilities import abilities

    for name, entry in PRESETS.items():
        able = abilities(entry.config)
        for part in (
            "picture",
            "patches",
            "embed",
            "prefix",
            "positions",
            "block.2",
            "merge.2",
            "stem",
            "head",
        ):
            slug, label, _ = lens_links.find_lens(part, entry.config)
            assert not slug or label, name
            assert slug != "filters" or label in ("The filters of E", "Its learned filters"), (
                name,
                part,
            )
            if slug == "patches":
                assert able.embedding
            if slug == "attention":
                assert able.attention
    for name, leads in LEADS.items():
        found = {part: lens_links.find_lens(part, PRESETS[name].config)[0] for part in leads}
        assert found == leads, name


def test_a_parts_link_opens_its_lens_with_the_token_pinned(open_app: OpenApp) -> None:
    app = open_app(model="preset:vit_digits", pin="0.100,0.900")
    app = act(app, go="block.3")
    assert app.title[0].value == "Inside a block"
    assert query(app)["pin"] == "0.100,0.900" and query(app)["block.layer"] == "3"


def resolve_mark(header: dict[str, Any]) -> str:
    """Return a stored mark with the identity of the weights, which older files name by a digest."""
    identity, _, pixels = str(header["mark"]).partition("|")
    return f"{resolve_identity(identity)}|{pixels}"


def test_the_stored_map_is_what_the_model_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever changes the message, the default model or its image runs `python -m pages.start.stored_map`."""
    monkeypatch.setattr(catalogue, "CHECKPOINTS", SHIPPED)
    kept, kept_buffers = open_blob((SHIPPED / map_messages.STORED).read_bytes())
    made, buffers = open_blob(stored_map.build_first_map(stored_map.get_default_choice()))
    found, wanted = (unpack_parts(header, raw) for header, raw in ((kept, kept_buffers), (made, buffers)))
    assert found.keys() == wanted.keys() and resolve_mark(kept) == made["mark"]
    for name, array in wanted.items():
        difference = np.abs(found[name].astype(np.float64) - array.astype(np.float64)).max(initial=0)
        # Another processor rounds otherwise: a code may differ by one, a key may change places with its equal.
        assert difference <= (1 if array.dtype != np.float32 else 1e-3) or name.endswith(".keys"), name
    assert [(part["id"], part["words"]) for part in kept["parts"]] == [
        (part["id"], part["words"]) for part in made["parts"]
    ]


def unpack_parts(header: dict, buffers: bytes) -> dict[str, np.ndarray]:
    return {
        name: np.frombuffer(buffers, entry["dtype"], int(np.prod(entry["shape"])), entry["offset"])
        for name, entry in header["arrays"].items()
    }


def test_the_stored_map_serves_its_own_model_step_and_image_alone(
    open_app: OpenApp, no_shipped_checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mnist_vit.safetensors", map_messages.STORED):
        shutil.copy(SHIPPED / name, no_shipped_checkpoints / name)
    asked = []
    whole = shared_cache.record_journey
    monkeypatch.setattr(shared_cache, "record_journey", lambda *key: asked.append(key[1:3]) or whole(*key))
    app = open_app()
    assert query(app)["model"] == "checkpoint:mnist_vit" and not asked
    first = views(app)["map"][0]
    assert first["drawing"]["strokes"] == drawings.FIRST and first["classes"]["truth"] == -1
    app = act(app, pin="0.1,0.1")
    assert not asked and views(app)["map"][0]["pin"] == "0.100,0.100"
    act(app, draw=ONE)
    assert [image for _, image in asked] == [f"drawing:{ONE}"]


def test_what_a_fresh_server_prepares_is_what_a_part_is_opened_from(
    open_app: OpenApp, no_shipped_checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mnist_vit.safetensors", map_messages.STORED):
        shutil.copy(SHIPPED / name, no_shipped_checkpoints / name)
    warm_up.warm_first_map()
    monkeypatch.setattr(probe, "record_journey", lambda *_: pytest.fail("the way is computed again"))
    app = act(open_app(), open="block.2 blocks.1.attn[:,0]")
    assert views(app)["part"][0]["part"] == "block.2"


@pytest.mark.parametrize(
    "broken",
    [b"", b"\x00", b"\xff" * 64, b"\x05\x00\x00\x00[1,2]   "],
    ids=["empty", "byte", "bytes", "list"],
)
def test_a_broken_stored_map_is_computed_instead(
    open_app: OpenApp, no_shipped_checkpoints: Path, broken: bytes
) -> None:
    shutil.copy(SHIPPED / "digits_vit.safetensors", no_shipped_checkpoints / "digits_vit.safetensors")
    (no_shipped_checkpoints / map_messages.STORED).write_bytes(broken)
    header, _ = views(open_app())["map"]
    assert header["caption"].startswith("65 tokens pass through 4 layers")


@pytest.fixture
def drawn(open_app: OpenApp, no_shipped_checkpoints: Path) -> Callable:
    """Open the start page with MNIST's ViT, which reads drawings."""
    put_shipped(no_shipped_checkpoints, "mnist_vit", "digits_vit", "cifar10_vit")
    return open_app


def test_a_stroke_changes_map_class_and_permalink_and_counts_as_a_choice(drawn: Callable) -> None:
    app = drawn()
    before, probabilities = views(app)["map"]
    assert before["moves"] and before["classes"]["names"][int(probabilities["probabilities"].argmax())] == "3"
    app = act(app, draw=ONE)
    header, arrays = views(app)["map"]
    assert (
        header["drawing"]["strokes"] == ONE
        and header["classes"]["names"][int(arrays["logits"].argmax())] == "1"
    )
    assert query(app.run())["image"] == f"drawing:{ONE}", "the link follows when the pen rests"
    left, top, side = header["drawing"]["frame"]  # the square that the model sees holds the whole stroke
    for x, y in drawings.parse_strokes(ONE)[0] / drawings.GRID:
        assert left < x < left + side and top < y < top + side
    reopened = drawn(**{key.replace(".", "__"): value for key, value in query(app).items()})
    np.testing.assert_array_equal(views(reopened)["map"][1]["logits"], arrays["logits"])
    assert reopened.session_state["_by_hand"]


def test_an_empty_pad_is_an_image_too(drawn: Callable) -> None:
    header, arrays = views(act(drawn(), draw=""))["map"]
    assert header["drawing"] == {"strokes": "", "frame": None} and np.isfinite(arrays["logits"]).all()


@pytest.mark.parametrize("strokes", ["ab", "a/b", "é" * 3, "abc..abc", "A" * 3000, 7, ["AAA"]])
def test_malformed_strokes_change_nothing(drawn: Callable, strokes: object) -> None:
    app = act(drawn(), draw=strokes)
    assert views(app)["map"][0]["drawing"]["strokes"] == drawings.FIRST
    assert query(app)["image"] == f"drawing:{drawings.FIRST}"


def test_a_photo_and_a_test_image_are_one_click_away_and_the_pad_comes_back(drawn: Callable) -> None:
    app = act(act(drawn(), draw=ONE), show="photo")
    header = views(app)["map"][0]
    assert header["drawing"] is None and query(app)["model"] == "checkpoint:cifar10_vit"
    assert query(app)["image"] == "sample:cat"
    app = act(app, show="drawing")
    assert views(app)["map"][0]["drawing"] and query(app)["model"] == "checkpoint:mnist_vit"
    app = act(app, show="test")
    assert query(app)["image"] == "digits:0" and views(app)["map"][0]["drawing"] is None


def test_a_link_s_image_wins_over_the_pad(drawn: Callable) -> None:
    app = drawn(model="checkpoint:mnist_vit", image="digits:7")
    assert views(app)["map"][0]["drawing"] is None and query(app)["image"] == "digits:7"


def test_the_cards_lead_to_every_page(open_app: OpenApp) -> None:
    app = open_app(model="preset:vit_digits")
    cards = "".join(part.proto.body for part in app.main.get("html"))
    assert all(
        f"<p>{escape(entry.question)}</p>" in cards for entry in registry.PAGES if entry.slug != "home"
    )
    images = {file.stem for file in (ROOT / "static/cards").glob("*.svg")}
    assert images == {entry.slug for entry in registry.PAGES} - {"home"}  # no card is bare beside the others
    assert all(f'src="app/static/cards/{name}.svg"' in cards for name in images)


def test_no_style_names_an_address_that_a_base_path_would_break() -> None:
    """Streamlit puts the server's base path before a picture's address, and before none in a style sheet."""
    sources = [file for ending in ("py", "css", "js") for file in (ROOT / "pages").rglob(f"*.{ending}")]
    assert not [file for file in sources if re.search(r"url\(['\"]?/", file.read_text())]


def imgs(app) -> list:
    """The images of the page, as Streamlit sends them."""
    return [image for found in app.main.get("image") for image in found.proto.imgs]


def test_the_drawers_hold_formulas_code_and_numbers(open_app: OpenApp) -> None:
    app = open_app(model="preset:vit_digits")

    def holds() -> tuple[bool, bool, bool]:
        labels = {button.label for button in app.main.get("download_button")}
        return (
            any("\\mathrm" in text.value for text in app.main.markdown),
            any("def " in box.value for box in app.main.code),
            {"Norms of all tokens (CSV)", "Classes (CSV)"} <= labels,
        )

    assert holds() == (False, False, False)
    for i, name in enumerate(("math", "code", "numbers")):
        app.session_state[f"home.drawer.{name}"] = True
        app.run()
        assert not app.exception and holds() == tuple(at <= i for at in range(3)), name


def _ways(app) -> list[tuple[str, str]]:
    """Label and address of what leads into a lesson."""
    links = [link.proto for link in app.main.get("page_link")]
    return [(link.label, link.query_string) for link in links if "lesson=" in link.query_string]


def test_a_newcomer_is_offered_the_first_lesson_and_a_learner_the_stop_that_was_left(
    open_app: OpenApp,
) -> None:
    here = UserSession("a learner's")
    assert lessons.find_next_stop(here, registry.BY_SLUG)[::2] == ("fifteen", 1)
    [(label, address)] = _ways(open_app())
    assert label == "Start the lesson 'A ViT in fifteen minutes'" and "lesson=fifteen&stop=1" in address
    lessons.get_shelf(here).last = "positions"
    lessons.get_progress(here, "positions").stop = 5
    lessons.get_progress(here, "positions").done |= {1, 2}
    assert lessons.find_next_stop(here, registry.BY_SLUG)[::2] == ("positions", 3)
    lessons.get_progress(here, "positions").done.add(
        len(lessons.find_next_stop(here, registry.BY_SLUG)[1].stops)
    )
    assert lessons.find_next_stop(here, registry.BY_SLUG)[::2] == ("fifteen", 1)
    assert _ways(opened_again(open_app(), here))[0][0] == "Next lesson: 'A ViT in fifteen minutes'"
    for name in lessons.ORDER:
        lessons.get_progress(here, name).done.add(
            len(lessons.find_lesson(here, name, registry.BY_SLUG).stops)
        )
    assert lessons.find_next_stop(here, registry.BY_SLUG) is None


def test_an_open_lesson_is_not_offered_beside_itself(open_app: OpenApp) -> None:
    app = open_app(lesson="fifteen", stop="1")
    assert not [way for way in _ways(app) if "Start the lesson" in way[0]]
