"""`python -m gemmgen`: the same as `gemmgen`."""

from gemmgen.cli import main

main(prog_name="gemmgen")
