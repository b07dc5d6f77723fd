"""E270: in a programmatic dependent launch nothing touches global memory before it has waited."""

from __future__ import annotations

import re

import pytest
import test_race_pairs
from test_race_pairs import CLUSTER, INIT, INIT_FENCE, PEER, SECOND, SYNC, kernel

from gemmgen.compile.launch import Launch
from gemmgen.emulate import EmulationError, Settings, emulate
from gemmgen.emulate.codes import CODES

WAIT = "griddepcontrol.wait;"
LOAD, STORE = "ld.global.u32 %r5, [%d0];", "@%p0 st.global.u32 [%d1], 1;"
ADD, HINT = "@%p0 red.relaxed.gpu.global.add.u32 [%d1], 1;", "prefetch.global.L2 [%d0];"
COPY_IN = (
    INIT, INIT_FENCE, SYNC, "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16;",
    f"@%p0 {test_race_pairs.COPY_IN}, [%r1];",
    "wait %r1",
)  # fmt: skip
FIRST_WARP = f"@!%p1 {WAIT}"
SECOND_LOADS = f"@%p1 {LOAD}"
LEADER = "and.pred %p5, %p2, %p0;"
HAND_OVER = "@!%p1 mbarrier.arrive.shared.b64 _, [%r1];"
INIT_32 = "@%p0 mbarrier.init.shared.b64 [%r1], 32;"
RELAXED = CLUSTER.replace("arrive;", "arrive.relaxed;")

Lines = tuple[str, ...]
PAIRS: dict[str, tuple[Lines, Lines, int]] = {
    "load": ((LOAD, WAIT), (WAIT, LOAD), 1),
    "store": ((STORE, WAIT), (WAIT, STORE), 1),
    "atomic": ((ADD, WAIT), (WAIT, ADD), 1),
    "no wait at all": ((LOAD,), (HINT,), 1),
    "launch_dependents is no wait": (
        ("griddepcontrol.launch_dependents;", LOAD),
        (WAIT, "griddepcontrol.launch_dependents;", LOAD), 1,
    ),
    "asynchronous copy": ((*COPY_IN, WAIT), (WAIT, *COPY_IN), 1),
    "wait of another warp": (
        (SECOND, FIRST_WARP, SECOND_LOADS), (SECOND, FIRST_WARP, SYNC, SECOND_LOADS), 1
    ),
    "barrier before that wait": (
        (SECOND, SYNC, FIRST_WARP, SECOND_LOADS), (SECOND, FIRST_WARP, SYNC, SECOND_LOADS), 1
    ),
    "wait of one lane": (
        (f"@%p0 {WAIT}", LOAD), (f"@%p0 {WAIT}", "bar.warp.sync 0xffffffff;", f"@!%p1 {LOAD}"), 1
    ),
    "mbarrier": (
        (SECOND, INIT_32, SYNC, HAND_OVER, FIRST_WARP, "wait %r1", LOAD),
        (SECOND, INIT_32, SYNC, FIRST_WARP, HAND_OVER, "wait %r1", LOAD), 1,
    ),
    "wait in the peer": (
        (PEER, f"@%p2 {WAIT}", RELAXED, LOAD), (PEER, f"@%p2 {WAIT}", CLUSTER, LOAD), 2
    ),
    "one thread for a cluster": (
        (PEER, CLUSTER, LEADER, f"@%p5 {WAIT}", LOAD),
        (PEER, LEADER, f"@%p5 {WAIT}", CLUSTER, LOAD), 2,
    ),
}  # fmt: skip


def told(lines: Lines, ctas: int, timing: str = "lazy", dependent: bool = True) -> str:
    """What race detection says of CTAs of two warps; `%p1` is the second of them."""
    k = kernel("setp.ge.u32 %p1, %r0, 32;", *lines)
    shape = (ctas, 1, 1)
    params = tuple(k.params)
    launch = Launch(k.text(), "kernel", shape, (64, 1, 1), shape, 1024, params, 0, dependent)
    try:
        emulate(launch, k.buffers, settings=Settings(timing=timing, races=True))
    except EmulationError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("timing", ["lazy", "eager", "random"])
@pytest.mark.parametrize("name", PAIRS)
def test_an_access_before_the_wait_is_found_and_its_mended_twin_passes(name, timing) -> None:
    faulty, mended, ctas = PAIRS[name]
    message = told(faulty, ctas, timing)
    assert message.startswith("error[E270]: global memory used before griddepcontrol.wait"), message
    assert told(mended, ctas, timing) == ""


@pytest.mark.parametrize("name", PAIRS)
def test_a_launch_in_order_needs_no_wait(name: str) -> None:
    faulty, _, ctas = PAIRS[name]
    assert told(faulty, ctas, dependent=False) == ""


def test_the_access_its_lines_and_the_missing_wait_are_named() -> None:
    message = told((LOAD, WAIT), 1)
    assert "ld.global touches" in message
    assert re.search(r"at PTX line \d+: ld\.global.*\(kernel\.py:2\)", message), message
    assert re.search(r"by CTA \(0,0,0\), warp \d, all lanes", message), message
    assert "missing: griddepcontrol.wait by this thread" in message
    assert "bulk copy touches" in told((*COPY_IN, WAIT), 1)


def test_parameters_may_be_read_before_the_wait() -> None:
    assert told(("ld.param.u64 %d5, [p0];", WAIT, LOAD), 1) == ""


def test_the_code_is_explained() -> None:
    assert "griddepcontrol.wait" in CODES["E270"]
