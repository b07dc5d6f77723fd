"""setmaxnreg: warpgroups share the registers of their CTA."""

from __future__ import annotations

import re

import pytest
from ptx import Kernel

from gemmgen.compile.launch import Launch
from gemmgen.emulate import EmulationError, emulate

DEC = "setmaxnreg.dec.sync.aligned.u32 {};"
INC = "setmaxnreg.inc.sync.aligned.u32 {};"


def told(*lines: str, threads: int = 256, promise: str = ".minnctapersm 1") -> str:
    """What is said of a kernel whose warps 0 to 3 have `%p1`, and warp 0 `%p2`."""
    k = Kernel("sm_90a")
    k("setp.lt.u32 %p1, %r0, 128; setp.lt.u32 %p2, %r0, 32;")
    for line in lines:
        k(line)
    text = k.text().replace("kernel()", f"kernel() .reqntid {threads} {promise}")
    shape = (1, 1, 1)
    try:
        emulate(Launch(text, "kernel", shape, (threads, 1, 1), shape, 1024, ()), [])
    except EmulationError as error:
        return str(error)
    return ""


def moved(lower: int, raised: int, threads: int = 384, guard: str = "") -> list[str]:
    """The first warpgroup gives registers up, the others take them."""
    skip = f"{guard} bra DONE;" if guard else ""
    return ["@!%p1 bra TAKE;", skip, DEC.format(lower), "bra DONE;", f"TAKE: {INC.format(raised)}",
            "DONE:"]  # fmt: skip


def test_an_increase_takes_what_a_decrease_has_freed() -> None:
    assert told(*moved(40, 232), threads=384) == ""
    assert told(*moved(24, 240), threads=384) == ""


def test_an_increase_beyond_the_register_file_never_comes() -> None:
    message = told(*moved(40, 240), threads=384)
    assert message.startswith("error[E201]")
    assert "setmaxnreg.inc: 72 more registers a thread" in message


def test_a_warp_that_skips_the_decrease_leaves_the_increase_waiting() -> None:
    message = told(*moved(40, 232, guard="@%p2"), threads=384)
    assert message.startswith("error[E224]")
    assert re.search(r"warp 0 of CTA \(0,0,0\) has skipped .*\n.*setmaxnreg.dec", message), message
    assert "setmaxnreg.inc: 64 more registers a thread" in message


SPIN = "SPIN: mbarrier.try_wait.parity.shared.b64 %p9, [%r1], 0; @!%p9 bra SPIN;"
INIT = "@%p0 mbarrier.init.shared.b64 [%r1], 1; bar.sync 0;"


def test_a_warp_that_hangs_past_what_it_skipped_is_named() -> None:
    message = told(INIT, "@%p2 bra SPIN; @!%p1 bra DONE;", DEC.format(40), SPIN, "DONE:")
    assert message.startswith("error[E224]")
    assert "warp 0 of CTA (0,0,0) has skipped" in message
    assert "mbarrier" in message


def test_a_warp_that_hangs_ahead_of_its_setmaxnreg_has_not_skipped_it() -> None:
    message = told(INIT, "@!%p1 bra DONE; @!%p2 bra ON;", SPIN, "ON:", DEC.format(40), "DONE:")
    assert message.startswith("error[E201]")


def test_a_skipped_setmaxnreg_is_named_though_nothing_hangs() -> None:
    message = told("@%p2 bra DONE; @!%p1 bra DONE;", DEC.format(40), "DONE:")
    assert message.startswith("error[E224]")
    assert "warp 0 of CTA (0,0,0) has skipped" in message


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (DEC.format(20), "24 to 256 in steps of 8"),
        (INC.format(260), "24 to 256 in steps of 8"),
        (DEC.format(44), "24 to 256 in steps of 8"),
        (DEC.format(64) + DEC.format(96), "setmaxnreg.dec to 96: the warp holds 64"),
        (DEC.format(64) + INC.format(56), "setmaxnreg.inc to 56: the warp holds 64"),
    ],
)
def test_impossible_numbers_are_refused(line: str, word: str) -> None:
    message = told(line)
    assert message.startswith("error[E224]")
    assert word in message


def test_a_kernel_that_promises_no_ctas_has_its_setmaxnreg_ignored() -> None:
    assert told(*moved(40, 240), threads=384, promise="") == ""
