"""Conformance: GEMM kernels that nobody here wrote pass in the emulator under all timing policies.

They are correct on hardware, so whatever the emulator reports of them is a false alarm, or an
opcode that it lacks. Two sources:

- the ``quack-kernels`` package, an extra of this one: ``pip install '.[conformance]'``;
- where ``CUTLASS_DIR`` names a checkout, the tutorial and the dense GEMMs among its CuTe DSL
  examples.

``python -m conformance`` (with ``tests`` on the path, or ``make conformance``) runs every case and
prints a table; ``pytest tests/conformance`` runs a fixed part.
"""
