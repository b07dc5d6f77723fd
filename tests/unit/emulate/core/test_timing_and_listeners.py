"""Timing policies, residency of clusters, determinism, and what listeners are told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ptx_bench import BASE, launch_of, run, text_of

from gemmgen.compile.launch import Launch
from gemmgen.emulate import Buffer, EmulationError, Listener, Settings, emulate

ORDER = """mov.b32 %r1, smem; setp.ne.u32 %p1, %tid, 0; @%p1 ret; mbarrier.init.shared.b64 [%r1], 1;
    add.u32 %r2, %r1, 64; mov.u32 %r4, 1; mov.u32 %r5, 2;
    mbarrier.expect_tx.relaxed.cta.shared.b64 [%r1], 8;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r2], %r4, [%r1];
    st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r2], %r5, [%r1];
    mbarrier.arrive.shared.b64 _, [%r1]; W: mbarrier.try_wait.parity.shared.b64 %p3, [%r1], 0;
    @!%p3 bra W;
    ld.shared.u32 %r6, [%r1+64]; st.global.u32 [%a0], %r6;"""


def _last(timing: str, seed: int = 0) -> int:
    out = np.zeros(1, np.uint32)
    run(ORDER, out, settings=Settings(timing=timing, seed=seed))
    return int(out[0])


def test_eager_keeps_the_order_of_issue_and_lazy_turns_it_round() -> None:
    assert _last("eager") == 2
    assert _last("lazy") == 1


def test_random_finds_both_orders_and_repeats_itself_by_seed() -> None:
    seen = [_last("random", seed) for seed in range(12)]
    assert set(seen) == {1, 2}
    assert seen == [_last("random", seed) for seed in range(12)]


def test_an_unknown_policy_is_refused_with_the_names() -> None:
    with pytest.raises(EmulationError, match="lazy, eager, random"):
        _last("sideways")


def test_pct_and_delay_take_a_target_and_a_depth() -> None:
    out = np.zeros(1, np.uint32)
    run(ORDER, out, settings=Settings(timing="delay", target="0.0"))
    run(ORDER, out, settings=Settings(timing="pct", pct_depth=5))
    run(ORDER, out, settings=Settings(timing="starve", target="st_async"))
    with pytest.raises(EmulationError, match="is not `CTA` or"):
        run(ORDER, out, settings=Settings(timing="delay", target="first"))


class Recorder(Listener):
    """Writes down everything."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def on_start(self, cta: Any) -> None:
        self.events.append(("start", cta.linear))

    def on_exit(self, cta: Any) -> None:
        self.events.append(("exit", cta.linear))

    def on_issue(self, operation: Any) -> None:
        self.events.append(("issue", operation.kind))

    def on_complete(self, operation: Any) -> None:
        self.events.append(("complete", operation.kind))

    def on_flip(self, barrier: Any) -> None:
        self.events.append(("flip", barrier.offset, barrier.phase))

    def on_wait(self, group: Any, wait: Any) -> None:
        self.events.append(("wait", wait.barrier.offset, wait.phase))

    def on_wake(self, group: Any, wait: Any) -> None:
        self.events.append(("wake", wait.barrier.offset))

    def on_sync(self, group: Any, instr: Any, what: str, target: Any) -> None:
        self.events.append(("sync", what))

    def on_access(self, group: Any, instr: Any, space: str, cta: Any, *rest: Any) -> None:
        _, size, kind = rest
        self.events.append(("access", space, kind, size))


def test_listeners_hear_of_everything_in_order() -> None:
    recorder = Recorder()
    out = np.zeros(1, np.uint32)
    run(ORDER, out, listeners=[recorder])
    assert recorder.events == [
        ("start", 0),
        ("sync", "init"),
        ("sync", "expect"),
        ("issue", "st_async"),
        ("issue", "st_async"),
        ("sync", "arrive"),
        ("wait", 0x400, 0),
        ("complete", "st_async"),
        ("flip", 0x400, 1),
        ("complete", "st_async"),
        ("wake", 0x400),
        ("sync", "passed"),
        ("access", "shared", "read", 4),
        ("access", "global", "write", 4),
        ("exit", 0),
    ]


@pytest.mark.parametrize(("sms", "resident"), [(1, 2), (2, 2), (5, 4), (64, 8)])
def test_as_many_clusters_are_resident_as_fit(sms: int, resident: int) -> None:
    recorder = Recorder()
    run("bar.sync 0;", np.zeros(1, np.uint32), grid=8, cluster=2, listeners=[recorder],
        settings=Settings(sm_count=sms))  # fmt: skip
    alive = most = 0
    for kind, *_ in recorder.events:
        alive += {"start": 1, "exit": -1}.get(kind, 0)
        most = max(most, alive)
    assert most == resident
    assert sum(e[0] == "exit" for e in recorder.events) == 8


def test_two_runs_with_one_seed_are_the_same_event_for_event() -> None:
    runs = []
    for _ in range(2):
        recorder = Recorder()
        run(ORDER, np.zeros(1, np.uint32), listeners=[recorder], grid=3,
            settings=Settings(timing="random", seed=9))  # fmt: skip
        runs.append(recorder.events)
    assert runs[0] == runs[1]


def test_the_result_counts_instructions_ctas_and_operations() -> None:
    result = run(ORDER, np.zeros(1, np.uint32), grid=2)
    assert result.ctas == 2
    assert result.operations == {"st_async": 4}
    assert 40 < result.instructions < 80


# --- launches that cannot be ---


def _launch(**changes: Any) -> str:
    plain = launch_of("", 1)
    fields = {
        "ptx": plain.ptx, "entry": "kernel", "grid": (1, 1, 1), "block": (32, 1, 1),
        "cluster": (1, 1, 1), "smem_bytes": 0, "params": plain.params,
    } | changes  # fmt: skip
    with pytest.raises(EmulationError) as caught:
        emulate(Launch(**fields), [Buffer("out", BASE, np.zeros(4, np.uint8))])
    assert caught.value.code in ("E215", "E217")
    return caught.value.detail


def test_an_impossible_launch_is_refused_with_its_reason() -> None:
    assert "no entry `other`; it has kernel" in _launch(entry="other")
    assert "not a multiple of the cluster" in _launch(grid=(3, 1, 1), cluster=(2, 1, 1))
    assert "2048 threads" in _launch(block=(2048, 1, 1))
    assert "0 parameters given" in _launch(params=())
    assert "has 8 bytes, 4 were given" in _launch(params=(b"1234",))
    assert "is empty" in _launch(grid=(0, 1, 1))
    assert "cluster (32, 1, 1)" in _launch(grid=(32, 1, 1), cluster=(32, 1, 1))


def test_a_block_that_the_kernel_does_not_allow_is_refused() -> None:
    text = text_of("", 1).replace(")\n{", ")\n.reqntid 64, 1, 1\n{", 1)
    assert "requires (64, 1, 1)" in _launch(ptx=text)


def test_text_that_is_not_ptx_is_refused_with_its_line() -> None:
    assert "no .entry" in _launch(ptx="hello")
    assert "no label `NOWHERE`" in _launch(ptx=text_of("bra NOWHERE;", 1))
    assert "does not begin a statement" in _launch(ptx=text_of("= 5;", 1))
    assert "ends within" in _launch(ptx=text_of("", 1).replace("ret;\n}", "ret"))
