"""Define the comparison of six position embeddings, used by the lab and the benchmark."""

from dataclasses import dataclass, replace

from vitviz.config import SETTINGS, Preparation, TrainConfig, ViTConfig
from vitviz.config_models import Positions
from vitviz.models.presets import GREY_28, GREY_32, RGB_32
from vitviz.training.run_config import Member, RunConfig

POSITIONS_RACE = "positions_race"  # the preset's name in a RunConfig
TITLE = "Do positions matter?"
QUESTIONS = {
    "shapes": "where is the warm-coloured object relative to the cool-coloured one?",
    "digits": "which digit is it?",
    "mnist": "which digit is it?",
}
CODES: dict[Positions, str] = {
    code: SETTINGS["positions"].options[code]
    for code in ("none", "sincos_1d", "sincos_2d_sum", "sincos_2d_concat", "learned", "rotary")
}
_SMALL = ViTConfig(image_size=32, patch_size=8, embed_dim=64, depth=2, num_heads=4, mlp_ratio=2.0)


@dataclass(frozen=True)
class PositionRace:
    """The settings that six models on one dataset share; each member sets its own position embedding."""

    model: ViTConfig
    preparation: Preparation
    train: TrainConfig


RACES: dict[str, PositionRace] = {
    "shapes": PositionRace(
        replace(_SMALL, num_classes=4),
        RGB_32,
        TrainConfig(dataset="shapes", epochs=3, batch_size=64, validation_fraction=0.04, snapshots=12),
    ),
    "digits": PositionRace(
        replace(_SMALL, in_chans=1),
        GREY_32,
        TrainConfig(dataset="digits", epochs=30, batch_size=64, snapshots=12),
    ),
    "mnist": PositionRace(
        replace(_SMALL, image_size=28, patch_size=7, in_chans=1),
        GREY_28,
        TrainConfig(dataset="mnist", epochs=2, learning_rate=2e-3, validation_fraction=0.04, snapshots=12),
    ),
}


def positions_race(dataset: str, **changes: object) -> RunConfig:
    """Return the race on one dataset, with changes of its TrainConfig such as seed or epochs.

    Raises:
        ValueError: if there is no race on this dataset, or a change is invalid.
    """
    if dataset not in RACES:
        raise ValueError(f"dataset must be one of {', '.join(RACES)}, received {dataset!r}")
    race = RACES[dataset]
    members = tuple(Member(code, title, replace(race.model, positions=code)) for code, title in CODES.items())
    train = replace(race.train, **changes)  # type: ignore[arg-type]
    return RunConfig(members[0].model, race.preparation, train, TITLE, POSITIONS_RACE, members=members)
