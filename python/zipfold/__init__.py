"""All-pairs and sum-product computing: say what one pair is, and what you want to know about all of them.

``cdist`` and ``pdist`` are SciPy's; ``pairwise_*``, ``NearestNeighbors`` and ``KernelDensity`` scikit-learn's;
``pair_histogram``, ``similarity_join``, ``knn``, ``join``, ``corr``, ``rdf``, ``paircount``,
``crossmatch``, ``hausdorff``, ``chamfer``, ``silhouette``, ``variogram``, ``ripley``, ``cooccurrence``,
``correlogram``, ``network`` and ``infer`` answer one question each;
``pairs`` asks any other.
"""

from __future__ import annotations

import typing

from ._zipfold import __version__
from .catalogues import Silhouettes, crossmatch, silhouette
from .distances import cdist, metrics, pdist
from .errors import (
    ArrayTypeError,
    DeviceError,
    InputError,
    InternalError,
    Interrupted,
    RequestError,
    ResourceError,
    TraceError,
    ZipfoldError,
    ZipfoldWarning,
)
from .inference import Inference, Network, infer, sum_product
from .lazy import Fold, Outcome, Pairs, fold, merge, pairs
from .network import AssociationNetwork, network
from .paircount import PairCounts, Term, paircount
from .pairwise import (
    pairwise_distances,
    pairwise_distances_argmin,
    pairwise_distances_argmin_min,
    pairwise_distances_chunked,
    pairwise_kernels,
)
from .patterns import Correlograms, Occurrences, RipleyCurve, RipleyFunctions, cooccurrence, correlogram, ripley
from .rdf import Curve, Factor, Radial, Scattering, rdf
from .remote import Fingerprint, fingerprint, read
from .results import Histogram, Marginals, Matches, Neighbours, Plan, RowExtremes, Tally
from .sets import SetDistances, chamfer, hausdorff
from .settings import Device, Settings, devices, settings, using
from .shares import Job, attach, submit, work
from .statistics import corr, knn, pair_histogram, similarity_join
from .tables import join
from .trace import popcount, trace, tuple_of, where
from .variogram import FittedModel, LagCurve, LagDirection, Variograms, variogram

if typing.TYPE_CHECKING:
    from .density import KernelDensity
    from .neighbors import KNeighborsTransformer, NearestNeighbors

#: Names that need scikit-learn, imported when they are first used.
_ESTIMATORS = {"KernelDensity": "density", "KNeighborsTransformer": "neighbors", "NearestNeighbors": "neighbors"}

__all__ = [
    "ArrayTypeError",
    "AssociationNetwork",
    "Correlograms",
    "Curve",
    "Device",
    "DeviceError",
    "Factor",
    "Fingerprint",
    "FittedModel",
    "Fold",
    "Histogram",
    "InputError",
    "InternalError",
    "Interrupted",
    "Job",
    "KNeighborsTransformer",
    "KernelDensity",
    "LagCurve",
    "LagDirection",
    "Marginals",
    "Matches",
    "NearestNeighbors",
    "Neighbours",
    "Network",
    "Occurrences",
    "Outcome",
    "PairCounts",
    "Pairs",
    "Plan",
    "Radial",
    "RequestError",
    "ResourceError",
    "RipleyCurve",
    "RipleyFunctions",
    "RowExtremes",
    "Scattering",
    "SetDistances",
    "Settings",
    "Silhouettes",
    "Tally",
    "Term",
    "TraceError",
    "Variograms",
    "ZipfoldError",
    "ZipfoldWarning",
    "__version__",
    "attach",
    "cdist",
    "chamfer",
    "cooccurrence",
    "corr",
    "correlogram",
    "crossmatch",
    "devices",
    "fingerprint",
    "fold",
    "hausdorff",
    "Inference",
    "infer",
    "join",
    "knn",
    "merge",
    "metrics",
    "network",
    "pair_histogram",
    "paircount",
    "pairs",
    "pairwise_distances",
    "pairwise_distances_argmin",
    "pairwise_distances_argmin_min",
    "pairwise_distances_chunked",
    "pairwise_kernels",
    "pdist",
    "popcount",
    "rdf",
    "read",
    "ripley",
    "settings",
    "silhouette",
    "similarity_join",
    "submit",
    "sum_product",
    "trace",
    "tuple_of",
    "using",
    "variogram",
    "where",
    "work",
]


def __getattr__(name: str) -> typing.Any:
    if name in _ESTIMATORS:
        import importlib

        return getattr(importlib.import_module(f".{_ESTIMATORS[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    # What there is to use, the names that are imported late too, and nothing that this module only imports.
    return sorted(__all__)
