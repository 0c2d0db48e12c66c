"""Commands on a real terminal, or what a program takes for one."""

import os
import subprocess
import sys


def seen_on_a_terminal(arguments, columns, **options):
    """Run `poscount` with its standard output on a terminal: the exit status, and what it shows."""
    import pty  # Windows has none

    ours, theirs = pty.openpty()
    if options.get("stderr") == subprocess.STDOUT:
        options["stderr"] = theirs
    command = [sys.executable, "-m", "poscount", *map(str, arguments)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns)}
    environment["PYTHONIOENCODING"] = "utf-8"
    with subprocess.Popen(command, stdout=theirs, env=environment, **options) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # Linux's end of a terminal
                break
            if not piece:
                break
            seen += piece
    os.close(ours)
    return process.returncode, seen
