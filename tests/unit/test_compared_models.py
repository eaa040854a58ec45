"""Captions that compare several trained models carry a verdict, or stand here with the reason why not."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPARES = re.compile(
    r"\b(more|less|fewer|higher|highest|lower|lowest|better|best|worse|worst|most|least|largest|smallest|gains|loses"
    r"|exceeds|standard errors)\b",
    re.I,
)
LIMIT = re.compile(r"\b(at (most|least)|more than)\b|Best validation", re.I)  # of a number, or within one run
SEVERAL = re.compile(r"accurac|\bmodels\b|\bmembers\b|seeds|\btest\b", re.I)
VERDICT = re.compile(r"verdict|compare_|\bcompare\(|leaders|judge|near_best", re.I)

WITHOUT = {
    "captions.describe_front": "lists which listed numbers none exceeds in both; the figure draws their intervals",
    "tuning_race._draw_setup": "compares nothing: it shows the same question in larger type",
    "tuning_race._draw_question": "compares nothing: the question, whose answer is a verdict once both are trained",
}


def list_comparing_functions(source: str) -> list[str]:
    """Return the functions with comparing words and several models or accuracies, and no verdict."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        docstring = ast.get_docstring(node, clean=False) or ""
        texts = [
            part.value
            for part in ast.walk(node)
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value != docstring
        ]
        compares = any(COMPARES.search(LIMIT.sub("", text)) for text in texts if " " in text.strip())
        code = ast.unparse(node).replace(docstring, "")
        if compares and SEVERAL.search(code) and not VERDICT.search(code):
            found.append(node.name)
    return found


def test_every_comparison_of_models_has_a_verdict_or_a_reason() -> None:
    found = {
        f"{path.stem}.{name}"
        for path in (*ROOT.glob("pages/**/*.py"), *ROOT.glob("vitviz/analysis/*.py"))
        for name in list_comparing_functions(path.read_text("utf-8"))
    }
    assert found == {*WITHOUT}


def test_a_comparison_by_a_rule_of_its_own_is_found() -> None:
    """With a caption that claims a lead, and the same one with a verdict."""
    caption = 'def describe(accuracy):\n    {}return f"The ViT is {{accuracy}} better than the CNN."\n'
    assert list_comparing_functions(caption.format("")) == ["describe"]
    assert list_comparing_functions(caption.format("verdict = compare(accuracy)\n    ")) == []
    rule = 'def describe(models):\n    return f"{models} differ by two standard errors."\n'
    assert list_comparing_functions(rule) == ["describe"]
