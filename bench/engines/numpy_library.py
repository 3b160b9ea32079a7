"""NumPy: what a user writes where a matrix product does it, in single precision; NumPy's BLAS on all threads."""

import numpy as np


def unit(x, centre):
    x = x - x.mean(1, keepdims=True) if centre else x
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def matrix(w, x, y):
    if w["metric"] == "euclidean":

        def euclidean():
            g = x @ y.T
            g *= -2
            g += np.einsum("ij,ij->i", x, x)[:, None]
            g += np.einsum("ij,ij->i", y, y)
            np.maximum(g, 0, out=g)
            return np.sqrt(g, out=g)

        return euclidean
    if w["metric"] in ("cosine", "correlation"):

        def angle():
            centre = w["metric"] == "correlation"
            u = unit(x, centre)
            g = u @ (u if y is x else unit(y, centre)).T
            return np.subtract(1, g, out=g)

        return angle
    return None


def gauss(w, x, y):
    if x.shape[1] < 16:
        return None
    c = np.float32(0.5 / w["h"] ** 2)

    def run():
        xx, yy, out = c * np.einsum("ij,ij->i", x, x), c * np.einsum("ij,ij->i", y, y), []
        for i in range(0, len(x), 500):
            g = x[i : i + 500] @ y.T
            g *= 2 * c
            g -= xx[i : i + 500, None]
            g -= yy
            out.append(np.exp(g, out=g).sum(1))
        return np.concatenate(out)

    return run


def angles(w, x, y):
    def run():
        u, count = unit(x, False), 0
        for i in range(0, len(u), 1000):
            g = u[i : i + 1000] @ u[i:].T
            g[np.tril_indices(min(1000, len(g)))] = -2
            count += len(np.flatnonzero(g > w["above"]))
        return count

    return run


TASKS = {f.__name__: f for f in (matrix, gauss, angles)}
