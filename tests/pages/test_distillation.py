"""The distillation page: any student, the stand-in, and a measurement that belongs to exactly these files."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from pages.lenses.distillation import captions as sentences
from pages.stores.registry import BY_SLUG as BY_SLUG_OF_PAGES
from tests.messages import charts
from tests.pages.conftest import OpenApp, captions, ship, text
from vitviz.checkpoint_header import read_header
from vitviz.checkpoints import open_model
from vitviz.config import CNNConfig, TrainConfig, ViTConfig
from vitviz.data import cifar10_few
from vitviz.data.datasets import load_dataset
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.experiments import result_file as results
from vitviz.experiments.result_file import Made, Result, write_result
from vitviz.models.presets import GREY_32, PRESETS
from vitviz.probe.capture import capture
from vitviz.text import FOREIGN
from vitviz.training import lineup
from vitviz.training.run_config import Member, RunConfig
from vitviz.training.run_directory import Run
from vitviz.training.run_trainer import Session

PAGE = "pages/lenses/distillation/page.py"
HEADS = "cls", "dist", "softmax_sum"
VOICES, WORTH = ({"distillation.view": name} for name in ("voices", "worth"))
STUDENT = ViTConfig(image_size=32, in_chans=1, embed_dim=16, depth=2, num_heads=2, distilled=True)
TEACHER = CNNConfig(in_chans=1, widths=(4, 8), blocks=(1, 1))


def ship_all(folder: Path) -> None:
    """Save a teacher, a student, its twin, and their stored agreement."""
    train = TrainConfig(dataset="digits", epochs=1)
    ship(folder, "teacher", TEACHER, train, test_accuracy=0.5)
    taught = replace(train, distill_from="checkpoints/teacher.safetensors")
    ship(folder, "student", STUDENT, taught, test_accuracy=0.5)
    ship(folder, "twin", replace(STUDENT, distilled=False), train, test_accuracy=0.5)
    digests = {
        name: read_header(folder / f"{name}.safetensors").identity for name in ("teacher", "student", "twin")
    }
    names = ["teacher", "[CLS] head", "[DIST] head", "both heads", "twin", "both, added"]
    differs = [[abs(i - j) / 50 for j in range(6)] for i in range(6)]
    entry = {
        "digests": digests,
        "teacher": "teacher",
        "taught": "soft",
        "twin": "twin",
        "pictures": 360,
        "names": names,
        "accuracy": [0.9, 0.7, 0.8, 0.82, 0.75, 0.81],
        "differs": differs,
        "discordant": 0.1,
        "repeats": [1.0, 0.2, 0.4, 0.3, 0.1, 0.3],
    }
    stored = {"command": "python made_up.py", "measured": "2026-01-02", "students": {"student": entry}}
    (folder / "distillation.json").write_text(json.dumps(stored))


def test_a_preset_is_marked_as_untrained(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:deit_digits", image="digits:3")
    assert "random weights" in text(app)
    assert f"in layer {PRESETS['deit_digits'].config.depth}, head " in captions(app)
    app = open_app(PAGE, model="preset:deit_digits", image="digits:3", **VOICES)
    assert "available for shipped students only" in text(app)


def test_the_measurement_is_shown_for_exactly_these_files(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    ship_all(no_shipped_checkpoints)
    here = {"model": "checkpoint:student", "image": "digits:3"}
    returned = captions(open_app(PAGE, **here, **VOICES))
    assert (
        "The [CLS] head disagrees with the teacher on 2.0 % of 360 test images, the [DIST] head on 4.0 %"
        in returned
    )
    assert (
        "Student (82.0 %) compared with the twin after as many updates (75.0 %): higher, +7.0 points"
        in returned
    )
    assert "teacher's probabilities (soft labels)" in returned
    assert "81.0 % with the paper's sum of the softmaxes and 82.0 % with the mean of the logits" in returned
    tokens = open_app(PAGE, **here)
    assert "**Teacher teacher predicts " in text(tokens) and "Before training" in captions(tokens)
    ship(no_shipped_checkpoints, "twin", replace(STUDENT, distilled=False, depth=1), test_accuracy=0.5)
    app = open_app(PAGE, **here, **VOICES)
    assert "against 75.0" not in captions(app)
    assert "has changed since 2026-01-02" in text(app) and "python made_up.py" in text(app)
    assert "**Teacher teacher predicts " in text(open_app(PAGE, **here))


def test_another_file_under_the_teacher_s_name_is_not_its_teacher(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    """A CNN with the same file name but other weights is not the teacher."""
    ship_all(no_shipped_checkpoints)
    train = TrainConfig(dataset="digits", epochs=1, distill_from="checkpoints/teacher.safetensors")
    identities = read_header(no_shipped_checkpoints / "teacher.safetensors").identities
    here = {"model": "checkpoint:student", "image": "digits:3"}
    for taught_by, shown in ((identities[9], True), (identities[0], False), ("of another file:9", False)):
        ship(no_shipped_checkpoints, "student", STUDENT, train, teacher=taught_by)
        assert ("**Teacher teacher predicts " in text(open_app(PAGE, **here))) is shown


def test_it_opens_on_an_image_where_the_distillation_token_alone_predicts_what_the_teacher_does() -> None:
    """Of the images where [DIST] and the teacher are right and [CLS] is not, that of the most confident teacher."""
    student, teacher = (
        open_model(cifar10_few.FOLDER / f"cifar10_{name}.safetensors") for name in ("deit_soft", "cnn")
    )
    few = cifar10_few.few_dataset(cifar10_few.FOLDER)
    names = ("logits_cls", "logits_dist")
    activations = capture(
        student.model, prepare_batch(few.test_images, student.preparation), record=names, batch_size=50
    )
    inputs = prepare_batch(few.test_images, teacher.preparation)
    taught = capture(teacher.model, inputs, record=("logits",), batch_size=50).logits
    by_cls, by_dist = (student.probabilities(activations[name]) for name in names)
    by_teacher, labels = teacher.probabilities(taught), few.labels_of("test")
    fitting = (by_dist.argmax(1) == labels) & (by_teacher.argmax(1) == labels) & (by_cls.argmax(1) != labels)
    number = int(np.where(fitting, by_teacher.max(1), 0).argmax())
    assert BY_SLUG_OF_PAGES["distillation"].images[""] == f"{cifar10_few.NAME}:{number}"
    scores = [(student.classes, by_cls[number]), (student.classes, by_dist[number])]
    assert sentences.describe_heads([(teacher.classes, by_teacher[number]), *scores]) == (
        "[CLS] predicts airplane (30.7\u00a0%), [DIST] horse (19.5\u00a0%); the teacher also predicts horse."
    )


def test_shares_are_those_of_the_models_own_attention(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    """Recomputed from the model, without the app."""
    ship_all(no_shipped_checkpoints)
    at = {"distillation__block": "1", "distillation__head": "mean"}
    app = open_app(PAGE, model="checkpoint:student", image="digits:3", **at)
    from pages.stores import catalogue, shared_cache
    from pages.stores.session import UserSession

    model = shared_cache.load_model(catalogue.list_models(UserSession("a visit"))["checkpoint:student"], 9)
    inputs = torch.tensor(shared_cache.prepare_image("digits:3", model.preparation, (0.5, 0.5)).input[None])
    with torch.inference_mode():
        _, record = model.model(inputs, record=("blocks.0.attn",))
    rows = record["blocks.0.attn"][0].mean(dim=0)
    shared = torch.minimum(rows[0], rows[1]).sum().item()
    assert f"[CLS] and [DIST] share {100 * shared:.0f} % of their attention" in captions(app)
    assert "in layer 1, mean of all heads" in captions(app)
    app = open_app(PAGE, model="checkpoint:student", image="digits:3", distillation__head="2")
    assert "in layer 2, head 2" in captions(app)


def test_agreement_with_the_teacher_is_computed_on_request(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    """Recomputed from the checkpoints, without the app."""
    ship_all(no_shipped_checkpoints)
    app = open_app(PAGE, model="checkpoint:student", image="digits:3", **VOICES)
    assert not any("Agrees with the teacher" in frame.value.columns for frame in app.main.dataframe)
    app = open_app(PAGE, model="checkpoint:student", image="digits:3", distillation__asked="1", **VOICES)
    data = load_dataset("digits")
    inputs = torch.from_numpy(prepare_batch(data.test_images[:200], GREY_32))
    decided = {}
    for name in ("teacher", "student", "twin"):
        model = open_model(no_shipped_checkpoints / f"{name}.safetensors").model
        with torch.inference_mode():
            decided[name] = model(inputs).argmax(dim=1).numpy()
    (table,) = (
        frame.value for frame in app.main.dataframe if "Agrees with the teacher" in frame.value.columns
    )
    assert (
        table["Classifier"].tolist()[0] == "Teacher"
        and table["Classifier"].tolist()[-1] == "Twin without a teacher"
    )
    labels = data.labels_of("test")[:200]
    row = table.set_index("Classifier").loc["Both, mean of the logits"]
    assert row["Accuracy"] == pytest.approx(float((decided["student"] == labels).mean()))
    differ = decided["teacher"] != decided["student"]
    assert row["Agrees with the teacher"] == pytest.approx(float(1 - differ.mean()))
    choice = app.main.selectbox(key="distillation.case")
    assert choice.options[0] == f"teacher and student differ ({int(differ.sum())})"
    first = int(differ.nonzero()[0][0])
    returned = f"{labels[first]}: teacher {decided['teacher'][first]}, student {decided['student'][first]}"
    (shown,) = [part.proto for part in app.main.get("image") if len(part.proto.imgs) > 1]
    assert shown.imgs[0].caption.replace("\\", "").strip(FOREIGN) == returned


def test_own_hyperparameters_open_the_lab_with_twin_hard_and_soft(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    ship(no_shipped_checkpoints, "digits_cnn", TEACHER, TrainConfig(dataset="digits", epochs=1))
    lesson = {
        f"distillation__lesson{name}": value for name, value in (("_weight", "0.2"), ("_share", "0.25"))
    }
    app = open_app(PAGE, model="preset:deit_digits", image="digits:3", distillation__view="lesson", **lesson)
    (link,) = (part.proto for part in app.main.get("page_link") if "three models" in part.proto.label)
    asked = parse_qs(link.query_string)
    twin, hard, soft = lineup.decode(asked["live_lab.lineup"][0])
    assert asked["live_lab.train"] == ["several"]
    assert (twin.train.distill_from, hard.train.distillation, soft.train.distillation) == (
        None,
        "hard",
        "soft",
    )
    assert (soft.train.distillation_weight, soft.train.distillation_temperature) == (0.2, 3.0)
    assert {entry.train.train_fraction for entry in (twin, hard, soft)} == {0.25}
    assert replace(hard.model, distilled=False) == twin.model  # type: ignore[arg-type]
    assert lineup.run_config((twin, hard, soft), GREY_32).members[1].title == "Hard distillation"


@pytest.fixture
def grids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write complete results of two datasets: a gain and no difference with three seeds, and one seed."""
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    for name, tests in {
        "digits": {
            ("vit", 50): (0.61, 0.62, 0.63),
            ("deit", 50): (0.81, 0.82, 0.83),
            ("cnn", 50): (0.8, 0.8, 0.8),
            ("vit", 1295): (0.97, 0.97, 0.97),
            ("deit", 1295): (0.94, 0.95, 0.96),
            ("cnn", 1295): (0.98, 0.98, 0.98),
        },
        "mnist": {("vit", 50): (0.523,), ("deit", 50): (0.511,), ("cnn", 50): (0.6,)},
    }.items():
        rows = [
            {"model": model, "pictures": images, "augmented": True, "seed": seed, "test": test, "made": 0}
            | ({f"test_{head}": test - 0.001 for head in HEADS} if model == "deit" else {})
            for (model, images), seeds in tests.items()
            for seed, test in enumerate(seeds)
        ]
        made = (Made("abc", "2026-11-22", "a machine"),)
        settings = {"dataset": name, "updates": 100, "batch_size": 64}
        write_result(Result(f"data_size_{name}", name, "python -m x", settings, made, tuple(rows), 0))


@pytest.mark.usefixtures("grids")
def test_the_effect_of_a_teacher_follows_a_prediction(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:deit_digits", image="digits:3", **WORTH)
    assert "points" not in captions(app)
    assert not any(points_of(app).values())
    app.main.button_group(key="distillation.teaching_guess.row").set_value("even").run()
    assert not app.exception
    judged = text(app).partition("Your prediction: no difference shown.")[2].partition("\n")[0]
    assert "20.0 points more than" in judged and "3 seeds, 359 images" in judged
    reported = captions(app)
    assert "With 50 images, Student has 20.0 points more than 'Twin, no teacher'" in reported
    assert "with 1,295, no difference shown between Student and 'Twin, no teacher', −2.0 points" in reported
    app.main.button_group(key="distillation.teaching_shown").set_value("gains").run()
    assert "20.0 points more than" in captions(app)
    app.main.button_group(key="distillation.teaching_set").set_value("mnist").run()
    assert "points" not in captions(app)  # another dataset is another question
    app.main.button_group(key="distillation.teaching_guess.row").set_value("loses").run()
    assert re.search(
        r"Your prediction: its twin.*1\.2 points fewer than .*one training each: no interval over seeds",
        text(app),
    )


def points_of(app: AppTest) -> dict[str, list[int]]:
    """Return the x values of the lines, by name."""
    figures = charts(app)
    traces = [trace for figure in figures for trace in figure["data"] if trace.get("name")]
    return {
        trace["name"]: [x for x, y in zip(trace["x"], trace["y"], strict=True) if y is not None]
        for trace in traces
        if trace["mode"] == "lines+markers"
    }


def test_a_student_of_a_run_is_compared_with_its_twin(
    open_app: OpenApp, no_shipped_checkpoints: Path, tmp_path: Path
) -> None:
    """The twin of a student from a run is the model without a teacher in the same run."""
    ship(no_shipped_checkpoints, "teacher", TEACHER, TrainConfig(dataset="digits", epochs=1))
    (tmp_path / "runs").mkdir()
    teacher = shutil.copy(no_shipped_checkpoints / "teacher.safetensors", tmp_path / "runs")
    alone = TrainConfig(dataset="digits", epochs=0.2, batch_size=256, snapshots=2)
    taught = replace(alone, distill_from=str(teacher))
    twin, student = (replace(STUDENT, distilled=distilled) for distilled in (False, True))
    members = (
        Member("twin", "Alone", twin, alone),
        Member("longer", "Alone for longer", twin, replace(alone, epochs=0.4)),
        Member("student", "Taught", student, replace(taught, distillation="soft")),
    )
    run = Run.create(tmp_path / "runs", RunConfig(twin, GREY_32, alone, members=members))
    done = Session(run, device="cpu").perform()
    assert done.state == "done", done.message
    key = f"run:{run.id}/student"
    lab = open_app("pages/train/lab/page.py", live_lab__run=run.id)
    (link,) = (
        one.proto for one in lab.main.get("page_link") if "distillation.asked" in one.proto.query_string
    )
    asked = parse_qs(link.query_string)
    assert (asked["model"], asked["distillation.asked"]) == ([key], ["1"])
    app = open_app(PAGE, model=key, image="digits:3", distillation__view="voices", distillation__asked="1")
    reported = captions(app)
    assert re.search(r"agrees with its teacher on \S+ %, the twin without a teacher on \d", reported)


def test_a_teacher_without_mistakes_is_explained() -> None:
    """On digits the teacher makes no mistake; the caption explains the empty column."""
    right = np.array([0, 1, 2, 3])
    student = dict.fromkeys((sentences.CLS, sentences.DIST, sentences.MEAN, sentences.SUM), right[::-1])
    returned = sentences.describe_agreement({sentences.TEACHER: right, **student}, right)
    assert returned.endswith("no mistake can be repeated.")
    assert "repeated" not in sentences.describe_agreement({sentences.TEACHER: right[::-1], **student}, right)
