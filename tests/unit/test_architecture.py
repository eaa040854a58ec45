"""The house keeps its shape: imports point one way, and nothing unsafe slips in."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = sorted((ROOT / "vitviz").rglob("*.py"))
PYTHON = ("vitviz", "pages", "tests", "benchmarks")
SOURCES = [*CORE, *sorted((ROOT / "pages").rglob("*.py")), ROOT / "app.py"]


RELATIVE = "a relative name"  # which would hide where an import points to
BY_NAME = re.compile(r"(?:pages|vitviz)(?:\.\w+)+")


def imported(path: Path) -> frozenset[str]:
    """Every module that a file imports, at any depth of nesting."""
    return _imported(path.read_text())


@cache
def parsed(source: str) -> tuple[ast.AST, ...]:
    """Every node of a file's syntax tree."""
    return tuple(ast.walk(ast.parse(source)))


@cache
def _imported(source: str) -> frozenset[str]:
    names: set[str] = set()
    for node in parsed(source):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(RELATIVE)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and BY_NAME.fullmatch(node.value):
            names.add(node.value)  # what `import_module` is given
    return frozenset(names)


def roots(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path)}


def modules(root: Path) -> dict[str, Path]:
    """The project's modules by dotted name: 'pages.controls.query_params', 'vitviz.data' for a package."""
    files = [*(root / "vitviz").rglob("*.py"), *(root / "pages").rglob("*.py"), root / "app.py"]
    named = {".".join(path.relative_to(root).with_suffix("").parts): path for path in files}
    return {name.removesuffix(".__init__"): path for name, path in sorted(named.items())}


def graph(root: Path) -> dict[str, set[str]]:
    """Which of the project's modules each imports; `TYPE_CHECKING` and imports inside functions count.

    `from vitviz import text` is an import of `vitviz.text`: the face `vitviz` loads its names when they are used.
    """
    files = modules(root)
    return {name: {*imported(path)} & files.keys() - {name, "vitviz"} for name, path in files.items()}


def home(name: str) -> tuple[str, str]:
    """(kind, place) of a module: a lens is its folder, such as ('lens', 'pages.lenses.block')."""
    if name.split(".")[0] != "pages":
        return name.split(".")[0], ""
    part = name.split(".")[1]
    if part in ROOMS or part in ("stores", "views"):
        return part, ""
    return "lens", name.rpartition(".")[0]


ROOMS = ("classroom", "lessons", "questions", "frame", "selection", "controls", "streamlit_fixes")  # in order
BELOW = {"stores", "views", "vitviz"}
MAY_IMPORT = {
    "app": {*ROOMS, "stores"},
    "lens": {*ROOMS, *BELOW},  # and its own folder
    **{room: {*ROOMS[place:], *BELOW} for place, room in enumerate(ROOMS)},  # itself and the rooms after it
    "streamlit_fixes": {"streamlit_fixes", "stores", "vitviz"},
    "stores": {"stores", "vitviz"},
    "views": {"views", "streamlit_fixes", "vitviz"},  # of vitviz its plots alone
    "vitviz": {"vitviz"},
}
WITH_STREAMLIT = {"pages.stores.shared_cache", "pages.stores.session"}  # among stores
VIEWS_KNOW = ("vitviz.plots", "vitviz.pin", "vitviz.text")

# What is being moved out; the list gets shorter and is empty at the end.
OPEN: tuple[str, ...] = ()


def breaches(root: Path) -> list[str]:
    """Every import that the rules forbid and every circle, each as one line."""
    found = []
    files, imports = modules(root), graph(root)
    for name, targets in imports.items():
        kind, place = home(name)
        for target in sorted(targets):
            other, its_place = home(target)
            if other not in MAY_IMPORT[kind] and (other, its_place) != (kind, place):
                found.append(f"{name} imports {target}")
            elif kind == "views" and other == "vitviz" and not target.startswith(VIEWS_KNOW):
                found.append(f"{name} imports {target}")
        known = roots(files[name])
        if RELATIVE in known:
            found.append(f"{name} imports {RELATIVE}")
        if kind == "vitviz" and known & {"streamlit", "pages", "app"}:
            found.append(f"{name} imports streamlit")
        if kind == "stores" and "streamlit" in known and name not in WITH_STREAMLIT:
            found.append(f"{name} imports streamlit")
    return found + circles(imports)


def circles(imports: dict[str, set[str]]) -> list[str]:
    """'circle: a, b' for every set of modules that all reach one another (Tarjan 1972)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[str] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for target in sorted(imports[name]):
            if target not in order:
                visit(target)
            if target in stack:
                low[name] = min(low[name], low[target])
        if low[name] == order[name]:
            group = [stack.pop()]
            while group[-1] != name:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(f"circle: {', '.join(sorted(group))}")

    for name in imports:
        if name not in order:
            visit(name)
    return found


def test_imports_point_one_way() -> None:
    found = now()
    assert [breach for breach in found if breach not in OPEN] == []
    assert [breach for breach in OPEN if breach not in found] == [], "solved: take them out of OPEN"


LATER = "\n\ndef later() -> None:\n    import {}  # noqa\n"


@pytest.mark.parametrize(
    ("file", "line", "breach"),
    [
        (
            "pages/lenses/block/page.py",
            "from pages.lenses.patches import shuffled_patches",
            "pages.lenses.patches.shuffled_patches",
        ),
        (
            "pages/lenses/block/page.py",
            LATER.format("pages.lenses.swin.stepper"),
            "pages.lenses.swin.stepper",
        ),
        ("pages/lenses/block/page.py", "from ..patches import puzzle", "a relative name"),
        ("pages/lenses/block/page.py", "from . import norms", "a relative name"),
        ("pages/frame/warm_up.py", '_MORE = ("pages.lenses.block.page",)', "pages.lenses.block.page"),
        ("pages/controls/query_params.py", "import pages.lenses.block.page", "pages.lenses.block.page"),
        ("pages/frame/foot.py", "from pages.questions import prediction", "pages.questions.prediction"),
        ("pages/selection/sidebar.py", LATER.format("pages.frame.page"), "pages.frame.page"),
        (
            "pages/stores/background_jobs.py",
            "from pages.controls import query_params",
            "pages.controls.query_params",
        ),
        ("pages/stores/background_jobs.py", LATER.format("pages.views.figures"), "pages.views.figures"),
        ("pages/stores/background_jobs.py", "import streamlit as st", "streamlit"),
        (
            "pages/views/figures.py",
            "from pages.stores import background_jobs",
            "pages.stores.background_jobs",
        ),
        ("pages/views/figures.py", "from vitviz.models import zoo", "vitviz.models.zoo"),
        ("vitviz/config.py", LATER.format("streamlit"), "streamlit"),
        ("vitviz/config.py", "from pages.controls import query_params", "pages.controls.query_params"),
    ],
)
def test_the_rules_see_a_forbidden_import(copy: Path, file: str, line: str, breach: str) -> None:
    name = ".".join(Path(file).with_suffix("").parts)
    assert f"{name} imports {breach}" in breaches_with(copy, file, line)


def test_the_rules_see_a_circle_that_closes_inside_a_function(copy: Path) -> None:
    line = LATER.format("vitviz.analysis.block")  # which imports words
    (circle,) = breaches_with(copy, "vitviz/text.py", line)
    assert circle.startswith("circle: ") and "vitviz.text" in circle and "vitviz.analysis.block" in circle


def breaches_with(copy: Path, file: str, line: str) -> set[str]:
    """What this line at the end of a file breaks; the file is as it was afterwards."""
    before = (copy / file).read_text()
    (copy / file).write_text(f"{before}\n{line}\n")
    found = set(breaches(copy)) - {*now()}
    (copy / file).write_text(before)
    return found


@cache
def now() -> tuple[str, ...]:
    """What is broken already."""
    return tuple(breaches(ROOT))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources alone, to be spoilt."""
    root = tmp_path_factory.mktemp("sources")
    for path in SOURCES:
        target = root / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    return root


@pytest.mark.parametrize("folder", ["analysis", "plots"])
def test_analysis_and_plots_know_arrays_only(folder: str) -> None:
    for path in (ROOT / "vitviz" / folder).rglob("*.py"):
        assert "torch" not in roots(path), path
        assert not any(name.startswith("vitviz.models.vit") for name in imported(path)), path


def test_analysis_and_plots_run_without_torch() -> None:
    """Whatever it is that they import."""
    names = [name for name in modules(ROOT) if name.startswith(("vitviz.analysis", "vitviz.plots"))]
    assert len(names) > 50
    code = f"import importlib, sys; [*map(importlib.import_module, {names})]; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"torch", "streamlit"} & set(done.stdout.split())


def test_plots_do_not_compute_and_analysis_does_not_draw() -> None:
    for path in (ROOT / "vitviz" / "analysis").rglob("*.py"):
        assert not any(name.startswith(("plotly", "vitviz.plots")) for name in imported(path)), path


def calls(path: Path) -> set[str]:
    return {ast.unparse(node.func) for node in parsed(path.read_text()) if isinstance(node, ast.Call)}


def test_no_pickle_no_hooks_no_foreign_scripts() -> None:
    forbidden = ("torch.load", "register_full_backward_hook", "register_forward_hook", "components.v1")
    found = {path: [call for call in calls(path) if call.endswith(forbidden)] for path in SOURCES}
    hooked = found.pop(ROOT / "vitviz/models/formats/module_check.py")  # on a copy of a foreign module
    assert all(call.endswith("register_forward_hook") for call in hooked)
    assert {path: used for path, used in found.items() if used} == {}
    assert [path for path in SOURCES if roots(path) & {"pickle", "dill", "joblib"}] == []


JS_IMPORT = re.compile(r"^import\s+\{([^}]*)\}\s+from\s+'([^']+)'", re.MULTILINE)
JS_EXPORT = re.compile(r"^export\s+(?:async\s+)?(?:function\*?|const|let|class)\s+(\w+)", re.MULTILINE)


def test_what_a_view_imports_is_exported() -> None:
    """A browser that does not find one name of one file draws nothing of the view."""
    files = [file for folder in ("pages", "vitviz") for file in (ROOT / folder).rglob("*.js")]
    texts = {file.resolve(): file.read_text("utf-8") for file in files}
    exported = {file: set(JS_EXPORT.findall(text)) for file, text in texts.items()}
    for file, text in texts.items():
        for names, where in JS_IMPORT.findall(text):
            wanted = {name.partition(" as ")[0].strip() for name in names.split(",")} - {""}
            assert wanted <= exported[(file.parent / where).resolve()], f"{file} imports from {where}"


DATASETS = (
    "from vitviz.data.datasets import load_dataset; from vitviz.data.samples import load_sample;"
    "load_dataset('digits'); load_dataset('shapes'); load_sample('cat')"
)
FIRST_PAINT = (
    "from streamlit.testing.v1 import AppTest;"
    "assert not AppTest.from_file('app.py', default_timeout=300).run().exception"
)


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import vitviz; dir(vitviz)", "torch numpy PIL plotly"),
        ("import vitviz.config", "torch plotly pandas"),
        ("import vitviz.models.abilities", "torch plotly pandas"),
        ("from vitviz.models.published_weights import list_weights; list_weights()", "torch"),
        ("from pages.studies.study import list_studies; list_studies()", "torch"),
        (DATASETS, "torch torchvision sklearn skimage scipy streamlit"),
        (FIRST_PAINT, "torch sklearn skimage timm"),
    ],
)
def test_what_needs_nothing_heavy_loads_nothing_heavy(code: str, heavy: str) -> None:
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    loaded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert "sys" in loaded and not set(heavy.split()) & set(loaded)


LONG_FILES: set[str] = set()  # lists of facts
LINES = 600
LONG_FUNCTIONS = {  # one thought each, and why
    "vitviz/analysis/block.py:_attention_steps": "a list: the four steps of one head, word by word, in order",
}
FUNCTION_LINES = 45


def long_functions(path: Path) -> set[str]:
    """'file:name' of the functions over 45 lines from their `def` to their end, the docstring not counted."""
    name = path.relative_to(ROOT).as_posix()
    functions = (node for node in parsed(path.read_text()) if isinstance(node, ast.FunctionDef))
    return {f"{name}:{node.name}" for node in functions if body_lines(node) > FUNCTION_LINES}


def body_lines(node: ast.FunctionDef) -> int:
    """Lines of a function without its docstring."""
    first, reported = node.body[0], 0
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        reported = (first.end_lineno or 0) - first.lineno + 1
    return (node.end_lineno or 0) - node.lineno + 1 - reported


def test_no_file_is_longer_than_a_reader_holds() -> None:
    files = (path for folder in PYTHON for path in sorted((ROOT / folder).rglob("*.py")))
    long = {path.relative_to(ROOT).as_posix() for path in files if len(path.read_text().splitlines()) > LINES}
    assert sorted(long - LONG_FILES) == []


def test_a_long_function_is_one_thought_and_says_why() -> None:
    long = set().union(*map(long_functions, SOURCES))
    assert sorted(long - LONG_FUNCTIONS.keys()) == []


def test_a_docstring_makes_no_function_long() -> None:
    lines = ["def f():", '    """A', *["    line"] * 50, '    """', *["    x = 1"] * 39]
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef) and body_lines(function) == 40


MOST_BY_PLACE = 6  # values of a call: more have names
FACTS = {f"vitviz/{name}.py" for name in ("models/pretrained_list", "plots/theme")}


def takes_any_number(sources: Iterable[str]) -> set[str]:
    """Names of functions with `*args`."""
    functions = (node for source in sources for node in parsed(source) if isinstance(node, ast.FunctionDef))
    return {node.name for node in functions if node.args.vararg}


def long_calls(source: str, allowed: set[str]) -> list[str]:
    """'line: function' of the calls with many values and no names."""
    calls = [node for node in parsed(source) if isinstance(node, ast.Call)]
    return [
        f"{node.lineno}: {ast.unparse(node.func)}"
        for node in calls
        if len(node.args) > MOST_BY_PLACE and ast.unparse(node.func).rpartition(".")[2] not in allowed
    ]


def test_many_values_have_names() -> None:
    sources = {path.relative_to(ROOT).as_posix(): path.read_text() for path in SOURCES}
    allowed = takes_any_number(sources.values())
    found = {name: long_calls(source, allowed) for name, source in sources.items() if name not in FACTS}
    assert {name: calls for name, calls in found.items() if calls} == {}


def test_a_long_call_is_seen() -> None:
    source = "def many(*x): ...\n\n\nmany(1, 2, 3, 4, 5, 6, 7)\nnp.few(1, 2, 3, 4, 5, 6, 7)"
    assert long_calls(source, takes_any_number([source])) == ["5: np.few"]


SESSION_KEY = re.compile(r"[a-z_]+\._[a-z_]+")  # 'page._name': of a page alone, in no link


def test_a_key_of_the_session_is_spelt_in_one_file() -> None:
    homes: dict[str, set[str]] = {}
    for path in SOURCES:
        for node in parsed(path.read_text()):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if SESSION_KEY.fullmatch(node.value):
                    homes.setdefault(node.value, set()).add(path.name)
    assert len(homes) > 40 and {key: files for key, files in homes.items() if len(files) > 1} == {}


CACHES = {"cache_resource", "cache_data", "experimental_singleton", "experimental_memo"}
LEFT_BY_A_VISIT = (
    "pages/stores/session.py"  # asks for one entry a session, whose end says that the session has left
)


def caches_of_streamlit(source: str) -> list[str]:
    """'line: what' of every use of Streamlit's caches, which any websocket could empty and which may drop anything."""
    named = [
        (getattr(node, "lineno", 0), name)
        for node in parsed(source)
        for name in (
            getattr(node, "attr", None),
            getattr(node, "id", None),
            getattr(node, "value", None) if isinstance(node, ast.Constant) else None,
            *([alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []),
            node.module if isinstance(node, ast.ImportFrom) else None,
        )
        if isinstance(name, str) and (name in CACHES or "streamlit.runtime.caching" in name)
    ]
    return [f"{line}: {name}" for line, name in sorted(set(named))]


def test_nothing_that_lives_as_long_as_the_server_is_in_a_cache_of_streamlits() -> None:
    found = {path.relative_to(ROOT).as_posix(): caches_of_streamlit(path.read_text()) for path in SOURCES}
    used = {name: lines for name, lines in found.items() if lines}
    assert used.keys() == {LEFT_BY_A_VISIT} and len(used[LEFT_BY_A_VISIT]) == 1
    (call,) = (
        node
        for node in parsed((ROOT / LEFT_BY_A_VISIT).read_text())
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "st.cache_resource"
    )
    assert ("scope", "session") in [
        (given.arg, getattr(given.value, "value", None)) for given in call.keywords
    ]


@pytest.mark.parametrize(
    "line",
    [
        "import streamlit as st\n\n\n@st.cache_resource\ndef executor(): ...",
        "import streamlit as st\n\n\n@st.cache_data(ttl=60)\ndef found(): ...",
        "from streamlit import cache_resource as kept",
        "from streamlit.runtime.caching import cache_data_api",
        "import streamlit.runtime.caching as caching",
        "kept = getattr(st, 'cache_data')",
    ],
)
def test_a_cache_of_streamlits_is_seen(line: str) -> None:
    assert caches_of_streamlit(line)
