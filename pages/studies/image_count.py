"""Study fine-tuning with growing numbers of images."""

from collections.abc import Sequence

from pages.frame import page
from pages.studies.data_size import ask_lead
from pages.studies.study import Choice, Evidence, Study, View, create_curve_table
from vitviz.analysis.transfer import (
    LEVEL,
    describe_crossing,
    describe_deficit,
    describe_leads,
    group_method_curves,
)
from vitviz.data.datasets import DATASETS, data_title
from vitviz.experiments.result_file import Result, Row, read_result, read_result_if_any
from vitviz.experiments.transfer_plan import BODIES, LONGER, PLAN_OF, PLANS, Plan
from vitviz.plots.fine_tuning import image_count_figure
from vitviz.plots.theme import Mode

GUESS = "fine_tuning.grown_guess"


def list_backbones() -> dict[str, str]:
    """Return the backbones whose fine-tuning was measured, with their target dataset."""
    results = {name: stored for name in PLANS if (stored := read_result_if_any(name)) is not None}
    return {
        source: f"{BODIES[source]} → {data_title(PLANS[name].dataset)}"
        for name, stored in results.items()
        for source in PLANS[name].sources
        if stored.where(source=source)
    }


def build(mode: Mode, source: str) -> View:
    """Return test accuracy over images per class of one backbone."""
    plan = PLAN_OF[source]
    stored = read_result(plan.name)
    curves = group_method_curves(stored.rows, source, plan.methods)
    notes = (
        describe_crossing(curves, LONGER),
        LEVEL,
        describe_deficit(curves),
        describe_rates(plan, source),
    )
    return View(
        picture=image_count_figure(curves, plan.sizes, 1 / 10, mode),
        caption=f"{describe_leads(curves)} {describe_crossing(curves)}".strip(),
        prediction=ask_lead(GUESS, source, " per class, which method", curves),
        evidence=(create_evidence(stored, stored.where(source=source)),),
        notes=" ".join(filter(None, notes)),
        table=create_curve_table(curves, "images per class", f"{stored.name}.csv"),
    )


def create_evidence(stored: Result, rows: Sequence[Row]) -> Evidence:
    settings = stored.settings
    return Evidence(
        stored,
        rows,
        f"{DATASETS[settings['dataset']].title}, {settings['updates']:,} updates with batches of up to"
        f" {settings['batch_size']} images, {settings['test_pictures']:,} test images",
    )


def describe_rates(plan: Plan, source: str) -> str:
    """Return the learning rates of the backbone, of its head, and of the model from scratch."""
    method = plan.method_of(source)
    return (
        f"Learning rates: {method.learning_rate:g} for the pretrained backbone, {method.head_learning_rate:g} for its"
        f" new head, {method.scratch_learning_rate:g} from scratch; each is the best of several."
    )


STUDY = Study(
    "image_count",
    "Fine-tuning on few images",
    "How many images does training from scratch need to match fine-tuning?",
    4,
    tuple(PLANS),
    build=build,
    choices=(Choice("fine_tuning.body_of", "Backbone → target dataset", list_backbones),),
    keys=(GUESS,),
    math=page.read_math(__file__),
    code=(group_method_curves, describe_crossing),
)
