"""A figure that is made while another thread is still loading pandas."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SLOW_PANDAS = """
import time
time.sleep(0.5)
class Series: ...
class Index: ...
class DataFrame: ...
class Timestamp: ...
NaT = NA = None
"""
SCRIPT = """
import sys, threading, time
from vitviz.plots.plotly_dict import PlainFigure
assert "pandas" not in sys.modules
threading.Thread(target=__import__, args=("pandas",)).start()
while "pandas" not in sys.modules:
    time.sleep(0.001)
figure = PlainFigure("light")
figure.add("scatter", x=[1, 2], y=[3, 4])
assert not hasattr(sys.modules["pandas"], "Series")
figure.figure()
"""


def test_a_figure_waits_for_pandas_that_another_thread_is_loading(tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text(SLOW_PANDAS)
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
