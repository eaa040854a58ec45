"""A link shows a run; its maker, and whom the maker lets in, changes it."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, replace

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.lab.helpers import PAGE, OpenApp, belongs
from vitviz.training import permissions
from vitviz.training.atomic_files import write_status
from vitviz.training.run_directory import Run


@pytest.mark.parametrize("let_in", [False, True])
def test_who_has_a_link_looks_on_until_the_maker_lets_in(open_app: OpenApp, run: Run, let_in: bool) -> None:
    key = permissions.share(run)
    more = {"live_lab__edit": key if let_in else "no key"}
    guest = open_app(PAGE, live_lab__run=run.id, **more)
    name = guest.main.text_input(key=f"live_lab._name_{run.id}")
    assert name.disabled is not let_in
    assert "live_lab.edit" not in guest.query_params  # the address that is passed on lets nobody in
    returned = " ".join(part.value for part in [*guest.main.info, *guest.main.warning, *guest.main.markdown])
    assert ("editing was revoked" in returned) is not let_in
    guest.main.button(key="live_lab._delete").click().run()
    assert not guest.exception and run.directory.exists() is not let_in


@pytest.mark.parametrize("state", ["running", "paused", "stopped"])
def test_who_has_a_link_steers_nothing(open_app: OpenApp, run: Run, state: str) -> None:
    now = replace(run.status(), state=state, pid=os.getpid(), heartbeat=time.time())
    write_status(run.directory / "status.json", asdict(now))
    app = open_app(PAGE, live_lab__run=run.id)
    assert steering(app) == set()
    assert any("belongs to another session" in caption.value for caption in app.main.caption)
    assert (
        steering(belongs(app, run))
        == {
            "running": {"Pause", "Step", "Stop"},
            "paused": {"Resume", "Step", "Stop"},
            "stopped": {"Resume"},
        }[state]
    )


def steering(app: AppTest) -> set[str]:
    """What of a run's steering stands on the page."""
    return {button.label for button in app.main.button} & {"Pause", "Resume", "Step", "Stop"}


def test_the_maker_makes_a_link_for_editing_and_takes_it_back(open_app: OpenApp, run: Run) -> None:
    app = belongs(open_app(PAGE, live_lab__run=run.id), run)
    app.main.button(key="live_lab._share").click().run()
    (link,) = [code.value for code in app.main.code if "live_lab.edit=" in code.value]
    key = link.rpartition("=")[2]
    assert permissions.join(run, "somebody", key)
    app.main.button(key="live_lab._unshare").click().run()
    assert not permissions.may_change(run, "somebody") and not permissions.is_shared(run)
