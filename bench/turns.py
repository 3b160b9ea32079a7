"""What benchmarks through Python share: the package that is measured, and calls that take turns.

``ZIPFOLD_PACKAGE=FOLDER`` is where the package is, without it the installed one is taken. ``--turns N`` is how often each call
is made.
"""

import os
import sys
import time

if "ZIPFOLD_PACKAGE" in os.environ:
    sys.path.insert(0, os.environ["ZIPFOLD_PACKAGE"])
import zipfold as zf

__all__ = ["least", "turns", "zf"]


def turns(default=3):
    """The number after ``--turns``."""
    return int(sys.argv[sys.argv.index("--turns") + 1]) if "--turns" in sys.argv else default


def least(calls, turns):
    """The least seconds and an answer of each call, taken alternately."""
    seconds, answers = [float("inf")] * len(calls), [None] * len(calls)
    for _ in range(turns):
        for at, call in enumerate(calls):
            start = time.perf_counter()
            answers[at] = call()
            seconds[at] = min(seconds[at], time.perf_counter() - start)
    return seconds, answers
