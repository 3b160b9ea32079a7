"""Tests of other libraries over functions of ours, put in place before a test module binds the names that it tests."""

import contextlib
import functools
import importlib
import sys

#: How often a function of ours was called by the test that runs.
CALLS: dict[str, int] = {}


def counted(name, function):
    """``function``, which notes that it was called."""

    @functools.wraps(function)
    def call(*arguments, **options):
        CALLS[name] = CALLS.get(name, 0) + 1
        return function(*arguments, **options)

    return call


def counted_class(ours, method):
    """``ours``, whose ``method`` notes that it was called."""
    setattr(ours, method, counted(ours.__name__, getattr(ours, method)))
    return ours


@contextlib.contextmanager
def in_place_of(swaps):
    """Puts functions and classes in place of those of modules: ``{module: {name: ours}}``."""
    before = []
    try:
        for module, names in swaps.items():
            module = importlib.import_module(module)
            for name, ours in names.items():
                before.append((module, name, getattr(module, name)))
                setattr(module, name, ours)
        yield
    finally:
        for module, name, theirs in reversed(before):
            setattr(module, name, theirs)


def tests_of(module, swaps, **names):
    """The tests and fixtures of ``module``, imported anew while ours are in place; ``names`` are set in it afterwards."""
    sys.modules.pop(module, None)
    with in_place_of(swaps):
        loaded = importlib.import_module(module)
    vars(loaded).update(names)
    return {name: value for name, value in vars(loaded).items() if not name.startswith("__")}


class With:
    """A module with some of its names replaced."""

    def __init__(self, module, **names):
        self.__dict__.update(names, _module=module)

    def __getattr__(self, name):
        return getattr(self._module, name)
