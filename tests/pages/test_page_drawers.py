"""What lies in a drawer is made when it is opened; every drawer of every page opens, and every download gives a file.

Whose model it is: a session's own run, which is known to a session alone, and a download is made without one.
"""

from __future__ import annotations

import inspect
import time

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Files, OpenApp, made

MATH, CODE, NUMBERS, ASK = "The mathematics", "The code that ran", "The numbers", "Predict, then measure"


def open_drawers(app: AppTest) -> list[str]:
    """Opens all drawers of the page; their titles."""
    drawers = [drawer for drawer in app.main.expander if ".drawer." in drawer.proto.id]
    for drawer in drawers:
        assert not drawer.children, f"{drawer.label} is made before it is opened"
        app.session_state[drawer.proto.id.rpartition("-")[2]] = True
    app.run()
    assert not app.exception, [error.message for error in app.exception]
    return [drawer.label for drawer in drawers]


@pytest.mark.parametrize(
    ("page", "view", "titles"),
    [
        ("lenses/patches", {}, [MATH, CODE, NUMBERS, ASK]),
        ("lenses/patches", {"patches__view": "sequence"}, [MATH, CODE]),
        ("lenses/patches", {"patches__view": "puzzle"}, [MATH, CODE, ASK]),
        ("lenses/patches", {"patches__view": "ways"}, [MATH, CODE]),
        ("lenses/positions", {"positions__view": "table"}, [MATH, CODE, NUMBERS]),
        ("lenses/positions", {"positions__view": "similarity"}, [MATH, CODE, NUMBERS, ASK]),
        ("lenses/positions", {"positions__view": "lecture"}, [MATH, CODE, ASK]),
        ("lenses/positions", {"positions__view": "resize"}, [MATH, CODE]),
        ("lenses/filters", {"filters__view": "components"}, [MATH, CODE, NUMBERS, ASK]),
        ("lenses/filters", {"filters__view": "express"}, [MATH, CODE]),
        ("lenses/filters", {"filters__view": "where"}, [MATH, CODE, ASK]),
        ("lenses/attention", {"attention__view": "look"}, [MATH, CODE, NUMBERS, ASK]),
        ("lenses/attention", {"attention__view": "methods"}, [MATH, CODE, NUMBERS, ASK]),
        ("lenses/attention", {"attention__view": "truth"}, [MATH, CODE]),
        ("lenses/attention", {"attention__view": "ablate"}, [MATH, CODE, NUMBERS]),
        ("lenses/attention", {"attention__view": "depth"}, [MATH, CODE, ASK]),
        ("lenses/block", {}, [MATH, CODE, ASK]),
        ("lenses/attention_distance", {"attention_distance__set": "picture"}, [MATH, CODE, NUMBERS, ASK]),
        ("train/lab", {}, [MATH, CODE, NUMBERS]),
        ("train/fine_tuning", {}, [MATH, CODE]),
        ("train/fine_tuning", {"fine_tuning__view": "recipe"}, [CODE]),
        ("lenses/swin", {}, [MATH, CODE, NUMBERS, ASK]),
        ("lenses/swin", {"swin__view": "travel"}, [MATH, CODE, ASK]),
        ("lenses/swin", {"swin__view": "attention"}, [MATH, CODE]),
        ("lenses/swin", {"swin__view": "bias"}, [MATH, CODE]),
        ("lenses/swin", {"swin__view": "merge"}, [MATH, CODE]),
        ("lenses/swin", {"swin__view": "cost"}, [MATH, CODE, ASK]),
        ("lenses/distillation", {}, [MATH, CODE, ASK]),
        ("lenses/distillation", {"distillation__view": "voices"}, [CODE]),
        ("studies/data", {"data__view": "sizes", "data__guess": "shown"}, [MATH, CODE, NUMBERS]),
        ("studies/data", {"data__view": "time"}, [MATH, CODE]),
        ("studies/data", {"data__view": "augmented", "data__gain_guess": "shown"}, [MATH, CODE, NUMBERS]),
    ],
)
def test_every_drawer_opens(
    open_app: OpenApp, files: Files, own_run: str, page: str, view: dict[str, str], titles: list[str]
) -> None:
    app = open_app(f"pages/{page}/page.py", model=f"run:{own_run}", image="digits:0", **view)
    assert open_drawers(app) == titles
    for label, make in files.items():
        assert made(make), label
    for drawer in app.main.expander:
        if ".drawer." in drawer.proto.id:
            assert drawer.children, drawer.label
            if drawer.label == CODE:
                assert drawer.code[-1].value.startswith(("def ", "class "))
                for call in drawer.code[:-1]:
                    assert call.value.startswith("# Layers, heads and tokens count from 0.\n")


COMPARING = {
    "lenses/layers": ("layers", ("colours", "channels", "token", "alike", "probe", "sinks")),
    "lenses/two_images": ("two_images", ("match", "colours", "patching", "uses")),
    "lenses/on_your_image": ("on_picture", ("change", "parts", "shift", "kernels")),
    "lenses/hybrids": ("hybrids", ("stem",)),
    "which_model": ("which_model", ("board", "papers", "guide")),
    "studies/data": ("data", ("sizes", "time", "augmented", "papers")),
}


@pytest.mark.parametrize(
    ("page", "key", "view"), [(page, key, view) for page, (key, views) in COMPARING.items() for view in views]
)
def test_whatever_opens_on_a_page_that_compares_opens(
    open_app: OpenApp, files: Files, own_run: str, page: str, key: str, view: str
) -> None:
    """Its questions too, which stand behind a line of their own above the image."""
    asked = {f"{key}__view": view}
    if key == "layers":  # whose numbers wait for the prediction
        asked |= {"layers__count": "32", f"layers__{view}_guess": "shown"}
    app = open_app(f"pages/{page}/page.py", model=f"run:{own_run}", image="digits:3", **asked)
    for _ in range(300):
        if not app.main.get("progress"):
            break
        time.sleep(0.2)
        app.run()
    for opener in app.main.expander:
        app.session_state[opener.proto.id.split("-", 2)[-1]] = True
    app.run()
    assert not app.exception, [error.message for error in app.exception]
    for opener in app.main.expander:
        assert opener.children, opener.label
    for label, make in files.items():
        assert made(make), label


def test_no_source_is_read_for_a_closed_drawer(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    from pages.frame import page

    read: list[object] = []

    def counting(part: object) -> str:
        read.append(part)
        return inspect.getsource(part)  # type: ignore[arg-type]

    monkeypatch.setattr(page, "inspect", type("counted", (), {"getsource": staticmethod(counting)}))
    app = open_app("pages/lenses/block/page.py", model="preset:vit_digits", image="digits:0")
    assert not read
    open_drawers(app)
    assert [getattr(part, "__qualname__", "") for part in read] == ["Block.forward"]
