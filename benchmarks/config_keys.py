"""Write the table of what every key of a publisher's configuration and every image processor does in vitviz.

python benchmarks/config_keys.py [--out docs/config_keys.md]
"""

import argparse
from pathlib import Path

from vitviz.models.formats.config_keys import MODEL_TYPES, PARTS, list_keys
from vitviz.models.formats.preparation_settings import PROCESSORS

_INTRODUCTION = """# Keys of config.json, and image processors

Written by `benchmarks/config_keys.py`; `tests/parity/test_config_keys.py` and `test_image_processors.py` hold it to the
classes of transformers 5.24.0, timm 1.0.31 (`timm`, `pretrained_cfg`, `model_args`) and open_clip 3.3.0 (`model_cfg`,
`vision_cfg`, `preprocess_cfg`).

A *read* key sets a value, a *checked* one must equal what the tensors show, a
*refused* one stops the model unless it has one of the values named, an *ignored* one changes no number. Other keys are
noted as not read.
"""


def write_table() -> str:
    """Return the tables as Markdown."""
    lines = [_INTRODUCTION]
    for model_type, keys in ({name: list_keys(name) for name in MODEL_TYPES} | dict(PARTS)).items():
        lines += [f"## {model_type}", "", "| key | use | what | default |", "|---|---|---|---|"]
        for key, row in sorted(keys.items()):
            use = next(use for use in ("read", "checked", "refused", "ignored") if use in row)
            unless = f", unless {', '.join(map(str, row['unless']))}" if row.get("unless") else ""
            lines.append(f"| `{key}` | {use} | {row[use]}{unless} | {row.get('default', '')} |")
        lines.append("")
    lines += [
        "## Image processors",
        "",
        "Images are prepared as these do it; every other one is refused by its name.",
        "",
    ]
    names = [f"{name}ImageProcessor" for name in PROCESSORS if name != "shared"]
    return "\n".join([*lines, ", ".join(f"`{name}`" for name in sorted(names)) + ".", ""])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/config_keys.md"))
    parser.parse_args().out.write_text(write_table(), "utf-8")
