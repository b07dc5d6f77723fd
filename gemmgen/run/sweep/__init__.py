"""Every combination of some keys of a spec: rendered, checked, built, verified, timed.

A sweep lives in a folder that stands alone: ``sweep.json`` (:mod:`.state`) says what is known,
``specs/`` and ``generated/`` hold the combinations, ``libraries/`` what is built. ``sweep.json`` is
written whole after every finished piece of work, so an interrupt costs the piece in hand::

    state = make_sweep(text, "v8.toml", ["pipeline.ab_stages=2..6"], shapes=[(4096, 4096, 4096)],
                       rounds=9, slice_ms=10.0, verify="quick")
    write_points(state, folder)
    with LocalExecutor() as executor:
        driver = Driver(state, folder, executor, print)
        driver.build()
        driver.measure()      # where a GPU is
"""

from __future__ import annotations

from gemmgen.run.sweep.drive import Driver, Work
from gemmgen.run.sweep.state import Final, Point, Sweep, Timing, read_sweep

__all__ = ["Driver", "Final", "Point", "Sweep", "Timing", "Work", "read_sweep"]
