"""SciPy's own tests of distances, run against ``cdist`` and ``pdist`` of zipfold.

What does not apply is listed with its reason. Tests in ``FAIL`` must fail: one that starts to pass leaves the list.
"""

import peers

import zipfold as zf

FAIL = {
    r"test_(cdist|pdist)_custom_notdouble": "rows are numbers, not objects",
    "test_gh_17703": "dice takes any number but 0 as true, as jaccard does in SciPy since 1.15",
}


def _plain(metric):
    """SciPy's names for its own slow versions, ``test_euclidean``, mean the metric."""
    return metric.removeprefix("test_") if isinstance(metric, str) else metric


def _cdist(XA, XB, metric="euclidean", *, out=None, **kwargs):
    return zf.cdist(XA, XB, _plain(metric), out=out, **kwargs)


def _pdist(X, metric="euclidean", *, out=None, **kwargs):
    return zf.pdist(X, _plain(metric), out=out, **kwargs)


OURS = {"scipy.spatial.distance": {"cdist": peers.counted("cdist", _cdist), "pdist": peers.counted("pdist", _pdist)}}
globals().update(peers.tests_of("scipy.spatial.tests.test_distance", OURS))

