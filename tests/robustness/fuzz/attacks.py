"""Hostile files built by hand, each aimed at one cost that random changes do not reach."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import torch
from safetensors.torch import save

from tests.files import png, zipped
from tests.robustness.run_files import GOOD_STEP, GREY, TRAIN
from tests.robustness.zip_traps import Entry as ZipEntry
from tests.robustness.zip_traps import archive as written
from vitviz.checkpoints import Checkpoint, checkpoint_bytes, load_checkpoint
from vitviz.config import ViTConfig
from vitviz.models.zoo import create_model
from vitviz.training.run_config import RunConfig, config_to_values

Attacks = dict[str, Callable[[], bytes]]
MB = 2**20
_zipped = partial(zipped, method=zipfile.ZIP_DEFLATED)
LESSON_BYTES = 63 * 1024  # just below the limit of a lesson's file
_SEPARATOR = "\N{LINE SEPARATOR}"  # ends a line for str.splitlines, and not for TOML
_STEP = json.dumps(GOOD_STEP).encode()


def of_recordings(run: dict[str, bytes], moment: str) -> Attacks:
    """Zips of a recorded run, given a good run's files by name and the name of a moment."""
    values = json.loads(run["config.json"])

    def with_array(header: bytes, data: bytes = b"") -> Callable[[], bytes]:
        written = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data
        return lambda: _zipped(run | {moment: _zipped({"positions.npy": written})})

    def with_config(**changes: object) -> Callable[[], bytes]:
        return lambda: _zipped(run | {"config.json": json.dumps(values | changes).encode()})

    huge = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 8)}" % 10**13
    return {
        "an array of 320 terabytes": with_array(huge),
        "an array of objects": with_array(
            b"{'descr': '|O', 'fortran_order': False, 'shape': (4, 8)}", b"cos\nsystem"
        ),
        "a header nested deep": with_array(b"-" * 60_000 + b"1"),
        "a moment of 90 MB of zeros": lambda: _zipped(run | {moment: bytes(90 * MB)}),
        "an array that unpacks to 90 MB": lambda: _zipped(
            run | {moment: _zipped({"positions.npy": bytes(90 * MB)})}
        ),
        "90 MB of empty records": lambda: _zipped(run | {"records.jsonl": b"\n" * (90 * MB)}),
        "records of lists at the limit": lambda: _zipped(
            run | {"records.jsonl": (b"[" + b"[]," * 90 + b"1]\n") * 7500}
        ),
        "a million layers": with_config(model=values["model"] | {"depth": 10**6}),
        "a million patches": with_config(model=values["model"] | {"image_size": 2048, "patch_size": 2}),
        "classes without end": with_config(classes=["<b>" * 40] * 10_000),
        "1,000 moments": lambda: _zipped(
            run | {f"moments/{step:09d}.npz": run[moment] for step in range(1000)}
        ),
        "an image of 16 megapixels": lambda: _zipped(run | {"images/0.png": png((0, 0, 0), (4096, 4096))}),
    }


def of_archives(run: dict[str, bytes]) -> Attacks:
    """Zips of a run, given a good run's files by name."""
    values = json.loads(run["config.json"])

    def changed(**files: bytes) -> bytes:
        return _zipped(run | {name.replace("_", ".", 1): data for name, data in files.items()})

    def with_records(line: bytes, size: int = 90 * MB) -> Callable[[], bytes]:
        return lambda: changed(records_jsonl=line * (size // len(line)))

    def with_config(**changes: object) -> Callable[[], bytes]:
        return lambda: changed(config_json=json.dumps(values | changes).encode())

    return {
        "75 MB of short lines": with_records(b"ab\n", 75 * MB),
        "90 MB of empty lines": with_records(b"\n"),
        "90 MB of carriage returns": with_records(b"\r"),
        "one line of a 90 MB string": lambda: changed(records_jsonl=b'"' + b"a" * (90 * MB) + b'"'),
        "one line of 30 million lists": lambda: changed(records_jsonl=b"[" + b"[]," * (30 * MB) + b"1]"),
        "199,000 good records": lambda: changed(records_jsonl=(_STEP + b"\n") * 199_000),
        "199,000 records of 4,000 digits": lambda: changed(
            records_jsonl=(b'{"kind": "step", "step": ' + b"9" * 4000 + b"}\n") * 22_000
        ),
        "records of duplicate keys": with_records(b"{" + b'"step": 1, ' * 9000 + b'"kind": "step"}\n'),
        "records nested deep": with_records(b"[" * 900 + b"]" * 900 + b"\n"),
        "confusion tables of 1,000 classes": lambda: changed(records_jsonl=_confusion(1000) * 45),
        "records at every limit, of confusion tables": lambda: changed(records_jsonl=_confusion(240) * 34),
        "records at every limit, of lists": with_records(b"[" + b"[]," * 43_000 + b"1]\n", 16_500_000),
        "records at every limit, of objects": with_records(b"[" + b"{}," * 43_000 + b"1]\n", 16_500_000),
        "records at every limit, of short lists": with_records(b"[" + b"[]," * 250 + b"1]\n", 5_900_000),
        "records at every limit, nested": with_records(b"[" * 120 + b"]" * 120 + b"\n", 11_000_000),
        "records at every limit, good": with_records(_STEP + b"\n", (len(_STEP) + 1) * 49_000),
        "records at every limit, of events": with_records(
            b'{"kind": "event", "step": 1, "event": "' + b"a" * 190 + b'"}\n', 49_000 * 231
        ),
        "a 90 MB status": lambda: changed(status_json=b'{"a": [' + b"[]," * (30 * MB) + b"1]}"),
        "a status of a 90 MB string": lambda: changed(status_json=b'{"a": "' + b"a" * (90 * MB) + b'"}'),
        "a status of 400 digits": lambda: changed(
            status_json=json.dumps(json.loads(run["status.json"]) | {"step": 10**400}).encode()
        ),
        "a 90 MB config": lambda: changed(config_json=b'{"a": [' + b"[]," * (30 * MB) + b"1]}"),
        "a config of 10 million members": with_config(members=[1] * 10_000_000),
        "a config of 5 million frozen names": lambda: changed(
            config_json=json.dumps(
                values | {"train": values["train"] | {"frozen": ["a"] * 5_000_000}}
            ).encode()
        ),
        "a config with a 50 MB name": with_config(name="a\n" * (25 * MB)),
        "a config with a 50 MB preset": with_config(preset="a" * (50 * MB)),
        "a config with a preset of lists": with_config(preset=[[]] * 10_000_000),
        "a config of 400 digits": with_config(created=10**400, lease_s=10**400),
        "a saved state of a million tensors": lambda: changed(
            resume_safetensors=save({str(i): torch.empty(0) for i in range(400_000)})
        ),
        "a saved state of 90 MB": lambda: changed(resume_safetensors=save({"a": torch.zeros(85 * MB // 4)})),
        "snapshots of 250 layers": lambda: _zipped(_deep_run(250, 20)),
        "nine snapshots of 190 layers": lambda: _zipped(_deep_run(190, 9)),
        "150 snapshots": lambda: _zipped(_deep_run(1, 150)),
        "eight models of 190 layers": lambda: _zipped(_deep_members(190)),
        "all limits at once": lambda: _zipped(
            _deep_run(190, 9) | {"records.jsonl": (_STEP + b"\n") * 49_000}
        ),
        "1,000 snapshots": lambda: _zipped(_deep_run(1, 1000)),
        "eight snapshots whose title is a list": lambda: _zipped(_run_with_title(240_000)),
        "a snapshot with a 4 MB history": lambda: _zipped(_run_with_history(4 * MB - 30_000)),
        "names of 64 kB": lambda: _long_names(150),
        "extra fields of 64 kB": lambda: _extra_fields(900),
        "a directory with a zip64 record": _zip64,
        "50,000 entries": lambda: _zipped({f"snapshots/{i:08d}.safetensors": b"" for i in range(50_000)}),
        "1,024 empty entries": lambda: _zipped({f"snapshots/{i:08d}.safetensors": b"" for i in range(1024)}),
    }


def of_zips() -> Attacks:
    """Zips of images whose directory is what costs."""
    tiny = {f"{label}/{number}.png": b"" for label in "ab" for number in range(24_000)}
    return {
        "many empty files": lambda: _zipped(tiny),
        "names of 64 kB": lambda: _long_names(150),
        "extra fields of 64 kB": lambda: _extra_fields(900),
        "a directory with a zip64 record": _zip64,
        "paths of 500 folders": lambda: _zipped({f"{'a/' * 490}{i}/b.png": b"" for i in range(20_000)}),
        "10,000 class folders": lambda: _zipped({f"{i}/{j}.png": b"x" for i in range(10_000) for j in "ab"}),
        "files that are not pictures": lambda: _zipped(
            {f"{label}/{i}.png": b"%d" % i for label in "ab" for i in range(5000)}
        ),
    }


def of_checkpoints(good: Checkpoint) -> Attacks:
    """Checkpoints whose header is what costs."""

    def with_history(part: str, size: int) -> Callable[[], bytes]:
        count = size // (len(part) + 1)
        values = "[" + ",".join([part] * count) + "]"
        return lambda: checkpoint_bytes(replace(good, history=json.loads(values)))

    return {
        "a history of lists": with_history("[]", 700_000),
        "a history of objects": with_history("{}", 700_000),
        "a history of numbers": with_history("1", 600_000),
        "a header of 60,000 tensors": lambda: _tensors(60_000),
        "a shape of many digits": lambda: _header(
            json.dumps({"a": {"dtype": "F32", "shape": [10**4200], "data_offsets": [0, 10**4200]}}).encode()
        ),
    }


def of_weights(state: dict[str, torch.Tensor]) -> Attacks:
    """Weights of 128 MB, and of headers that cost."""
    return {
        "a header of lists": lambda: _header(b'{"a": [' + b"[]," * (MB // 3 - 100) + b"1]}"),
        "a header of 50,000 tensors": lambda: _tensors(50_000),
        "tensors without values": lambda: save(state | {f"x{i}": torch.empty(0) for i in range(40_000)}),
        "a tensor more of 100 MB": lambda: save(state | {"more": torch.zeros(25 * MB)}),
        "a tensor of 120 MB": lambda: save({"head.weight": torch.zeros(30_000, 1000)}),
        "a metadata of 3 MB": lambda: save(state, {"a": "b" * (MB - 100_000)}),
        "a header of 4 MB": lambda: _header(b" " * (4 * MB)),
    }


def of_lessons() -> Attacks:
    """Lesson files in which one line, or one key, is as long as the file."""

    def filled(start: str, part: str, end: str = "") -> Callable[[], bytes]:
        room = LESSON_BYTES - len((start + end).encode())
        return lambda: (start + part * (room // len(part.encode())) + end).encode()

    quoted = f'"{_SEPARATOR}"'
    return {
        "a dotted key over the whole file": filled(quoted, ".a", " = 1"),
        "a dotted key of separators": filled(quoted, f".{quoted}", " = 1"),
        "a dotted key of short parts": filled(quoted, f"{'.a' * 15}.{quoted}", " = 1"),
        "a dotted key of next-line characters": filled('"\x85"', '.a.a.a.a."\x85"', " = 1"),
        "a dotted header over the whole file": filled(f"[{quoted}", ".a", "]"),
        "a dotted header of an array of tables": filled(f"[[{quoted}", ".a", "]]"),
        "dotted keys behind a quoted equals sign": lambda: _numbered('"={}"' + ".a" * 780 + " = 1\n"),
        "long dotted keys": lambda: _numbered("a{}" + ".a" * 780 + " = 1\n"),
        "dotted keys behind the first equals sign": lambda: _numbered(
            "a{} = {{" + ".".join("a" * 780) + " = 1}}\n"
        ),
        "dotted keys in inline tables": filled("a = [", "{'='." + ".".join("a" * 780) + " = 1},\n", "]"),
        "arrays nested over lines": filled("a = ", "[\n"),
        "inline tables nested over lines": filled("a = ", "[{a =\n"),
        "inline tables nested in one line": filled(f'a = "{_SEPARATOR}"\nb = ', f'{{"{_SEPARATOR}" = '),
        "keys at eight dots": lambda: _numbered("a{}" + ".a" * 8 + " = 1\n"),
        "keys at eight dots below a deep table": lambda: (
            b"[a" + b".a" * 8 + b"]\n" + _numbered("a{}" + ".a" * 8 + " = 1\n")
        ),
        "tables at eight dots": lambda: _numbered("[a{}" + ".a" * 8 + "]\n"),
        "arrays of tables at eight dots": lambda: _numbered("[[a{}" + ".a" * 8 + "]]\n"),
        "short keys": lambda: "\n".join(f"a{number}=1" for number in range(7000)).encode(),
        "sixteen deep keys": lambda: "\n".join(
            f"{'.'.join('abcdefghijklmnop')}{number:x}=1" for number in range(1600)
        ).encode(),
        "short tables": filled("", "[[a]]\n"),
        "tables in tables": filled("", "[[a]]\n[[a.b]]\n"),
        "an array of small numbers": filled("a = [", "1,\n", "1]"),
        "an array of empty tables": filled("a = [", "{},\n", "1]"),
        "an unfinished long string": filled('a = """', '\\"'),
        "many unfinished long strings": filled('a = "\n', '"""\n'),
        "line-ending escapes": filled('a = """', "\\\n", '"""'),
        "unicode escapes": filled('a = """', "\\u0061\n", '"""'),
        "digits over the whole file": filled(f'a = "{_SEPARATOR}"\nb = ', "9"),
        "a hexadecimal number": lambda: b"title = 'a'\nminutes = 0x" + b"f" * 1500,
        "a number beyond floats": lambda: _stop(f"at_least = {'9' * 400}"),
        "a float beyond floats": lambda: _stop("at_least = 1e999"),
        "a whole number of 1,500 hexadecimal digits": lambda: _stop("at_least = 0x" + "f" * 1500),
        "blanks over the whole file": filled("a =", " "),
        "dates": filled("", "a = 1979-05-27T07:32:00.999999Z\n"),
        "almost dates": filled("a = [", "1979-05-27T07:32:00.9999999999999999999999999999,\n", "]"),
        "comments": filled("", "#\n"),
        "one comment": filled("#", _SEPARATOR),
    }


def _numbered(line: str) -> bytes:
    """A line repeated under different keys as often as a lesson's file may be long."""
    return "".join(line.format(number) for number in range(LESSON_BYTES // (len(line) + 4))).encode()


def _stop(parameter: str) -> bytes:
    return (
        'title = "a"\n[[stop]]\ntitle = "a"\nlink = "home"\nwords = "a"\ntask = "a"\n'
        f'check = {{ name = "control", key = "a.b", {parameter} }}\n'
    ).encode()


def _confusion(classes: int) -> bytes:
    values = {"kind": "shuffled", "split": "test", "step": 1, "epoch": 1.0, "accuracy": 0.5, "shuffled": 0.5}
    return (
        json.dumps(
            values | {"images": 1, "confusion": [[0] * classes] * classes}, separators=(",", ":")
        ).encode()
        + b"\n"
    )


def _deep_run(depth: int, snapshots: int) -> dict[str, bytes]:
    """The files of a run whose snapshots hold little but names of tensors."""
    model = ViTConfig(
        image_size=32, patch_size=16, in_chans=1, embed_dim=2, depth=depth, num_heads=1, mlp_ratio=1
    )
    config = RunConfig(model, GREY, replace(TRAIN, snapshots=snapshots), name="deep")
    state = dict(create_model(model, seed=0).state_dict())
    files = {"config.json": json.dumps(config_to_values(config)).encode(), "status.json": _STATUS}
    for step in range(snapshots):
        card = {"title": "deep", "step": step, "epoch": 0.0, "seconds": 0.0}
        part = Checkpoint(model, GREY, config.train, tuple(map(str, range(10))), [], {step: state}, card)
        files[f"snapshots/{step:08d}.safetensors"] = checkpoint_bytes(part)
    return files


def _deep_members(depth: int) -> dict[str, bytes]:
    """An experiment of eight deep models, all different."""
    files: dict[str, bytes] = {}
    members = []
    for number in range(8):
        one = _deep_run(depth - number, 1)
        values = json.loads(one["config.json"])
        members.append({"name": f"m{number}", "title": "deep", "model": values["model"]})
        files |= {f"members/m{number}/{name}": data for name, data in one.items() if name != "config.json"}
        if not number:
            files |= {"config.json": one["config.json"], "status.json": _STATUS}
    config = json.loads(files["config.json"]) | {"members": members}
    return files | {"config.json": json.dumps(config).encode()}


def _run_with_title(size: int) -> dict[str, bytes]:
    return _run_with(8, card={"title": _lists(size)})


def _run_with_history(size: int) -> dict[str, bytes]:
    return _run_with(16, history=_lists(size))


def _run_with(snapshots: int, **changes: object) -> dict[str, bytes]:
    """The files of a run with so many snapshots, whose checkpoints have other fields."""
    files = _deep_run(1, 8)
    good = load_checkpoint(files["snapshots/00000000.safetensors"])
    for step in range(snapshots):
        part = replace(good, snapshots={step: good.snapshots[0]}, **changes)  # type: ignore[arg-type]
        files[f"snapshots/{step:08d}.safetensors"] = checkpoint_bytes(part)
    return files


def _lists(size: int) -> list[object]:
    """Empty lists that take so many bytes as JSON."""
    return [[] for _ in range(size // 4)]


_STATUS = json.dumps(
    {
        "state": "done",
        "step": 1,
        "progress": 1.0,
        "epoch": 1.0,
        "seconds": 1.0,
        "learning_rate": 0.1,
        "weight_decay": 0.1,
    }
).encode()


def _tensors(count: int) -> bytes:
    table = {str(i): {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(count)}
    return _header(json.dumps(table).encode())


def _header(text: bytes) -> bytes:
    return len(text).to_bytes(8, "little") + text


def _long_names(count: int) -> bytes:
    wide = "\N{GRINNING FACE}" * 16_000  # four bytes a character
    return written([ZipEntry(f"{number}{wide}/a.png", b"") for number in range(count)])


def _extra_fields(count: int) -> bytes:
    """Every name with 64 kB of extra fields of no length, each of which zipfile copies the rest for."""
    return _directory((f"{number}/a.png", bytes(65_532)) for number in range(count))


def _directory(entries: Iterable[tuple[str, bytes]]) -> bytes:
    parts = []
    for name, extra in entries:
        head = struct.pack(
            "<4sHHHHHHIIIHHHHHII",
            b"PK\1\2",
            20,
            20,
            0,
            0,
            0,
            33,
            0,
            0,
            0,
            len(name),
            len(extra),
            0,
            0,
            0,
            0,
            0,
        )
        parts.append(head + name.encode() + extra)
    directory = b"".join(parts)
    return directory + struct.pack(
        "<4sHHHHIIH", b"PK\5\6", 0, 0, len(parts), len(parts), len(directory), 0, 0
    )


def _zip64() -> bytes:
    """A directory whose size stands in a zip64 record alone."""
    whole = _directory((f"{number}/a.png", bytes(65_532)) for number in range(400))
    directory = whole[:-22]
    record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 400, 400, len(directory), 0)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, len(directory), 1)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 2**32 - 1, 2**32 - 1, 0)
    return directory + record + locator + end
