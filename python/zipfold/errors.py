"""Exceptions: each is also the built-in exception that callers of NumPy and SciPy expect.

Messages say what is wrong, where, the limit and a remedy.
"""

from __future__ import annotations

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
