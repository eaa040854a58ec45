"""What every view of every page keeps to: a stranger's names reach nothing that reads them as Markdown or HTML,
nothing is told by a colour alone, and whatever a connection says to a view, the page goes on.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from streamlit.runtime.state.common import TESTING_KEY
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block
from streamlit.util import calc_hash

from pages.stores import registry, runs
from tests.colours import by_colour_alone
from tests.hostile import CLASSES, HOSTILE, TITLE, strangers_run, strangers_zip
from tests.messages import charts
from tests.pages.conftest import OpenApp, opened_again, query_value
from tests.pages.odd_words import Browser, deaf_to
from tests.rows import rows
from vitviz.config import TrainConfig, ViTConfig
from vitviz.data import uploaded_datasets
from vitviz.data.dataset_zip import load_zip
from vitviz.models.presets import RGB_32
from vitviz.models.pretrained_list import find
from vitviz.models.zoo import create_model
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, RunError
from vitviz.training.run_trainer import Session

# What is left of `HOSTILE` where somebody would read it: escaped, none of these stands there.
MARKDOWN = re.compile(r"(?<!\\)(?:<img|<a |<b>|\[link|\*\*bold|:red|\$x)")
HTML = re.compile("<img|<a |<b>bold")
# Fields whose text a browser shows as it is, or that hold no words.
AS_IT_IS = {
    "options",
    "value",
    "default",
    "placeholder",
    "alt",
    "id",
    "key",
    "url",
    "query_string",
    "raw_value",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs with a stranger's images, on which one is trained that a stranger named."""
    folder = tmp_path_factory.mktemp("strangers") / "runs"
    note = uploaded_datasets.store_images(load_zip(strangers_zip(), image_size=16), TITLE, folder)
    model = ViTConfig(image_size=16, patch_size=4, embed_dim=16, depth=2, num_heads=2, num_classes=2)
    train = TrainConfig(dataset=note.name, epochs=1, batch_size=4, snapshots=2)
    run = Run.create(folder.parent, RunConfig(model, replace(RGB_32, image_size=16), train))
    shutil.copytree(folder / "sets", folder.parent / "sets")
    assert Session(run, device="cpu").perform().state == "done"
    strangers_run(run, folder)
    return folder


@pytest.fixture
def hostile(made: Path, tmp_path: Path) -> Run:
    shutil.copytree(made, tmp_path / "runs")
    (run,) = (path for path in (tmp_path / "runs").iterdir() if (path / "config.json").is_file())
    return Run(run)


def texts(message: Message, name: str = "") -> Iterator[tuple[str, str]]:
    """(field, text) of every string in a message."""
    for field, value in message.ListFields():
        for one in value if field.is_repeated and not hasattr(value, "items") else [value]:
            if isinstance(one, Message):
                yield from texts(one, field.name)
            elif isinstance(one, str):
                yield field.name, one


def nodes(block: Block) -> Iterator[Any]:
    for child in block.children.values():
        yield child
        if isinstance(child, Block):
            yield from nodes(child)


def read_as_written(app: AppTest) -> list[str]:
    """What of this page's messages would be read as the stranger means it."""
    found = []
    for node in nodes(app._tree):
        kind = node.type
        for field, text in texts(node.proto) if node.proto is not None else ():
            if field in AS_IT_IS or kind in ("code",):
                continue
            read = HTML if kind in ("html",) else MARKDOWN
            if "evil.test" in text and (sign := read.search(text)):
                found.append(f"{kind}.{field}: {text[max(0, sign.start() - 60) : sign.end() + 60]}")
    return found


def view_groups(app: AppTest) -> list[Any]:
    """The controls that choose a page's view."""
    return [one for one in app.main.get("button_group") if re.search(r"\.view(\._\d)?$", one.key or "")]


def told_by_colour(app: AppTest) -> list[str]:
    """What of this page's figures nothing but a colour tells apart."""
    return [pair for figure in charts(app) for pair in by_colour_alone(figure)]


@pytest.mark.parametrize(
    "entry",
    rows(registry.PAGES, lambda entry: entry.slug in ("home", "live_lab", "which_model")),
    ids=lambda entry: str(entry.slug),
)
def test_no_view_of_a_page_reads_a_strangers_names_or_tells_by_colour_alone(
    open_app: OpenApp, hostile: Run, entry: registry.PageEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Browser(monkeypatch)
    app = open_app(entry.path, model=f"run:{hostile.id}")
    found, alone = {"": read_as_written(app)}, {"": told_by_colour(app)}
    wrong = {"": deaf_to(app, browser)}
    for row, group in enumerate(view_groups(app)):
        for view in group.options:
            chosen = view_groups(app)[row]
            app.session_state[TESTING_KEY][chosen.id] = str  # it is chosen by its words
            chosen.set_value(view).run()
            assert not app.exception, (view, app.exception)
            found[view], alone[view] = read_as_written(app), told_by_colour(app)
            wrong[view] = deaf_to(app, browser)
    assert not any(found.values()), found
    assert not any(alone.values()), alone
    assert not any(wrong.values()), wrong


@pytest.mark.parametrize("path", ["pages/train/lab/page.py", "pages/train/fine_tuning/page.py"])
def test_no_page_reads_the_names_of_a_strangers_zip(open_app: OpenApp, own_run: str, path: str) -> None:
    app = open_app(path, model=f"run:{own_run}")
    for data in (strangers_zip(), strangers_zip(1)):  # the second is refused, with the names of its files
        send(app, ("A zip", "Zip with one folder"), f"{TITLE}.zip", data)
        assert not (found := read_as_written(app)), found
    assert any("evil" in element.value for element in app.main.error)


def test_no_page_reads_the_names_of_a_strangers_weights(open_app: OpenApp) -> None:
    """What a file of weights calls its tensors is reported where it does not fit; what it says of itself is nowhere."""
    import torch
    from safetensors.torch import save

    fits = create_model(replace(find("deit_tiny_patch16_224").config, num_classes=2), seed=0).state_dict()
    names = {"title": HOSTILE, "classes": json.dumps(CLASSES), "trained_on": HOSTILE, "format": HOSTILE}
    weights = [
        save(fits, names),
        save(fits | {HOSTILE: torch.zeros(1)}),
        save({HOSTILE[:150]: torch.zeros(2)}),
    ]
    app = open_app("pages/lenses/attention/page.py", image="sample:cat")
    refused = []
    for data in weights:
        app.sidebar.button(key="nouns.more").click().run()
        send(app, "A .safetensors", f"{TITLE}.safetensors", data)
        refused += [one.value for one in app.warning if "evil" in one.value]
        assert not (found := read_as_written(app)), found
        assert "evil" not in str(app.sidebar.caption)
        app.run()
    assert len(refused) == 2 and query_value(app, "model").startswith("weights:")


def test_no_page_reads_the_words_of_a_strangers_lesson(open_app: OpenApp) -> None:
    words = f"{TITLE} [link](//evil.test)"
    stop = f"title = {words!r}\nlink = 'patches'\nwords = {words!r}\ntask = {words!r}"
    stop += "\ncheck = { name = 'guess_made' }"
    question = f"[stop.question]\nprompt = {words!r}\nmeasure = "
    app = open_app("pages/lessons/page.py")
    for last in ("'answer'", "'<img src=evil.test>'"):  # the second is refused, in its own words
        text = f"title = {words!r}\nabout = {words!r}\nminutes = 5\n[[stop]]\n{stop}\n{question}{last}"
        send(app, "Upload a lesson", f"{TITLE}.toml", text.encode())
        assert not (found := read_as_written(app)), found
    assert len(app.warning) == 1
    app.button(key="lessons.copy").click().run()
    assert not (found := read_as_written(app)), found
    app._page_hash = calc_hash("patches")
    shown = opened_again(app, app.session_state["_visit"], lesson="opened", stop="1")
    assert any("evil" in one.value for one in shown.markdown)
    assert not (found := read_as_written(shown)), found


def send(app: AppTest, label: str | tuple[str, ...], name: str, data: bytes) -> None:
    (uploader,) = [one for one in app.get("file_uploader") if one.label.startswith(label)]
    uploader.upload(name, data, "application/octet-stream").run()
    assert not app.exception, app.exception


def test_what_is_read_as_written_is_found() -> None:
    app = AppTest.from_string(f"""
import streamlit as st
st.caption({HOSTILE!r})
st.button({HOSTILE!r})
st.text({HOSTILE!r})
""").run()
    assert len(read_as_written(app)) >= 2


def test_a_run_s_set_is_reported_as_text_and_a_run_that_vanishes_is_no_choice(
    made: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An archive may name any set; and a run may be removed between two looks at its folder."""
    (run_folder,) = [path.parent for path in made.glob("*/config.json")]
    copied = Run(shutil.copytree(run_folder, tmp_path / run_folder.name))
    config = json.loads((copied.directory / "config.json").read_text())
    config["train"]["dataset"] = HOSTILE
    (copied.directory / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr(runs, "get_folder", lambda: tmp_path)
    choice = runs._build_choice(copied)
    assert (
        choice is not None
        and HOSTILE[:8] in choice.note.replace("\\", "")
        and not MARKDOWN.search(choice.note)
    )
    for name in ("snapshots", "config", "snapshot_path"):
        with monkeypatch.context() as patch:
            patch.setattr(Run, name, gone)
            assert runs._build_choice(copied) is None, name


def gone(*_: object) -> None:
    raise RunError("there is no run here any more")
