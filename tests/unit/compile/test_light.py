"""What must stay cheap to import."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_package_imports_nothing_heavy() -> None:
    script = (
        "import sys, gemmgen.compile\n"
        "heavy = {'torch', 'cutlass', 'cuda', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
