"""Signals that tell a process to end: work on shares stops where another worker goes on, as that of the command does."""

from __future__ import annotations

import contextlib
import signal
import typing

__all__ = ["Ended", "ends_in_order"]

#: SIGTERM, and where there is one SIGHUP, which a process under nohup ignores. SIGINT raises KeyboardInterrupt as it is.
_SIGNALS = [one for one in (signal.SIGTERM, getattr(signal, "SIGHUP", None)) if one is not None]


class Ended(SystemExit):
    """The process was told to end by a signal: its status is that of the command, 128 and the number of the signal."""


def _end(number: int, frame: object) -> typing.NoReturn:
    # The second signal ends the process at once.
    signal.signal(number, signal.SIG_DFL)
    raise Ended(128 + number)


@contextlib.contextmanager
def ends_in_order() -> typing.Iterator[None]:
    """Raises :class:`Ended` in the block for a signal that would end the process there.

    A process that has a handler of its own, or ignores the signal, keeps it. So does a block in another thread than the
    main one, where Python runs no handlers.
    """
    taken = []
    try:
        # Only the main thread may set one.
        with contextlib.suppress(ValueError):
            for one in _SIGNALS:
                if signal.getsignal(one) is signal.SIG_DFL:
                    signal.signal(one, _end)
                    taken.append(one)
        yield
    finally:
        for one in taken:
            if signal.getsignal(one) is _end:
                signal.signal(one, signal.SIG_DFL)
