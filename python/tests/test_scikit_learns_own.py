"""scikit-learn's own tests of pairwise functions, run against those of zipfold."""

import peers

import zipfold as zf

NAMES = ["pairwise_distances", "pairwise_distances_argmin", "pairwise_distances_argmin_min"]
NAMES += ["pairwise_distances_chunked", "pairwise_kernels"]
OURS = {name: peers.counted(name, getattr(zf, name)) for name in NAMES}

globals().update(
    peers.tests_of(
        "sklearn.metrics.tests.test_pairwise",
        {"sklearn.metrics.pairwise": OURS, "sklearn.metrics": {"pairwise_distances": OURS["pairwise_distances"]}},
    )
)

FAIL = {
    r"test_pairwise_distances_for_sparse_data": "sparse rows become dense for every metric, so that none refuses them",
    r"test_pairwise_boolean_distance": "numbers taken as truth are warned of by zipfold's own warning, and need no conversion",
    r"test_pairwise_kernels_callable": "the function reshapes its rows, which no formula can say",
    r"test_pairwise_parallel\[.*-callable_rbf_kernel-kwds4\]": "the function reshapes its rows, which no formula can say",
    r"test_pairwise_dist_custom_metric_for_string": "rows are numbers, not text",
    r"test_numeric_pairwise_distances_datatypes\[float32-Y is X-correlation\]": (
        "X given twice is X and a copy of it, whose correlations in single precision are 1 but for 6e-8"
    ),
}
