"""Exceptions: each is also the built-in exception that callers of NumPy and SciPy expect.

Messages say what is wrong, where, the limit and a remedy.
"""

from __future__ import annotations

import os
import sys
import warnings

__all__ = [
    "ArrayTypeError",
    "DeviceError",
    "InputError",
    "InternalError",
    "Interrupted",
    "RequestError",
    "ResourceError",
    "TraceError",
    "ZipfoldError",
    "ZipfoldWarning",
    "warn",
]


class ZipfoldError(Exception):
    """Any error of zipfold."""


class InputError(ZipfoldError, ValueError):
    """The data are wrong: a value, a shape, a file."""


class RequestError(ZipfoldError, ValueError):
    """The request is wrong: a formula, an option, a combination of them."""


class ArrayTypeError(ZipfoldError, TypeError):
    """An argument of a type that makes no sense here."""


class TraceError(ZipfoldError, TypeError):
    """A function of two rows does something that no formula can say. The message names operation and line."""


class ResourceError(ZipfoldError, MemoryError):
    """The machine, or the memory limit, has too little."""


class DeviceError(ZipfoldError, RuntimeError):
    """A device is missing, lost, or out of this build's reach."""


class InternalError(ZipfoldError, RuntimeError):
    """A defect of zipfold: please report it."""


class Interrupted(ZipfoldError, RuntimeError):
    """A run was stopped before its end."""


class ZipfoldWarning(UserWarning):
    """Something that a person should know although the answer stands."""


_HERE = os.path.dirname(os.path.abspath(__file__))


def warn(text: str) -> None:
    """A warning of the engine, at the line of the caller's code that asked."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, ZipfoldWarning, stacklevel=level)
