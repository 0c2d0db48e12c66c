"""The command line: options and words; what they do is done behind `poscount.app`.

No statistics and no reading of files may be here.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any, NoReturn

from poscount.cli.stopping import StoppedError, stopped_by_signals
from poscount.cli.words import echo, for_command_line
from poscount.errors import InputError
from poscount.printable import shortened

# Characters: an error of another library may quote a whole file.
_MOST_SAID = 2000


def main() -> None:
    """Run the command; a user's mistake ends with one sentence and exit status 2."""
    _open_closed_streams()
    try:
        with stopped_by_signals(), warnings.catch_warnings():
            warnings.showwarning = _print_warning
            _app()()
    except StoppedError as stop:
        echo(f"poscount: stopped by {stop}; no file is half-written.", err=True)
        raise SystemExit(stop.status) from None
    except KeyboardInterrupt:  # from the server, which has handled it
        raise SystemExit(130) from None
    except BrokenPipeError:
        # Whoever read our output has stopped, as `head` does: that is not an error.
        sys.stderr.close()
    except InputError as error:
        _fail(for_command_line(error))
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}." if error.filename else str(error))
    except (ValueError, TypeError, ImportError) as error:
        _fail(str(error))


def _open_closed_streams() -> None:
    """Give standard streams that were closed a place to go, so that no file takes theirs."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (it stays open)


def _app() -> Any:
    try:
        import rich  # noqa: F401 (both are used later; if one is missing, it is said here)
        import typer  # noqa: F401

        from poscount.cli.app import app
    except ImportError as error:
        _fail(f'The command line needs {error.name}: pip install "poscount[cli]".')
    return app


def _print_warning(message: Warning | str, *place: object, **more: object) -> None:
    # Without the line of code that Python would add.
    echo(f"poscount: {shortened(str(message), _MOST_SAID)}", err=True)


def _fail(sentence: str) -> NoReturn:
    echo(f"poscount: {shortened(sentence, _MOST_SAID)}", err=True)
    raise SystemExit(2)
