"""Captions that compare several trained models carry a verdict, or stand here with the reason why not."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPARES = re.compile(
    r"\b(more|less|fewer|higher|highest|lower|lowest|better|best|worse|worst|most|least|largest|smallest)\b",
    re.I,
)
LIMIT = re.compile(r"\b(at (most|least)|more than)\b|Best validation", re.I)  # of a number, or within one run
SEVERAL = re.compile(r"accurac|\bmodels\b|\bmembers\b|seeds|\btest\b", re.I)
VERDICT = re.compile(r"verdict|compare_|\bcompare\(|find_leaders|judge", re.I)

WITHOUT = {
    "cka.describe_cka": "pairs of layers of two models, over the stated images",
    "colours.describe_colours": "layers of one model on the shown image",
    "layer_controls.choose_other": "help: names the default of a control",
    "linear_probes._describe_classes": "layers of one model; the standard error stands beside it",
    "linear_probes._ask_first_layer": "layers of one model; ties are all right",
    "perturbation.describe_perturbation": "confidences of models for the one image that is shown",
    "shift_equivariance._ask_model": "a question about the one image that is shown",
    "shift_equivariance.describe_shift": "feature maps of models for the one image that is shown",
    "robustness.ask": "the question; describe_losses gives its answer with a family of verdicts",
    "tuning_race._draw_setup": "the question; its answer is a verdict",
    "captions.describe_transfers": "cited from a paper, without seeds",
    "race._describe_no_positions": "the user's own race, one seed each: differences as measured, no verdict",
}


def list_comparing_functions() -> set[str]:
    """Return the functions with comparing words and several models or accuracies, and no verdict."""
    found = set()
    for path in (*ROOT.glob("pages/**/*.py"), *ROOT.glob("vitviz/analysis/*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
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
                found.add(f"{path.stem}.{node.name}")
    return found


def test_every_comparison_of_models_has_a_verdict_or_a_reason() -> None:
    assert list_comparing_functions() == {*WITHOUT}
