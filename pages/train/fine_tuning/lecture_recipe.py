"""Draw the lecture's fine-tuning recipe: the parts of its model, and the learning rates of head and backbone."""

import numpy as np

from pages.frame import page
from pages.selection import selection
from pages.stores import published_weights, shared_cache
from pages.train.fine_tuning import kept_parameters
from pages.views.figures import draw_chart
from vitviz.data.cifar10_few import NAME as CIFAR_10
from vitviz.models.backbone_transfer import fitted, pieces
from vitviz.models.pretrained_list import PRETRAINED
from vitviz.plots import fine_tuning as plots
from vitviz.training import lesson_recipe

ARCHITECTURE = "vit_small_patch16_224.augreg_in1k"
MOST_EXAMPLES = 6
COMMAND = "python -m vitviz.fine_tune vit_small_patch16_224 --out checkpoints/small.safetensors"


def draw() -> None:
    dataset = shared_cache.load_dataset(CIFAR_10)
    classes, first = np.unique(dataset.labels_of("test"), return_index=True)
    source = PRETRAINED[ARCHITECTURE].config
    parts = kept_parameters.group_parts(pieces(source, fitted(source, len(classes))))
    examples = f"CIFAR-10, 32 to {lesson_recipe.SIDE_PX} px", dataset.test_images[first[:MOST_EXAMPLES]]
    kept_parameters.draw_plan_view(plots.plan(parts, None, None, False, examples), key="fine_tuning.recipe")
    rates = lesson_recipe.HEAD_RATE, lesson_recipe.BACKBONE_RATE, lesson_recipe.EPOCHS
    draw_chart(plots.recipe_figure(*rates, selection.get_theme()), "fine_tuning.rates")
    page.caption(
        f"The new head's learning rate is {lesson_recipe.HEAD_RATE / lesson_recipe.BACKBONE_RATE:.0f} times that of the"
        f" pretrained backbone; both fall along a cosine over {lesson_recipe.EPOCHS} epochs."
        f" The model is `vit_small_patch16_224`, pretrained on ImageNet; AdamW with weight decay {lesson_recipe.DECAY},"
        f" batches of {lesson_recipe.BATCH}; images are shifted by up to {lesson_recipe.PADDING_PX} px and flipped with"
        f" probability 0.5. `{COMMAND}` runs this recipe if the weights can be downloaded. Ten epochs of 50,000 images"
        " would take days on two cores (estimated, not measured); the code is tested on sixty images with random"
        " weights."
    )
    titles = [entry.title for entry in published_weights.list_downloaded()]
    page.caption(
        f"Downloaded published models: {', '.join(titles) or 'none'} ({len(titles)} of {len(PRETRAINED)} supported"
        " ones)."
    )
    selection.link_to("which_model", "List of published models")
    code = lesson_recipe.replace_head, lesson_recipe.parameter_groups, lesson_recipe.fine_tune
    page.drawers("fine_tuning.recipe", code=code)
