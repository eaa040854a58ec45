"""The public API: lazy imports, README's lines, docstring examples, views of all models, and live modules."""

from __future__ import annotations

import base64
import doctest
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest
import torch
from PIL import Image

import vitviz
from tests.files import encode
from vitviz.data.image_decoding import ImageError
from vitviz.models.pretrained_list import PretrainedError
from vitviz.view import View

ROOT = Path(__file__).parents[2]
(LINES,) = re.findall(
    r"```python\n(import vitviz\n.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
)


def draw_digit() -> np.ndarray:
    """An image of an eight, (64, 48) uint8."""
    row, col = np.mgrid[:64, :48]
    rings = [np.abs(np.hypot(row - centre, col - 24) - 9) < 3 for centre in (22, 40)]
    return np.where(rings[0] | rings[1], 255, 0).astype(np.uint8)


@pytest.fixture(scope="module")
def view() -> View:
    return vitviz.inspect("digits_vit", draw_digit())


def test_a_name_that_vitviz_lacks_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = vitviz.lode


def run_lines(names: dict[str, object]) -> None:
    exec(compile(LINES, "README.md", "exec"), names)


def test_the_lines_of_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Image.fromarray(draw_digit()).save("digit.png")
    names: dict[str, object] = {}
    run_lines(names)
    seen = names["view"]
    assert isinstance(seen, View) and len(seen.prediction) == 10
    with Image.open("maps.png") as sheet:
        assert sheet.width > 800
    assert Path("attention.html").stat().st_size < 2 * 2**20
    message = seen.explore().message
    assert message == seen.live_message() and len(message) > len(seen.explorer_message()) > 10_000
    large = vitviz.inspect("cifar10_vit", np.zeros((32, 32), np.uint8))
    assert large.explore().message == large.explorer_message()  # with its model it has more than 1 MB


@pytest.mark.slow
def test_the_lines_of_readme_run_in_a_notebook(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    Image.fromarray(draw_digit()).save(tmp_path / "digit.png")
    path = f"import sys; sys.path.insert(0, {str(ROOT)!r})"
    cells = [nbformat.v4.new_code_cell(text) for text in (path, *LINES.strip().split("\n\n"))]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    nbformat.validate(notebook)
    (shown,) = [output.data for output in notebook.cells[-1].outputs if "data" in output]
    with Image.open(io.BytesIO(base64.b64decode(shown["image/png"]))) as heads:
        assert heads.format == "PNG" and heads.width > 800
    page = unescape(shown["text/html"].partition('srcdoc="')[2].partition('"')[0])
    assert page.startswith("<!doctype html>") and "data-message" in page and "https://" not in page


@pytest.mark.parametrize("name", ["batch", "loading", "recorded_run", "recorder", "view", "timm_export"])
def test_the_examples_of_docstrings_run(name: str) -> None:
    result = doctest.testmod(import_module(f"vitviz.{name}"))
    assert result.attempted and not result.failed


def test_the_reference_shows_every_public_name_with_an_example() -> None:
    page = (ROOT / "docs" / "guide" / "api.md").read_text("utf-8")
    shown = re.findall(r"^::: vitviz\.(\w+)$", page, re.MULTILINE)
    callbacks = {
        "LightningRecorder",
        "TrainerRecorder",
    }  # made when their framework is there; in recording.md
    assert sorted(shown) == sorted(set(vitviz.__all__) - callbacks - {"__version__"})
    without = []
    for name in shown:
        thing = getattr(vitviz, name)
        members = [f"{name}.{member}" for member, value in vars(thing).items() if _is_public(member, value)]
        for path in [name, *members] if name in ("View", "Batch") else members or [name]:
            if ">>>" not in (attrgetter(path)(vitviz).__doc__ or ""):
                without.append(path)
    assert without == ["app"]  # it opens a browser


def _is_public(name: str, value: object) -> bool:
    is_member = isinstance(value, property | FunctionType)
    return is_member and not name.startswith("_") and not name.endswith("_message")


@pytest.mark.slow  # builds and installs a wheel
def test_a_wheel_runs_the_lines_without_a_checkout(tmp_path: Path) -> None:
    """The development packages are seen, so that nothing is downloaded."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 8 * 2**20
    site = tmp_path / "site"
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), str(wheel)], check=True)
    assert (site / "vitviz" / "py.typed").is_file() and not (site / "pages").exists()
    Image.fromarray(draw_digit()).save(tmp_path / "digit.png")
    ending = """
assert vitviz.__file__.startswith(sys.path[0]), vitviz.__file__
for call in (vitviz.app, lambda: vitviz.load("cifar10_vit")):
    try: call()
    except (RuntimeError, ValueError) as error: print(error)
"""
    code = f"import sys; sys.path.insert(0, {str(site)!r})\n{LINES}{ending}"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.strip().splitlines()
    assert "clone the repository" in first
    assert "shipped: digits_vit (a checkout of the repository has more)" in second
    assert (tmp_path / "maps.png").is_file() and (tmp_path / "attention.html").is_file()
    run = [str(site / "bin" / "vitviz"), "distance", "digit.png", "--json"]
    env = {"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin"}
    reported = subprocess.run(run, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert '"unit": "px"' in reported.stdout


def test_a_querys_weights_sum_to_one_with_those_on_prefix_tokens(view: View) -> None:
    rows = view._layers[-1].rows
    assert isinstance(rows, np.ndarray)
    assert view.attention(-1, 0, "cls").sum() + rows[0, 0, 0] == pytest.approx(1, abs=1e-5)
    mean = np.mean([view.attention(2, head) for head in range(4)], axis=0)
    assert view.attention(2, "mean") == pytest.approx(mean, abs=1e-7)


def test_without_arguments_attention_is_that_of_every_layer_and_head(view: View) -> None:
    weights = view.attention()
    assert weights.shape == (4, 4, 65, 65) and weights.dtype == np.float32
    assert weights.sum(axis=-1) == pytest.approx(1, abs=1e-5)
    query = 1 + 2 * 8 + 3
    for layer, head in ((0, 1), (-1, 3)):
        assert np.array_equal(
            weights[layer, head, query, 1:].reshape(8, 8), view.attention(layer, head, (2, 3))
        )
    assert np.array_equal(view.attention(query="cls"), view.attention(-1, "mean", "cls"))
    with pytest.raises(ValueError, match="needs global attention over the whole image"):
        vitviz.inspect("digits_swin", draw_digit()).attention()


def test_layers_heads_and_queries_count_from_the_end_too(view: View) -> None:
    for negative, positive in (((-1, -1, (-1, -2)), (3, 3, (7, 6))), ((-4, 0, -1), (0, 0, 64))):
        assert np.array_equal(view.attention(*negative), view.attention(*positive))
    assert np.array_equal(view.attention(1, 1, 1 + 8 * 2 + 3), view.attention(1, 1, (2, 3)))
    assert np.array_equal(view.tokens(-2), view.tokens(2))


WHOLE = "must be a whole number, received"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda view: view.attention(layer=4), r"ValueError: layer must lie in -4\.\.3, received 4"),
        (lambda view: view.attention(head=4), r"ValueError: head must lie in -4\.\.3, received 4"),
        (lambda view: view.attention(head="median"), "ValueError: fusion must be one of mean, max, min"),
        (lambda view: view.attention(query="dist"), r"ValueError: .*a prefix token \(cls\), received 'dist'"),
        (lambda view: view.attention(query=(8, 0)), r"ValueError: row must lie in -8\.\.7, received 8"),
        (lambda view: view.attention(query=(1, 2, 3)), r"ValueError: .*a patch is \(row, col\)"),
        (lambda view: view.relevance("ten"), "ValueError: .*one of 10 classes .*received 'ten'"),
        (lambda view: view.figure("map"), "ValueError: .*received 'map'"),
        (lambda view: view.save("maps.jpg"), "ValueError: .*ends in .png or .html, received maps.jpg"),
        (lambda view: view.save("maps.png", layers=[]), "ValueError: .*at least one layer"),
        (lambda view: view.attention(layer=1.0), f"TypeError: layer {WHOLE}"),
        (lambda view: view.attention(layer=True), f"TypeError: layer {WHOLE}"),
        (lambda view: view.attention(head=0.5), f"TypeError: head {WHOLE}"),
        (lambda view: view.attention(query=2.5), f"TypeError: query {WHOLE}"),
        (lambda view: view.attention(query=("a", 1)), f"TypeError: row {WHOLE}"),
        (lambda view: view.rollout(discard="a"), "TypeError: discard must be a number, received 'a'"),
        (lambda view: view.classes_above(None), "TypeError: threshold must be a number, received None"),
        (
            lambda view: view.save("maps.png", 1),
            "TypeError: layers must be a list of whole numbers, received 1",
        ),
        (lambda view: view.save(None), "TypeError: path must be a path, received NoneType"),
        (
            lambda view: vitviz.load(3),
            "TypeError: a model must be a name, a path or a torch module, received int",
        ),
    ],
)
def test_a_wrong_argument_is_named(view: View, call: Callable[[View], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call(view)
    assert re.match(message, f"{type(caught.value).__name__}: {caught.value}")


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (None, "TypeError: an image must be a path, a Pillow image or an array"),
        (io.BytesIO(), "TypeError: .*received BytesIO"),
        (np.arange(6.0).reshape(2, 3), r"ValueError: .*received float64 \(2, 3\) from 0 to 5"),
        ([[1], [1, 2]], "ValueError: .*a rectangle of numbers, received rows of different lengths"),
        (torch.zeros(4, 4, device="meta"), "ValueError: .*a dense tensor with values"),
        (torch.zeros(4, 4).to_sparse(), "ValueError: .*a dense tensor with values"),
    ],
)
def test_what_is_no_image_is_named(view: View, image: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        vitviz.inspect(view.model, image)  # type: ignore[call-overload]
    assert re.match(message, f"{type(caught.value).__name__}: {caught.value}")


def test_numbers_of_numpy_and_torch_are_indices_and_images(view: View) -> None:
    plain = view.attention(layer=1, head=2, query=(3, 4))
    numbers = view.attention(layer=np.int64(1), head=np.int32(2), query=(np.int64(3), np.int16(4)))
    assert np.array_equal(plain, numbers)
    assert np.array_equal(view.attention(query=5), view.attention(query=np.uint8(5)))
    assert np.array_equal(view.relevance(3), view.relevance(np.int64(3)))
    for patch in (np.array([3, 4]), torch.tensor([3, 4])):
        assert np.array_equal(view.attention(query=patch), view.attention(query=(3, 4)))
    assert vitviz.inspect(view.model, torch.ones(8, 8, dtype=torch.bfloat16)).image.min() == 255
    assert not vitviz.inspect(view.model, torch.zeros(40, 40, 3, requires_grad=True)).image.any()


def test_the_ending_of_a_file_may_have_capital_letters(view: View, tmp_path: Path) -> None:
    assert view.save(tmp_path / "maps.PNG").read_bytes()[1:4] == b"PNG"
    assert view.save(tmp_path / "maps.HTML").read_text().startswith("<!doctype html>")


def test_a_truncated_pillow_image_is_an_image_error(view: View) -> None:
    noise = encode(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8))
    with pytest.raises(ImageError, match="truncated or damaged"):
        vitviz.inspect(view.model, Image.open(io.BytesIO(noise[:2000])))


def test_relevance_takes_a_name_an_index_or_the_predicted_class(view: View) -> None:
    name = view.prediction[0][0]
    assert np.array_equal(view.relevance(), view.relevance(name))
    assert np.array_equal(view.relevance(3), view.relevance("3"))
    assert not np.array_equal(view.relevance(3), view.relevance(4))


def test_methods_take_a_first_layer_and_refuse_others(view: View) -> None:
    assert np.array_equal(view.explain("rollout"), view.rollout())
    assert np.array_equal(view.explain("gradient", "3"), view.relevance(3))
    for method in ("rollout", "gradient", "legrad", "attnlrp"):
        whole, later = view.explain(method), view.explain(method, from_layer=-1)
        assert whole.shape == (8, 8) and whole.min() >= 0 and not np.array_equal(whole, later)
    assert view.explain("legrad", 3).max() == 1
    for arguments, message in (
        (("cam",), "method must be one of raw, rollout, gradient, legrad, attnlrp, input"),
        (("legrad", None, 4), r"from_layer must lie in -4\.\.3"),
    ):
        with pytest.raises(ValueError, match=message):
            view.explain(*arguments)


@pytest.mark.parametrize("name", ["attention", "distances", "prediction", "rollout", "relevance", "attnlrp"])
def test_a_figure_holds_the_numbers(view: View, name: str) -> None:
    figure = view.figure(name)
    counts = {"attention": 4, "distances": 4}
    assert len(figure.data) == counts.get(name, 1)
    if name == "attention":
        assert figure.data[1].z == pytest.approx(view.attention(-1, 1), abs=1e-7)
    if name == "distances":
        assert figure.data[2].y == pytest.approx(view.distances()[:, 2])
    if name == "prediction":
        assert sum(figure.data[0].x) <= 100.01


def test_a_swin_has_attention_inside_windows_and_says_what_it_lacks() -> None:
    view = vitviz.inspect("cifar10_swin", np.zeros((40, 50, 3)))
    assert view.attention(0, 0, (0, 0)).shape == (16, 16) and view.attention(-1).shape == (8, 8)
    assert view.attention(0, 0, (0, 0)).sum() == pytest.approx(1, abs=1e-5)
    assert np.isnan(view.distances()[0, -1]) and view.tokens().shape == (64, 128)
    assert view.explain("input").shape == (16, 16)
    for call in (view.rollout, view.relevance, view.explain):
        with pytest.raises(ValueError, match="not defined for a Swin"):
            call()
    with pytest.raises(ValueError, match="no attention between patches"):
        vitviz.inspect("cifar10_cnn", np.zeros((40, 50, 3))).attention()


def test_images_of_every_kind_are_read(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (30, 40, 3), dtype=np.uint8)
    turned = Image.fromarray(pixels)
    turned.getexif()[0x0112] = 6  # a quarter turn
    turned.save(tmp_path / "a.png", exif=turned.getexif())
    upright = np.rot90(pixels, -1)
    model = vitviz.load("cifar10_vit")
    with Image.open(tmp_path / "a.png") as opened:
        for image in (tmp_path / "a.png", str(tmp_path / "a.png"), opened, upright / 255):
            assert np.array_equal(vitviz.inspect(model, image).image, upright)
    with pytest.raises(ValueError, match=r"received int64 \(2, 2, 4\)"):
        vitviz.inspect(model, np.full((2, 2, 4), 300))


def test_labels_and_settings_are_used_or_refused() -> None:
    assert vitviz.load("digits_vit", labels=list("abcdefghij")).classes[3] == "d"
    with pytest.raises(PretrainedError, match="expected 10 labels, one per class, received 2"):
        vitviz.load("digits_vit", labels=["odd", "even"])
    for settings, message in (
        ({"num_head": 3}, "no setting 'num_head'; known are: num_heads, img_size"),
        ({"architecture": "vit_tiny_patch16_224"}, "the file of this model states architecture"),
        ({"labels": "abcdefghij"}, "labels must be a sequence of class names, received 'abcdefghij'"),
        ({"labels": 10}, "labels must be a sequence of class names, received 10"),
    ):
        with pytest.raises(TypeError, match=message):
            vitviz.load("digits_vit", **settings)


@pytest.mark.parametrize("name", ["digits_vit", "digits_swin", "digits_cnn"])
def test_the_settings_of_the_caller_win_over_an_own_checkpoint(name: str) -> None:
    plain, image = vitviz.load(name), np.zeros((40, 60), np.uint8)
    given = {"mean": (0.25,), "std": (0.5,), "interpolation": "nearest", "crop_pct": 0.5}
    opened = vitviz.load(name, **given)
    preparation = opened.preparation
    chans = plain.config.in_chans
    assert (preparation.mean, preparation.std) == ((0.25,) * chans, (0.5,) * chans)
    assert (preparation.interpolation, preparation.crop_fraction) == ("nearest", 0.5)
    assert opened.digest != plain.digest and vitviz.load(plain, **given).preparation == preparation
    assert vitviz.inspect(opened, image).prediction != vitviz.inspect(plain, image).prediction
    if name == "digits_vit":
        other = vitviz.load(name, num_heads=2, act_layer="relu", global_pool="avg", img_size=48)
        config = other.vit.config
        assert (config.num_heads, config.activation, config.readout) == (2, "relu", "mean")
        assert config.image_size == other.preparation.image_size == 48
        assert vitviz.inspect(other, image).attention(query=(0, 0)).shape == config.grid
        assert "resized to images of 48 px" in " ".join(other.notes)
    else:
        with pytest.raises(TypeError, match="num_heads"):
            vitviz.load(name, num_heads=5)


def test_a_name_that_is_nothing_is_reported() -> None:
    for name, message in (("my_vit", "shipped: .*digits_vit"), ("./folder/", "no file or folder")):
        with pytest.raises(PretrainedError, match=message):
            vitviz.load(name)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "I;16", "P"])
def test_a_pillow_image_is_read_like_its_file(mode: str, tmp_path: Path) -> None:
    grey = Image.fromarray(draw_digit() // 2)
    if mode == "I;16":
        image = Image.fromarray(draw_digit().astype(np.uint16) * 200)
    else:
        image = Image.merge("LA", (grey, grey.point(lambda level: 255 * (level > 0))))
        image = image.convert("RGBA").quantize(8) if mode == "P" else image.convert(mode)
    image.save(tmp_path / "digit.png")
    with Image.open(tmp_path / "digit.png") as opened:
        assert opened.mode == mode
        pixels = vitviz.inspect("digits_vit", opened).image
    assert np.array_equal(pixels, vitviz.inspect("digits_vit", tmp_path / "digit.png").image)


def test_a_view_and_its_model_are_printed_in_a_line(view: View) -> None:
    assert repr(view.model).startswith("LoadedModel('") and repr(view.model).endswith(", 10 classes)")
    assert repr(view) == f"View({view.model!r}, image of 48 × 64 px)"


def test_a_zipped_folder_opens_like_the_folder(tmp_path: Path) -> None:
    vitviz.export("digits_vit", tmp_path / "digits")
    file = shutil.make_archive(str(tmp_path / "digits"), "zip", tmp_path / "digits")
    predictions = [vitviz.inspect(source, draw_digit()).prediction for source in (file, tmp_path / "digits")]
    assert predictions[0] == predictions[1]
