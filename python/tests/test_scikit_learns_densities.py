"""scikit-learn's own tests of densities, run against ``KernelDensity`` of zipfold."""

from numbers import Integral, Real

import peers

import zipfold as zf


class KernelDensity(zf.KernelDensity):
    """With the arguments that choose among trees and their errors, of which there are none here."""

    _parameter_constraints = {
        **zf.KernelDensity._parameter_constraints,
        "algorithm": [str],
        "leaf_size": [Integral],
        "atol": [Real],
        "rtol": [Real],
        "breadth_first": [bool],
    }

    def __init__(
        self, *, bandwidth=1.0, algorithm="auto", kernel="gaussian", metric="euclidean", atol=0, rtol=0, breadth_first=True,
        leaf_size=40, metric_params=None,
    ):  # fmt: skip
        super().__init__(bandwidth=bandwidth, kernel=kernel, metric=metric, metric_params=metric_params)
        self.algorithm, self.leaf_size = algorithm, leaf_size
        self.atol, self.rtol, self.breadth_first = atol, rtol, breadth_first


OURS = {"KernelDensity": peers.counted_class(KernelDensity, "fit")}
globals().update(peers.tests_of("sklearn.neighbors.tests.test_kde", {"sklearn.neighbors": OURS}))

FAIL = {
    r"test_kde_sample_weights": "random rows are drawn in another order where all weights are the same",
    r"test_kde_algorithm_metric_choice\[haversine-kd_tree\]": "there is no tree that could refuse a metric",
}
