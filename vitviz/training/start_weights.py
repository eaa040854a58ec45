"""Store and load the initial weights of a run, one file in its directory."""

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from vitviz.checkpoint_header import CheckpointError
from vitviz.checkpoints import Checkpoint, as_checkpoint, checkpoint_bytes, load_checkpoint
from vitviz.config import TrainConfig
from vitviz.models.backbone_transfer import transferred
from vitviz.models.loaded_model import LoadedModel
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import START, Run, RunError

CARD = ("title", "digest")  # keys of the file's card


def start_file(source: LoadedModel) -> bytes:
    """Return the file of a model's weights in fp32, with its title and digest.

    Raises:
        CheckpointError: if a weight is not finite.
    """
    checkpoint = as_checkpoint(source, {"title": source.title, "digest": source.digest})
    state = {
        name: tensor.float() if tensor.is_floating_point() else tensor
        for name, tensor in source.model.state_dict().items()
    }
    return checkpoint_bytes(replace(checkpoint, snapshots={source.step: state}))


def load_start(run: Run, train: TrainConfig) -> Checkpoint:
    """Return the checkpoint of a run's initial weights.

    Raises:
        RunError: if the file is missing or does not match the config.
        CheckpointError: if the file is damaged.
    """
    path = run.root_run.directory / START
    if not path.is_file():
        raise RunError("the initial weights of this run are missing from its folder: start a new run")
    checkpoint = load_checkpoint(path)
    if checkpoint.card.get("digest") != train.start_digest:
        raise RunError(
            f"expected initial weights with digest {train.start_digest!r}, received {checkpoint.card.get('digest')!r}"
        )
    return checkpoint


def load_start_weights(run: Run, configs: Sequence[RunConfig]) -> list[dict[str, Tensor] | None]:
    """Return the initial weights of each model of a run; None if they are random.

    Raises:
        RunError, CheckpointError: as for `load_start`.
        ValueError: if the weights do not fit a model's backbone.
    """
    states: list[dict[str, Tensor] | None] = []
    for config in configs:
        if config.train.start_from is None:
            states.append(None)
            continue
        source = load_start(run, config.train)
        (state,) = source.snapshots.values()
        states.append(transferred(state, source.config, config.model, config.train.seed))
    return states


def check_start(part: bytes, config: RunConfig) -> None:
    """Check an imported file of initial weights.

    Raises:
        RunError: if it is invalid.
    """
    try:
        checkpoint = load_checkpoint(part, allow_int8=False)
    except CheckpointError as error:
        raise RunError(f"{START} cannot be used: {error}") from error
    if checkpoint.history or checkpoint.train is not None or set(checkpoint.card) - set(CARD):
        raise RunError(f"{START} has unexpected metadata: expected initial weights of a run")
    trains = [config.recipe(member) for member in config.members] or [config.train]
    if checkpoint.card.get("digest") not in {train.start_digest for train in trains}:
        raise RunError(f"{START} does not match the initial weights named in the run's config")
