"""SciPy's own tests of distances, run against ``cdist`` and ``pdist`` of zipfold.

What does not apply is listed with its reason. Tests in ``FAIL`` must fail: one that starts to pass leaves the list.
"""

import pytest
from scipy.spatial.tests import test_distance as theirs
from scipy.spatial.tests.test_distance import *  # noqa: F403

import zipfold as zf

FAIL = {
    "test_cdist_custom_notdouble": "rows are numbers, not objects",
    "test_pdist_custom_notdouble": "rows are numbers, not objects",
    "test_gh_17703": "dice takes any number but 0 as true, as jaccard does in SciPy since 1.15",
}
SKIP = {
    "kulczynski1": "deprecated in SciPy 1.15, removed in 1.17",
    "sokalmichener": "deprecated in SciPy 1.15, removed in 1.17 (it is rogerstanimoto)",
}


def _plain(metric):
    """SciPy's names for its own slow versions, ``test_euclidean``, mean the metric."""
    return metric.removeprefix("test_") if isinstance(metric, str) else metric


def _cdist(XA, XB, metric="euclidean", *, out=None, **kwargs):
    return zf.cdist(XA, XB, _plain(metric), out=out, **kwargs)


def _pdist(X, metric="euclidean", *, out=None, **kwargs):
    return zf.pdist(X, _plain(metric), out=out, **kwargs)


@pytest.fixture(autouse=True)
def _against_zipfold(monkeypatch):
    monkeypatch.setattr(theirs, "cdist", _cdist)
    monkeypatch.setattr(theirs, "pdist", _pdist)
