"""All trainable numbers of a model in one fp32 vector for the optimiser, and a working copy that computes.

A bf16 working copy saves autocast's casts at every operation, and one long vector makes the update a single
fused loop: together about half of a small model's step on a CPU.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

import torch
from torch import Tensor, nn

from vitviz.training.fast_attention import use_fast_attention

_UNDECAYED = ("pos_embed", "cls_token", "dist_token", "reg_token", "relative_position_bias")


def decays(name: str, parameter: Tensor) -> bool:
    """Return True if weight decay applies: not to norms, biases, positions or tokens."""
    return parameter.ndim > 1 and not any(part in name for part in _UNDECAYED)


def _statistics(model: nn.Module) -> dict[str, Tensor]:
    """Return the batch norms' running means and variances, by name."""
    return {
        f"{name}.{key}": buffer
        for name, module in model.named_modules()
        if isinstance(module, nn.BatchNorm2d)
        for key, buffer in module.named_buffers(recurse=False)
    }


def _copied(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def _is_frozen(module: nn.Module) -> bool:
    parameters = list(module.parameters())
    return bool(parameters) and not any(parameter.requires_grad for parameter in parameters)


class Weights:
    """A model whose parameters are views of one working vector, with an fp32 master of it.

    Args:
        model: fp32; becomes the working copy, in place.
        frozen: prefixes of parameter names that no optimiser touches.
        dtype: of the working copy; batch norms stay fp32, their statistics need it.
        ema_decay: None, or the decay of an average of master and statistics.
        resting: modules of which nothing is trained stay in evaluation mode: a body that only gives features keeps
            its batch norms' statistics, and drops nothing.
    """

    def __init__(
        self,
        model: nn.Module,
        frozen: tuple[str, ...],
        dtype: torch.dtype,
        ema_decay: float | None,
        resting: bool = False,
    ) -> None:
        self.model = model
        self.dtype = dtype
        self._ema_decay = ema_decay
        self._constants = _copied(model.state_dict())
        named = [(n, p) for n, p in model.named_parameters() if not n.startswith(frozen or ("\0",))]
        if not named:
            raise ValueError(f"nothing is left to train when {', '.join(frozen)} is frozen")
        named.sort(key=lambda entry: not decays(*entry))  # stable: first those that decay
        self._names = [name for name, _ in named]
        self._params = [parameter for _, parameter in named]
        self._decaying = sum(decays(*entry) for entry in named)
        decayed = sum(p.numel() for n, p in named if decays(n, p))
        self.master = torch.cat([p.detach().reshape(-1) for p in self._params])  # fp32
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name in self._names)
        self._resting = [m for m in model.modules() if resting and _is_frozen(m)]
        self._to_working_precision()
        self.gradient = torch.zeros_like(self.master)
        self.groups = self.master.tensor_split([decayed])
        for part, grad in zip(self.groups, self.gradient.tensor_split([decayed]), strict=True):
            part.grad = grad
        self._statistics = _statistics(model)
        averaged = ema_decay is not None
        self.average: Tensor | None = self.master.clone() if averaged else None
        self.average_statistics: dict[str, Tensor] = _copied(self._statistics) if averaged else {}
        self._train()

    def _train(self) -> None:
        """Training mode, but for what rests."""
        self.model.train()
        for module in self._resting:
            module.eval()

    def _to_working_precision(self) -> None:
        if self.dtype == torch.float32:
            self._working = self.master
            self._slices = self._split(self.master)
        else:
            self.model.to(self.dtype)
            if self.master.device.type == "cpu":
                use_fast_attention(self.model)
            for module in self.model.modules():
                if isinstance(module, nn.BatchNorm2d):
                    module.float()
            self._working = self.master.to(self.dtype)
            self._slices = self._split(self._working)
        for parameter, values in zip(self._params, self._slices, strict=True):
            if parameter.dtype == self.dtype:
                parameter.data = values.view(parameter.shape)
        self._odd = [  # batch norms' weights, which stay fp32 beside a bf16 working vector
            (parameter, values)
            for parameter, values in zip(self._params, self._split(self.master), strict=True)
            if parameter.dtype != self.dtype
        ]
        for parameter, values in self._odd:
            parameter.data = values.view(parameter.shape)

    def averages_batches(self) -> bool:
        """Return True if a batch norm is trained, which a part of a batch would tell something else than the whole."""
        return any(isinstance(m, nn.BatchNorm2d) and m.training for m in self.model.modules())

    def decayed_places(self) -> list[tuple[str, Tensor]]:
        """Each weight that decays: its name and its place in the master, with its gradient's place as `.grad`."""
        places = []
        for name, parameter, place, grad in zip(
            self._names, self._params, self._split(self.master), self._split(self.gradient), strict=True
        ):
            if decays(name, parameter):
                view = place.view(parameter.shape)
                view.grad = grad.view(parameter.shape)
                places.append((name, view))
        return places

    def segments(self, scale: Callable[[str], float]) -> list[tuple[Tensor, bool, float]]:
        """Return (place in the master with its gradient's as `.grad`, whether it decays, its scale), neighbours joined.

        Args:
            scale: of a parameter's learning rate, by its name.
        """
        kinds = [(i < self._decaying, scale(name)) for i, name in enumerate(self._names)]
        joined, at, parameters = [], 0, iter(self._params)
        for (decaying, factor), alike in groupby(kinds):
            end = at + sum(next(parameters).numel() for _ in alike)
            place = self.master[at:end]
            place.grad = self.gradient[at:end]
            joined.append((place, decaying, factor))
            at = end
        return joined

    def _split(self, vector: Tensor) -> list[Tensor]:
        """Return views of a vector, one per parameter."""
        return list(torch.split(vector, [p.numel() for p in self._params]))

    def gradient_of(self, loss: Tensor) -> Tensor:
        """d loss / d parameters, flat and in the working precision; several threads may ask at once."""
        gradients = torch.autograd.grad(loss, self._params, allow_unused=True)
        parts = zip(self._params, gradients, strict=True)
        return torch.cat([(torch.zeros_like(p) if grad is None else grad).reshape(-1) for p, grad in parts])

    def collect_gradient(self, parts: Sequence[Tensor]) -> float:
        """Add up in the fp32 vector what `gradient_of` gave, in this order; returns its L2 norm."""
        self.gradient.copy_(parts[0])
        for part in parts[1:]:
            self.gradient.add_(part)
        return float(self.gradient.norm())

    def publish(self, update: int = 0) -> None:
        """After an update of the master: renew the working copy and the average.

        The average forgets its start: its decay is at most (1 + update) / (10 + update).
        """
        if self._working is not self.master:
            self._working.copy_(self.master)
        if self.average is not None and self._ema_decay is not None:
            share = 1.0 - min(self._ema_decay, (1 + update) / (10 + update))
            self.average.lerp_(self.master, share)
            for name, tensor in self._statistics.items():
                if tensor.is_floating_point():
                    self.average_statistics[name].lerp_(tensor, share)
                else:
                    self.average_statistics[name].copy_(tensor)

    @contextmanager
    def use_for_evaluation(self) -> Iterator[nn.Module]:
        """Provide the working copy in evaluation mode, with averaged weights if there are any."""
        self.model.eval()
        live = self.master.clone() if self.average is not None else None
        live_statistics = _copied(self._statistics)
        try:
            if self.average is not None:
                self._swap(self.average, self.average_statistics)
            yield self.model
        finally:
            if live is not None:
                self._swap(live, live_statistics)
            self._train()

    def _swap(self, master: Tensor, statistics: dict[str, Tensor]) -> None:
        self.master.copy_(master)
        if self._working is not self.master:
            self._working.copy_(self.master)
        for name, tensor in statistics.items():
            self._statistics[name].copy_(tensor)

    def state(self, averaged: bool = True) -> dict[str, Tensor]:
        """Return a copy of the model's state dict, fp32 on the CPU, averaged if the config says so."""
        use_average = averaged and self.average is not None
        vector = self.average if use_average and self.average is not None else self.master
        state = {name: tensor.to("cpu", copy=True) for name, tensor in self._constants.items()}
        for name, parameter, values in zip(self._names, self._params, self._split(vector), strict=True):
            state[name] = values.view(parameter.shape).to("cpu", copy=True)
        for name, tensor in (self.average_statistics if use_average else self._statistics).items():
            state[name] = tensor.to("cpu", copy=True)
        return state

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors for a resume: master, statistics and their averages."""
        saved = {"master": self.master.to("cpu", copy=True)}
        saved |= {
            f"statistics.{name}": tensor.to("cpu", copy=True) for name, tensor in self._statistics.items()
        }
        if self.average is not None:
            saved["average"] = self.average.to("cpu", copy=True)
            for name, tensor in self.average_statistics.items():
                saved[f"average_statistics.{name}"] = tensor.to("cpu", copy=True)
        return saved

    def load_tensors(self, saved: dict[str, Tensor]) -> None:
        """Put back what `tensors` gave."""
        self._swap(saved["master"], {name: saved[f"statistics.{name}"] for name in self._statistics})
        if self.average is not None:
            self.average.copy_(saved["average"])
            for name, tensor in self.average_statistics.items():
                tensor.copy_(saved[f"average_statistics.{name}"])
