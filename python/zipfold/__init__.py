"""All-pairs and sum-product computing: say what one pair is, and what you want to know about all of them."""

from __future__ import annotations

from ._zipfold import __version__
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
)
from .settings import Settings, settings, using
from .trace import trace, tuple_of, where

__all__ = [
    "ArrayTypeError",
    "DeviceError",
    "InputError",
    "InternalError",
    "Interrupted",
    "RequestError",
    "ResourceError",
    "Settings",
    "TraceError",
    "ZipfoldError",
    "__version__",
    "cdist",
    "metrics",
    "pdist",
    "settings",
    "trace",
    "tuple_of",
    "using",
    "where",
]
