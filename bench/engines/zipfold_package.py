"""zipfold through its Python package, in the process: results preallocated and touched where the face allows."""

import numpy as np
import zipfold as zf
from inputs import edges, rows


def matrix(w, x, y):
    out, params = np.ones((len(x), len(y)), x.dtype), w.get("params", {})
    return lambda: zf.cdist(x, y, w["metric"], out=out, **params)


def condensed(w, x, y):
    out = np.ones(len(x) * (len(x) - 1) // 2, x.dtype)
    return lambda: zf.pdist(x, w["metric"], out=out)


def histogram(w, x, y):
    question = zf.pairs(x).domain("triangle").histogram(edges(w) if "edges" in w else w["bins"], w.get("range"))
    question = question.periodic(w["box"]) if "box" in w else question
    how = {"plan": w["plan"]} if "plan" in w else {}
    return lambda: question.run(**how).counts


def neighbours(w, x, y):
    question = zf.pairs(x, y).pair("sqeuclidean").nearest(w["k"])
    return lambda: question.run().indices


def gauss(w, x, y):
    question = zf.pairs(x, y).pair("exp(-sum((x - y)^2) / (2*h^2))", h=w["h"]).sum()
    return lambda: question.run()


def accelerations(w, x, y):
    question = zf.pairs(x).pair("(y - x) * (sum((x - y)^2) + s)^(-1.5)", s=w["softening"]).sum(weights=rows(w["masses"])[:, 0])
    return lambda: question.run()


def angles(w, x, y):
    question = zf.pairs(x).domain("triangle").join(f"cosine_similarity(x, y) > {w['above']}")
    return lambda: len(question.run())


def near(w, x, y):
    question = zf.pairs(x, y).join(f"sum(abs(x - y)) < {w['below']}")
    return lambda: len(question.run())


TASKS = {f.__name__: f for f in (matrix, condensed, histogram, neighbours, gauss, accelerations, angles, near)}
