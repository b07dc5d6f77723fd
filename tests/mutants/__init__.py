"""Mutants: every way in which a kernel can be wrong that we could think of, and who finds it.

A mutant is a rung of the ladder with one fault: in its plan, in its text, or in its PTX. The
detectors are those that a user has: `gemmgen check` with the protocol checker, the compiler, and
`gemmgen test` in the emulator under hostile timing. Every harmful mutant must be found by one of
them; one that changes nothing that a machine could show is argued in ``equivalent.toml``.

``python -m mutants`` (with ``tests`` on the path, or ``make mutants``) runs them all and prints
the kill table.
"""
