"""Make the shipped checkpoints small: `python checkpoints/compact.py [FILE …]`, after a training wrote a file.

CNNs keep their last step alone, because no page shows their training; transformers trained on CIFAR-10 drop step 1,
which differs from step 0 by one of at least 12,000 updates, and two drop an early step that no page names, to keep the
folder below 80 MB. Of the others the steps before the last are stored as int8 where that changes nothing that a page
shows: on 200 test images every attention weight moves by at most 1/255 and every predicted class stays. The
last step is never changed, so that its measured results stay valid.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from vitviz.checkpoint_header import read_header  # noqa: E402
from vitviz.checkpoints import Checkpoint, checkpoint_bytes, load_checkpoint  # noqa: E402
from vitviz.data.datasets import default_pictures, load_dataset  # noqa: E402
from vitviz.data.image_preprocessing import prepare_batch  # noqa: E402
from vitviz.models.pretrained_list import PRETRAINED  # noqa: E402
from vitviz.models.zoo import create_model  # noqa: E402
from vitviz.probe.capture import capture  # noqa: E402

IMAGES = 200
MOST = 1 / 255
DROPPED = {"cifar10_deit_soft": 34, "cifar10_vit_p8": 23}


def find_changes(exact: Checkpoint, rounded: Checkpoint, inputs: np.ndarray) -> tuple[float, int]:
    """Return (largest change of an attention weight, number of changed classes) from one step's weights to others."""
    captures = []
    for checkpoint in (exact, rounded):
        model = create_model(checkpoint.config).eval()
        model.load_state_dict(next(iter(checkpoint.snapshots.values())))
        captures.append(capture(model, inputs, record=("*.attn",)))
    before, after = captures
    moves = [float(np.abs(before[name] - after[name]).max()) for name in before.arrays]
    assert moves, "no attention was recorded"
    return max(moves), int((before.logits.argmax(1) != after.logits.argmax(1)).sum())


def compact(path: Path) -> None:
    """Rewrite one file in place."""
    header = read_header(path)
    last = header.steps[-1]
    checkpoint = load_checkpoint(path, last)
    if header.config.kind == "cnn":
        path.write_bytes(checkpoint_bytes(checkpoint, half=True))
        print(f"{path.stem}: step {last} alone, {path.stat().st_size:,} bytes")
        return
    name = default_pictures(header.train.dataset, header.preparation.in_chans)
    inputs = prepare_batch(load_dataset(name).test_images[:IMAGES], header.preparation)
    snapshots, int8 = dict(checkpoint.snapshots), []
    steps = [step for step in header.steps if step != 1 or header.train.dataset != "cifar10"]
    steps = [step for step in steps if step != DROPPED.get(path.stem)]
    for step in steps[:-1]:
        exact = load_checkpoint(path, step)
        snapshots |= exact.snapshots
        rounded = load_checkpoint(checkpoint_bytes(exact, half=True, int8_steps=(step,)))
        move, changed = find_changes(exact, rounded, inputs)
        if move <= MOST and not changed:
            int8.append(step)
        print(f"{path.stem} step {step}: attention moves by {move * 255:.2f}/255, {changed} classes change")
    assert read_header(path).identity == checkpoint.identity
    ordered = {step: snapshots[step] for step in steps}
    path.write_bytes(checkpoint_bytes(replace(checkpoint, snapshots=ordered), half=True, int8_steps=int8))
    assert read_header(path).identity == checkpoint.identity
    print(f"{path.stem}: int8 at steps {int8}, {path.stat().st_size:,} bytes")


def main() -> None:
    """Rewrite the named files, or all."""
    torch.set_num_threads(2)
    files = [Path(name) for name in sys.argv[1:]] or sorted((ROOT / "checkpoints").glob("*.safetensors"))
    for path in files:
        if path.stem not in PRETRAINED:
            compact(path)


if __name__ == "__main__":
    main()
