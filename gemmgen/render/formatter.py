"""The formatter that runs last on every generated file: ``ruff format``, with settings of its own.

The project's settings do not apply, so a generated file has the same bytes wherever it is rendered.
"""

from __future__ import annotations

import subprocess

from ruff.__main__ import find_ruff_bin

from gemmgen.terms import Finding, GemmgenError

LINE_LENGTH = 100


def format_source(source: str, name: str) -> str:
    """Return `source` formatted.

    Raises:
        GemmgenError: R302, the templates printed something that is not Python; the message has the
            formatter's own words.
    """
    command = [
        find_ruff_bin(),
        "format",
        "--isolated",
        "--no-cache",
        f"--line-length={LINE_LENGTH}",
        "--target-version=py311",
        "--stdin-filename=kernel.py",
        "-",
    ]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GemmgenError(
            [
                Finding(
                    code="R302",
                    title=f"the templates printed something that is not Python for {name}",
                    source=done.stderr.strip(),
                    help="this is a fault in templates/, not in the spec: report it with the spec",
                )
            ]
        )
    return done.stdout
