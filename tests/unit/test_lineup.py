"""Several models in one run: as text for a link and back, and as the run that trains them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vitviz.config import CNNConfig, SwinConfig, ViTConfig
from vitviz.models.presets import GREY_32
from vitviz.training import lineup
from vitviz.training.lineup import LineupEntry
from vitviz.training.presets import TRAINING_PRESETS

LIVE = TRAINING_PRESETS["digits_live"]
ENTRIES = (
    LineupEntry(
        "digits_live", "Wide; ~ 50 % = ?", replace(LIVE.model, embed_dim=64), replace(LIVE.train, seed=3)
    ),  # type: ignore[arg-type]
    LineupEntry(
        "digits_live",
        "Swin",
        SwinConfig(in_chans=1, embed_dim=32, num_heads=(2, 4), depths=(1, 2)),
        LIVE.train,
    ),
    LineupEntry(
        "digits_cnn", "Patient", TRAINING_PRESETS["digits_cnn"].model, replace(LIVE.train, patience=2.0)
    ),
)


def test_a_line_up_travels_as_a_short_text() -> None:
    text = lineup.encode(ENTRIES)
    assert lineup.decode(text) == ENTRIES
    assert lineup.encode(ENTRIES[:1]).startswith('digits_live~="Wide%3B %7E 50 %25 %3D %3F"~')
    assert (
        "~embed_dim=64~seed=3" in text and "patch_size" not in text
    )  # what the recipe says is not said again
    assert lineup.decode("") == () and lineup.encode(()) == ""


def test_the_ready_one_fits_together_and_shows_three_families() -> None:
    entries = lineup.decode(lineup.READY)
    config = lineup.run_config(entries, GREY_32)
    assert [type(member.model) for member in config.members] == [ViTConfig, SwinConfig, CNNConfig]
    assert config.name == "ViT, Swin, CNN" and config.preset == "several:digits_live"
    assert lineup.is_lineup(config) and lineup.entries_of(config, "mnist_vit")[0] == entries[0]


def test_what_must_be_shared_is_the_firsts_and_all_else_is_each_ones_own() -> None:
    first = replace(ENTRIES[0], train=replace(LIVE.train, validation_fraction=0.2, threads=2))
    config = lineup.run_config((first, *ENTRIES[1:]), GREY_32)
    trains = [config.recipe(member) for member in config.members]
    assert {(train.validation_fraction, train.threads) for train in trains} == {(0.2, 2)}
    assert trains[2].patience == 2.0 and trains[0].patience is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no_such_recipe", "received 'no_such_recipe'"),
        ("digits_live~depth=", "'depth' is not valid JSON"),
        ("digits_live~depth=0", "depth must be an integer of at least 1, received 0"),
        ("digits_live~colour=3", "has no colour"),
        ('digits_live~kind="train"', "config must describe a model"),
        ('digits_live~kind="perceptron"', "kind must be one of"),
        ('digits_live~start_from="x"~start_digest="y"', "must start from random weights"),
        ("digits_live~learning_rate=NaN", "learning_rate"),
        (";".join(["digits_live"] * 9), "at most 8 models, received 9"),
    ],
)
def test_a_strangers_text_gives_a_line_up_or_a_value_error(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        lineup.decode(text)


def test_one_model_is_no_line_up() -> None:
    for few in ((), ENTRIES[:1]):
        with pytest.raises(ValueError, match=r"two|2 to 8"):
            lineup.run_config(few, GREY_32)
