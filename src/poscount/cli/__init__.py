"""The command line: reads files, asks the library, prints; no statistics here."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; a user's mistake ends in one sentence and exit status 2."""
    try:
        from poscount.cli.app import app
    except ImportError as error:
        _fail(f'the command line needs {error.name}: pip install "poscount[cli]"')
    from poscount.cli.app import app

    try:
        app()
    except BrokenPipeError:
        # The reader of our output has left, as `head` does; that is its right.
        sys.stderr.close()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except (ValueError, TypeError, ImportError, OSError) as error:
        _fail(str(error))


def _fail(sentence: str) -> None:
    print(f"poscount: {sentence}", file=sys.stderr)
    raise SystemExit(2)
