"""A visitor's own photo: a model of photos is gone to, or offered, said, and undone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from pages.stores import catalogue, registry, uploads, user_datasets
from pages.stores.session import UserSession
from tests.files import class_images, encode, png, zipped
from tests.pages.conftest import OpenApp, opened_again, query_value, ship, upload
from tests.photo_model import put_photo_model
from vitviz.config import TrainConfig
from vitviz.data.datasets import default_picture, first_number
from vitviz.data.image_decoding import in_colour, picture_size
from vitviz.models.abilities import Abilities
from vitviz.models.published_weights import SHIPPED
from vitviz.models.zoo import create_model
from vitviz.text import FOREIGN

PARTS = ("**Your own weights**", "**Photos: published models**")
ATTENTION = "pages/lenses/attention/page.py"
GREY, HYBRID, VIT = "checkpoint:digits_vit", "checkpoint:cifar10_hybrid", "checkpoint:cifar10_vit"


@pytest.fixture(autouse=True)
def checkpoints(no_shipped_checkpoints: Path) -> Path:
    """Small ones with random weights, as trained: digits, a hybrid better than a ViT, and shapes, the best of all."""
    write(no_shipped_checkpoints, "digits_vit", "vit_digits", "digits", 0.99, depth=2)
    write(no_shipped_checkpoints, "cifar10_hybrid", "hybrid_cifar10", "cifar10", 0.858, depth=3)
    write(no_shipped_checkpoints, "cifar10_vit", "vit_cifar10", "cifar10", 0.744, depth=3)
    write(no_shipped_checkpoints, "shapes_vit", "vit_shapes", "shapes", 1.0, depth=2)
    write(no_shipped_checkpoints, "cifar10_cnn", "cnn_cifar10", "cifar10", 0.9)
    return no_shipped_checkpoints


_WRITTEN: dict[str, bytes] = {}


def write(folder: Path, name: str, preset: str, data: str, accuracy: float, **shape: int) -> None:
    from vitviz.models.presets import PRESETS

    path = folder / f"{name}.safetensors"
    if name not in _WRITTEN:
        found = PRESETS[preset]
        config = replace(found.config, **shape)
        states = {step: create_model(config, seed=step).state_dict() for step in (0, 40)}
        title = f"{catalogue.get_dataset_title(data)} {name.split('_')[1]}"
        train, card = TrainConfig(dataset=data), {"title": title, "test_accuracy": accuracy}
        ship(folder, name, config, train, found.preparation, states=states, **card)
        _WRITTEN[name] = path.read_bytes()
    path.write_bytes(_WRITTEN[name])


def button(app: AppTest, key: str):
    return next((b for b in app.sidebar.button if b.key == key), None)


def sentences(app: AppTest) -> str:
    return " ".join(note.value for note in app.sidebar.info).replace(FOREIGN, "")


def test_a_photo_takes_a_grey_vit_that_nobody_chose_to_the_best_that_is_no_plain_vit(
    open_app: OpenApp, checkpoints: Path
) -> None:
    (checkpoints / "cifar10_vit.safetensors").unlink()  # without the page's own default
    app = open_app(ATTENTION)
    assert app.query_params["model"] == GREY
    app.select_slider(key="step").set_value(0).run()
    app.slider(key="attention.layer").set_value(1).run()
    before = dict(app.query_params)
    app = upload(app, png())
    assert not app.exception
    assert app.query_params["model"] == HYBRID
    assert app.query_params["attention.layer"] == "3"
    assert app.query_params["attention.head"] == "mean"
    assert "pin" not in app.query_params  # a hybrid reads the mean of its tokens out
    assert "CIFAR\\-10 hybrid is shown instead" in sentences(app)
    assert button(app, "nouns.published_offer") and not button(app, "nouns.imagenet")

    button(app, "nouns.undo").click().run()
    assert not app.exception
    for key in ("model", "step", "pin", "attention.layer"):
        assert app.query_params.get(key) == before.get(key), key
    assert app.query_params["image"].startswith("upload:")
    # The model is the visitor's own choice now: the next photo does not move it.
    app = upload(app, png((30, 200, 30)))
    assert app.query_params["model"] == GREY
    assert button(app, "nouns.fitting").label.replace(FOREIGN, "") == "Show CIFAR\\-10 hybrid instead"


def test_a_page_s_own_model_stays_for_an_image_that_it_reads(open_app: OpenApp) -> None:
    app = open_app(ATTENTION)
    assert app.query_params["model"] == VIT
    number = next(box for box in app.number_input if box.label.startswith("Test image"))
    app = number.set_value(number.value + 1).run()
    assert (app.query_params["model"], sentences(app)) == (VIT, "")
    assert upload(app, png()).query_params["model"] == VIT
    app = upload(open_app(ATTENTION), png())
    assert app.query_params["model"] == VIT and "is shown instead" not in sentences(app)
    assert button(app, "nouns.published_offer")


def test_a_photo_goes_to_a_photo_model_also_after_the_next_test_image(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app(ATTENTION)
    number = next(box for box in app.number_input if box.label.startswith("Test image"))
    app = number.set_value(number.value + 1).run()
    assert button(upload(app, png()), "nouns.published_offer")
    monkeypatch.setenv("VITVIZ_WEIGHTS", str(tmp_path / "weights"))
    put_photo_model(monkeypatch)
    app = upload(app, png((30, 200, 30)))
    assert app.query_params["model"] == f"pretrained:{SHIPPED}"
    button(app, "nouns.undo").click().run()
    assert app.query_params["model"] == VIT
    assert upload(app, png((30, 30, 200))).query_params["model"] == VIT  # it was chosen by this click


def test_a_plain_vit_is_gone_to_where_nothing_else_fits(open_app: OpenApp, checkpoints: Path) -> None:
    (checkpoints / "cifar10_hybrid.safetensors").unlink()
    app = upload(open_app(ATTENTION), png())
    assert not app.exception
    assert app.query_params["model"] == VIT


def test_a_photo_goes_to_a_photo_model_that_is_here(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VITVIZ_WEIGHTS", str(tmp_path / "weights"))
    put_photo_model(monkeypatch)
    app = upload(open_app("pages/lenses/block/page.py"), png())
    assert not app.exception
    assert app.query_params["model"] == f"pretrained:{SHIPPED}" and app.query_params["pin"] == "cls"
    assert "a model of photos, was selected for this photo" in sentences(app)
    app.switch_page(ATTENTION).run()
    assert app.query_params["model"] == f"pretrained:{SHIPPED}" and app.query_params["attention.layer"] == "3"
    assert not button(app, "nouns.published_offer")
    for key in (VIT, f"pretrained:{SHIPPED}"):
        app.sidebar.selectbox(key="model").set_value(key).run()
    assert "was selected for this photo" not in sentences(app)  # the user selected it


def test_the_photo_model_is_offered_to_a_photo_that_shows_another(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VITVIZ_WEIGHTS", str(tmp_path / "weights"))
    put_photo_model(monkeypatch)
    app = upload(open_app(ATTENTION, model=VIT), png())
    assert app.query_params["model"] == VIT  # the link's choice
    app.slider(key="attention.layer").set_value(1).run()
    button(app, f"offer._show.{SHIPPED}").click().run()
    assert not app.exception
    assert app.query_params["model"] == f"pretrained:{SHIPPED}"
    assert (app.query_params["pin"], app.query_params["attention.layer"]) == ("cls", "3")
    assert any("no classifier head" in c.value for c in app.main.caption)


@pytest.mark.parametrize(("content", "reason"), [(None, "is missing"), (b"cut short", "is damaged")])
def test_without_its_file_the_app_opens_and_says_where_to_get_it(
    open_app: OpenApp, checkpoints: Path, content: bytes | None, reason: str
) -> None:
    if content is not None:
        (checkpoints / f"{SHIPPED}.safetensors").write_bytes(content)
    app = upload(open_app(ATTENTION), png())
    assert not app.exception and app.query_params["model"] == VIT
    returned = " ".join(caption.value for caption in app.sidebar.caption)
    assert reason in returned and f"checkpoints/{SHIPPED}.safetensors" in returned
    app = open_app(ATTENTION, model=f"pretrained:{SHIPPED}", image="sample:cat")
    assert not app.exception


def test_a_page_that_has_nothing_of_the_model_goes_on_to_one_that_has_by_the_same_way_back(
    open_app: OpenApp, checkpoints: Path
) -> None:
    (checkpoints / "cifar10_vit.safetensors").unlink()
    app = upload(open_app(ATTENTION), png())
    assert app.query_params["model"] == HYBRID
    write(checkpoints, "cifar10_vit", "vit_cifar10", "cifar10", 0.744, depth=3)
    app.switch_page(registry.BY_SLUG["patches"].path).run()
    assert not app.exception
    assert app.session_state["_selection"].model == VIT
    assert app.query_params["model"] == HYBRID and app.query_params["image"].startswith("upload:")


def test_a_hybrid_that_was_chosen_by_hand_is_kept_where_a_page_has_nothing_of_it(open_app: OpenApp) -> None:
    app = upload(open_app(ATTENTION, model=HYBRID), png())
    app.switch_page(registry.BY_SLUG["patches"].path).run()
    assert app.query_params["model"] == HYBRID
    assert app.session_state["_selection"].model == VIT


def test_a_sample_in_colour_does_the_same_and_cls_asks_where_it_is_read_out(
    open_app: OpenApp, checkpoints: Path
) -> None:
    (checkpoints / "cifar10_hybrid.safetensors").unlink()
    app = open_app()
    app.session_state["nouns.source"] = "sample"
    app.run()
    app.sidebar.selectbox(key="nouns.sample").set_value("cameraman").run()
    assert app.query_params["model"] == GREY  # that photograph is grey
    app.sidebar.selectbox(key="nouns.sample").set_value("coffee").run()
    assert app.query_params["model"] == VIT
    assert not app.exception


@pytest.mark.parametrize("how", ["link", "sidebar"])
def test_a_model_chosen_by_hand_stays_and_the_other_is_offered(open_app: OpenApp, how: str) -> None:
    app = open_app(**({"model": GREY} if how == "link" else {"model": VIT}))
    if how == "sidebar":
        app.sidebar.selectbox(key="model").set_value(GREY).run()
    app = upload(app, png())
    assert app.query_params["model"] == GREY
    assert "has colour" in sentences(app)
    button(app, "nouns.fitting").click().run()
    assert app.query_params["model"] == HYBRID
    assert not app.exception and not sentences(app)


def test_a_reload_is_no_choice_and_somebody_else_s_link_is(open_app: OpenApp, checkpoints: Path) -> None:
    (checkpoints / "cifar10_vit.safetensors").unlink()
    app = open_app(ATTENTION)
    reloaded = opened_again(app, app.session_state["_visit"])
    reloaded = upload(reloaded, png())
    assert reloaded.query_params["model"] == HYBRID
    assert button(
        opened_again(reloaded, app.session_state["_visit"]), "nouns.undo"
    )  # the way back survives too
    theirs = upload(opened_again(app, UserSession("somebody-else")), png())
    assert theirs.query_params["model"] == GREY


def test_a_model_without_a_rival_gives_way_to_one_that_has_one(open_app: OpenApp) -> None:
    app = open_app("pages/lenses/on_your_image/page.py", model=GREY)
    assert not app.exception
    assert app.session_state["_selection"].model.startswith("checkpoint:cifar10_")
    assert app.query_params["model"] == GREY


def test_a_grey_photo_moves_nothing(open_app: OpenApp) -> None:
    app = upload(open_app(), png((120, 120, 120)))
    assert app.query_params["model"] == GREY
    assert not sentences(app)
    button(app, "nouns.imagenet").click().run()
    assert not app.exception
    assert list_parts(app) == ["**Photos: published models**", "**Your own weights**"]


def list_parts(app: AppTest) -> list[str]:
    """Return the headings of the dialog's parts, from its top."""
    return [text.value for text in app.markdown if text.value in PARTS]


def test_the_user_s_own_file_comes_first_in_the_sidebar_and_in_the_dialog(open_app: OpenApp) -> None:
    app = upload(open_app(ATTENTION), png())
    order = [getattr(node, "value", "") if node.type == "markdown" else node.type for node in app.sidebar]
    assert order.index("file_uploader") < order.index("**See it with a photo model**")
    button(app, "nouns.more").click().run()
    assert list_parts(app) == list(PARTS)


PREDICTING = [
    ("pages/lenses/distillation/page.py", {}),
    ("pages/lenses/block/page.py", {"block.layer": "3"}),
    ("pages/lenses/on_your_image/page.py", {"on_picture.view": "change"}),
    ("pages/start/page.py", {}),
]
PREDICTING_TOO = [
    *((ATTENTION, {"attention.view": view}) for view in ("depth", "methods", "truth", "shares", "ablate")),
    ("pages/lenses/on_your_image/page.py", {"on_picture.view": "parts"}),
    ("pages/lenses/patches/page.py", {"patches.view": "puzzle"}),
    ("pages/lenses/two_images/page.py", {"two_images.view": "patching"}),
]


def count_class_notes(app: AppTest) -> int:
    return sum("predicts one of its 10 classes for any image" in text.value for text in app.caption)


@pytest.mark.parametrize(
    ("page", "query"), PREDICTING + [pytest.param(*case, marks=pytest.mark.slow) for case in PREDICTING_TOO]
)
def test_a_prediction_for_a_photo_says_how_few_classes_the_model_knows(
    open_app: OpenApp, checkpoints: Path, page: str, query: dict[str, str]
) -> None:
    write(checkpoints, "cifar10_deit_soft", "deit_cifar10", "cifar10", 0.841, depth=2)
    assert count_class_notes(open_app(page, model=VIT, image="sample:cat", own="1", **query)) == 1


def test_a_prediction_for_a_test_image_needs_no_note_on_the_classes(open_app: OpenApp) -> None:
    page, query = PREDICTING[1]
    assert count_class_notes(open_app(page, model=VIT, image="cifar10-few:3", **query)) == 0


def test_the_page_s_need_decides(open_app: OpenApp) -> None:
    app = upload(open_app("pages/lenses/patches/page.py"), png())
    assert app.query_params["model"] == VIT  # a hybrid has no E


def test_every_page_s_need_is_an_ability() -> None:
    for entry in registry.PAGES:
        assert entry.need in Abilities.__dataclass_fields__


def test_a_digit_before_a_model_of_colour_is_offered_a_model_of_digits(open_app: OpenApp) -> None:
    app = open_app(model=HYBRID, image="digits:3")
    assert "grey digit" in sentences(app)
    button(app, "nouns.fitting").click().run()
    assert app.query_params["model"] == GREY
    assert app.query_params["image"] == "digits:3"
    assert not sentences(app)


def test_a_colour_model_opens_on_its_own_kind_of_image(open_app: OpenApp) -> None:
    app = open_app(model=HYBRID)
    assert app.query_params["image"] == default_picture("cifar10", 3) != "cifar10-few:0"
    first = f"CIFAR-10 (sample) no. {first_number('cifar10-few')}: "
    assert any(first in text.value for text in app.sidebar.markdown)
    app = open_app(model=HYBRID, image="photos:2")
    assert any("Photos no. 2: " in text.value for text in app.sidebar.markdown)
    assert not app.exception


def test_of_a_panorama_the_square_that_models_see_stays_large(open_app: OpenApp) -> None:
    app = upload(open_app(model=HYBRID), png(size=(6000, 800)))
    assert uploads.STORE.get(app.query_params["image"].removeprefix("upload:")).shape == (748, 5609, 3)


def test_the_list_is_grouped_and_says_how_well(open_app: OpenApp) -> None:
    options = open_app().sidebar.selectbox(key="model").options
    kinds = [option.partition(" · ")[0] for option in options]
    assert list(dict.fromkeys(kinds)) == ["CIFAR-10", "Digits", "Shapes", "Untrained"]
    assert "CIFAR-10 · Hybrid, 85.8\N{NO-BREAK SPACE}%" in options


def test_the_size_named_is_the_upload_s_own(open_app: OpenApp) -> None:
    app = upload(open_app(model=HYBRID), png(size=(4000, 3000)))
    assert uploads.STORE.get(app.query_params["image"].removeprefix("upload:")).shape == (1774, 2365, 3)
    returned = " ".join(caption.value for caption in app.sidebar.caption)
    assert (
        "4,000 × 3,000 px; shorter side resized to 32 px, then cropped to 32 × 32 px (the bright square)"
        in returned.replace("\xa0", " ")
    )
    app = upload(app, png(size=(300, 300)))
    returned = " ".join(caption.value for caption in app.sidebar.caption)
    assert "300\xa0×\xa0300\xa0px; resized to 32\xa0×\xa032\xa0px" in returned


@pytest.mark.parametrize(
    ("parameter", "value", "reason"),
    [
        ("model", "run:250101-120000-0123456789abcdef", "This run was deleted"),
        ("model", "checkpoint:no_such", "This model is not on this server"),
        ("model", "pretrained:deit_tiny_patch16_224.fb_in1k", "download it under 'Add a model'"),
        ("model", "pretrained:vit_l_16", "too large"),
        ("image", "cifar100:5", "CIFAR-100 is not on this server"),
        ("image", "sample:nobody", "This sample image is not on this server"),
    ],
)
def test_a_link_to_what_is_gone_says_so(
    open_app: OpenApp,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    parameter: str,
    value: str,
    reason: str,
) -> None:
    monkeypatch.setenv("VITVIZ_WEIGHTS", str(tmp_path / "weights"))
    monkeypatch.setenv("VITVIZ_DATA", str(tmp_path / "data"))
    app = open_app(**{parameter: value})
    assert reason in app.sidebar.warning[0].value.replace("\\", "")
    assert app.query_params["model"] == GREY
    if parameter == "model":  # it stays until another is chosen
        assert reason in app.run().sidebar.warning[0].value
        app.sidebar.selectbox(key="model").set_value(VIT).run()
    else:
        assert app.run().sidebar.warning
        next(button for button in app.sidebar.button if button.label == "Dismiss").click().run()
    assert not app.sidebar.warning


def test_a_substitute_is_not_selected_by_another_image(open_app: OpenApp) -> None:
    """The sidebar of Swin's page shows a Swin in place of the ViT: 'next image' made it the user's selection."""
    app = open_app("pages/lenses/swin/page.py", image="digits:3")
    selected = app.query_params["model"]
    app.sidebar.number_input(key="nouns.index").set_value(4).run()
    assert app.query_params["model"] == selected


def test_models_are_looked_for_once_a_run(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = catalogue.list_models

    def count(session: object):
        asked.append(session)
        return real(session)

    monkeypatch.setattr(catalogue, "list_models", count)
    app = open_app("pages/lenses/filters/page.py")
    assert len(asked) == 1
    app.run()
    assert len(asked) == 2


def test_a_grey_photo_s_noise_is_no_colour() -> None:
    grey = np.full((200, 300, 3), 128, np.uint8)
    noisy = grey + np.random.default_rng(0).integers(0, 4, grey.shape, dtype=np.uint8)
    assert not in_colour(noisy)
    noisy[:40, :40, 0] = 250
    assert in_colour(noisy)


def test_a_file_s_size_is_that_of_the_upright_image() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    assert picture_size(encode(Image.new("RGB", (60, 20)), "JPEG", exif=exif)) == (60, 20)
    assert picture_size(png(size=(64, 40))) == (40, 64)


@pytest.mark.parametrize("colour", [(200, 30, 30), (90, 90, 90)])
def test_a_zip_in_colour_on_a_grey_body_is_offered_one_of_photos(
    open_app: OpenApp, colour: tuple[int, int, int]
) -> None:
    app = open_app("pages/train/fine_tuning/page.py", model=GREY)
    images = zipped(class_images(dict.fromkeys("ab", colour), count=8))
    note = user_datasets.store_dataset(app.session_state["_visit"], images, "mine", 32)
    app.query_params["fine_tuning.dataset"] = note.name
    app.run()
    assert not app.exception, [error.message for error in app.exception]
    (offered,) = [b for b in app.main.button if b.key == "fine_tuning._colour"] or [None]
    if colour == (90, 90, 90):
        assert offered is None
    else:
        assert any("Digits vit" in node.value and "grey" in node.value for node in app.main.info)
        offered.click().run()
        assert (
            app.selectbox(key="fine_tuning.source").value == "checkpoint:cifar10_vit"
        )  # as where nobody chose


def test_a_chosen_model_opens_at_its_last_step_or_where_the_user_moved_it(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model with one step, 0, leaves that step to no other model; nor does a model that the user moved."""
    monkeypatch.setenv("VITVIZ_WEIGHTS", str(tmp_path / "weights"))
    put_photo_model(monkeypatch)
    app = upload(open_app(ATTENTION), png())

    def choose(model: str) -> None:
        app.sidebar.selectbox(key="model").set_value(model).run()

    photo = query_value(app, "model")
    assert photo.startswith("pretrained:") and query_value(app, "step") == "0"
    choose(VIT)
    assert (query_value(app, "step"), app.sidebar.select_slider(key="step").value) == ("40", 40)
    app.sidebar.select_slider(key="step").set_value(0).run()
    choose(HYBRID)
    assert query_value(app, "step") == "40"
    choose(VIT)
    assert (query_value(app, "step"), app.sidebar.select_slider(key="step").value) == ("0", 0)
    choose(photo)
    choose(VIT)
    assert query_value(app, "step") == "0"
    app.sidebar.select_slider(key="step").set_value(40).run()
    choose(photo)
    choose(VIT)
    assert query_value(app, "step") == "40"
