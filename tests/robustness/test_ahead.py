"""A server looks at its pages before its users do: who comes then waits for nothing that is computed once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# In a process of its own: Streamlit has one runtime a process, and AppTest wants none.
SCRIPT = """
import asyncio, os, sys
from pathlib import Path
from benchmarks.page_runs import Visitor, app
from pages.frame import warm_up
from pages.stores.shared_results import ResultCache
from streamlit.runtime.scriptrunner import get_script_run_ctx

made, get = [], ResultCache.get

def counted(results, key, make, *saying):
    def noted():
        if get_script_run_ctx(suppress_warning=True):  # and not behind the lab's page, which goes on by itself
            made.append(str(key)[:100])
        return make()
    return get(results, key, noted, *saying)

async def main():
    runtime = app(Path(sys.argv[1]))
    await runtime.start()
    ResultCache.get = counted
    looked_at = await asyncio.to_thread(warm_up.open_all_pages)
    computed = len(made)
    made.clear()
    visitor = Visitor(runtime)
    await visitor.run()
    for page in visitor.pages.values():
        await visitor.run(page)
    print(looked_at, len(visitor.pages), computed, made)
    print(runtime._session_mgr.num_active_sessions(), flush=True)
    os._exit(0)  # the app's own threads are at work

asyncio.run(main())
"""


@pytest.mark.slow
def test_who_comes_after_the_servers_own_look_computes_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    first, sessions = done.stdout.strip().splitlines()[-2:]
    looked_at, pages, computed, anew = first.split(" ", 3)
    assert looked_at == pages and int(computed) > int(pages)
    assert anew == "[]"
    assert sessions == "1"  # the server's own user has left
