"""scikit-learn's own tests of pairwise functions, run against those of zipfold."""

import inspect

import pytest
from sklearn.metrics.tests import test_pairwise as theirs
from sklearn.metrics.tests.test_pairwise import *  # noqa: F403

import zipfold as zf

FAIL = {
    "test_pairwise_boolean_distance": "any number but 0 is true without a conversion, so nothing warns of one",
    "test_pairwise_distances_for_sparse_data": "sparse rows become dense for every metric, so SciPy's metrics take them",
    "test_pairwise_kernels_callable": "the function reshapes its rows, which no formula can say",
    "test_pairwise_dist_custom_metric_for_string": "rows are numbers, not text",
    "test_pairwise_dist_custom_metric_for_bool": "rows of bool are the numbers 0 and 1: x & y is (x != 0) & (y != 0)",
    "test_force_all_finite_rename_warning": "a name that scikit-learn 1.8 removes",
}

OURS = ["pairwise_distances", "pairwise_distances_argmin", "pairwise_distances_argmin_min"]
OURS += ["pairwise_distances_chunked", "pairwise_kernels"]

# What calls none of these functions would pass whatever they do.
for _name, _test in list(globals().items()):
    if _name.startswith("test_") and not any(f"{ours}(" in inspect.getsource(_test) for ours in OURS):
        del globals()[_name]


@pytest.fixture(autouse=True)
def _against_zipfold(monkeypatch):
    for name in OURS:
        monkeypatch.setattr(theirs, name, getattr(zf, name))
