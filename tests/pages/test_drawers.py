"""What lies in a drawer is made when it is opened, and every drawer of every page opens."""

from __future__ import annotations

import inspect

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import OpenApp

MATH, CODE, NUMBERS, TRY = "The mathematics", "The code that ran", "The numbers", "Try this"


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
        ("inside/patches", {}, [MATH, CODE, NUMBERS, TRY]),
        ("inside/patches", {"patches__view": "sequence"}, [MATH, CODE, TRY]),
        ("inside/patches", {"patches__view": "puzzle"}, [MATH, CODE, TRY]),
        ("inside/patches", {"patches__view": "ways"}, [MATH, CODE, TRY]),
        ("inside/positions", {"positions__view": "table"}, [MATH, CODE, NUMBERS, TRY]),
        ("inside/positions", {"positions__view": "similarity"}, [MATH, CODE, NUMBERS, TRY]),
        ("inside/positions", {"positions__view": "lecture"}, [MATH, CODE, TRY]),
        ("inside/positions", {"positions__view": "resize"}, [MATH, CODE, TRY]),
        ("inside/filters", {"filters__view": "components"}, [MATH, CODE, NUMBERS, TRY]),
        ("inside/filters", {"filters__view": "express"}, [MATH, CODE, TRY]),
        ("inside/filters", {"filters__view": "where"}, [MATH, CODE, TRY]),
        ("inside/attention", {"attention__view": "look"}, [MATH, CODE, NUMBERS, TRY]),
        ("inside/attention", {"attention__view": "methods"}, [MATH, CODE, NUMBERS, TRY]),
        ("inside/attention", {"attention__view": "truth"}, [MATH, CODE, TRY]),
        ("inside/attention", {"attention__view": "ablate"}, [MATH, CODE, NUMBERS, TRY]),
        ("inside/attention", {"attention__view": "depth"}, [MATH, CODE, TRY]),
        ("inside/block", {}, [MATH, CODE, TRY]),
        ("inside/distance", {"attention_distance__set": "picture"}, [MATH, CODE, NUMBERS, TRY]),
        ("train/lab", {}, [MATH, CODE, TRY]),
        ("beyond/swin", {}, [MATH, CODE, NUMBERS, TRY]),
        ("beyond/swin", {"swin__view": "travel"}, [MATH, CODE, TRY]),
        ("beyond/swin", {"swin__view": "attention"}, [MATH, CODE, TRY]),
        ("beyond/swin", {"swin__view": "bias"}, [MATH, CODE, TRY]),
        ("beyond/swin", {"swin__view": "merge"}, [MATH, CODE, TRY]),
        ("beyond/swin", {"swin__view": "cost"}, [MATH, CODE, TRY]),
        ("beyond/distillation", {}, [MATH, CODE, TRY]),
    ],
)
def test_every_drawer_opens(open_app: OpenApp, page: str, view: dict[str, str], titles: list[str]) -> None:
    app = open_app(f"pages/{page}/page.py", model="preset:vit_digits", image="digits:0", **view)
    assert open_drawers(app) == titles
    for drawer in app.main.expander:
        if ".drawer." in drawer.proto.id:
            assert drawer.children, drawer.label
            if drawer.label == CODE:
                assert drawer.code[0].value.startswith(("def ", "class "))


def test_no_source_is_read_for_a_closed_drawer(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    from pages.shell import page

    read: list[object] = []

    def counting(part: object) -> str:
        read.append(part)
        return inspect.getsource(part)  # type: ignore[arg-type]

    monkeypatch.setattr(page, "inspect", type("counted", (), {"getsource": staticmethod(counting)}))
    app = open_app("pages/inside/block/page.py", model="preset:vit_digits", image="digits:0")
    assert not read
    open_drawers(app)
    assert [getattr(part, "__qualname__", "") for part in read] == ["Block.forward"]
