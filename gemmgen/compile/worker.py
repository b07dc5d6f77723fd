"""A process that compiles the files it is asked for: ``python -m gemmgen.compile.worker``.

Requests are lines of JSON on stdin; answers are pickled :class:`gemmgen.compile.pool.Outcome`s on
stdout, each behind its length as 8 bytes, little-endian. Whatever else is printed goes to stderr.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gemmgen.compile.pool import compile_one
from gemmgen.terms import Arch


def answer(request: dict[str, Any]) -> bytes:
    """Compile what one request names; the pickled outcome."""
    cache = request["cache"]
    outcome = compile_one(
        request["path"],
        allow=frozenset(request["allow"]),
        arch=Arch(request["arch"]) if request["arch"] else None,
        cache=Path(cache) if cache else None,
    )
    return pickle.dumps(outcome)


def serve(requests: Any, write: Callable[[bytes], object]) -> None:
    """Answer every request until the stream ends."""
    for line in requests:
        payload = answer(json.loads(line))
        write(len(payload).to_bytes(8, "little") + payload)


def main() -> None:
    """Keep stdout for answers alone, then serve."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    try:
        serve(sys.stdin, answers.write)
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(1)


if __name__ == "__main__":
    main()
