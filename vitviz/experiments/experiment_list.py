"""The experiments that have a name."""

from collections.abc import Callable
from functools import partial

from vitviz.experiments import (
    bugs,
    conv_attention,
    data_size,
    data_size_training,
    distillation,
    faces,
    gradients,
    lecture_results,
    lecture_training,
    one_change,
    position_errors,
    robustness,
    transfer,
    transfer_plan,
    tuning_methods,
)
from vitviz.experiments.experiment import Experiment

EXPERIMENTS: dict[str, Callable[[], Experiment]] = {
    f"data_size_{dataset}": partial(data_size_training.experiment, dataset) for dataset in data_size.GRIDS
}
EXPERIMENTS["early_stopping_cifar10"] = data_size_training.early_stopping
EXPERIMENTS["patch_size_cifar10"] = data_size_training.patch_sizes
EXPERIMENTS[lecture_results.NAME] = lecture_training.lecture_experiment
EXPERIMENTS[position_errors.NAME] = lecture_training.position_experiment
EXPERIMENTS[conv_attention.NAME] = conv_attention.experiment
EXPERIMENTS[robustness.NAME] = robustness.experiment
EXPERIMENTS |= {
    f"teaching_{dataset}": partial(distillation.experiment, dataset) for dataset in distillation.SIZES
}
EXPERIMENTS[faces.NAME] = faces.experiment
EXPERIMENTS[gradients.NAME] = gradients.experiment
EXPERIMENTS["one_knob_digits"] = partial(one_change.one_knob, "digits")
EXPERIMENTS |= {f"one_slip_{dataset}": partial(one_change.one_slip, dataset) for dataset in bugs.SEEDS}
EXPERIMENTS |= {name: partial(transfer.experiment, plan) for name, plan in transfer_plan.PLANS.items()}
EXPERIMENTS[tuning_methods.NAME] = tuning_methods.experiment
