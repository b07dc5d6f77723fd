"""Specs: TOML to a frozen `Spec`, or every error at once.

    from gemmgen.spec import digest, load_spec
    spec = load_spec("specs/v8_persistent.toml")

A layer that finds more faults asks `load` for the `Source` too: ``source.place_all(findings)``
gives each finding the file, the line of its key path (``barriers[0].wait``, which may be spelled
``barriers.ab_full.wait``) and the offending line.

Modules to import by name, so that loading stays quick: `find` (names, ladders), `fmt` (the one
form), `override` (``--set``, sweeps), `schema` (JSON Schema), `codes` (what S codes mean).
"""

from gemmgen.spec.digest import digest, resolve
from gemmgen.spec.load import load, load_spec, parse, parse_spec
from gemmgen.spec.model import Spec
from gemmgen.spec.source import Source

__all__ = ["Source", "Spec", "digest", "load", "load_spec", "parse", "parse_spec", "resolve"]
