"""Test recorded trainings: their files, the choice of moments, and that the shipped one is the shipped model's."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pages.stores import catalogue, parameter_history
from vitviz.checkpoints import open_model
from vitviz.growth import choose_moments, find_growth, load_growth, pack_rows, save_growth, unpack_rows
from vitviz.plots.training_moments import TrainingMoments
from vitviz.probe.capture import as_array

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
NAMES = sorted(path.stem for path in (CHECKPOINTS / "growth").glob("*.npz"))


def test_packed_rows_are_within_the_stated_share_of_their_largest_weight() -> None:
    attention = np.random.default_rng(0).dirichlet(np.full(65, 0.3), size=(3, 7)).astype(np.float32)
    codes, peaks = pack_rows(attention)
    error = np.abs(unpack_rows(codes, peaks) - attention).max(axis=-1)
    assert codes.dtype == np.uint8 and (error <= 0.0085 * attention.max(axis=-1)).all()


def test_moments_are_dense_where_most_changes() -> None:
    path = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 4.0, 4.0])[:, None]
    assert choose_moments([path], 5).tolist() == [0, 3, 4, 5, 8]
    assert choose_moments([path], 20).tolist() == list(range(9))


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_file_holds_32_moments_of_its_models_shape(name: str) -> None:
    growth = load_growth(CHECKPOINTS / "growth" / f"{name}.npz")
    model = open_model(CHECKPOINTS / f"{name}.safetensors")
    assert len(growth.steps) == 32 and growth.steps[0] == 0 and (np.diff(growth.steps) > 0).all()
    positions = as_array(model.model.get_parameter("pos_embed"))[0]
    assert growth.positions.shape == (32, *positions.shape)
    np.testing.assert_allclose(growth.positions[-1], positions, atol=2e-3 if growth.is_shipped else 9)
    rows = growth.attention(growth.image, 0)
    assert rows is not None
    np.testing.assert_allclose(rows.sum(axis=-1), 1, atol=0.15)
    uniform = 1 / rows.shape[-1]
    assert np.abs(rows[0] - uniform).max() < 0.1 < rows[-1].max()  # random weights attend almost evenly


def test_the_stored_files_are_small() -> None:
    assert sum(path.stat().st_size for path in (CHECKPOINTS / "growth").glob("*.npz")) <= 6e6


def test_rows_of_further_images_are_those_of_cls_and_the_central_patch() -> None:
    growth = load_growth(CHECKPOINTS / "growth" / "digits_vit.npz")
    (second, _) = growth.further
    assert growth.attention(second, 0) is not None and growth.attention(second, 1 + 4 * 8 + 4) is not None
    assert growth.attention(second, 5) is None and growth.attention("digits:77", 0) is None


def test_a_file_is_read_as_written_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    growth = load_growth(CHECKPOINTS / "growth" / "digits_vit.npz")
    save_growth(tmp_path / "again.npz", growth)
    again = load_growth(tmp_path / "again.npz")
    np.testing.assert_array_equal(again.rows, growth.rows)
    assert again.further == growth.further and again.test_accuracy == growth.test_accuracy
    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes((tmp_path / "again.npz").read_bytes()[:5000])
    with pytest.raises(ValueError, match="damaged"):
        load_growth(damaged)
    assert find_growth("no_such_model") is None


def test_a_moment_of_another_run_stands_last_and_one_of_the_same_run_in_order() -> None:
    moments = TrainingMoments([0, 10, 20], [0.0, 1.0, 2.0], 3, "a second training of the same recipe")
    other, place = moments.insert(15, 1.5, same_run=False)
    assert (place, list(other.steps), other.joined) == (3, [0, 10, 20, 15], 3)
    assert (
        other.name(2) == "step 20 · epoch 2 · a second training of the same recipe"
        and other.name(3) == "step 15 · epoch 1.5"
    )
    same, place = replace(moments, note="").insert(15, 1.5, same_run=True)
    assert (place, list(same.steps), list(same.epochs), same.joined) == (
        2,
        [0, 10, 15, 20],
        [0.0, 1.0, 1.5, 2.0],
        4,
    )


def test_few_of_many_steps_hold_the_ends_and_the_shown_one() -> None:
    assert parameter_history.select_steps((0, 10, 20, 30, 40), 10, 3) == (0, 10, 20, 40)


def test_a_selected_step_that_is_not_recorded_is_added_from_the_checkpoint() -> None:
    choice = next(c for c in catalogue.list_checkpoints() if c.key == "checkpoint:digits_vit")
    history = parameter_history.read_history(choice, "pos_embed", 107)
    assert history is not None and history.training is not None
    assert history.training.steps[history.shown] == 107 and len(history.values) == 33
    stored = parameter_history.read_tensor(choice, 107, "pos_embed")
    assert stored is not None
    np.testing.assert_array_equal(history.selected, stored.reshape(history.values[0].shape))


def test_the_moments_of_another_run_end_with_the_models_own_step(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = next(c for c in catalogue.list_checkpoints() if c.key == "checkpoint:digits_vit")
    growth = replace(load_growth(CHECKPOINTS / "growth" / "digits_vit.npz"), is_shipped=False)
    monkeypatch.setattr(parameter_history, "load_growth", lambda path: growth)
    history = parameter_history.read_history(choice, "pos_embed", 2429)
    assert history is not None and history.training is not None
    assert history.shown == 32 and history.training.joined == 32
    other = "a second training of the same recipe"
    assert history.training.name(31).endswith(other) and other not in history.moment
    assert f"{other}: 120 epochs" in history.note
    # An earlier step is no end of that run: Play goes from it to the model's own last step.
    early = parameter_history.read_history(choice, "pos_embed", 0)
    assert early is not None and early.training is not None and not early.note
    assert early.shown == 0 and tuple(early.training.steps) == choice.steps and not early.training.note
