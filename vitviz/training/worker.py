"""Run trainings in a separate process that reads and writes JSON lines and ends with its parent.

In: {"run": DIRECTORY, "control_at": BYTE, "claim": TOKEN}.
Out: {"ready": true}, {"finished": DIRECTORY, "state": STATE}.
"""

import contextlib
import json
import os
import queue
import sys
import threading
from pathlib import Path
from typing import Any, TextIO

from vitviz.malloc import give_back, keep_freed

NICENESS = 10  # pages come first


def main() -> None:
    """Serve runs, one after another, until stdin ends."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    sys.stdout = sys.stderr  # nothing a library prints may reach the protocol
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    orders: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    keep_freed()
    _warm_up()
    _reply(replies, ready=True)
    while True:
        order = orders.get()
        state = _train(**order)
        give_back()
        _reply(replies, finished=order["run"], state=state)


def _listen(orders: queue.Queue[dict[str, Any]]) -> None:
    """Queue orders; exit at the end of stdin, since the server has ended."""
    for line in sys.stdin:
        orders.put(json.loads(line))
    os._exit(0)


def _reply(replies: TextIO, **values: object) -> None:
    with contextlib.suppress(BrokenPipeError):
        replies.write(json.dumps(values) + "\n")


def _train(run: str, control_at: int, claim: str) -> str:
    from vitviz.training.run_directory import Run, RunError
    from vitviz.training.run_trainer import Session

    try:
        return Session(Run(Path(run)), control_at=control_at, token=claim).perform().state
    except RunError:
        return "deleted"  # while it was queued


def _warm_up() -> None:
    """Load torch, scikit-learn and the kernels: the first record should follow the click within a second."""
    import torch

    from vitviz.config import TrainConfig, ViTConfig
    from vitviz.data.datasets import load_dataset
    from vitviz.models.presets import GREY_32
    from vitviz.training.batches import prepare_training_data
    from vitviz.training.loop import Trainer

    torch.set_num_threads(1)
    config = TrainConfig(dataset="digits", epochs=1, batch_size=64, shift_px=1)
    model = ViTConfig(image_size=32, patch_size=4, in_chans=1, embed_dim=32, depth=1, num_heads=2)
    splits = prepare_training_data(load_dataset("digits"), GREY_32, config)
    Trainer(model, config, splits).advance()


if __name__ == "__main__":
    main()
