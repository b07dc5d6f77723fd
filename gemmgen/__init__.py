"""GEMM kernels from TOML specs as CuTe DSL source, proven without a GPU.

The command line is a thin shell over these modules; ``docs/api.md`` walks through them::

    from gemmgen.spec import load_spec                 # TOML -> Spec, or every error at once
    from gemmgen.plan import make_plan, describe       # Spec -> Plan: every number
    from gemmgen.check import check_plan               # Plan -> findings
    from gemmgen.render.engine import render           # Plan -> text
    from gemmgen.run.generate import generate          # all of these for a spec file
    from gemmgen.compile import KernelUnderTest        # file -> PTX, cubin, resources, launches
    from gemmgen.emulate import emulate, Settings      # launch -> memory
    from gemmgen.run.verify import verify_file         # file -> TestRecord, against torch

Everything that is meant for the caller's user is a `gemmgen.terms.GemmgenError`, which carries
every finding. Importing any of these modules imports neither torch nor CuTe DSL, except
``gemmgen.run.verify`` and what it stands on; CuTe DSL comes with the first compile.
"""
