"""Write `vitviz/models/formats/timm_models.json`: the settings of timm's ViTs that tensor names do not show."""

import json
import warnings
from pathlib import Path
from typing import Any

import torch

from vitviz.models.formats.module_settings import read_module
from vitviz.torchvision_fix import import_torchvision

MODULES = (
    "vision_transformer",
    "eva",
    "deit",
    "swin_transformer",
    "swin_transformer_v2",
    "vision_transformer_hybrid",
)
TABLE = Path(__file__).parents[1] / "vitviz" / "models" / "formats" / "timm_models.json"


def list_names() -> list[str]:
    """Return the names of timm's models in `MODULES`."""
    import_torchvision()
    import timm

    return [name for module in MODULES for name in timm.list_models(module=module)]


def build(name: str, **arguments: Any) -> torch.nn.Module:
    """Return a timm model without weights, on torch's meta device."""
    import_torchvision()
    import timm

    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return timm.create_model(name, **arguments)  # type: ignore[no-any-return]


def make_table() -> dict[str, dict[str, Any]]:
    """Return the settings of every model that has some."""
    return {name: settings for name in list_names() if (settings := read_module(build(name)))}


def main() -> None:
    """Write the table, one model a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(settings)}" for name, settings in sorted(make_table().items())]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
