"""torchvision and timm import whatever torch build stands beside them; each case in a fresh interpreter."""

import subprocess
import sys
import textwrap

import pytest


def run(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow  # imports both in a process of its own
def test_torchvision_and_timm_import_afterwards():
    printed = run(
        """
        from vitviz.torchvision_fix import import_torchvision
        torchvision = import_torchvision()
        assert import_torchvision() is torchvision
        import timm
        from torchvision import datasets, models, transforms
        model = models.vit_b_16
        assert datasets.CIFAR10.url and timm.list_models("vit_tiny*")
        print(torchvision.__name__)
        """
    )
    assert printed == "torchvision"


@pytest.mark.slow
def test_a_missing_operator_is_declared_and_half_imports_are_dropped():
    # the failure is staged, so that the remedy is tested beside any torch build
    printed = run(
        """
        import importlib, sys, types
        from vitviz import torchvision_fix

        tries = []

        def staged(name):
            tries.append(sorted(m for m in sys.modules if m.startswith("torchvision")))
            if len(tries) == 1:
                sys.modules["torchvision.extension"] = types.ModuleType("torchvision.extension")
                raise RuntimeError("operator torchvision::nms does not exist")
            import torch
            assert torch.ops.torchvision.nms is not None
            return types.ModuleType(name)

        torchvision_fix.importlib.import_module = staged
        torchvision_fix.import_torchvision()
        print(tries)
        """
    )
    assert printed == "[[], []]"


def test_any_other_failure_is_passed_on():
    printed = run(
        """
        from vitviz import torchvision_fix

        def broken(name):
            raise RuntimeError("a different reason")

        torchvision_fix.importlib.import_module = broken
        try:
            torchvision_fix.import_torchvision()
        except RuntimeError as error:
            print(error)
        """
    )
    assert printed == "a different reason"
