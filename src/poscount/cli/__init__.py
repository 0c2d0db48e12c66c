"""The command line: reads files, asks the library, prints; no statistics here."""

from __future__ import annotations

import sys
import warnings
from typing import NoReturn


def main() -> None:
    """Run the command; a user's mistake ends in one sentence and exit status 2."""
    try:
        import rich  # noqa: F401 (it is used later, but missed here in a better sentence)
        import typer  # noqa: F401
    except ImportError as error:
        _fail(f'The command line needs {error.name}: pip install "poscount[cli]".')
    from poscount.cli.app import app

    try:
        with warnings.catch_warnings():
            warnings.showwarning = _note
            app()
    except BrokenPipeError:
        # The reader of our output has left, as `head` does; that is its right.
        sys.stderr.close()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}." if error.filename else str(error))
    except (ValueError, TypeError, ImportError) as error:
        _fail(str(error))


def _note(message: Warning | str, *place: object, **more: object) -> None:
    # Without the line of code that Python would add.
    print(f"poscount: {message}", file=sys.stderr)


def _fail(sentence: str) -> NoReturn:
    print(f"poscount: {sentence}", file=sys.stderr)
    raise SystemExit(2)
