"""FAISS: exact pairwise distances, flat index."""

import faiss
import numpy as np

CODES = {"cityblock": faiss.METRIC_L1, "chebyshev": faiss.METRIC_Linf, "minkowski": faiss.METRIC_Lp, "euclidean": faiss.METRIC_L2}


def matrix(w, x, y):
    if w["metric"] not in CODES or x.dtype != np.float32:
        return None
    p = w.get("params", {}).get("p", 0)

    def run():
        out = faiss.pairwise_distances(x, y, CODES[w["metric"]], p)
        if w["metric"] == "euclidean":
            np.maximum(out, 0, out=out)
            np.sqrt(out, out=out)
        return np.cbrt(out, out=out) if p == 3 else out

    return run


def neighbours(w, x, y):
    if x.shape[1] < 16:
        return None
    flat = faiss.IndexFlatL2(x.shape[1])
    flat.add(y)
    return lambda: flat.search(x, w["k"])[1]


TASKS = {f.__name__: f for f in (matrix, neighbours)}
