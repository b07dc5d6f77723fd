"""When a warp with several roles takes up which: told by what it waits for and what it issues."""

from __future__ import annotations

from collections.abc import Sequence

from gemmgen.emulate.recorder import Operation, Passing, Waiting
from gemmgen.plan import Plan
from gemmgen.plan.barriers import Purpose
from gemmgen.terms import LoadKind, Role

_ISSUES = {
    "tma_load": Role.PRODUCER,
    "mma": Role.MMA,
    "wgmma": Role.MMA,
    "tma_store": Role.EPILOGUE,
}


class Turns:
    """The roles of a plan, by barrier and by operation.

    A barrier that is passed begins the role that waits for it, an operation the role that issues
    it. Without a barrier for the accumulator, the epilogue begins once all MMAs of a tile are done.
    """

    def __init__(self, plan: Plan, k: int) -> None:
        self.waiter = {b.name: b.waits[0].role for b in plan.barriers if b.waits}
        done = plan.barrier(Purpose.MMA_DONE)
        self.done = done.name if done is not None else ""
        self.k_tiles = -(-k // plan.geometry.tile_k)
        self.cooperative = plan.spec.load.kind is LoadKind.COOPERATIVE

    def changes(
        self,
        roles: Sequence[Role],
        passed: Sequence[Passing],
        waits: Sequence[Waiting],
        issued: Sequence[Operation],
    ) -> list[tuple[float, str]]:
        """Times and roles of one warp, ``""`` where no role of its own can be told."""
        if len(roles) == 1:
            return [(0.0, roles[0].value)]
        at = [(wait.end.time, wait.barrier, "") for wait in waits]
        at += [(passing.time.time, passing.barrier, "") for passing in passed]
        at += [(work.start.time, "", work.kind) for work in issued]
        changes = [(0.0, "")]
        laps = 0
        for time, label, kind in sorted(at, key=lambda event: event[0]):
            barrier = label.partition(" of ")[0].partition("[")[0]
            laps += barrier != "" and barrier == self.done
            role = self._role(roles, changes[-1][1], barrier, kind, laps)
            if role != changes[-1][1]:
                changes.append((time, role))
        return changes

    def _role(self, roles: Sequence[Role], now: str, barrier: str, kind: str, laps: int) -> str:
        """The role after an event: a barrier passed, work issued, or a barrier of the CTA."""
        role: Role | None
        if kind:
            role = _ISSUES.get(kind)
        elif barrier == self.done and barrier and laps % self.k_tiles == 0:
            role = Role.EPILOGUE
        elif barrier:
            role = self.waiter.get(barrier)
        elif now == Role.EPILOGUE:
            role = Role.EPILOGUE  # its warps meet between chunks
        else:
            role = Role.PRODUCER if self.cooperative else None
            return role.value if role in roles and role is not None else ""
        return role.value if role in roles and role is not None else now
