"""Every way in, with real files of its kind made here."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import subprocess
import time
import weakref
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save

import vitviz
from pages.start.map_session import fits_grid
from pages.stores.registry import BY_SLUG
from tests.files import encode, zipped
from tests.robustness.fuzz import attacks
from tests.robustness.fuzz.crafted_images import KINDS
from tests.robustness.fuzz.links import links
from tests.robustness.fuzz.mutate import spoil
from tests.robustness.fuzz.watch import Entry
from tests.unit.training_helpers import digits_run
from vitviz.browser.html import render_html, render_weights
from vitviz.checkpoint_header import CheckpointError, read_header, take_step
from vitviz.checkpoints import checkpoint_bytes, load_checkpoint
from vitviz.config import ViTConfig
from vitviz.data.dataset import DatasetError
from vitviz.data.dataset_zip import load_zip
from vitviz.data.image_decoding import ImageError, decode_image
from vitviz.data.image_preprocessing import prepare
from vitviz.data.image_worker import decode_in_worker
from vitviz.lessons.lesson_file import read_lesson, write_lesson
from vitviz.lessons.typed_tables import LessonError
from vitviz.models.formats import open_model
from vitviz.models.pretrained_list import PretrainedError
from vitviz.models.zoo import create_model
from vitviz.pin import Pin
from vitviz.plots.blob import name_files, pack
from vitviz.recorded_run import RecordedRunError
from vitviz.recorded_run_archive import unpack_recorded_run
from vitviz.torchvision_fix import import_torchvision
from vitviz.training.atomic_files import write_status
from vitviz.training.run_archive import export_run, import_run
from vitviz.training.run_directory import Run, RunError, Status, is_id
from vitviz.training.run_trainer import Session
from vitviz.training.session_models import make_model_trainers

ROOT = Path(__file__).parents[3]
CRAFTED = "crafted images"
NAMES = (
    "pictures",
    CRAFTED,
    "zips",
    "archives",
    "recordings",
    "checkpoints",
    "weights",
    "engine",
    "masks",
    "pages",
    "configs",
    "pins",
    "links",
    "commands",
    "records",
    "lessons",
)


def entry(name: str, folder: Path) -> Entry:
    """The entry of this name; `folder` is its own, for what it makes and takes."""
    return _MAKERS[name](folder)


def _pictures(folder: Path) -> Entry:
    return Entry("pictures", _encoded(), decode_image, (ImageError,))


def _crafted_images(folder: Path) -> Entry:
    """As an upload is decoded: in a worker, and what is measured is the server's share."""
    seeds = _encoded()
    small = [image for make in KINDS.values() if len(image := make()) < 2**16]

    def draw(dice: random.Random) -> bytes:
        """Spoil a crafted image, so that its oddities meet those of the fuzzer."""
        return spoil(dice, dice.choice(small), seeds + small)

    return Entry(CRAFTED, seeds, decode_in_worker, (ImageError,), KINDS, draw)


def _encoded() -> list[bytes]:
    dice = np.random.default_rng(0)
    colour = Image.fromarray(dice.integers(0, 256, (24, 32, 3), dtype=np.uint8))
    grey = Image.fromarray(dice.integers(0, 65536, (16, 16), dtype=np.uint16))
    kinds: list[tuple[Image.Image, str, dict[str, object]]] = [
        (colour, "PNG", {}),
        (colour, "JPEG", {"quality": 80}),
        (colour, "JPEG", {"progressive": True}),
        (colour, "WEBP", {}),
        (colour, "AVIF", {}),
        (colour, "BMP", {}),
        (colour, "TIFF", {}),
        (colour.quantize(16), "GIF", {}),
        (colour.quantize(16), "PNG", {}),
        (colour.convert("RGBA"), "PNG", {}),
        (grey, "PNG", {}),
    ]
    return [encode(image, kind, **options) for image, kind, options in kinds]


def _zips(folder: Path) -> Entry:
    images = {f"{'cat' if place % 2 else 'dog'}/{place}.png": data for place, data in enumerate(_encoded())}
    seeds = [zipped(images, method) for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)]
    return Entry(
        "zips", seeds, lambda data: load_zip(data, image_size=16), (DatasetError,), attacks.of_zips()
    )


def _trained(folder: Path) -> Run:
    run = digits_run(folder / "trained", epochs=1)
    assert Session(run, "cpu").perform().state == "done"
    return run


def _archives(folder: Path) -> Entry:
    root = folder / "imported"

    def take(data: bytes) -> None:
        try:
            run = import_run(root, data, owner="me")
            run.status(), run.config(), run.records()
        finally:
            shutil.rmtree(root, ignore_errors=True)

    with zipfile.ZipFile(io.BytesIO(export_run(_trained(folder)))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    whole = zipped(files, zipfile.ZIP_DEFLATED)
    del files["resume.safetensors"]
    plain = zipped(files, zipfile.ZIP_STORED)  # stored, so that what is in it can be spoilt, too
    texts = [
        b"%s\n%s" % (name.encode(), files[name]) for name in ("config.json", "status.json", "records.jsonl")
    ]

    def repacked(data: bytes) -> None:
        """A text that is spoilt goes back into the archive with a checksum of its own, or it would never be read."""
        if data[:2] == b"PK":
            take(data)
            return
        name, _, text = data.partition(b"\n")
        name_in_zip = name.decode("latin-1")
        changed = {name_in_zip if name_in_zip in files else "config.json": text}
        take(zipped(files | changed, zipfile.ZIP_DEFLATED))

    return Entry("archives", [whole, plain, *texts], repacked, (RunError,), attacks.of_archives(files))


def _recordings(folder: Path) -> Entry:
    """Read the zip of a recorded run as an upload, and all that a page reads of it."""
    root = folder / "opened"
    config = ViTConfig(image_size=16, patch_size=8, num_classes=2, embed_dim=8, depth=1, num_heads=1)
    image = np.zeros((16, 16, 3), np.uint8)
    with vitviz.record(create_model(config, seed=0), [image], folder / "recorded", weights=True) as recorder:
        recorder.step(0, loss=1.0)
    source = recorder.run.directory
    files = {
        path.relative_to(source).as_posix(): path.read_bytes() for path in source.rglob("*") if path.is_file()
    }
    moment, texts = f"moments/{0:09d}.npz", ("config.json", "records.jsonl", "status.json")

    def take(data: bytes) -> None:
        root.mkdir()
        try:
            run = unpack_recorded_run(data, root)
            run.records(), run.status()
            for step in run.steps():
                run.moment(step)
            run.image(0)
        finally:
            shutil.rmtree(root)

    def repacked(data: bytes) -> None:
        """Put a spoilt file into the archive with a checksum of its own, or it would never be read."""
        name, _, content = data.partition(b"\n")
        name_in_zip = name.decode("latin-1")
        take(data if name_in_zip not in files else zipped(files | {name_in_zip: content}, zipfile.ZIP_STORED))

    seeds = [zipped(files, method) for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)]
    seeds += [b"%s\n%s" % (name.encode(), files[name]) for name in (*texts, moment)]
    return Entry("recordings", seeds, repacked, (RecordedRunError,), attacks.of_recordings(files, moment))


def _checkpoints(folder: Path) -> Entry:
    data = _trained(folder).snapshot_path().read_bytes()
    good = load_checkpoint(data)
    int8 = checkpoint_bytes(good, int8_steps=good.snapshots)
    hostile = attacks.of_checkpoints(good)
    return Entry("checkpoints", [data, int8], load_checkpoint, (CheckpointError,), hostile)


def _weights(folder: Path) -> Entry:
    """The header of a real model's file, without its bytes: whole files would take minutes each."""
    from vitviz.models import pretrained_list

    name = "deit_tiny_patch16_224"
    state = dict(create_model(pretrained_list.find(name).config, seed=0).state_dict())
    whole = save(state)
    header = whole[: 8 + int.from_bytes(whole[:8], "little")]

    def take(data: bytes) -> None:
        if data == header:
            open_model(whole)
        else:
            open_model(data)

    return Entry("weights", [header], take, (PretrainedError,), attacks.of_weights(state))


class BrowserRefusal(Exception):
    """The browser's code refuses an input."""


def _start_browser_code(*args: str | Path) -> Callable[[bytes], None]:
    """Start a node with the browser's code that takes inputs; engine.mjs lists the arguments."""
    node = subprocess.Popen(
        ["node", "--max-old-space-size=512", Path(__file__).with_name("engine.mjs"), *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    weakref.finalize(node, node.kill)

    def take(data: bytes) -> None:
        assert node.stdin is not None and node.stdout is not None
        node.stdin.write(len(data).to_bytes(4, "little") + data)
        node.stdin.flush()
        answer = json.loads(node.stdout.readline() or '{"error": "node has ended"}')
        if "refused" in answer:
            raise BrowserRefusal(answer["refused"])
        if answer:
            raise RuntimeError(answer["error"])

    return take


def _engine(folder: Path) -> Entry:
    names = ("digits_vit", "digits_cnn", "digits_swin")
    return Entry("engine", [*map(_read_last_step, names)], _start_browser_code("engine"), (BrowserRefusal,))


def _masks(folder: Path) -> Entry:
    """Masks and step of a link, as Start's page and the engine read them."""
    (folder / "model").write_bytes(_read_last_step("digits_vit"))
    take_in_browser = _start_browser_code("masks", folder / "model")
    step = str(read_header(_read_shipped("digits_vit")).steps[-1]).encode()
    seeds = [b"0000181800000000\n" + step, b"0000181800000000.0100\nnull", b"ffffffffffffffff.ffff", b""]

    def take(data: bytes) -> None:
        fits_grid(data.partition(b"\n")[0].decode("utf-8", "replace"), 64)
        take_in_browser(data)

    return Entry("masks", seeds, take, (BrowserRefusal,))


def _pages(folder: Path) -> Entry:
    """Words that a saved page holds, which must stay words, and damaged pages and scripts, which the browser opens."""
    raw = _read_last_step("digits_vit")
    take_in_browser = _start_browser_code("pages")

    def render(words: str, raw: bytes = b"") -> str:
        message = name_files(["vitviz/browser/explorer.js"]) + pack({"classes": [words], "title": words})
        return render_html(words, [message], words, {words: raw}, pages=[(words, words)], current=words)

    page, script = render("digits", raw).encode(), render_weights(raw).encode()
    expected = _Elements(page.decode())

    def take(data: bytes) -> None:
        if not data.startswith(b"words:"):
            take_in_browser(data)
            return
        words = data.removeprefix(b"words:").decode("utf-8", "replace")
        html = render(words)
        assert _Elements(html).found == expected.found, "words became elements"

    seeds = [
        page,
        script,
        b"words:<script>alert(1)</script>",
        b"words:\"'><img src=x onerror=alert(1)>]]>-->",
    ]
    return Entry("pages", seeds, take, (BrowserRefusal,))


class _Elements(HTMLParser):
    """The elements of a page in order, each with the names of its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, ...]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, *(name for name, _ in attrs)))


def _read_shipped(name: str) -> bytes:
    return (ROOT / "checkpoints" / f"{name}.safetensors").read_bytes()


def _read_last_step(name: str) -> bytes:
    raw = _read_shipped(name)
    return take_step(raw, read_header(raw).steps[-1])


def _configs(folder: Path) -> Entry:
    """The JSON files beside weights of timm and of transformers; a model that opens prepares an image, too."""
    import_torchvision()  # that transformers needs
    from transformers import ViTConfig as PublishedConfig
    from transformers import ViTForImageClassification, ViTImageProcessor

    published = PublishedConfig(
        hidden_size=64, num_hidden_layers=1, num_attention_heads=2, image_size=16, patch_size=8
    )
    ours = ViTConfig(image_size=16, patch_size=8, embed_dim=96, depth=1, num_heads=3, num_classes=2)
    statistics = {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4]}
    timm = {
        "architecture": "vit_tiny_patch16_224",
        "num_classes": 2,
        "pretrained_cfg": {
            "input_size": [3, 16, 16],
            "interpolation": "bicubic",
            "crop_pct": 0.9,
            **statistics,
        },
    }
    weights = {
        "timm": dict(create_model(ours, seed=0).state_dict()),
        "transformers": dict(ViTForImageClassification(published).state_dict()),
    }
    files = {
        "timm/config.json": json.dumps(timm),
        "transformers/config.json": json.dumps(
            {**published.to_dict(), "architectures": ["ViTForImageClassification"]}
        ),
        "transformers/preprocessor_config.json": ViTImageProcessor(
            size={"height": 16, "width": 16}
        ).to_json_string(),
    }
    for name, state in weights.items():
        (folder / name).mkdir()
        (folder / name / "model.safetensors").write_bytes(save(state))
    image = np.zeros((20, 24, 3), np.uint8)

    def take(data: bytes) -> None:
        name, _, text = data.partition(b"\n")
        place = name.decode("latin-1")
        for path, whole in files.items():
            (folder / path).write_bytes(text if path == place else whole.encode())
        model = open_model(folder / place.partition("/")[0] if place in files else folder / "timm")
        prepared = prepare(image, model.preparation)
        assert np.isfinite(prepared.input).all()

    seeds = [f"{name}\n{text}".encode() for name, text in files.items()]
    return Entry("configs", seeds, take, (PretrainedError,))


def _pins(folder: Path) -> Entry:
    """Read text of any kind as a pin and as the id of a run."""

    def take(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        Pin.parse(text)
        if is_id(text):
            _refused(lambda: Run.find(folder, text))

    return Entry("pins", [b"0.5,0.5", b"cls", b"reg1", b"261122-070000-0123456789abcdef/a"], take)


def _refused(ask: Callable[[], object]) -> None:
    try:
        ask()
    except RunError:
        return


def _commands(folder: Path) -> Entry:
    """What a trainer finds in control.jsonl: it goes on whatever stands there."""
    session = Session(digits_run(folder), "cpu", control_at=0)
    session._models, _ = make_model_trainers(session.run, torch.device("cpu"), None)
    control = session.run.directory / "control.jsonl"

    def take(data: bytes) -> None:
        control.write_bytes(data)
        session._control_at = 0
        session._follow_commands()
        rates = [model.trainer.learning_rate for model in session._models]
        assert all(0 < rate < 100 for rate in rates), rates

    returned = [
        {"command": "pause"},
        {"command": "step"},
        {"command": "set", "learning_rate": 1e-3, "weight_decay": 0.1},
    ]
    return Entry("commands", ["".join(json.dumps(one) + "\n" for one in returned).encode()], take)


def _records(folder: Path) -> Entry:
    """What a page reads of a run while its trainer, or a torn disk, writes it."""
    from pages.stores.runs import RunLog

    run = _trained(folder)
    records, config = (run.directory / name for name in ("records.jsonl", "config.json"))
    returned = [
        json.dumps(asdict(status)).encode()
        for status in (
            Status("done", step=3, accuracy=0.5),
            Status("running", step=3, pid=os.getpid(), heartbeat=time.time()),
        )
    ]
    lines, kept = records.read_bytes()[-4000:], config.read_bytes()
    lines = lines[lines.index(b"\n") + 1 :]

    def take(data: bytes) -> None:
        records.write_bytes(data)
        log = RunLog(run).read()
        log.training(), log.validation(), log.best()
        (run.directory / "status.json").write_bytes(data)
        run.status()
        config.write_bytes(data)
        try:
            run.config()
        finally:
            config.write_bytes(kept)
            write_status(run.directory / "status.json", asdict(Status("done")))

    def taken(data: bytes) -> None:
        try:
            take(data)
        except RunError:
            if data in (kept,):
                raise

    return Entry("records", [lines, *returned, kept], taken, (RunError,))


def _lessons(folder: Path) -> Entry:
    """A lesson that a user opens; what is read can be written and read again."""
    shipped = sorted((Path(__file__).parents[3] / "lessons").glob("*.toml"))
    slugs = frozenset(BY_SLUG)

    def take(data: bytes) -> None:
        lesson = read_lesson(data, slugs)
        assert read_lesson(write_lesson(lesson).encode(), slugs) == lesson

    seeds = [path.read_bytes() for path in shipped]
    return Entry("lessons", seeds, take, (LessonError,), attacks.of_lessons(), longest_s=0.5)


_MAKERS: dict[str, Callable[[Path], Entry]] = {
    "pictures": _pictures,
    CRAFTED: _crafted_images,
    "zips": _zips,
    "archives": _archives,
    "recordings": _recordings,
    "checkpoints": _checkpoints,
    "weights": _weights,
    "engine": _engine,
    "masks": _masks,
    "pages": _pages,
    "configs": _configs,
    "pins": _pins,
    "links": links,
    "commands": _commands,
    "records": _records,
    "lessons": _lessons,
}
assert tuple(_MAKERS) == NAMES
