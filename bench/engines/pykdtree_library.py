"""pykdtree: build and query."""

from pykdtree.kdtree import KDTree


def neighbours(w, x, y):
    return (lambda: KDTree(y).query(x, w["k"])[1]) if x.shape[1] <= 8 else None


TASKS = {"neighbours": neighbours}
