"""`python -m gemmgen`: the same as `gemmgen`."""

from gemmgen.console import run

run(prog_name="gemmgen")
