"""The command `vitviz`: attention images, head distances, exports, training and the app from the shell."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vitviz
from vitviz.config_fields import Size, join_size
from vitviz.malloc import keep_freed
from vitviz.text import plural

if TYPE_CHECKING:
    from vitviz.batch import Batch
    from vitviz.models.loaded_model import LoadedModel
    from vitviz.view import View


def _parse_size(text: str) -> Size:
    return join_size([int(side) for side in text.split(",")])


SETTINGS: dict[str, tuple[Callable[[str], Any], str]] = {  # of `vitviz.load`
    "num_heads": (int, "attention heads"),
    "img_size": (_parse_size, "side of the images in px, or HEIGHT,WIDTH"),
    "mean": (float, "mean of each channel"),
    "std": (float, "standard deviation of each channel"),
    "crop_pct": (float, "side of the crop over the resized side"),
    "interpolation": (str, "nearest, box, bilinear, hamming, bicubic or lanczos"),
    "global_pool": (str, "token or avg"),
    "act_layer": (str, "gelu, gelu_tanh, quick_gelu, relu or silu"),
    "rope_type": (str, "none, if the model has no rotary positions"),
    "architecture": (str, "timm's name of the model, if its file does not state it"),
}
COMPUTED = {
    "device": "cpu, cuda, cuda:1 or mps; default: the accelerator, if there is one",
    "dtype": "float32, bfloat16 or float16; default: float32",
}
# Subcommands that are modules of their own, `python -m vitviz.NAME`.
FORWARDED = {
    "train": "train",
    "evaluate": "evaluate",
    "fetch": "fetch",
    "experiment": "experiment",
    "fine-tune": "fine_tune",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; returns 0, 1 if it failed, and 2 for wrong arguments."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words and words[0] in FORWARDED:
            if words[0] in ("train", "experiment"):
                keep_freed()
            return int(import_module(f"vitviz.{FORWARDED[words[0]]}").main(words[1:]))
        options = _build_parser().parse_args(words)
        return int(options.run(options))
    except KeyboardInterrupt:
        print("vitviz: interrupted", file=sys.stderr)
        return 130
    except (ValueError, TypeError, OSError, RuntimeError, ImportError) as error:
        print(f"vitviz: {' '.join(str(error).split())}", file=sys.stderr)
        return 1


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="vitviz", description=vitviz.__doc__.partition("\n")[0])
    parser.add_argument("--version", action="version", version=f"vitviz {vitviz.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    attention, distance, tokens = _add_image_commands(commands)
    export = commands.add_parser("export", help="write a model as a folder for timm and transformers")
    export.add_argument("out", type=Path, metavar="FOLDER")
    export.set_defaults(run=_export)
    site = commands.add_parser(
        "site", help="write a static gallery of Start and the model pages, from a checkout"
    )
    site.add_argument("out", type=Path, metavar="FOLDER")
    site.set_defaults(run=_write_site)
    app = commands.add_parser("app", help="open the app on a model or a recorded run")
    app.add_argument("recorded", type=Path, nargs="?", metavar="RUN", help="folder written by vitviz.record")
    app.add_argument("--port", type=int, default=0, help="of 127.0.0.1; default: any free one")
    app.set_defaults(run=_open_app)
    for command in (attention, distance, tokens, export, app):
        command.add_argument(
            "--model", default="digits_vit", help="name, file or folder; default: %(default)s"
        )
        _add_settings(command)
    for command in (attention, distance, tokens):
        for name, words in COMPUTED.items():
            command.add_argument(f"--{name}", help=words)
    for command in (attention, distance):
        command.add_argument("--json", action="store_true", help="print numbers as JSON")
    for name, module in FORWARDED.items():
        commands.add_parser(name, help=f"same as python -m vitviz.{module}", add_help=False)
    return parser


def _add_image_commands(commands: Any) -> list[argparse.ArgumentParser]:
    """Add the subcommands that take an image or a folder of images."""
    attention = commands.add_parser("attention", help="draw every head's attention over images")
    attention.add_argument("images", type=Path, metavar="IMAGE", help="an image, or a folder of images")
    attention.add_argument(
        "--layer",
        type=int,
        action="append",
        help="layer, from 0; repeat the option for several; default: all",
    )
    attention.add_argument(
        "--query", help="cls, dist, reg1, ROW,COLUMN or a token's index; default: cls, else the central patch"
    )
    attention.add_argument(
        "--out",
        type=Path,
        help=".png or .html file; for a folder of images, a folder; default: attention.png, or attention/",
    )
    attention.add_argument(
        "--arrays",
        action="store_true",
        help="write every layer's attention as uint8 arrays to a new folder, draw nothing",
    )
    attention.set_defaults(run=_draw_attention)
    distance = commands.add_parser("distance", help="measure every head's mean attention distance")
    distance.add_argument("images", type=Path, metavar="IMAGE", help="an image, or a folder of images")
    distance.set_defaults(run=_measure_distance)
    tokens = commands.add_parser("tokens", help="write every image's tokens after a layer to one file")
    tokens.add_argument("images", type=Path, metavar="IMAGE", help="an image, or a folder of images")
    tokens.add_argument("--layer", type=int, default=-1, help="layer, from 0; default: the last")
    tokens.add_argument(
        "--out", type=Path, default=Path("tokens.npz"), help=".npz or .parquet; default: %(default)s"
    )
    tokens.set_defaults(run=_write_tokens)
    return [attention, distance, tokens]


def _add_settings(command: argparse.ArgumentParser) -> None:
    """Add the settings of `vitviz.load`, under the same names."""
    group = command.add_argument_group("settings of the model, over those of its files")
    for name, (kind, words) in SETTINGS.items():
        count = "+" if name in ("mean", "std") else None
        group.add_argument(f"--{name.replace('_', '-')}", type=kind, nargs=count, help=words)


def _load(options: argparse.Namespace) -> "LoadedModel":
    """Return a model with the settings of the command line, and say what was assumed about it."""
    given = {name: getattr(options, name, None) for name in (*SETTINGS, *COMPUTED)}
    model = vitviz.load(options.model, **{name: value for name, value in given.items() if value is not None})
    for note in model.notes:
        print(f"vitviz: {note}", file=sys.stderr)
    return model


def _draw_attention(options: argparse.Namespace) -> int:
    query, is_folder = _parse_query(options.query), options.images.is_dir()
    target: Path = options.out or Path("attention" if is_folder or options.arrays else "attention.png")
    if options.arrays and (options.layer or query is not None or options.json):
        raise ValueError("--arrays writes every layer and query token: leave out --layer, --query and --json")
    batch = _open_batch(options)
    if options.arrays:
        print(f"{target}: attention of {' × '.join(map(str, batch.attention(target).shape))}")
        return 0
    if is_folder:
        files = batch.save(target, options.layer, query)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        files = [batch[0].save(target, options.layer, query)]
    if options.json:
        rows = zip(batch.sources, files, batch, strict=True)
        print(json.dumps([_describe_image(*row) for row in rows], indent=1))
    else:
        print(f"{target}: attention of {plural(len(batch), 'image')}")
    return 0


def _describe_image(image: object, file: Path, view: "View") -> dict[str, object]:
    result: dict[str, object] = {"image": str(image), "file": str(file)}
    config = view.model.config
    if config.num_classes:
        name, probability = view.prediction[0]
        output = getattr(config, "class_output", "softmax")
        result |= {"prediction": name, "value" if output == "raw" else "probability": probability}
        if output == "sigmoid":
            result["labels"] = view.classes_above(0.5)
    return result


def _measure_distance(options: argparse.Namespace) -> int:
    import numpy as np

    distances = _open_batch(options).distances()
    mean = distances.mean(axis=0)
    if options.json:
        rows = [[None if np.isnan(px) else float(px) for px in heads] for heads in mean]
        stated = {"images": len(distances), "unit": "px", "layers_and_heads_count_from": 0}
        print(json.dumps(stated | {"distance": rows}, indent=1))
        return 0
    count = plural(len(distances), "image")
    print(f"Mean attention distance in px over {count}, layer by head, both from 0")
    for layer, heads in enumerate(mean):
        print(f"{layer:>5}  {'  '.join('     -' if np.isnan(px) else f'{px:6.2f}' for px in heads)}")
    return 0


def _write_tokens(options: argparse.Namespace) -> int:
    batch = _open_batch(options)
    out = batch.tokens(options.layer, out=options.out)
    print(f"{out}: tokens of {plural(len(batch), 'image')}")
    return 0


def _export(options: argparse.Namespace) -> int:
    print(vitviz.export(_load(options), options.out))
    return 0


def _open_app(options: argparse.Namespace) -> int:
    from vitviz.recorded_run import RecordedRun

    model = _load(options) if options.recorded is None else RecordedRun(options.recorded).directory
    vitviz.app(model, port=options.port)
    return 0


def _write_site(options: argparse.Namespace) -> int:
    root = Path(__file__).resolve().parents[1]
    if not (root / "app.py").is_file():
        raise RuntimeError(
            "The gallery shows the app's pages: clone the repository and run this command there."
        )
    words = [
        sys.executable,
        "-P",
        str(root / "pages" / "frame" / "static_site.py"),
        str(options.out.resolve()),
    ]
    return subprocess.run(words, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}).returncode


def _open_batch(options: argparse.Namespace) -> "Batch":
    """Return the batch of the one image, or of a folder's images that can be decoded; others are named on stderr.

    Raises:
        ValueError: if there is no image.
    """
    from vitviz.batch import Batch, list_images

    path: Path = options.images
    if not path.exists():
        raise ValueError(f"there is no file or folder {path}")
    if not path.is_dir():
        return Batch(_load(options), [path])
    files = list_images(path)
    batch, skipped = Batch(_load(options), files).readable()
    for reason in skipped.values():
        print(f"vitviz: skipped {reason}", file=sys.stderr)
    return batch


def _parse_query(text: str | None) -> str | int | tuple[int, int] | None:
    """Return a prefix token's name, a token's index, or (row, column), both from 0."""
    if text is not None and text.isdecimal():
        return int(text)
    if text is None or "," not in text:
        return text
    row, _, column = text.partition(",")
    try:
        return int(row), int(column)
    except ValueError:
        raise ValueError(
            f"expected --query ROW,COLUMN, a token's index or a prefix token, received {text!r}"
        ) from None


if __name__ == "__main__":
    raise SystemExit(main())
