"""Signals that stop a command: it cleans up after itself, says so in one line, and ends."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

# Of Ctrl-C, of a scheduler, of a terminal that is closed; Windows has not all of them.
_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class StoppedError(BaseException):
    """A signal asks the command to stop; no error, so that nothing but `main` catches it."""

    def __init__(self, number: int) -> None:
        self.signal = signal.Signals(number)
        super().__init__(self.signal.name)

    @property
    def status(self) -> int:
        """Exit status, as shells count: 130 for SIGINT, 143 for SIGTERM."""
        return 128 + self.signal


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Raise `StoppedError` where one of the signals arrives, so that files are cleaned up.

    A second signal of a kind ends the process at once. Signals that were to be ignored, as nohup
    has it, stay ignored.
    """
    told: list[StoppedError] = []

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        told.append(StoppedError(number))
        raise told[-1]

    try:
        with _handlers(dict.fromkeys(_SIGNALS, stop)):
            yield
    finally:
        # It may have been raised where compiled code or a destructor swallows every error.
        if told:
            raise told[-1]


@contextmanager
def ordinary_signals() -> Iterator[None]:
    """Let signals end the process, for a server that cleans up when it gets one.

    It then sends itself the signal again, and must not go through Python's own way out: that
    would look for temporary files which are deleted by then.
    """
    with _handlers(dict.fromkeys(_SIGNALS, signal.SIG_DFL)):
        yield


@contextmanager
def _handlers(wanted: Mapping[int, Any]) -> Iterator[None]:
    before = {}
    try:
        for number, handler in wanted.items():
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
