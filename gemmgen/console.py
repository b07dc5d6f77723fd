"""The `gemmgen` command as a process of its own: set up to be quick, and left at once when done.

Most commands take less time than Python needs to import what they stand on and to take it down
again. `main` of `gemmgen.cli` is the same command line for callers that have a process of theirs.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

# Nothing but what survives is made while a command starts: looking for garbage finds none.
OBJECTS_BETWEEN_COLLECTIONS = 100_000
# Whoever loaded these has more to end than two streams, or wants the process after `run`.
ENDS_ITSELF = frozenset({"cProfile", "concurrent.futures", "cutlass", "multiprocessing", "torch"})
INTERRUPTED = 130


def run(prog_name: str | None = None) -> None:
    """Run the command that ``sys.argv`` names, and end the process with its exit code."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 10, 10)
    # Pydantic asks every installed package whether it has a plugin, by reading its metadata.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        from gemmgen.cli import main

        main(prog_name=prog_name)
    except KeyboardInterrupt:  # before the command line is there to say so itself
        os.write(2, b"interrupted\n")
        os._exit(INTERRUPTED)
    except SystemExit as leaving:
        if isinstance(leaving.code, int) and _may_leave_at_once():
            os._exit(leaving.code)
        raise


def _may_leave_at_once() -> bool:
    """Whether nothing is lost without Python's own end, after exit handlers and a flush.

    A stream that cannot be flushed is left to Python, which has a message and a code for it.
    """
    if sys.flags.inspect or sys.gettrace() or ENDS_ITSELF & sys.modules.keys():
        return False
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        return False
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):  # no stream, a full disk, a closed stream
        return False
    return True
