"""Inputs that several tests share."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    """Random numbers, the same in every run."""
    return np.random.default_rng(20260101)


@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request):
    """The precisions that scikit-learn's own tests run in."""
    return request.param


def pytest_collection_modifyitems(items):
    """Marks the exceptions that a module lists, each with its reason."""
    for item in items:
        for name, reason in getattr(item.module, "SKIP", {}).items():
            if name in item.name:
                item.add_marker(pytest.mark.skip(reason=reason))
        for name, reason in getattr(item.module, "FAIL", {}).items():
            if item.name == name or item.name.split("[")[0] == name:
                item.add_marker(pytest.mark.xfail(strict=True, reason=reason))
