"""Time the slider and a drag on 'CNN or ViT on your image' with all five shipped CIFAR-10 models.

    python benchmarks/on_picture.py [--rounds 12] [--small] [--out benchmarks/on_picture.md]

The whole slider is one batch per model, computed when the change or the image is new: its processor time with one
thread, in total and per step. In Chromium, a step lasts from the slider's event to the second animation frame after
it; a drag lasts from the pointer's release to the new predictions, which the server computes, and has the server's CPU
time, too. Aims: at most 100 ms per step and 300 ms per drag.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import torch
from playwright.sync_api import Locator, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.conftest import FLAGS, chromium_path, free_port, start_server, stop_server  # noqa: E402
from vitviz.analysis.image_changes import CHANGES, apply_all_strengths  # noqa: E402
from vitviz.analysis.image_parts import assemble, misplace_parts  # noqa: E402
from vitviz.checkpoint_header import read_header  # noqa: E402
from vitviz.checkpoints import open_model  # noqa: E402
from vitviz.data.faces import parts_of  # noqa: E402
from vitviz.data.image_preprocessing import prepare  # noqa: E402
from vitviz.data.samples import load_sample  # noqa: E402
from vitviz.models.loaded_model import LoadedModel  # noqa: E402
from vitviz.probe.robustness import sweep  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402

MODELS = ("cnn_wide", "vit", "hybrid", "swin", "deit_soft")
AIM_STEP_MS, AIM_DRAG_MS = 100.0, 300.0
PATIENCE_MS = 120_000
PAGE = "on_your_picture?model=checkpoint:cifar10_vit&image=sample:cat&on_picture.guess=shown"
DRAGGED = {
    "the occluding square": ("on_picture.kind=occlude", ("sweep_view", ".op-picture", "place")),
    "a part": ("on_picture.view=parts", ("parts_view", ".op-part >> nth=2", "parts")),
}
STEP = """(slider, at) => new Promise((resolve) => {
  const began = performance.now();
  slider.value = at;
  slider.dispatchEvent(new Event('input'));
  requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - began)));
})"""
# From the pointer's release to the view's own word that what it shows answers to the new place.
DRAG = """(node, [from, to, said]) => new Promise((resolve, reject) => {
  const view = node.closest('.vv'), box = (node.offsetParent ?? node).getBoundingClientRect();
  const before = view.dataset[said];
  const send = (kind, [x, y]) => node.dispatchEvent(new PointerEvent(kind, {
    pointerId: 1, bubbles: true, clientX: box.left + x * box.width, clientY: box.top + y * box.height }));
  node.setPointerCapture = () => {};
  node.hasPointerCapture = () => true;
  send('pointerdown', from);
  send('pointermove', to);
  const began = performance.now();
  send('pointerup', to);
  const look = () => {
    const waited = performance.now() - began;
    if (view.dataset[said] !== before) return resolve(waited);
    if (waited > 20000) return reject(new Error(`${said} stays ${before}`));
    requestAnimationFrame(look);
  };
  look();
})"""


def loaded() -> list[LoadedModel]:
    """Return the five models at their last step."""
    paths = [ROOT / "checkpoints" / f"cifar10_{name}.safetensors" for name in MODELS]
    return [open_model(path, read_header(path).steps[-1]) for path in paths]


def computing(models: list[LoadedModel], rounds: int) -> dict[str, tuple[int, float]]:
    """By change: steps, and CPU milliseconds of the whole slider through all models, the median of the rounds."""
    torch.set_num_threads(1)
    seen = prepare(load_sample("cat"), models[0].preparation).shown
    parts = tuple(parts_of("cat", prepare(load_sample("cat"), models[0].preparation).box, len(seen)).values())
    pictures = {name: lambda name=name: apply_all_strengths(seen, name) for name in CHANGES}
    pictures["face with misplaced parts"] = lambda: assemble(seen, misplace_parts(parts, len(seen)))[None]
    found = {}
    for name, make in pictures.items():
        spent = []
        for _ in range(rounds + 1):
            began = time.process_time()
            frames = make()
            for model in models:
                sweep(model, frames)
            spent.append(1000 * (time.process_time() - began))
        found[name] = len(frames), statistics.median(spent[1:])
    return found


def opened(page: Page, url: str, kind: str, component: str) -> Locator:
    """Return a change's view once it has drawn."""
    page.goto(f"{url}/{PAGE}&{kind}")
    view = page.locator(f"[data-component={component}][data-ready=true]")
    view.wait_for(timeout=PATIENCE_MS)
    return view


def steps(page: Page, url: str, rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of steps to and fro, by change."""
    found = {}
    for name in ("shift", "noise", "blur"):
        view = opened(page, url, f"on_picture.kind={name}", "sweep_view")
        page.wait_for_timeout(1000)
        slider = view.locator("input[type=range]")
        last = int(slider.get_attribute("max") or 0)
        places = [(at * 7) % (last + 1) for at in range(rounds)]
        found[name] = [slider.evaluate(STEP, str(at)) for at in places]
    return found


def spent_ms(pid: int) -> float:
    """CPU milliseconds of a process and its threads until now, as Linux counts them."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def drags(
    page: Page, url: str, kind: str, of: tuple[str, str, str], rounds: int, pid: int
) -> tuple[list[float], float]:
    """Milliseconds of drags, each to a place where nothing has been; CPU of the server milliseconds, their mean.

    Args:
        kind: what the address says of the view.
        of: the view's name, what is dragged in it, and what it says of what it has answered to.
        pid: of the server.
    """
    component, dragged, said = of
    view = opened(page, url, kind, component)
    page.wait_for_timeout(1000)
    times, last, before = [], [0.5, 0.5], spent_ms(pid)
    for turn in range(rounds):
        to = [0.2 + 0.6 * (((turn + 1) * share) % 1) for share in (0.37, 0.61)]
        times.append(view.locator(dragged).evaluate(DRAG, [last, to, said]))
        last = to
        page.wait_for_timeout(300)
    return times, (spent_ms(pid) - before) / rounds


def in_browser(rounds: int) -> tuple[dict[str, list[float]], dict[str, tuple[list[float], float]]]:
    """Return the milliseconds of every step and of every drag, as a visitor has them."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        env = {"VITVIZ_RUNS": folder, "VITVIZ_AHEAD": "0"}
        server = start_server("app.py", port, Path(folder) / "server.log", env)
        try:
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
            page = browser.new_page(viewport={"width": 1400, "height": 1100})
            url = f"http://127.0.0.1:{port}"
            moved = steps(page, url, rounds)
            dragged = {
                name: drags(page, url, kind, of, rounds, server.pid) for name, (kind, of) in DRAGGED.items()
            }
            browser.close()
        finally:
            stop_server(server)
    return moved, dragged


def table(
    computed: dict[str, tuple[int, float]],
    moved: dict[str, list[float]],
    dragged: dict[str, tuple[list[float], float]],
) -> list[str]:
    """Return what was measured, beside the aims."""
    rows = ["| change | steps | whole slider, five models, CPU | per step |", "|---|---|---|---|"]
    rows += [
        f"| {name} | {count} | {ms:.0f} ms | {ms / count:.1f} ms |" for name, (count, ms) in computed.items()
    ]
    rows += ["", "| in the browser | median | largest | aim | CPU of the server |", "|---|---|---|---|---|"]
    rows += [
        f"| step, {name} | {statistics.median(times):.0f} ms | {max(times):.0f} ms | {AIM_STEP_MS:.0f} ms | none |"
        for name, times in moved.items()
    ]
    rows += [
        f"| drag of {name} | {statistics.median(times):.0f} ms | {max(times):.0f} ms | {AIM_DRAG_MS:.0f} ms |"
        f" {cpu:.0f} ms |"
        for name, (times, cpu) in dragged.items()
    ]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--small", action="store_true", help="one round; writes nothing")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".md"))
    arguments = parser.parse_args()
    rounds = 1 if arguments.small else arguments.rounds
    before = os.getloadavg()[0]
    rows = table(computing(loaded(), min(rounds, 5)), *in_browser(rounds))
    text = "\n".join(
        [
            "# Slider and drag on 'CNN or ViT on your image'",
            "",
            f"`python benchmarks/on_picture.py`, {date.today().isoformat()}, {os.cpu_count()} cores,"
            f" {processor()}, torch {torch.__version__}; load {before:.1f} before and {os.getloadavg()[0]:.1f}"
            f" after; {rounds} rounds. Every drag goes to a new position, so only the page's other results are cached.",
            "",
            *rows,
            "",
        ]
    )
    if not arguments.small:
        arguments.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
