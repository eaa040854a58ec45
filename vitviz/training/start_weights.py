"""The weights that a run begins with: one file in its directory, so that it needs nothing else to begin again."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from vitviz.checkpoints import Checkpoint, CheckpointError, checkpoint_bytes, load_checkpoint
from vitviz.config import TrainConfig
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.transfer import transferred
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import START, Run, RunError

CARD = ("title", "digest")  # all that such a file says of itself


def start_file(source: LoadedModel) -> bytes:
    """Return a model as the file that a run begins with: what it is called, its digest, its weights in fp32.

    Raises:
        CheckpointError: if a weight is not finite.
    """
    state = {
        name: tensor.float() if tensor.is_floating_point() else tensor
        for name, tensor in source.model.state_dict().items()
    }
    card = {"title": source.title, "digest": source.digest}
    return checkpoint_bytes(
        Checkpoint(
            config=source.config,
            preparation=source.preparation,
            train=None,
            classes=source.classes,
            history=[],
            snapshots={source.step: state},
            card=card,
        )
    )


def load_start(run: Run, train: TrainConfig) -> Checkpoint:
    """Return the model that a run begins with.

    Raises:
        RunError: if the run has no such file, or it holds other weights than its config names.
        CheckpointError: if the file is damaged.
    """
    path = run.whole.directory / START
    if not path.is_file():
        raise RunError("the weights that this run begins with are missing from its folder")
    found = load_checkpoint(path)
    if found.card.get("digest") != train.start_digest:
        raise RunError(
            f"the run begins with the weights {train.start_digest!r}, its folder holds {found.card.get('digest')!r}"
        )
    return found


def starts(run: Run, configs: Sequence[RunConfig]) -> list[dict[str, Tensor] | None]:
    """Return what each model of a run begins with; None where that is random weights.

    Raises:
        RunError, CheckpointError: as `load_start`.
        ValueError: if a model is no body of those weights under another head.
    """
    found: list[dict[str, Tensor] | None] = []
    for config in configs:
        if config.train.start_from is None:
            found.append(None)
            continue
        source = load_start(run, config.train)
        (state,) = source.snapshots.values()
        found.append(transferred(state, source.config, config.model, config.train.seed))
    return found


def check_start(part: bytes, config: RunConfig) -> None:
    """Refuse a stranger's file that is not what a run begins with.

    Raises:
        RunError: stating why.
    """
    try:
        found = load_checkpoint(part)
    except CheckpointError as error:
        raise RunError(f"{START} cannot be used: {error}") from error
    if found.history or found.train is not None or set(found.card) - set(CARD):
        raise RunError(f"{START} says more of itself than the weights that a run begins with do")
    trains = [config.recipe(member) for member in config.members] or [config.train]
    if found.card.get("digest") not in {train.start_digest for train in trains}:
        raise RunError(f"{START} holds other weights than those that the run says it begins with")
