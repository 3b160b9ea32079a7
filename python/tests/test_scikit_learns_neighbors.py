"""scikit-learn's own tests of neighbours, run against ``NearestNeighbors`` of zipfold."""

from numbers import Integral

import peers
import sklearn.neighbors
from sklearn.utils._param_validation import Interval, StrOptions

import zipfold as zf

ALGORITHMS = {"auto", "ball_tree", "kd_tree", "brute"}


class NearestNeighbors(zf.NearestNeighbors):
    """With the arguments that choose among trees, of which there are none here."""

    _parameter_constraints = {
        **zf.NearestNeighbors._parameter_constraints,
        "algorithm": [StrOptions(ALGORITHMS)],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "p": [*zf.NearestNeighbors._parameter_constraints["p"], None],
    }

    def __init__(
        self, *, n_neighbors=5, radius=1.0, algorithm="auto", leaf_size=30, metric="minkowski", p=2, metric_params=None, n_jobs=None
    ):
        super().__init__(n_neighbors=n_neighbors, radius=radius, metric=metric, p=p, metric_params=metric_params, n_jobs=n_jobs)
        self.algorithm = algorithm
        self.leaf_size = leaf_size

    def fit(self, X, y=None):
        """As that of zipfold, which has no tree that could refuse a metric."""
        weighted = self.metric == "minkowski" and "w" in (self.metric_params or {})
        known = not isinstance(self.metric, str) or self.metric in sklearn.neighbors.VALID_METRICS["kd_tree"]
        if self.algorithm == "kd_tree" and (weighted or not known):
            raise ValueError("a metric that this tree does not take")
        return super().fit(X, y)


OURS = {"NearestNeighbors": peers.counted_class(NearestNeighbors, "fit")}
globals().update(
    peers.tests_of(
        "sklearn.neighbors.tests.test_neighbors",
        {"sklearn.neighbors": OURS},
        neighbors=peers.With(sklearn.neighbors, **OURS),
    )
)

SPARSE = "sparse rows are refused, as scikit-learn's estimators without support for them do"
PRECOMPUTED = "neighbours within a matrix of distances that is there already are no question to zipfold"
FAIL = {
    r"test_valid_brute_metric_for_auto_algorithm\[.*-(cityblock|cosine|euclidean|l1|l2|manhattan)\]": SPARSE,
    r"test_valid_brute_metric_for_auto_algorithm\[.*-precomputed\]": PRECOMPUTED,
    r"test_(radius_neighbors_returns_array_of_objects|sparse_metric_callable|precomputed_sparse_(invalid|knn|radius))": SPARSE,
    r"test_radius_neighbors_sort_results\[brute-precomputed\]": SPARSE,
    r"test_precomputed_dense": PRECOMPUTED,
    r"test_auto_algorithm": "looks at a private attribute that says which tree was made",
    r"test_unsupervised_inputs": "fitted trees and estimators are no rows",
    r"test_k_and_radius_neighbors_duplicates": "of two rows at no distance the one of the lower index comes first, as ties do",
}
